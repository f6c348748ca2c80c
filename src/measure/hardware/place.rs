use super::{CoreKind, HardwareThread};
pub use apexmap_base::place::PlacementOrder;
use std::collections::BTreeMap;

struct Core<'a> {
    first: &'a HardwareThread,
    threads: Vec<usize>,
}

/// In placement order: rank r gets entry r.
pub fn place_ranks(machine: &[HardwareThread], allowed: &[usize], placement_order: PlacementOrder) -> Vec<usize> {
    let mut by_core: BTreeMap<usize, Core> = BTreeMap::new();
    for thread in machine.iter().filter(|thread| allowed.contains(&thread.number)) {
        let core = thread.core.unwrap_or(thread.number);
        by_core.entry(core).or_insert(Core { first: thread, threads: Vec::new() }).threads.push(thread.number);
    }
    let mut kinds: BTreeMap<Option<&CoreKind>, Vec<Core>> = BTreeMap::new();
    for core in by_core.into_values() {
        kinds.entry(core.first.kind.as_ref()).or_default().push(core);
    }
    let order_cores = |cores| {
        if placement_order == PlacementOrder::Spread { round_robin(cores, &CORE_GROUPS) } else { group_by_group(cores) }
    };
    let cores: Vec<Core> = kinds.into_values().flat_map(order_cores).collect();
    if placement_order == PlacementOrder::Smt {
        return cores.into_iter().flat_map(|core| core.threads).collect();
    }
    let max_threads = cores.iter().map(|core| core.threads.len()).max().unwrap_or(0);
    (0..max_threads).flat_map(|turn| cores.iter().filter_map(move |core| core.threads.get(turn).copied())).collect()
}

/// The outermost comes first.
const CORE_GROUPS: [fn(&HardwareThread) -> Option<usize>; 3] = [
    |thread| thread.package,
    |thread| thread.numa_node,
    // The last-level cache, identified by its first hardware thread.
    |thread| thread.caches.last()?.threads.first().copied(),
];

fn group_by_group(mut cores: Vec<Core>) -> Vec<Core> {
    // The sort is stable, so cores of one group stay in the order of their numbers.
    cores.sort_by_key(|core| CORE_GROUPS.map(|group| group(core.first)));
    cores
}

/// Takes one core from each of the outermost groups in turn, and orders the cores within each group by the same rule.
fn round_robin<'a>(cores: Vec<Core<'a>>, groups: &[fn(&HardwareThread) -> Option<usize>]) -> Vec<Core<'a>> {
    let [group, inner_groups @ ..] = groups else { return cores };
    let mut parts: BTreeMap<Option<usize>, Vec<Core>> = BTreeMap::new();
    for core in cores {
        parts.entry(group(core.first)).or_default().push(core);
    }
    let mut parts: Vec<_> = parts.into_values().map(|part| round_robin(part, inner_groups).into_iter()).collect();
    let mut ordered = Vec::new();
    loop {
        let length_before = ordered.len();
        ordered.extend(parts.iter_mut().filter_map(Iterator::next));
        if ordered.len() == length_before {
            return ordered;
        }
    }
}
