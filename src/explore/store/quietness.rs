//! Whether a sample was measured on a quiet machine: a verdict from the facts that its ranks and its host told.

use crate::disturbance::{Fact, Facts};
use crate::measure::numerics::statistics::{median, quantile};
use crate::units::{self, significant};
use std::fmt;

/// The verdict about a sample, some samples, or a machine before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quietness {
    /// Nothing that is watched took more from it than the limits allow.
    Quiet,
    /// The system does not tell enough, or ranks shared hardware threads.
    Unknown,
    /// Something did.
    Disturbed,
}

impl Quietness {
    /// As in stores: `quiet`.
    pub fn name(self) -> &'static str {
        match self {
            Quietness::Quiet => "quiet",
            Quietness::Unknown => "unknown",
            Quietness::Disturbed => "disturbed",
        }
    }

    /// The verdict of a name such as `quiet`.
    pub fn from_name(name: &str) -> Option<Self> {
        [Quietness::Quiet, Quietness::Unknown, Quietness::Disturbed].into_iter().find(|verdict| verdict.name() == name)
    }
}

/// What disturbed a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    RunDelay,
    OffCore,
    Steal,
    OtherPrograms,
    Throttling,
    PageFaults,
    CoreClock,
    CacheCanary,
    MemoryCanary,
}

impl Cause {
    /// As in stores: `run delay`.
    pub fn name(self) -> &'static str {
        match self {
            Cause::RunDelay => "run delay",
            Cause::OffCore => "off core",
            Cause::Steal => "steal",
            Cause::OtherPrograms => "other programs",
            Cause::Throttling => "throttling",
            Cause::PageFaults => "page faults",
            Cause::CoreClock => "core clock",
            Cause::CacheCanary => "slow core",
            Cause::MemoryCanary => "slow memory",
        }
    }

    /// In a sentence: `a rank waited for its core (12 % of the time)`.
    pub fn sentence(self, amount: f64) -> String {
        let percent = format!("{:.0} %", 100.0 * amount);
        match self {
            Cause::RunDelay => format!("another thread had the core of a rank for {percent} of the time"),
            Cause::OffCore => format!("a rank did not run for {percent} of the time"),
            Cause::Steal => format!("the hypervisor gave {percent} of the time to other machines"),
            Cause::OtherPrograms => format!("other programs kept {} hardware threads busy", significant(amount)),
            Cause::Throttling => format!("a limit of processor time stopped the ranks for {}", units::seconds(amount)),
            Cause::PageFaults => format!("page faults took about {percent} of the time"),
            Cause::CoreClock => format!("the core clock fell by {percent}"),
            Cause::CacheCanary => format!("a fixed piece of work in the cache took {percent} longer"),
            Cause::MemoryCanary => format!("a fixed number of reads of memory took {percent} longer"),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Share of a run that waiting for the core, or the hypervisor, may take.
const SHARE: f64 = 0.01;
/// The same where the rank did not run for any reason: clocks of threads are less exact.
const OFF_CORE: f64 = 0.02;
/// Hardware threads that other programs may keep busy.
const OTHER_CORES: f64 = 0.25;
/// What a page fault costs at least, in seconds.
const FAULT_SECONDS: f64 = 0.5e-6;
/// How far the core clock may fall.
const HERTZ: f64 = 0.05;
/// How much longer the canary may take than in the quietest quarter of the samples, in the cache and in memory.
const CACHE: f64 = 0.15;
const MEMORY: f64 = 0.5;

/// How fast the machine is when it is quiet: the canary's times and the core clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reference {
    pub cache_seconds: Option<f64>,
    pub memory_seconds: Option<f64>,
    pub hertz: Option<f64>,
}

/// Facts below which there is no reference.
const LEAST: usize = 4;

impl Reference {
    /// From facts of runs on the same host with the same number of ranks: the lower quartile of the times, the upper quartile
    /// of the clocks.
    pub fn of<'a>(facts: impl IntoIterator<Item = &'a Facts>) -> Self {
        let (mut cache, mut memory, mut hertz) = (Vec::new(), Vec::new(), Vec::new());
        for facts in facts {
            cache.extend(facts.get(Fact::CacheCanary));
            memory.extend(facts.get(Fact::MemoryCanary));
            hertz.extend(facts.get(Fact::HertzBefore));
        }
        let at = |mut values: Vec<f64>, p| {
            values.sort_by(f64::total_cmp);
            quantile(&values, p).filter(|_| values.len() >= LEAST)
        };
        Self { cache_seconds: at(cache, 0.25), memory_seconds: at(memory, 0.25), hertz: at(hertz, 0.75) }
    }
}

/// What disturbed a run, with the amounts that [`Cause::sentence`] takes; nothing if all was quiet. `None` if that is unknown.
/// Ranks that share hardware threads take them from each other: what they wait for is no sign of others.
pub fn causes(facts: &Facts, reference: &Reference, oversubscribed: bool) -> Option<Vec<(Cause, f64)>> {
    let watched = facts.get(Fact::WatchedSeconds);
    let known = facts.get(Fact::RunDelayShare).or(facts.get(Fact::OffCoreShare));
    let (Some(watched), Some(_), false) = (watched, known, oversubscribed) else { return None };
    let slower = |fact, reference: Option<f64>| Some(facts.get(fact)? / reference? - 1.0);
    let fallen = |fact| Some(1.0 - facts.get(fact)? / reference.hertz?);
    let faults = facts.get(Fact::MinorFaults).map(|faults| (faults * FAULT_SECONDS / watched).min(1.0));
    let read = facts.get(Fact::MajorFaults).filter(|&faults| faults > 0.0).map(|_| 1.0);
    let clock = [fallen(Fact::HertzBefore), fallen(Fact::HertzAfter)].into_iter().flatten().reduce(f64::max);
    let amounts = [
        (Cause::RunDelay, facts.get(Fact::RunDelayShare), SHARE),
        (Cause::OffCore, facts.get(Fact::OffCoreShare), OFF_CORE),
        (Cause::Steal, facts.get(Fact::StealShare), SHARE),
        (Cause::OtherPrograms, facts.get(Fact::OtherCores), OTHER_CORES),
        (Cause::Throttling, facts.get(Fact::ThrottledSeconds), 0.0),
        (Cause::PageFaults, read.or(faults), SHARE),
        (Cause::CoreClock, clock, HERTZ),
        (Cause::CacheCanary, slower(Fact::CacheCanary, reference.cache_seconds), CACHE),
        (Cause::MemoryCanary, slower(Fact::MemoryCanary, reference.memory_seconds), MEMORY),
    ];
    let over = |(cause, amount, limit): (Cause, Option<f64>, f64)| Some((cause, amount.filter(|&is| is > limit)?));
    Some(amounts.into_iter().filter_map(over).collect())
}

/// The verdict of causes.
pub fn judge(causes: Option<&[(Cause, f64)]>) -> Quietness {
    match causes {
        None => Quietness::Unknown,
        Some([]) => Quietness::Quiet,
        Some(_) => Quietness::Disturbed,
    }
}

/// Share of disturbed samples from which several together are called disturbed: medians withstand less than half.
const DISTURBED_SAMPLES: f64 = 0.25;

/// The verdict about several samples, such as those of a cell or of a result.
pub fn together(verdicts: &[Quietness]) -> Quietness {
    let count = |wanted| verdicts.iter().filter(|&&verdict| verdict == wanted).count();
    let known = verdicts.len() - count(Quietness::Unknown);
    match count(Quietness::Disturbed) {
        _ if known == 0 || 2 * known < verdicts.len() => Quietness::Unknown,
        disturbed if disturbed as f64 > DISTURBED_SAMPLES * known as f64 => Quietness::Disturbed,
        _ => Quietness::Quiet,
    }
}

/// What disturbed the machine before a run, from the facts of each of its canaries: the median of what each tells, so that
/// one interruption in a second is none.
pub fn preflight_causes(canaries: &[Facts], oversubscribed: bool) -> Option<Vec<(Cause, f64)>> {
    let mut middle = Facts::default();
    for &fact in Fact::ALL {
        let values: Vec<f64> = canaries.iter().filter_map(|facts| facts.get(fact)).collect();
        middle.set(fact, median(&values));
    }
    // The host's own times take a second to be told.
    for fact in [Fact::StealShare, Fact::OtherCores] {
        middle.set(fact, canaries.last().and_then(|facts| facts.get(fact)));
    }
    causes(&middle, &Reference::of(canaries), oversubscribed)
}
