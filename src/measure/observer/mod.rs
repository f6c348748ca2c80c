//! Detection of disturbance from the ranks of a run, by counters of the system while a kernel's clock runs, the core clock, and the
//! canary. A kernel marks its timed region with [`clock_starts`] and [`clock_stops`]. Without these calls, the whole run is
//! observed.

mod canary;
pub mod counters;
pub mod energy;
pub mod host;
mod thread;

use crate::comm::Collectives;
use crate::core_clock::core_hertz;
use crate::hardware::{Hardware, Throttling, this_system};
use apexmap_base::disturbance::{Fact, Facts};
use canary::Canary;
use counters::Counters;
use energy::Energy;
use host::HostWatch;
use std::cell::RefCell;
use std::path::Path;
use thread::ThreadTimes;

/// On every rank.
pub const MEMORY: u64 = canary::TOTAL_BYTES as u64;

thread_local! {
    /// A rank is a thread.
    static OBSERVATION: RefCell<Option<Observation>> = const { RefCell::new(None) };
}

struct Observation {
    counters: Option<Counters>,
    energy: Option<Energy>,
    /// When the run began, with its warm-up.
    begun: Option<ThreadTimes>,
    started: Option<Reading>,
    /// For the latest timed region.
    facts: Option<Facts>,
    /// The canary of the device that the run uses.
    device: Facts,
}

/// Run delay of a whole run, as a share, above which a program shares the core. It can miss a timed region of a millisecond, but has
/// displaced what the warm-up left in the caches.
pub const SHARED_CORE: f64 = 0.1;

struct Reading {
    thread: ThreadTimes,
    joules: Option<f64>,
}

impl Observation {
    fn start(&mut self) {
        let joules = self.energy.as_mut().and_then(Energy::joules);
        self.started = Some(Reading { thread: ThreadTimes::read(), joules });
        if let Some(counters) = &mut self.counters {
            counters.start();
        }
    }

    fn stop(&mut self) {
        // The counters stop first and start last, so that they do not count the other readings.
        let counts = self.counters.as_mut().map(Counters::stop);
        let thread_times = ThreadTimes::read();
        let Some(started) = self.started.take() else { return };
        let mut facts = thread_times.facts_since(&started.thread);
        if let Some(counts) = counts {
            for (fact, count) in counts {
                facts.set(fact, Some(count));
            }
        }
        let joules = self.energy.as_mut().and_then(Energy::joules);
        let long_enough = facts.get(Fact::WatchedSeconds) >= Some(energy::MIN_SECONDS);
        let energy_joules = started.joules.zip(joules).map(|(before, after)| after - before);
        facts.set(Fact::EnergyJoules, energy_joules.filter(|_| long_enough));
        let whole_run = self.begun.as_ref().and_then(|begun| thread_times.facts_since(begun).get(Fact::RunDelayShare));
        if let Some(share) = whole_run.filter(|&share| share > SHARED_CORE) {
            facts.set(Fact::RunDelayShare, facts.get(Fact::RunDelayShare).map(|timed| timed.max(share)));
        }
        self.facts = Some(facts);
    }
}

/// Call it before the barrier that all ranks start from.
pub fn clock_starts() {
    OBSERVATION.with_borrow_mut(|observation| observation.as_mut().into_iter().for_each(Observation::start));
}

pub fn clock_stops() {
    OBSERVATION.with_borrow_mut(|observation| observation.as_mut().into_iter().for_each(Observation::stop));
}

/// A rank that waits for a program has the program's facts.
pub fn replace_facts(facts: Facts) {
    OBSERVATION.with_borrow_mut(|observation| {
        if let Some(observation) = observation {
            let energy = observation.facts.and_then(|own| own.get(Fact::EnergyJoules));
            let mut facts = facts;
            facts.set(Fact::EnergyJoules, energy);
            observation.facts = Some(facts);
        }
    });
}

pub fn add_device_canary(facts: Facts) {
    OBSERVATION
        .with_borrow_mut(|observation| observation.iter_mut().for_each(|observation| observation.device = facts));
}

pub struct Observer {
    canary: Canary,
    /// Only on the first rank of a node, like the node's energy.
    host: Option<HostWatch>,
    throttling: Option<Throttling>,
    throttled_before: Option<f64>,
    canary_facts: Facts,
}

impl Observer {
    pub fn new<C: Collectives>(comm: &C) -> Self {
        let is_first = comm.first_on_node();
        let energy = if is_first { Energy::open(Path::new("/")) } else { None };
        // If ranks share a core, every context switch would have to save and restore the counters.
        let counters = if comm.is_oversubscribed() { None } else { Counters::hardware() };
        let (begun, started, facts, device) = (None, None, None, Facts::default());
        OBSERVATION.set(Some(Observation { counters, energy, begun, started, facts, device }));
        Self {
            canary: Canary::new(),
            host: is_first.then(|| HostWatch::new(comm.ranks_on_node(), Hardware::this_machine().threads.len())),
            throttling: Throttling::find(&this_system()),
            throttled_before: None,
            canary_facts: Facts::default(),
        }
    }

    /// Just before a run. Collective.
    pub fn start_run<C: Collectives>(&mut self, comm: &C) {
        self.canary_facts = self.canary.measure().with_fact(Fact::HertzBefore, core_hertz());
        self.canary_facts.set(Fact::BarrierCanary, canary::barrier_seconds(comm));
        self.throttled_before = self.throttled_seconds();
        OBSERVATION.with_borrow_mut(|observation| {
            if let Some(observation) = observation {
                (observation.facts, observation.device) = (None, Facts::default());
                observation.begun = Some(ThreadTimes::read());
                observation.start();
            }
        });
    }

    /// Just after a run. Returns this rank's facts.
    pub fn finish_run(&mut self) -> Facts {
        let watched_facts = OBSERVATION.with_borrow_mut(|observation| {
            let observation = observation.as_mut()?;
            if observation.facts.is_none() {
                observation.stop();
            }
            Some((observation.facts.take()?, observation.device))
        });
        let (watched_facts, device) = watched_facts.unwrap_or_default();
        let mut facts = watched_facts.with_fact(Fact::HertzAfter, core_hertz());
        for fact in [Fact::DeviceCanary, Fact::DeviceMemoryCanary] {
            facts.set(fact, device.get(fact));
        }
        for fact in [Fact::HertzBefore, Fact::CacheCanary, Fact::MemoryCanary, Fact::BarrierCanary] {
            facts.set(fact, self.canary_facts.get(fact));
        }
        let throttled_times = self.throttled_seconds().zip(self.throttled_before);
        facts
            .set(Fact::ThrottledSeconds, throttled_times.map(|(total_after, total_before)| total_after - total_before));
        if let Some(host) = &mut self.host {
            host.read_if_due();
            facts.set(Fact::StealShare, host.steal_share());
            facts.set(Fact::OtherCores, host.other_cores());
        }
        facts
    }

    fn throttled_seconds(&self) -> Option<f64> {
        self.throttling.as_ref()?.seconds(&this_system())
    }

    /// Some ten milliseconds of the canary's work, for a preflight.
    pub fn run_canary(&mut self) {
        clock_starts();
        self.canary.work(PREFLIGHT_WORK);
        clock_stops();
    }
}

/// Between two observations of a preflight.
const PREFLIGHT_WORK: usize = 100;
