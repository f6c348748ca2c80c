//! Parallel work on a sequence of items. The results arrive in the order of the items.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, Scope, available_parallelism, scope};

/// More threads would only wait for the one that takes the results.
const MAX_THREADS: usize = 8;

const MAX_ITEMS_PER_THREAD: usize = 2;

/// The channels of a worker thread: items to it, results from it.
type Thread<T, R> = (SyncSender<T>, Receiver<R>);

/// The calling thread creates the items, at most two per thread, and takes the results, both in order, until `take_result` fails.
pub fn map_in_order<T: Send, R: Send, W: FnMut(T) -> R, E>(
    items: impl IntoIterator<Item = T>,
    new_worker: impl Fn() -> W + Sync,
    mut take_result: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let mut items = items.into_iter().fuse().peekable();
    let Some(first) = items.next() else { return Ok(()) };
    // A single item is not worth a thread.
    let thread_count = if items.peek().is_none() { 1 } else { available_parallelism().map_or(1, usize::from) };
    let mut items = std::iter::once(first).chain(items);
    scope(|scope| {
        let thread_count = if thread_count == 1 { 0 } else { thread_count.min(MAX_THREADS) };
        let threads: Vec<Thread<T, R>> = (0..thread_count).map_while(|_| start_thread(scope, &new_worker)).collect();
        if threads.is_empty() {
            let mut work = new_worker();
            return items.try_for_each(|item| take_result(work(item)));
        }
        let (mut sent, mut received) = (0, 0);
        loop {
            while sent < received + MAX_ITEMS_PER_THREAD * threads.len() {
                let Some(item) = items.next() else { break };
                // Sending fails only if the thread panicked; the end of the scope propagates the panic.
                let _ = threads[sent % threads.len()].0.send(item);
                sent += 1;
            }
            if received == sent {
                return Ok(());
            }
            let Ok(result) = threads[received % threads.len()].1.recv() else { return Ok(()) };
            take_result(result)?;
            received += 1;
        }
    })
}

fn start_thread<'scope, T: Send + 'scope, R: Send + 'scope, W: FnMut(T) -> R>(
    scope: &'scope Scope<'scope, '_>,
    new_worker: &'scope (impl Fn() -> W + Sync),
) -> Option<Thread<T, R>> {
    let ((item_sender, item_receiver), (result_sender, result_receiver)) =
        (sync_channel(MAX_ITEMS_PER_THREAD), sync_channel(MAX_ITEMS_PER_THREAD));
    let body = move || {
        let mut work = new_worker();
        for item in item_receiver {
            if result_sender.send(work(item)).is_err() {
                return;
            }
        }
    };
    Builder::new().spawn_scoped(scope, body).ok()?;
    Some((item_sender, result_receiver))
}
