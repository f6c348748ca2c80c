//! Disturbance facts: counters about one run that the system reports, combined over all ranks.

use crate::units::Unit;
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// How the values of several ranks combine into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    Largest,
    Smallest,
    Sum,
}

#[derive(Clone, Copy, Debug)]
pub struct FactInfo {
    pub column: &'static str,
    pub unit: Unit,
    pub meaning: &'static str,
    pub reduction: Reduction,
}

macro_rules! facts {
    ($($(#[$doc:meta])* $name:ident, $column:literal, $unit:ident, $reduction:ident, $meaning:literal;)*) => {
        /// A quantity that is recorded while a kernel's clock runs, or just before and after.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fact {
            $($(#[$doc])* $name,)*
        }

        impl Fact {
            pub const ALL: &[Fact] = &[$(Fact::$name),*];
            const INFO: &[FactInfo] =
                &[$(FactInfo { column: $column, unit: Unit::$unit, meaning: $meaning, reduction: Reduction::$reduction }),*];
        }
    };
}

facts! {
    WatchedSeconds, "watched_seconds", Seconds, Largest, "time over which switches, faults and waits were counted";
    OffCoreShare, "off_core_share", None, Largest,
        "share of that time that a rank spent off its core, on the rank that ran least";
    RunDelayShare, "run_delay_share", None, Largest,
        "share of that time that a rank waited for its core, which ran another thread, on the rank that waited longest";
    InvoluntarySwitches, "involuntary_switches", None, Sum, "how often the system took the core from a rank";
    VoluntarySwitches, "voluntary_switches", None, Sum, "how often a rank gave up its core";
    MinorFaults, "minor_faults", None, Sum, "page faults without input or output";
    MajorFaults, "major_faults", None, Sum, "page faults that read from a disk";
    Moves, "moved_ranks", None, Sum, "ranks that ended on another hardware thread than they began on";
    ThrottledSeconds, "throttled_seconds", Seconds, Largest, "time for which a control group's limit stopped the process";
    StealShare, "steal_share", None, Largest,
        "share of a host's time that the hypervisor gave to others, in about a second before the run's end";
    OtherCores, "other_cores", None, Largest,
        "hardware threads of a host kept busy by other programs, in about a second before the run's end";
    HertzBefore, "core_hertz_before", Hertz, Smallest, "core clock just before the run, on the slowest rank's core";
    HertzAfter, "core_hertz_after", Hertz, Smallest, "core clock just after the run, on the slowest rank's core";
    CacheCanary, "canary_cache_seconds", Seconds, Largest,
        "time of a fixed piece of work in the first-level cache just before the run, on the slowest rank";
    MemoryCanary, "canary_memory_seconds", Seconds, Largest,
        "time of a fixed number of random reads of memory just before the run, on the slowest rank";
    BarrierCanary, "canary_barrier_seconds", Seconds, Smallest,
        "time of a barrier of all ranks just before the run: how far the ranks are from each other";
    DeviceCanary, "canary_device_seconds", Seconds, Largest,
        "time of a fixed amount of arithmetic on a device just before the run, on the slowest device";
    DeviceMemoryCanary, "canary_device_memory_seconds", Seconds, Largest,
        "time of reading 64 MiB of a device's memory just before the run, on the slowest device";
    EnergyJoules, "energy_joules", None, Sum, "energy of the packages of all nodes while the clock ran, in joules";
    CoreCycles, "core_cycles", Cycles, Sum, "core cycles while the clock ran, by hardware counters";
    CacheMisses, "cache_misses", None, Sum, "last-level cache misses while the clock ran, by hardware counters";
    TlbMisses, "tlb_misses", None, Sum, "data TLB read misses while the clock ran, by hardware counters";
}

impl Fact {
    pub const COUNT: usize = Fact::ALL.len();

    pub fn info(self) -> &'static FactInfo {
        &Self::INFO[self as usize]
    }

    fn from_column(column: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|fact| fact.info().column == column)
    }
}

/// The facts about one run. A fact that the system does not report is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Facts([Option<f64>; Fact::COUNT]);

impl Facts {
    pub fn get(&self, fact: Fact) -> Option<f64> {
        self.0[fact as usize]
    }

    /// Sets a fact. Numbers that are not finite, such as a speed by a coarse clock, are absent: JSON has no form for them.
    pub fn set(&mut self, fact: Fact, value: Option<f64>) {
        self.0[fact as usize] = value.filter(|value| value.is_finite());
    }

    pub fn with_fact(mut self, fact: Fact, value: f64) -> Self {
        self.set(fact, Some(value));
        self
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    pub fn to_words(&self) -> [u64; Fact::COUNT] {
        self.0.map(|value| value.unwrap_or(f64::NAN).to_bits())
    }

    /// Combines the facts of all ranks from their words. If a fact is absent on some ranks, the others determine it.
    pub fn combine_ranks(words: &[u64]) -> Self {
        let mut combined = Self::default();
        for rank in words.chunks_exact(Fact::COUNT) {
            for (&fact, &word) in Fact::ALL.iter().zip(rank) {
                let value = f64::from_bits(word);
                let combined_value = match (combined.get(fact), fact.info().reduction) {
                    _ if value.is_nan() => continue,
                    (None, _) => value,
                    (Some(other), Reduction::Largest) => other.max(value),
                    (Some(other), Reduction::Smallest) => other.min(value),
                    (Some(other), Reduction::Sum) => other + value,
                };
                combined.set(fact, Some(combined_value));
            }
        }
        combined
    }
}

impl Serialize for Facts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for &fact in Fact::ALL {
            if let Some(value) = self.get(fact) {
                map.serialize_entry(fact.info().column, &value)?;
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Facts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FactsVisitor;
        impl<'de> Visitor<'de> for FactsVisitor {
            type Value = Facts;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("numbers by the names of facts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Facts, A::Error> {
                let mut facts = Facts::default();
                while let Some((ColumnFact(fact), value)) = map.next_entry::<ColumnFact, f64>()? {
                    if let Some(fact) = fact {
                        facts.set(fact, Some(value));
                    }
                }
                Ok(facts)
            }
        }
        deserializer.deserialize_map(FactsVisitor)
    }
}

/// The fact with a column's name; `None` for a fact that only a later version knows.
struct ColumnFact(Option<Fact>);

impl<'de> Deserialize<'de> for ColumnFact {
    /// Borrows the name instead of copying it, because a result may contain millions of them.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;
        impl Visitor<'_> for NameVisitor {
            type Value = ColumnFact;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("the name of a fact")
            }

            fn visit_str<E>(self, column: &str) -> Result<ColumnFact, E> {
                Ok(ColumnFact(Fact::from_column(column)))
            }
        }
        deserializer.deserialize_str(NameVisitor)
    }
}
