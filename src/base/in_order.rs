//! Parallel work on a sequence of items. The results arrive in the order of the items.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, Scope, available_parallelism, scope};

/// More threads would only wait for the one that takes the results.
const MOST_THREADS: usize = 8;

/// Maximum number of items that a thread holds.
const AHEAD: usize = 2;

/// The channels of a worker thread: items to it, results from it.
type Thread<T, R> = (SyncSender<T>, Receiver<R>);

/// Applies a worker's function to each item in parallel. The calling thread creates the items and takes the results, both in
/// order. At most two items per thread are in memory. `new_worker` creates one worker per thread.
///
/// # Errors
/// Returns the first error of `take_result`; the results after it are dropped.
pub fn in_order<T: Send, R: Send, W: FnMut(T) -> R, E>(
    items: impl IntoIterator<Item = T>,
    worker: impl Fn() -> W + Sync,
    mut take: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let mut items = items.into_iter().fuse().peekable();
    let Some(first) = items.next() else { return Ok(()) };
    let wanted = if items.peek().is_none() { 1 } else { available_parallelism().map_or(1, usize::from) };
    let mut items = std::iter::once(first).chain(items);
    scope(|scope| {
        let wanted = if wanted == 1 { 0 } else { wanted.min(MOST_THREADS) };
        let threads: Vec<Thread<T, R>> = (0..wanted).map_while(|_| start(scope, &worker)).collect();
        if threads.is_empty() {
            let mut work = worker();
            return items.try_for_each(|item| take(work(item)));
        }
        let (mut given, mut taken) = (0, 0);
        loop {
            while given < taken + AHEAD * threads.len() {
                let Some(item) = items.next() else { break };
                // Sending fails only if the thread panicked; the end of the scope propagates the panic.
                let _ = threads[given % threads.len()].0.send(item);
                given += 1;
            }
            if taken == given {
                return Ok(());
            }
            let Ok(result) = threads[taken % threads.len()].1.recv() else { return Ok(()) };
            take(result)?;
            taken += 1;
        }
    })
}

/// Starts a thread. Returns `None` if the system refuses one.
fn start<'scope, T: Send + 'scope, R: Send + 'scope, W: FnMut(T) -> R>(
    scope: &'scope Scope<'scope, '_>,
    worker: &'scope (impl Fn() -> W + Sync),
) -> Option<Thread<T, R>> {
    let ((give, given), (finish, finished)) = (sync_channel(AHEAD), sync_channel(AHEAD));
    let body = move || {
        let mut work = worker();
        for item in given {
            if finish.send(work(item)).is_err() {
                return;
            }
        }
    };
    Builder::new().spawn_scoped(scope, body).ok()?;
    Some((give, finished))
}
