//! Compares the command lines of all launchers for the same jobs with `recorded/command-lines.txt`, byte for byte.

use apexmap_measure::hardware::PlacementOrder;
use apexmap_run::launch::registry::LAUNCHERS;
use apexmap_run::launch::{LaunchJob, LocalMachine};

/// Commands of the launcher `custom`.
const CUSTOM: [&[&str]; 2] = [
    &["x", "-n{ranks}", "-N", "{nodes}", "-r{ranks_per_node}", "-H{hosts}", "{worker}", "{arguments}"],
    &["x", "{{ranks}}", "{other}", "}}{", "{ranks}x{ranks}", "--{arguments}", "{arguments}", "{worker}", "{hosts}"],
];

/// Returns a job with these ranks, nodes, ranks per node, hosts and place, on a machine of one package with four cores
/// of two hardware threads each.
fn job(
    ranks: usize,
    nodes: Option<usize>,
    ranks_per_node: Option<usize>,
    hosts: &[&str],
    place: Option<PlacementOrder>,
) -> LaunchJob {
    LaunchJob {
        program: "PROGRAM".into(),
        worker: "/a pex/{ranks}".into(),
        arguments: ["worker", "--job", "{hosts}"].map(String::from).to_vec(),
        ranks,
        nodes,
        ranks_per_node,
        hosts: hosts.iter().map(|host| host.to_string()).collect(),
        place,
        variables: Vec::new(),
        machine: LocalMachine { cores: 4, hardware_threads: 8, packages: 1, nodes: 1, allocated: false, root: false },
    }
}

/// Runs the job as root, with variables, in an allocation of four nodes of two packages.
fn with_allocation(mut job: LaunchJob) -> LaunchJob {
    (job.machine.nodes, job.machine.packages, job.machine.root) = (4, 2, true);
    job.variables = ["OMPI_MCA_btl", "UCX_TLS"].map(String::from).to_vec();
    job
}

/// Returns the jobs. Those with a place are for launchers that support it.
fn jobs(places: &[PlacementOrder]) -> Vec<LaunchJob> {
    let hosts = &["a", "b", "c"];
    let mut jobs: Vec<LaunchJob> = [1, 4, 8, 9].map(|ranks| job(ranks, None, None, &[], None)).to_vec();
    jobs.push(job(12, Some(4), Some(3), &[], None));
    jobs.extend([4, 8, 9].map(|each| job(64, None, Some(each), &[], None)));
    jobs.push(job(2, None, None, hosts, None));
    jobs.push(job(4, Some(2), Some(2), hosts, None));
    jobs.extend([3, 16, 64].map(|ranks| with_allocation(job(ranks, None, None, &[], None))));
    for place in places {
        jobs.extend([3, 5, 9].map(|ranks| job(ranks, None, None, &[], Some(*place))));
        jobs.extend([2, 3, 6].map(|each| with_allocation(job(12, Some(12 / each), Some(each), hosts, Some(*place)))));
    }
    jobs
}

/// Returns the properties of every launcher and its command lines for the jobs.
fn lines() -> String {
    let mut text = String::new();
    for entry in LAUNCHERS.iter() {
        let commands: &[&[&str]] = if entry.takes_command { &CUSTOM } else { &[&[]] };
        for command in commands {
            let command: Vec<String> = command.iter().map(|word| word.to_string()).collect();
            let launcher = (entry.make)(&command).expect("a launcher");
            for job in jobs(&launcher.places()) {
                let line = launcher.command(&job);
                let environment: String = line.env.iter().map(|(name, value)| format!("{name}={value} ")).collect();
                text.push_str(&format!("{}: {environment}{}\n", entry.id, line.argv.join("|")));
            }
            text.push_str(&format!(
                "{}: {:?} {:?} {:?}\n",
                entry.id,
                launcher.programs(),
                launcher.install(),
                launcher.takes_hosts()
            ));
        }
        text.push_str(&format!(
            "{:?} {:?} {:?} {:?} {:?}\n",
            entry.summary, entry.transport, entry.remote, entry.allocation, entry.takes_command
        ));
    }
    text
}

#[test]
fn command_lines_match_the_recorded_ones() {
    let (recorded, lines) = (include_str!("recorded/command-lines.txt"), lines());
    for (recorded, line) in recorded.lines().zip(lines.lines()) {
        assert_eq!(line, recorded);
    }
    assert_eq!(lines.lines().count(), recorded.lines().count());
}
