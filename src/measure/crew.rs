//! Helper threads of a rank for work outside timed regions: all hardware threads fill and verify large memory.

use super::affinity;
use super::hardware::Hardware;
use nix::sched::sched_getcpu;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

/// The helpers live only during the work.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Crew {
    helpers: usize,
    processors: Vec<usize>,
}

impl Crew {
    /// For one of `ranks_on_node` ranks: its share of the hardware threads that the process may use.
    pub fn new(ranks_on_node: usize) -> Self {
        Self::with_hardware_threads(Hardware::this_machine().allowed.clone(), ranks_on_node)
    }

    /// Like [`Crew::new`], on the NUMA node of the calling thread: memory that its helpers touch first is placed there.
    pub fn on_this_numa_node(ranks_on_node: usize) -> Self {
        let hardware = Hardware::this_machine();
        let node_of = |number: usize| hardware.thread(number).and_then(|thread| thread.numa_node);
        let own_node = sched_getcpu().ok().and_then(node_of);
        let hardware_threads =
            hardware.allowed.iter().copied().filter(|&number| own_node.is_none() || node_of(number) == own_node);
        Self::with_hardware_threads(hardware_threads.collect(), ranks_on_node)
    }

    fn with_hardware_threads(hardware_threads: Vec<usize>, ranks_on_node: usize) -> Self {
        let share = Hardware::this_machine().hardware_threads() / ranks_on_node.max(1);
        let own_threads = affinity::allowed_hardware_threads().unwrap_or_default();
        // A thread that is bound to one hardware thread keeps it to itself.
        let free_threads: Vec<usize> = hardware_threads.into_iter().filter(|number| own_threads != [*number]).collect();
        let max_helpers =
            if own_threads.len() == 1 { free_threads.len() } else { free_threads.len().saturating_sub(1) };
        Self { helpers: share.saturating_sub(1).min(max_helpers), processors: free_threads }
    }

    pub fn threads(&self) -> usize {
        self.helpers + 1
    }

    /// Calls `work` with each item, on all threads. On the calling thread, `report_share` gets the finished fraction of the `count`
    /// items. All helpers have ended when this returns.
    pub fn for_each<T: Send>(
        &self,
        count: usize,
        items: impl Iterator<Item = T> + Send,
        work: impl Fn(T) + Sync,
        report_share: impl Fn(f64),
    ) {
        let (items, done) = (Mutex::new(items), AtomicUsize::new(0));
        let next_item = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
        let do_one = || {
            next_item().map(|item| {
                work(item);
                done.fetch_add(1, Ordering::Relaxed) + 1
            })
        };
        let run_helper = || {
            affinity::bind(&self.processors);
            while do_one().is_some() {}
        };
        std::thread::scope(|scope| {
            let helper_count = self.helpers.min(count.saturating_sub(1));
            // With fewer threads than wanted, the work only takes longer.
            let helpers: Vec<_> = (0..helper_count)
                .map_while(|_| Builder::new().name("helper".into()).spawn_scoped(scope, run_helper).ok())
                .collect();
            while let Some(done) = do_one() {
                report_share(done as f64 / count.max(1) as f64);
            }
            for helper in helpers {
                if let Err(panic) = helper.join() {
                    resume_unwind(panic);
                }
            }
        });
    }
}
