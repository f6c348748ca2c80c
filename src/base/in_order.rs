//! Work on all processors, whose results come in the order of what it is done on.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, Scope, available_parallelism, scope};

/// More threads would only wait for the one that takes the results.
const MOST_THREADS: usize = 8;

/// Items that a thread has at most.
const AHEAD: usize = 2;

/// A thread that works: items to it, results from it.
type Thread<T, R> = (SyncSender<T>, Receiver<R>);

/// Does a worker's work on each item. Items are made and results are taken in the calling thread, in order, and no more than two
/// items a thread are in memory. `worker` makes a worker for each thread.
///
/// # Errors
/// The first that `take` returns: what follows is not taken.
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
                // Fails only if the thread panicked, which the end of the scope passes on.
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

/// Starts a thread; `None` if the system refuses one.
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
