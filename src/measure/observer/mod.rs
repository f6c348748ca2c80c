//! Detection of disturbance from the ranks of a run. It records what the system counts while a kernel's clock runs, the core
//! clock before and after, and the canary: before each run a short, fixed piece of work in the first-level cache and in memory,
//! and barriers.
//!
//! A kernel marks its timed region with [`clock_starts`] and [`clock_stops`]. Without these calls, the whole run is observed.

mod canary;
pub mod counters;
pub mod energy;
pub mod host;
mod thread;

use crate::comm::Collectives;
use crate::hardware::{Below, Hardware, Throttling};
use apexmap_base::disturbance::{Fact, Facts};
use canary::Canary;
use counters::Counters;
use energy::Energy;
use host::HostWatch;
use std::cell::RefCell;
use std::path::Path;
use thread::ThreadTimes;

/// Bytes that the observation takes on every rank.
pub const MEMORY: u64 = canary::MEMORY as u64;

thread_local! {
    /// The observation of this thread; a rank is a thread.
    static WATCH: RefCell<Option<Watch>> = const { RefCell::new(None) };
}

/// The counters of one rank while its clock runs.
struct Watch {
    counters: Option<Counters>,
    energy: Option<Energy>,
    started: Option<Reading>,
    /// The facts of the latest timed region.
    facts: Option<Facts>,
}

struct Reading {
    thread: ThreadTimes,
    joules: Option<f64>,
}

impl Watch {
    fn start(&mut self) {
        let joules = self.energy.as_mut().and_then(Energy::joules);
        self.started = Some(Reading { thread: ThreadTimes::now(), joules });
        if let Some(counters) = &mut self.counters {
            counters.start();
        }
    }

    fn stop(&mut self) {
        let counts = self.counters.as_mut().map(Counters::stop);
        let now = ThreadTimes::now();
        let Some(started) = self.started.take() else { return };
        let mut facts = now.since(&started.thread);
        if let Some(counts) = counts {
            for (fact, count) in counts {
                facts.set(fact, Some(count));
            }
        }
        let joules = self.energy.as_mut().and_then(Energy::joules);
        let long_enough = facts.get(Fact::WatchedSeconds) >= Some(energy::LEAST_SECONDS);
        let spent = started.joules.zip(joules).map(|(before, after)| after - before);
        facts.set(Fact::EnergyJoules, spent.filter(|_| long_enough));
        self.facts = Some(facts);
    }
}

/// Starts the counters of this rank. Call it before the barrier that all ranks start from.
pub fn clock_starts() {
    WATCH.with_borrow_mut(|watch| watch.as_mut().into_iter().for_each(Watch::start));
}

/// Stops the counters of this rank after the timed region.
pub fn clock_stops() {
    WATCH.with_borrow_mut(|watch| watch.as_mut().into_iter().for_each(Watch::stop));
}

/// Observes the runs of one rank.
pub struct Observer {
    canary: Canary,
    /// Only on the first rank of a node, like the node's energy.
    host: Option<HostWatch>,
    throttling: Option<Throttling>,
    throttled: Option<f64>,
    before: Facts,
}

impl Observer {
    /// Creates the observer of the calling rank.
    pub fn new<C: Collectives>(comm: &C) -> Self {
        let first = comm.first_on_node();
        let energy = if first { Energy::open(Path::new("/")) } else { None };
        // If ranks share a core, every context switch would have to save and restore the counters.
        let counters = if comm.oversubscribed() { None } else { Counters::hardware() };
        WATCH.set(Some(Watch { counters, energy, started: None, facts: None }));
        Self {
            canary: Canary::new(),
            host: first.then(|| HostWatch::new(comm.ranks_on_node(), Hardware::here().threads.len())),
            throttling: Throttling::find(&Below(Path::new("/"))),
            throttled: None,
            before: Facts::default(),
        }
    }

    /// Starts the observation just before a run. Collective.
    pub fn before<C: Collectives>(&mut self, comm: &C) {
        self.before = self.canary.facts().with(Fact::HertzBefore, canary::core_hertz());
        self.before.set(Fact::BarrierCanary, canary::barrier_seconds(comm));
        self.throttled = self.throttled_seconds();
        WATCH.with_borrow_mut(|watch| {
            if let Some(watch) = watch {
                watch.facts = None;
                watch.start();
            }
        });
    }

    /// Ends the observation just after a run, and returns this rank's facts.
    pub fn after(&mut self) -> Facts {
        let watched = WATCH.with_borrow_mut(|watch| {
            let watch = watch.as_mut()?;
            if watch.facts.is_none() {
                watch.stop();
            }
            watch.facts.take()
        });
        let mut facts = watched.unwrap_or_default().with(Fact::HertzAfter, canary::core_hertz());
        for fact in [Fact::HertzBefore, Fact::CacheCanary, Fact::MemoryCanary, Fact::BarrierCanary] {
            facts.set(fact, self.before.get(fact));
        }
        let throttled = self.throttled_seconds().zip(self.throttled);
        facts.set(Fact::ThrottledSeconds, throttled.map(|(now, before)| now - before));
        if let Some(host) = &mut self.host {
            host.look();
            facts.set(Fact::StealShare, host.steal_share());
            facts.set(Fact::OtherCores, host.other_cores());
        }
        facts
    }

    fn throttled_seconds(&self) -> Option<f64> {
        self.throttling.as_ref()?.seconds(&Below(Path::new("/")))
    }

    /// Observes some ten milliseconds of the canary's work, for a preflight.
    pub fn work(&mut self) {
        clock_starts();
        self.canary.work(PREFLIGHT_WORK);
        clock_stops();
    }
}

/// Repetitions of the canary's work between two observations of a preflight.
const PREFLIGHT_WORK: usize = 100;
