use super::files::{CPU_FOLDER, SystemFiles};
use super::model::Part;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

/// Kinds are in order of speed, the fastest first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CoreKind {
    rank: usize,
    name: Cow<'static, str>,
}

impl CoreKind {
    pub const PERFORMANCE: Self = Self { rank: 0, name: Cow::Borrowed("performance") };
    pub const EFFICIENCY: Self = Self { rank: 1, name: Cow::Borrowed("efficiency") };
    pub const LOW_POWER: Self = Self { rank: 2, name: Cow::Borrowed("low-power") };
    /// Kinds that differ in speed only.
    const BY_SPEED: [Self; 3] = [Self::PERFORMANCE, Self::EFFICIENCY, Self::LOW_POWER];
}

impl fmt::Display for CoreKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Smallest ratio of the capacities of two kinds. Capacities within a kind differ with the quality of the silicon, and not in the
/// same way on two machines. The Linux scheduler `scx` uses this factor too (sched-ext/scx#2134).
const CAPACITY_GAP: f64 = 1.5;
/// Smallest ratio of two kinds, as in hwloc. The favoured cores of a kind are up to some 5 % faster than the others.
const CLOCK_GAP: f64 = 1.1;

/// Empty if there is only one kind. `parts` has the ARM part of each hardware thread that reports one.
pub fn read_kinds(
    system: &dyn SystemFiles,
    parts: &BTreeMap<usize, Part>,
    threads: &[usize],
) -> BTreeMap<usize, CoreKind> {
    let read_speeds = |file: &str| -> BTreeMap<usize, u64> {
        let speed = |number: &usize| system.read_number(&format!("{CPU_FOLDER}/cpu{number}/{file}"));
        threads.iter().filter_map(|number| Some((*number, speed(number)?))).collect()
    };
    let (capacities, clocks) = (read_speeds("cpu_capacity"), read_speeds("cpufreq/cpuinfo_max_freq"));
    let mut kinds = listed_kinds(system);
    if kinds.is_empty() {
        kinds = kinds_by_part(parts, if capacities.is_empty() { &clocks } else { &capacities });
    }
    if kinds.is_empty() {
        kinds = kinds_by_speed(&capacities, CAPACITY_GAP);
    }
    // The clocks of ARM cores of one part differ with the quality of the silicon, like their capacities.
    if kinds.is_empty() && parts.is_empty() {
        kinds = kinds_by_speed(&clocks, CLOCK_GAP);
    }
    kinds
}

fn listed_kinds(system: &dyn SystemFiles) -> BTreeMap<usize, CoreKind> {
    let members = |(kind, name): (CoreKind, &str)| {
        let numbers = system.read_list(&format!("sys/devices/cpu_{name}/cpus")).unwrap_or_default();
        numbers.into_iter().map(move |number| (number, kind.clone()))
    };
    CoreKind::BY_SPEED.into_iter().zip(["core", "atom", "lowpower"]).flat_map(members).collect()
}

fn kinds_by_part(parts: &BTreeMap<usize, Part>, speeds: &BTreeMap<usize, u64>) -> BTreeMap<usize, CoreKind> {
    let mut fastest: BTreeMap<Part, u64> = BTreeMap::new();
    for (number, part) in parts {
        let fastest = fastest.entry(*part).or_default();
        *fastest = speeds.get(number).copied().unwrap_or(0).max(*fastest);
    }
    if fastest.len() < 2 {
        return BTreeMap::new();
    }
    // Without speeds, later parts count as faster.
    let mut ordered: Vec<Part> = fastest.keys().copied().collect();
    ordered.sort_by_key(|part| Reverse((fastest[part], *part)));
    let kind = |part: &Part| {
        let rank = ordered.iter().position(|other| other == part).unwrap_or(0);
        CoreKind { rank, name: part.name() }
    };
    parts.iter().map(|(number, part)| (*number, kind(part))).collect()
}

/// Divides hardware threads where the sorted speeds have a gap of this factor. Empty if there is none.
fn kinds_by_speed(speeds: &BTreeMap<usize, u64>, gap: f64) -> BTreeMap<usize, CoreKind> {
    let mut sorted: Vec<u64> = speeds.values().copied().collect();
    sorted.sort_unstable();
    let is_gap = |pair: &&[u64]| pair[1] as f64 >= gap * pair[0] as f64;
    // The fastest speed of each kind but the first.
    let limits: Vec<u64> = sorted.windows(2).filter(is_gap).map(|pair| pair[0]).filter(|&speed| speed > 0).collect();
    if limits.is_empty() {
        return BTreeMap::new();
    }
    let kind = |speed: u64| {
        let slower = limits.iter().filter(|&&limit| speed <= limit).count();
        CoreKind::BY_SPEED[slower.min(CoreKind::BY_SPEED.len() - 1)].clone()
    };
    speeds.iter().map(|(number, speed)| (*number, kind(*speed))).collect()
}
