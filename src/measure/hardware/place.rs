//! The choice of a hardware thread for each rank.

use super::{HardwareThread, Kind};
pub use apexmap_base::place::Place;
use std::collections::BTreeMap;

/// A core with its allowed hardware threads.
struct Core<'a> {
    first: &'a HardwareThread,
    threads: Vec<usize>,
}

/// Returns the `allowed` hardware threads of a machine in placement order: rank r gets entry r.
pub fn order(machine: &[HardwareThread], allowed: &[usize], place: Place) -> Vec<usize> {
    let mut by_core: BTreeMap<usize, Core> = BTreeMap::new();
    for thread in machine.iter().filter(|thread| allowed.contains(&thread.number)) {
        let core = thread.core.unwrap_or(thread.number);
        by_core.entry(core).or_insert(Core { first: thread, threads: Vec::new() }).threads.push(thread.number);
    }
    let mut kinds: BTreeMap<Option<Kind>, Vec<Core>> = BTreeMap::new();
    for core in by_core.into_values() {
        kinds.entry(core.first.kind).or_default().push(core);
    }
    let cores = |cores| if place == Place::Spread { in_turn(cores, &GROUPS) } else { one_after_other(cores) };
    let cores: Vec<Core> = kinds.into_values().flat_map(cores).collect();
    if place == Place::Smt {
        return cores.into_iter().flat_map(|core| core.threads).collect();
    }
    let most = cores.iter().map(|core| core.threads.len()).max().unwrap_or(0);
    (0..most).flat_map(|turn| cores.iter().filter_map(move |core| core.threads.get(turn).copied())).collect()
}

/// Resources that cores share, from the outermost to the innermost.
const GROUPS: [fn(&HardwareThread) -> Option<usize>; 3] = [
    |thread| thread.package,
    |thread| thread.numa_node,
    // The last-level cache, identified by its first hardware thread.
    |thread| thread.caches.last()?.threads.first().copied(),
];

fn one_after_other(mut cores: Vec<Core>) -> Vec<Core> {
    // The sort is stable, so cores of one group stay in the order of their numbers.
    cores.sort_by_key(|core| GROUPS.map(|group| group(core.first)));
    cores
}

/// Takes one core from each of the outermost groups in turn, and orders the cores within each group by the same rule.
fn in_turn<'a>(cores: Vec<Core<'a>>, groups: &[fn(&HardwareThread) -> Option<usize>]) -> Vec<Core<'a>> {
    let [group, within @ ..] = groups else { return cores };
    let mut parts: BTreeMap<Option<usize>, Vec<Core>> = BTreeMap::new();
    for core in cores {
        parts.entry(group(core.first)).or_default().push(core);
    }
    let mut parts: Vec<_> = parts.into_values().map(|part| in_turn(part, within).into_iter()).collect();
    let mut all = Vec::new();
    loop {
        let before = all.len();
        all.extend(parts.iter_mut().filter_map(Iterator::next));
        if all.len() == before {
            return all;
        }
    }
}
