//! Helper threads of a rank for work outside timed regions: all hardware threads fill and verify large memory.

use super::affinity;
use super::hardware::Hardware;
use nix::sched::sched_getcpu;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

/// A rank's thread and its helpers. The helpers live only during the work.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Crew {
    helpers: usize,
    /// The hardware threads that helpers may use.
    processors: Vec<usize>,
}

impl Crew {
    /// Creates the crew for one of `ranks_on_node` ranks: its share of the hardware threads that the process may use.
    pub fn new(ranks_on_node: usize) -> Self {
        Self::on(Hardware::here().allowed.clone(), ranks_on_node)
    }

    /// Creates a crew like [`Crew::new`], restricted to the NUMA node of the calling thread: memory that its helpers touch first
    /// is placed there.
    pub fn nearby(ranks_on_node: usize) -> Self {
        let hardware = Hardware::here();
        let node = |number: usize| hardware.thread(number).and_then(|thread| thread.numa_node);
        let here = sched_getcpu().ok().and_then(node);
        let near = hardware.allowed.iter().copied().filter(|&number| here.is_none() || node(number) == here);
        Self::on(near.collect(), ranks_on_node)
    }

    fn on(processors: Vec<usize>, ranks_on_node: usize) -> Self {
        let share = Hardware::here().hardware_threads() / ranks_on_node.max(1);
        let own = affinity::of_thread().unwrap_or_default();
        // A thread that is bound to one hardware thread keeps it to itself.
        let left: Vec<usize> = processors.into_iter().filter(|number| own != [*number]).collect();
        let most = if own.len() == 1 { left.len() } else { left.len().saturating_sub(1) };
        Self { helpers: share.saturating_sub(1).min(most), processors: left }
    }

    /// Returns the number of working threads, including the calling one.
    pub fn threads(&self) -> usize {
        self.helpers + 1
    }

    /// Calls `work` with each item, on all threads. On the calling thread, `report_share` gets the finished fraction of the
    /// `count` items. All helpers have ended when this returns.
    pub fn each<T: Send>(
        &self,
        count: usize,
        items: impl Iterator<Item = T> + Send,
        work: impl Fn(T) + Sync,
        note: impl Fn(f64),
    ) {
        let (items, done) = (Mutex::new(items), AtomicUsize::new(0));
        let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
        let turn = || {
            next().map(|item| {
                work(item);
                done.fetch_add(1, Ordering::Relaxed) + 1
            })
        };
        let help = || {
            affinity::bind(&self.processors);
            while turn().is_some() {}
        };
        std::thread::scope(|scope| {
            let wanted = self.helpers.min(count.saturating_sub(1));
            // With fewer threads than wanted, the work only takes longer.
            let helpers: Vec<_> = (0..wanted)
                .map_while(|_| Builder::new().name("helper".into()).spawn_scoped(scope, help).ok())
                .collect();
            while let Some(done) = turn() {
                note(done as f64 / count.max(1) as f64);
            }
            for helper in helpers {
                if let Err(panic) = helper.join() {
                    resume_unwind(panic);
                }
            }
        });
    }
}
