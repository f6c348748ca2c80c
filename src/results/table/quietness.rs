//! Decides whether a sample was measured on a quiet machine, from facts that its ranks and its host recorded during the run.

use apexmap_base::disturbance::{Fact, Facts};
use apexmap_base::units::{self, short_number};
use apexmap_theory::statistics::{median, quantile};
use std::fmt;

pub const QUIETNESS: &str = "quietness";
pub const DISTURBED_BY: &str = "disturbed_by";
pub const CONDITIONS: &str = "conditions";

apexmap_base::words! {
    /// Verdict about one sample, about several, or about the machine before them.
    #[derive(PartialOrd, Ord)]
    pub enum Quietness {
        Quiet = "quiet",
        /// The system reports too little, or ranks shared hardware threads.
        Unknown = "unknown",
        /// At least one cause exceeded its limit, and the samples do not show that it costs no time.
        Disturbed = "disturbed",
    }
}

apexmap_base::words! {
    /// Cause of a disturbance, if it costs time (see [`cost`](super::cost)), in the order of evaluation.
    #[derive(PartialOrd, Ord)]
    pub enum Cause {
        RunDelay = "run delay",
        OffCore = "off core",
        Steal = "steal",
        OtherPrograms = "other programs",
        Throttling = "throttling",
        PageFaults = "page faults",
        CoreClock = "core clock",
        CacheCanary = "slow core",
        MemoryCanary = "slow memory",
        BarrierCanary = "barrier time",
        DeviceCanary = "slow device",
    }
}
impl Cause {
    /// Returns whether this is a condition that need not cost time. Before the first sample, only waits and canaries show a cost.
    pub fn is_condition(self) -> bool {
        matches!(self, Self::OtherPrograms | Self::CoreClock)
    }

    /// Returns the amount above which the cause is recorded, and the meaning of the amount.
    const fn about(self) -> (f64, &'static str) {
        match self {
            Cause::RunDelay => {
                (0.01, "share of the run during which another thread had the core of a rank; 0.1 with its warm-up")
            }
            // Higher limit, because the clocks of threads are less exact.
            Cause::OffCore => (0.02, "share of the run during which a rank did not run, for any reason"),
            Cause::Steal => (0.01, "share of the last second that the hypervisor gave to other machines"),
            Cause::OtherPrograms => (0.25, "hardware threads that other programs kept busy in the last second"),
            Cause::Throttling => (0.0, "seconds during which a limit on processor time stopped the ranks"),
            Cause::PageFaults => {
                (0.01, "share of the run spent on page faults, at 0.5 us each; or any page fault that reads a disk")
            }
            Cause::CoreClock => (0.05, "fraction by which the core clock was below that of quiet runs"),
            Cause::CacheCanary => (0.15, "fraction by which the canary in the cache took longer than in quiet runs"),
            Cause::MemoryCanary => (0.5, "fraction by which the canary in memory took longer than in quiet runs"),
            Cause::BarrierCanary => (
                1.0,
                "factor between the time of a barrier of all ranks and that of most runs, longer or shorter, minus 1",
            ),
            Cause::DeviceCanary => (
                0.15,
                "fraction by which a device took longer for its canary than in quiet runs, for arithmetic or for memory",
            ),
        }
    }

    /// Returns the cause in words that need no explanation, without the amount: `other programs were using the cores`.
    pub fn plain_words(self) -> &'static str {
        match self {
            Cause::RunDelay | Cause::OffCore | Cause::OtherPrograms => "other programs were using the cores",
            Cause::Steal => "other virtual machines were using the cores",
            Cause::Throttling => "a limit on processor time stopped the ranks",
            Cause::PageFaults => "the system was loading or clearing pages of memory",
            Cause::CoreClock => "the clock of the cores was lower than in quiet runs",
            Cause::CacheCanary => "the cores were slower than in quiet runs",
            Cause::MemoryCanary => "memory was slower than in quiet runs",
            Cause::BarrierCanary => "the time of a barrier of all ranks changed",
            Cause::DeviceCanary => "the device was slower than in quiet runs",
        }
    }

    /// Returns the amount above which the cause is recorded. It then disturbs, unless the samples show that it costs no time.
    pub fn limit(self) -> f64 {
        self.about().0
    }

    pub fn meaning(self) -> &'static str {
        self.about().1
    }

    /// Describes the cause in a sentence: `a rank did not run for 12 % of the time`.
    pub fn sentence(self, amount: f64) -> String {
        let percent = format!("{:.0} %", 100.0 * amount);
        match self {
            Cause::RunDelay => format!("another thread had the core of a rank for {percent} of the time"),
            Cause::OffCore => format!("a rank did not run for {percent} of the time"),
            Cause::Steal => format!("the hypervisor gave {percent} of the time to other machines"),
            Cause::OtherPrograms => {
                let number = short_number(amount);
                let noun = if number == "1" { "hardware thread" } else { "hardware threads" };
                format!("other programs kept {number} {noun} busy")
            }
            Cause::Throttling => format!("a limit on processor time stopped the ranks for {}", units::seconds(amount)),
            Cause::PageFaults => format!("page faults took about {percent} of the time"),
            Cause::CoreClock => format!("the core clock fell by {percent}"),
            Cause::CacheCanary => format!("a fixed amount of work in the cache took {percent} longer"),
            Cause::MemoryCanary => format!("a fixed number of memory reads took {percent} longer"),
            Cause::BarrierCanary => {
                format!("the time of a barrier changed by a factor of {}", short_number(1.0 + amount))
            }
            Cause::DeviceCanary => format!("a fixed amount of work on the device took {percent} longer"),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Minimum cost of a page fault, in seconds.
const FAULT_SECONDS: f64 = 0.5e-6;

/// The facts that show the speed of the quiet machine, and the quantile of their values that does: the lower quartile of
/// times, the upper one of clocks. For barriers it is the median, because closer ranks are a change, too.
const REFERENCES: [(Fact, f64); 6] = [
    (Fact::CacheCanary, 0.25),
    (Fact::MemoryCanary, 0.25),
    (Fact::HertzBefore, 0.75),
    (Fact::BarrierCanary, 0.5),
    (Fact::DeviceCanary, 0.25),
    (Fact::DeviceMemoryCanary, 0.25),
];
const MIN_REFERENCE_VALUES: usize = 4;

/// Speed of the quiet machine, or its usual speed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reference(Facts);

impl Reference {
    /// Computes the reference from facts of runs on the same host with the same number of ranks.
    pub fn from_facts<'a>(facts: impl IntoIterator<Item = &'a Facts>) -> Self {
        let mut values = ReferenceValues::default();
        facts.into_iter().for_each(|facts| values.add(facts));
        values.reference()
    }

    pub fn get(&self, fact: Fact) -> Option<f64> {
        self.0.get(fact)
    }
}

/// Values for a [`Reference`]: canary times and core clock of each run, in the order of [`REFERENCES`].
#[derive(Clone, Debug, Default)]
pub struct ReferenceValues([Vec<f64>; REFERENCES.len()]);

impl ReferenceValues {
    pub fn add(&mut self, facts: &Facts) {
        REFERENCES.iter().zip(&mut self.0).for_each(|((fact, _), values)| values.extend(facts.get(*fact)));
    }

    pub fn reference(self) -> Reference {
        let mut reference = Facts::default();
        for ((fact, p), mut values) in REFERENCES.into_iter().zip(self.0) {
            values.sort_by(f64::total_cmp);
            reference.set(fact, quantile(&values, p).filter(|_| values.len() >= MIN_REFERENCE_VALUES));
        }
        Reference(reference)
    }
}

/// The amount of each cause in one run, in the order of [`Cause::ALL`]; `None` where the system does not report it.
pub type Amounts = [Option<f64>; Cause::ALL.len()];

/// Returns the amounts of all causes in a run; `None` if it is unknown whether ranks waited, as with shared hardware threads.
pub fn amounts(facts: &Facts, reference: &Reference, oversubscribed: bool) -> Option<Amounts> {
    let watched = facts.get(Fact::WatchedSeconds).filter(|seconds| *seconds > 0.0);
    let wait_share = facts.get(Fact::RunDelayShare).or(facts.get(Fact::OffCoreShare));
    let (Some(watched), Some(_), false) = (watched, wait_share, oversubscribed) else { return None };
    let ratio = |fact| Some(facts.get(fact)? / reference.get(fact)?);
    let slower = |fact| ratio(fact).map(|ratio| ratio - 1.0);
    let fallen = |fact| Some(1.0 - facts.get(fact)? / reference.get(Fact::HertzBefore)?);
    let faults = facts.get(Fact::MinorFaults).map(|faults| (faults * FAULT_SECONDS / watched).min(1.0));
    let read = facts.get(Fact::MajorFaults).filter(|&faults| faults > 0.0).map(|_| 1.0);
    let clock = [fallen(Fact::HertzBefore), fallen(Fact::HertzAfter)].into_iter().flatten().reduce(f64::max);
    let device = [slower(Fact::DeviceCanary), slower(Fact::DeviceMemoryCanary)].into_iter().flatten().reduce(f64::max);
    let is_on_device = facts.get(Fact::DeviceCanary).is_some();
    Some(Cause::ALL.map(|cause| match cause {
        // The host's thread only waits for the device.
        _ if is_on_device && cause != Cause::DeviceCanary => None,
        Cause::RunDelay => facts.get(Fact::RunDelayShare),
        Cause::OffCore => facts.get(Fact::OffCoreShare),
        Cause::Steal => facts.get(Fact::StealShare),
        Cause::OtherPrograms => facts.get(Fact::OtherCores),
        Cause::Throttling => facts.get(Fact::ThrottledSeconds),
        Cause::PageFaults => read.or(faults),
        Cause::CoreClock => clock,
        Cause::CacheCanary => slower(Fact::CacheCanary),
        Cause::MemoryCanary => slower(Fact::MemoryCanary),
        Cause::BarrierCanary => ratio(Fact::BarrierCanary).map(|ratio| ratio.max(1.0 / ratio) - 1.0),
        Cause::DeviceCanary => device,
    }))
}

pub fn causes(facts: &Facts, reference: &Reference, oversubscribed: bool) -> Option<Vec<(Cause, f64)>> {
    let amounts = amounts(facts, reference, oversubscribed)?;
    let over = |(cause, amount): (Cause, Option<f64>)| Some((cause, amount.filter(|&is| is > cause.limit())?));
    Some(Cause::ALL.into_iter().zip(amounts).filter_map(over).collect())
}

pub fn judge<C>(causes: Option<&[C]>) -> Quietness {
    match causes {
        None => Quietness::Unknown,
        Some([]) => Quietness::Quiet,
        Some(_) => Quietness::Disturbed,
    }
}

/// Share of disturbed samples above which they count together as disturbed. Medians are robust against less than half.
pub const DISTURBED_SAMPLES: f64 = 0.25;

/// Returns the verdict about several samples, such as those of a cell or of a result.
pub fn overall_verdict(verdicts: &[Quietness]) -> Quietness {
    let count = |wanted| verdicts.iter().filter(|&&verdict| verdict == wanted).count();
    let known_count = verdicts.len() - count(Quietness::Unknown);
    match count(Quietness::Disturbed) {
        _ if known_count == 0 || 2 * known_count < verdicts.len() => Quietness::Unknown,
        disturbed if disturbed as f64 > DISTURBED_SAMPLES * known_count as f64 => Quietness::Disturbed,
        _ => Quietness::Quiet,
    }
}

/// Returns the causes before a run. Waits are shares of the whole time; others are medians, without single interruptions.
pub fn preflight_causes(canaries: &[Facts], oversubscribed: bool) -> Option<Vec<(Cause, f64)>> {
    let mut middle = Facts::default();
    for &fact in Fact::ALL {
        let values: Vec<f64> = canaries.iter().filter_map(|facts| facts.get(fact)).collect();
        middle.set(fact, median(&values));
    }
    // A thread that shares the core runs for several milliseconds at a time, longer than one observation.
    for fact in [Fact::RunDelayShare, Fact::OffCoreShare] {
        middle.set(fact, whole_share(canaries, fact));
    }
    // The host reports its times with a delay of up to a second.
    for fact in [Fact::StealShare, Fact::OtherCores] {
        middle.set(fact, canaries.last().and_then(|facts| facts.get(fact)));
    }
    causes(&middle, &Reference::from_facts(canaries), oversubscribed)
}

/// Returns a share of the time that all canaries observed together.
fn whole_share(canaries: &[Facts], share: Fact) -> Option<f64> {
    let watched = |facts: &Facts| Some((facts.get(share)?, facts.get(Fact::WatchedSeconds)?));
    let (taken, watched_seconds) =
        canaries.iter().filter_map(watched).fold((0.0, 0.0), |(taken, watched_seconds), (share, seconds)| {
            (taken + share * seconds, watched_seconds + seconds)
        });
    (watched_seconds > 0.0).then(|| taken / watched_seconds)
}
