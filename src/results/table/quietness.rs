//! Whether a sample was measured on a quiet machine: a verdict from the facts that its ranks and its host told.

use apexmap_base::disturbance::{Fact, Facts};
use apexmap_base::units::{self, significant};
use apexmap_theory::statistics::{median, quantile};
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
    BarrierCanary,
}

impl Cause {
    /// All causes, in the order in which they are looked for.
    pub const ALL: [Cause; 10] = [
        Cause::RunDelay,
        Cause::OffCore,
        Cause::Steal,
        Cause::OtherPrograms,
        Cause::Throttling,
        Cause::PageFaults,
        Cause::CoreClock,
        Cause::CacheCanary,
        Cause::MemoryCanary,
        Cause::BarrierCanary,
    ];

    /// As in stores, the amount above which it disturbs, and what that is an amount of.
    const fn about(self) -> (&'static str, f64, &'static str) {
        match self {
            Cause::RunDelay => ("run delay", 0.01, "share of the run in which another thread had the core of a rank"),
            // The clocks of threads are less exact.
            Cause::OffCore => ("off core", 0.02, "share of the run in which a rank did not run, for any reason"),
            Cause::Steal => ("steal", 0.01, "share of the last second that the hypervisor gave to other machines"),
            Cause::OtherPrograms => {
                ("other programs", 0.25, "hardware threads that other programs kept busy in the last second")
            }
            Cause::Throttling => ("throttling", 0.0, "seconds for which a limit of processor time stopped the ranks"),
            Cause::PageFaults => {
                ("page faults", 0.01, "share of the run that page faults took, at 0.5 us each; any that reads a disk")
            }
            Cause::CoreClock => ("core clock", 0.05, "how far the core clock was below that of quiet runs"),
            Cause::CacheCanary => {
                ("slow core", 0.15, "how much longer the canary took in the cache than in quiet runs")
            }
            Cause::MemoryCanary => ("slow memory", 0.5, "how much longer the canary took in memory than in quiet runs"),
            Cause::BarrierCanary => (
                "barrier time",
                1.0,
                "how much longer, or shorter, a barrier of all ranks took than in most runs: the factor less 1",
            ),
        }
    }

    /// As in stores: `run delay`.
    pub fn name(self) -> &'static str {
        self.about().0
    }

    /// The amount above which it disturbs.
    pub fn limit(self) -> f64 {
        self.about().1
    }

    /// What it is an amount of.
    pub fn meaning(self) -> &'static str {
        self.about().2
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
            Cause::BarrierCanary => {
                format!("the time of a barrier changed by a factor of {}", significant(1.0 + amount))
            }
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a page fault costs at least, in seconds.
const FAULT_SECONDS: f64 = 0.5e-6;

/// How fast the machine is when it is quiet: the canary's times and the core clock; of a barrier the usual time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reference {
    pub cache_seconds: Option<f64>,
    pub memory_seconds: Option<f64>,
    pub hertz: Option<f64>,
    pub barrier_seconds: Option<f64>,
}

/// Facts below which there is no reference.
const LEAST: usize = 4;

impl Reference {
    /// From facts of runs on the same host with the same number of ranks.
    pub fn of<'a>(facts: impl IntoIterator<Item = &'a Facts>) -> Self {
        let mut values = ReferenceValues::default();
        facts.into_iter().for_each(|facts| values.add(facts));
        values.reference()
    }
}

/// What a [`Reference`] is made of: of each run its canary's times and its core clock.
#[derive(Clone, Debug, Default)]
pub struct ReferenceValues {
    cache: Vec<f64>,
    memory: Vec<f64>,
    hertz: Vec<f64>,
    barrier: Vec<f64>,
}

impl ReferenceValues {
    /// Counts in another run on the same host with the same number of ranks.
    pub fn add(&mut self, facts: &Facts) {
        self.cache.extend(facts.get(Fact::CacheCanary));
        self.memory.extend(facts.get(Fact::MemoryCanary));
        self.hertz.extend(facts.get(Fact::HertzBefore));
        self.barrier.extend(facts.get(Fact::BarrierCanary));
    }

    /// The lower quartile of the times, the upper quartile of the clocks. Ranks that are nearer to each other than in most runs are
    /// as much of a change as farther ones: of barriers the median.
    pub fn reference(self) -> Reference {
        let at = |mut values: Vec<f64>, p| {
            values.sort_by(f64::total_cmp);
            quantile(&values, p).filter(|_| values.len() >= LEAST)
        };
        Reference {
            cache_seconds: at(self.cache, 0.25),
            memory_seconds: at(self.memory, 0.25),
            hertz: at(self.hertz, 0.75),
            barrier_seconds: at(self.barrier, 0.5),
        }
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
    let barrier = || Some(facts.get(Fact::BarrierCanary)? / reference.barrier_seconds?);
    let amount = |cause| match cause {
        Cause::RunDelay => facts.get(Fact::RunDelayShare),
        Cause::OffCore => facts.get(Fact::OffCoreShare),
        Cause::Steal => facts.get(Fact::StealShare),
        Cause::OtherPrograms => facts.get(Fact::OtherCores),
        Cause::Throttling => facts.get(Fact::ThrottledSeconds),
        Cause::PageFaults => read.or(faults),
        Cause::CoreClock => clock,
        Cause::CacheCanary => slower(Fact::CacheCanary, reference.cache_seconds),
        Cause::MemoryCanary => slower(Fact::MemoryCanary, reference.memory_seconds),
        Cause::BarrierCanary => barrier().map(|ratio| ratio.max(1.0 / ratio) - 1.0),
    };
    let over = |cause: Cause| Some((cause, amount(cause).filter(|&is| is > cause.limit())?));
    Some(Cause::ALL.into_iter().filter_map(over).collect())
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

/// What disturbed the machine before a run, from the facts of each of its canaries: waits as shares of the whole time, of all else
/// the median, so that one interruption in a second is none.
pub fn preflight_causes(canaries: &[Facts], oversubscribed: bool) -> Option<Vec<(Cause, f64)>> {
    let mut middle = Facts::default();
    for &fact in Fact::ALL {
        let values: Vec<f64> = canaries.iter().filter_map(|facts| facts.get(fact)).collect();
        middle.set(fact, median(&values));
    }
    // A thread that shares the core takes turns of some milliseconds, longer than what is watched at a time.
    for fact in [Fact::RunDelayShare, Fact::OffCoreShare] {
        middle.set(fact, whole_share(canaries, fact));
    }
    // The host's own times take a second to be told.
    for fact in [Fact::StealShare, Fact::OtherCores] {
        middle.set(fact, canaries.last().and_then(|facts| facts.get(fact)));
    }
    causes(&middle, &Reference::of(canaries), oversubscribed)
}

/// A share of the time watched by all canaries together.
fn whole_share(canaries: &[Facts], share: Fact) -> Option<f64> {
    let watched = |facts: &Facts| Some((facts.get(share)?, facts.get(Fact::WatchedSeconds)?));
    let (taken, all) = canaries
        .iter()
        .filter_map(watched)
        .fold((0.0, 0.0), |(taken, all), (share, seconds)| (taken + share * seconds, all + seconds));
    (all > 0.0).then(|| taken / all)
}
