//! Placement of ranks and memory, and warnings about it.

use super::prelude::*;
use apexmap_base::provenance::Placement;
use apexmap_results::disk::manifest::{LaunchEnd, SimulatedMachine};
use apexmap_results::disk::one_sided::{BY_MESSAGES, VARIABLE};
use apexmap_run::drive::plan::use_remote_memory;
use std::collections::BTreeSet;

/// Fraction of a rank's pages on other NUMA nodes above which the report warns.
const PAGES_ELSEWHERE: f64 = 0.05;

#[derive(Serialize)]
pub struct PlacedLaunch<'a> {
    end: &'a LaunchEnd,
    placed: String,
}

impl<'a> PlacedLaunch<'a> {
    pub fn from_launch(end: &'a LaunchEnd) -> Self {
        let mut nodes: Vec<(&str, Vec<String>)> = Vec::new();
        for place in &end.launch.placement {
            let number = place.hardware_thread.map_or("?".into(), |number| number.to_string());
            let star = if place.pinned { "" } else { "*" };
            match nodes.iter_mut().find(|(node, _)| *node == place.node) {
                Some((_, numbers)) => numbers.push(number + star),
                None => nodes.push((&place.node, vec![number + star])),
            }
        }
        let node = |(node, numbers): &(&str, Vec<String>)| format!("{node}: {}", numbers.join(" "));
        let placed = nodes.iter().map(node).collect::<Vec<_>>().join("; ");
        let order = end.launch.place.map_or(String::new(), |place| format!(" ({})", place.name()));
        Self { end, placed: placed + &order }
    }
}

pub fn warnings(manifest: &Manifest, samples: &Samples) -> Vec<String> {
    let current: BTreeSet<&str> = samples.words("launch").into_iter().collect();
    let launches: Vec<&LaunchEnd> =
        manifest.launches.iter().filter(|end| current.contains(end.launch.launch.as_str())).collect();
    // Ranks that share a hardware thread are reported as oversubscribed instead.
    let settled: Vec<&LaunchEnd> = launches.iter().copied().filter(|end| !end.launch.oversubscribed).collect();
    let unpinned = name_launches(&settled, |ranks| ranks.iter().any(|rank| !rank.pinned)).map(|launches| {
        format!(
            "Ranks were not pinned to a core in {launches}: the system could move them during the measurement. Let the \
             launcher bind each rank to a core."
        )
    });
    let shared = name_launches(&settled, share_cores).map(|launches| {
        format!("Ranks shared cores in {launches}, each on a separate hardware thread. Rates per rank are not rates per core.")
    });
    let one_machine = name_launches(&launches, |ranks| nodes_on_one_machine(ranks).is_some()).map(|launch_names| {
        let shared_nodes = |end: &&LaunchEnd| nodes_on_one_machine(&end.launch.placement);
        let nodes = launches.iter().find_map(shared_nodes).unwrap_or_default();
        format!(
            "Several nodes are one machine in {launch_names}: {}. Messages between them did not use a network between machines, and \
             their ranks share the processors of the machine.",
            nodes.join(", ")
        )
    });
    let further = warn_by_messages(&launches, samples).into_iter().chain(memory_elsewhere(&launches, samples));
    let node_types = samples.describe_node_types();
    let simulated = manifest.simulated.iter().flat_map(SimulatedMachine::describe_left_out);
    node_types.into_iter().chain(simulated).chain(unpinned).chain(shared).chain(one_machine).chain(further).collect()
}

fn warn_by_messages(launches: &[&LaunchEnd], samples: &Samples) -> Option<String> {
    let used_messages =
        |end: &&&LaunchEnd| end.launch.environment.get(VARIABLE).is_some_and(|component| component == BY_MESSAGES);
    let launches: Vec<&LaunchEnd> = launches.iter().filter(used_messages).copied().collect();
    let names = name_launches(&launches, |_| true).filter(|_| use_remote_memory(samples))?;
    Some(format!(
        "Open MPI implemented gets and puts by messages in {names} ({VARIABLE}={BY_MESSAGES}): their times are those of messages that the \
         other rank answers, and bounds and predictions for remote memory do not apply."
    ))
}

fn name_launches(launches: &[&LaunchEnd], are: impl Fn(&[Placement]) -> bool) -> Option<String> {
    let names: Vec<&str> =
        (launches.iter()).filter(|end| are(&end.launch.placement)).map(|end| end.launch.launch.as_str()).collect();
    match names.as_slice() {
        [] => None,
        [one] => Some(format!("launch {one}")),
        [first, ..] => Some(format!("{} (the first is {first})", plural(names.len(), "launch"))),
    }
}

/// With different names on one kernel, and so on one machine.
fn nodes_on_one_machine(ranks: &[Placement]) -> Option<Vec<String>> {
    let mut nodes = BTreeMap::<&str, BTreeSet<&str>>::new();
    for rank in ranks {
        nodes.entry(rank.machine.as_deref()?).or_default().insert(&rank.node);
    }
    let several = nodes.into_values().find(|nodes| nodes.len() > 1)?;
    Some(several.into_iter().map(str::to_owned).collect())
}

fn share_cores(ranks: &[Placement]) -> bool {
    let mut seen = BTreeSet::new();
    let mut pinned = ranks.iter().filter(|rank| rank.pinned);
    pinned.any(|rank| rank.physical_core.is_some_and(|core| !seen.insert((&rank.node, core))))
}

fn memory_elsewhere(launches: &[&LaunchEnd], samples: &Samples) -> Option<String> {
    let shares = samples.numbers("pages_elsewhere");
    let far = shares.iter().filter(|&&share| share > PAGES_ELSEWHERE).count();
    let most = shares.iter().copied().filter(|share| *share > PAGES_ELSEWHERE).reduce(f64::max)?;
    let ranks = launches.iter().flat_map(|end| end.launch.placement.iter().map(move |rank| (end, rank)));
    let with_memory = ranks.filter_map(|(end, rank)| Some((end, rank.rank, rank.memory.as_ref()?)));
    let example = with_memory
        .max_by(|a, b| a.2.elsewhere.total_cmp(&b.2.elsewhere))
        .filter(|(.., m)| m.elsewhere > PAGES_ELSEWHERE);
    let example = example.map_or(String::new(), |(end, rank, memory)| {
        let launch = &end.launch.launch;
        format!(
            "; rank {rank} of launch {launch} ran on node {}, its memory is on node {}",
            memory.numa_node, memory.memory_node
        )
    });
    Some(format!(
        "Memory of a rank was on another NUMA node than the rank in {far} of {}: up to {:.0} % of its pages{example}. The \
         latencies and bandwidths of these samples are not those of a rank's own memory.",
        plural(samples.len(), "sample"),
        100.0 * most
    ))
}
