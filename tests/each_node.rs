//! Tests sweeps that each node runs alone: which nodes are measured, by which jobs, and which ones are named as slow.

use super::browser;
use super::common::{self, Scratch, launch, manifest, refusal_message, sample, small_point, successful_stdout};
use super::submit::LoginNode;
use apexmap_base::point::{LaunchSize, NodeName};
use apexmap_base::sample::{Event, Sample, Status};
use apexmap_results::disk::Folder;
use apexmap_results::disk::record::Record;
use apexmap_results::disk::tabulate::tabulate;
use apexmap_results::samples::Samples;
use apexmap_results::table::Table;
use apexmap_run::campaign::each_node::EachNode;
use apexmap_run::drive::faults;
use apexmap_run::launch::{self, LaunchJob, LocalMachine};
use apexmap_study::nodes::{self, MIN_DIFFERENCE, NodeCheck};
use apexmap_theory::statistics::outliers;
use rand::SeedableRng;
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64;
use std::path::Path;

/// A node of a simulated cluster: its name, its processor, and the time of its samples at each point relative to the other nodes.
struct Node {
    name: String,
    cpu: &'static str,
    slowdown: f64,
}

fn node(name: &str, slowdown: f64) -> Node {
    Node { name: name.into(), cpu: "Example CPU", slowdown }
}

/// Returns nodes whose times differ by up to 0.6 %.
fn steady_nodes(count: usize) -> Vec<Node> {
    (1..=count).map(|number| node(&format!("n{number:02}"), 1.0 + 0.002 * (number * 7 % 4) as f64)).collect()
}

const BLOCKS: [u64; 2] = [1, 64];

/// Returns the table of these nodes, with six samples of two points each. `seconds` changes the time of a sample, from the node, L
/// and the repetition.
fn table(nodes: &[Node], seconds: impl Fn(&Node, u64, u32) -> f64) -> Table {
    let record = |(index, node): (usize, &Node)| {
        let mut launch = launch(&format!("{index:04}"), 1, "b1");
        (launch.host.name, launch.host.cpu_model) = (node.name.clone(), node.cpu.into());
        let of_point = |block: u64| {
            let point = small_point("apex_map.sequential", 1).with_parameter("L", block);
            let point = point.with_parameter("node", node.name.as_str());
            let key = format!("{}-{block}", node.name);
            (0..6).map(|run| sample(&point, &key, run, seconds(node, block, run))).collect::<Vec<Sample>>()
        };
        let samples = BLOCKS.into_iter().flat_map(of_point).collect();
        Record { launch: Some(launch), samples, ..Record::default() }
    };
    tabulate(&nodes.iter().enumerate().map(record).collect::<Vec<_>>(), |_| true)
}

/// The time of a sample: it varies by 0.1 % between runs.
fn usual_time(node: &Node, block: u64, run: u32) -> f64 {
    block as f64 * node.slowdown * (1.0 + 0.001 * f64::from(run * 5 % 6))
}

fn check(nodes: &[Node]) -> NodeCheck {
    nodes::compare(&Samples::from(table(nodes, usual_time))).expect("columns")
}

#[test]
fn the_statistic_has_its_known_values() {
    // The manual of R, help page of mad: mad(c(1:9)) = 2.9652, also with 100 in place of 9.
    let nine: Vec<f64> = (1..=9).map(f64::from).collect();
    let outlier: Vec<f64> = (1..=8).map(f64::from).chain([100.0]).collect();
    for values in [nine, outlier] {
        // The median of both is 5.
        let residuals: Vec<f64> = values.iter().map(|value| value - 5.0).collect();
        let deviation = outliers::median_deviation(&residuals);
        assert!((1.4826 * deviation - 2.9652).abs() < 1e-12, "{deviation}");
    }
    // Factors of Croux and Rousseeuw (1992), as in the package robustbase of R: 1.363 for 4 values, n / (n - 0.8) from 10 on.
    for (count, factor) in [(4, 1.363), (9, 1.107), (10, 10.0 / 9.2), (100, 100.0 / 99.2)] {
        assert!((outliers::deviation_factor(count) / 1.4826 - factor).abs() < 1e-12, "{count}");
    }
    // R: qnorm(1 - 0.05 / 1000) = 3.890592; few comparisons keep the limit of Iglewicz and Hoaglin.
    assert!((outliers::limit(1000) - 3.890592).abs() < 1e-6, "{}", outliers::limit(1000));
    assert_eq!(outliers::limit(20), 3.5);
}

#[test]
fn a_slow_node_is_named_and_the_others_are_not() {
    for count in [4, 5, 40] {
        let mut nodes = steady_nodes(count);
        assert_eq!(check(&nodes).slow_nodes(), Vec::<&str>::new(), "{count}");
        nodes[2].slowdown = 1.25;
        let check = check(&nodes);
        assert_eq!(check.slow_nodes(), ["n03"], "{count}");
        assert_eq!(check.sentence(), format!("1 of {count} nodes is slow: n03"));
        let row = &check.nodes[0];
        assert_eq!((row.node.as_str(), row.points, row.slow_points, row.samples), ("n03", 2, 2, 12));
        assert!((row.difference.expect("a difference") + 0.2).abs() < 0.005, "{row:?}");
        // A fast node is no fault.
        nodes[2].slowdown = 0.8;
        assert_eq!(self::check(&nodes).slow_nodes(), Vec::<&str>::new(), "{count}");
    }
    let three = check(&steady_nodes(3));
    assert!(!three.is_decided() && three.sentence().contains("too few"), "{}", three.sentence());
}

#[test]
fn differences_that_are_small_usual_or_uncertain_are_no_fault() {
    // 4 % of nodes that agree within 0.6 %: below the practical limit.
    let mut nodes = steady_nodes(20);
    nodes[2].slowdown = 1.04;
    assert!(check(&nodes).slow_nodes().is_empty());
    assert_eq!(MIN_DIFFERENCE, 0.05);
    // 12 % of nodes that differ by 10 % anyway.
    let mut nodes = steady_nodes(20);
    nodes.iter_mut().enumerate().for_each(|(index, node)| node.slowdown = 1.0 + 0.01 * (index % 11) as f64);
    nodes[2].slowdown = 1.17;
    assert!(check(&nodes).slow_nodes().is_empty());
    // A node whose samples are partly as fast as those of the others: its interval reaches their median.
    let nodes = steady_nodes(20);
    let time = |node: &Node, block: u64, run: u32| {
        let factor = if node.name == "n03" && run > 0 { 1.5 } else { 1.0 };
        usual_time(node, block, run) * factor
    };
    let check = nodes::compare(&Samples::from(table(&nodes, time))).expect("columns");
    assert!(check.slow_nodes().is_empty() && check.nodes[0].node == "n03", "{:?}", check.nodes[0]);
}

#[test]
fn a_node_is_compared_only_with_nodes_of_its_type() {
    let mut nodes = steady_nodes(12);
    nodes[6..].iter_mut().for_each(|node| (node.cpu, node.slowdown) = ("Older CPU", 2.0 * node.slowdown));
    let check = check(&nodes);
    assert!(check.slow_nodes().is_empty() && check.has_types(), "{}", check.sentence());
    nodes[7].slowdown *= 1.3;
    assert_eq!(self::check(&nodes).slow_nodes(), ["n08"]);
    // A single node of a type is listed, and not judged.
    nodes.truncate(7);
    let check = self::check(&nodes);
    assert!(check.slow_nodes().is_empty() && check.nodes.len() == 7);
}

#[test]
fn equal_nodes_are_rarely_called_slow_even_if_they_vary_much() {
    let mut random = Pcg64::seed_from_u64(5);
    let spread = Normal::new(0.0, 0.2).expect("a distribution");
    for count in [4, 5, 6, 12] {
        let mut false_alarms = 0;
        const SWEEPS: usize = 300;
        for _ in 0..SWEEPS {
            let nodes = steady_nodes(count);
            let times: Vec<f64> = (0..2 * count).map(|_| f64::exp(spread.sample(&mut random))).collect();
            let time = |node: &Node, block: u64, _: u32| {
                let index: usize = node.name[1..].parse().expect("a number");
                times[2 * (index - 1) + usize::from(block > 1)]
            };
            let check = nodes::compare(&Samples::from(table(&nodes, time))).expect("columns");
            false_alarms += usize::from(!check.slow_nodes().is_empty());
        }
        assert!(false_alarms <= SWEEPS / 8, "{false_alarms} of {SWEEPS} sweeps of {count} nodes");
    }
}

/// Writes a result of these nodes, as a copy without journals.
fn write_result(scratch: &Scratch, nodes: &[Node]) -> String {
    let folder = Folder::create(&scratch.join("result")).expect("a folder");
    common::write(&folder, &table(nodes, usual_time));
    manifest().write(&folder).expect("a manifest");
    folder.path.display().to_string()
}

#[test]
fn the_report_names_slow_nodes_and_hostile_names_stay_text() {
    let scratch = Scratch::new();
    let mut nodes = steady_nodes(30);
    (nodes[2].slowdown, nodes[9].slowdown) = (1.25, 1.5);
    nodes[9].name = "<b id=\"evil\">n10".into();
    let path = write_result(&scratch, &nodes);
    let shown = successful_stdout(&["report", &path]);
    assert!(shown.contains("2 of 30 nodes are slow: <b id=\"evil\">n10, n03"), "{shown}");
    assert!(shown.contains("n03               -19.7 %  2 of 2   -19.7 % at L = 1\n"), "{shown}");
    assert!(shown.contains("and 10 nodes that are faster"), "{shown}");
    let page = std::fs::read_to_string(scratch.join("result/report.html")).expect("a page");
    assert!(page.contains("2 of 30 nodes are slow: &lt;b id=&quot;evil&quot;&gt;n10, n03"), "no verdict");
    assert!(!page.contains("<b id=\"evil\">"), "a name became markup");
    for file in ["nodes", "nodes-1", "nodes-2"] {
        let svg = std::fs::read_to_string(scratch.join(format!("result/figures/{file}.svg"))).expect("a figure");
        let names: Vec<&str> = svg.lines().filter(|line| line.starts_with('n')).collect();
        assert_eq!(names.iter().filter(|name| **name == "n03").count(), 1, "{file}: {names:?}");
        assert!(!names.contains(&"n04"), "{file}: {names:?}");
    }
    // The page can be drawn again from the data in it.
    let again = scratch.join("again.html").display().to_string();
    successful_stdout(&["report", &scratch.join("result/report.html").display().to_string(), "--out", &again]);
    assert!(std::fs::read_to_string(&again).expect("a page").contains("Drawn again by apexmap"));
}

#[test]
fn the_page_of_nodes_is_usable_in_a_browser() {
    needs!(Browser);
    let scratch = Scratch::new();
    let mut nodes = steady_nodes(30);
    nodes[2].slowdown = 1.25;
    let path = write_result(&scratch, &nodes);
    successful_stdout(&["report", &path]);
    browser::check_usable(&scratch.join("result/report.html"));
}

#[test]
fn the_comparison_is_printed_for_people_and_for_programs() {
    let scratch = Scratch::new();
    let mut nodes = steady_nodes(8);
    nodes[2].slowdown = 1.25;
    let path = write_result(&scratch, &nodes);
    let text = successful_stdout(&["query", &path, "--each-node"]);
    assert!(text.starts_with("1 of 8 nodes is slow: n03\n"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&successful_stdout(&["query", &path, "--each-node", "--format", "json"])).expect("JSON");
    assert_eq!((&json["nodes"][0]["node"], &json["nodes"][0]["slow_points"]), (&"n03".into(), &2.into()));
    assert_eq!(json["points"].as_array().map(Vec::len), Some(2));
    let csv = successful_stdout(&["query", &path, "--each-node", "--format", "csv"]);
    assert_eq!(csv.lines().filter(|line| line.ends_with("true,false")).count(), 2, "{csv}");
    assert_eq!(csv.lines().count(), 17, "{csv}");
    // The node is a column like any other, and samples of different nodes are never pooled.
    let groups = successful_stdout(&["query", &path]);
    assert_eq!(groups.lines().filter(|line| line.starts_with("n0")).count(), 16, "{groups}");
    let other = common::file(&scratch, common::samples());
    let message = refusal_message(&["query", &other.display().to_string(), "--each-node"]);
    assert!(message.contains("did not run the sweep alone"), "{message}");
}

const SWEEP: &str = "name = \"s\"\n[fixed]\nkernel = \"apex_map.sequential\"\nM = 4096\nN = 2\n[axes]\nL = [1, 8]\n\
                     [launch]\npreflight = \"0 s\"\n[repeat]\nmin = 6\n";

/// Returns a login node whose jobs run at once in this process group, under the name of their node. The file `states` has a node and
/// its state in each line.
fn login_node(states: &str) -> LoginNode {
    let site = LoginNode::new(
        "cd \"$(dirname \"$0\")/..\" || exit 1
case $0 in
*sinfo) sed 's/^/main* 1 2 1 8000 1:00:00 1-8 (null) /' states ;;
*scontrol) echo 'ClusterName = test' ;;
*sbatch)
    script=$2 folder=$(dirname \"$2\")/..
    node=$(sed -n 's/^#SBATCH --nodelist=//p' \"$script\")
    echo x >>ids && id=$(wc -l <ids)
    (cd \"$folder\" && SLURM_JOB_ID=$id SLURMD_NODENAME=$node sh \"$script\") </dev/null >/dev/null 2>&1
    echo \"$id\" ;;
esac",
    );
    std::fs::write(site.scratch.join("states"), states).expect("a file");
    std::fs::write(site.scratch.join("s.toml"), SWEEP).expect("a file");
    site
}

#[test]
fn each_usable_node_gets_a_job_and_the_others_are_named() {
    let site = login_node("n1 idle\nn2 mixed-\nn3 drained\nn4 down*\nn5 allocated\nn6 idle~\nn7 idle*\nn8 maint\n");
    let dry_run = |further: &[&str]| {
        site.apexmap(&[&["run", "s.toml", "--out", "r", "--each-node", "--dry-run"], further].concat())
    };
    let (code, text) = dry_run(&[]);
    assert_eq!(code, Some(0), "{text}");
    let skipped = "4 nodes of the default partition cannot run a job now: n3 (drained), n4 (down*), n7 (idle*), n8 (maint); 4 nodes remain";
    assert!(text.contains(skipped), "{text}");
    assert!(text.contains("#SBATCH --nodelist=n1\n") && text.contains("jobs/n1.json\n"), "{text}");
    assert!(text.contains("# n6: about") && text.contains("# 4 jobs: about"), "{text}");
    assert!(text.contains("at most 0.33 node hours"), "four jobs of 5 min: {text}");
    let (code, text) = dry_run(&["--max-node-hours", "0.2"]);
    assert!(code == Some(2) && text.contains("--max-node-hours allows 0.2"), "{text}");
    // Jobs in a reservation get its nodes.
    let (_, text) = dry_run(&["--reservation", "maintenance"]);
    assert!(text.contains("# n8: about"), "{text}");
    let (_, text) = dry_run(&["--hosts", "n1,n3"]);
    assert!(text.contains("# 1 job: about") && text.contains("n3 (drained)"), "{text}");
    let (code, text) = dry_run(&["--hosts", "n1,n99"]);
    assert!(code == Some(2) && text.contains("the default partition has no node n99"), "{text}");
    // Other systems need a list.
    let (code, text) = dry_run(&["--submit=pbs"]);
    assert!(code == Some(2) && text.contains("pbs does not list the nodes"), "{text}");
    let (code, text) = dry_run(&["--submit=pbs", "--hosts", "n1,n2"]);
    assert!(code == Some(0) && text.contains("#PBS -l select=1:ncpus=1:mpiprocs=1:host=n1\n"), "{text}");
    assert!(!text.contains("select=1:ncpus=1:mpiprocs=1\n"), "the node replaces the usual line: {text}");
}

#[test]
fn requests_that_cannot_choose_nodes_are_refused_with_the_next_step() {
    let site = login_node("n1 idle\n");
    let run = |further: &[&str]| site.apexmap(&[&["run", "s.toml", "--each-node"], further].concat());
    let (code, text) = run(&[]);
    assert!(code == Some(2) && text.contains("cannot start threads on other nodes"), "{text}");
    assert!(text.contains("add --submit"), "{text}");
    let (code, text) = site.apexmap(&["run", "s.toml", "--fail-if", "slow-node"]);
    assert!(code == Some(2) && text.contains("--fail-if slow-node needs --each-node"), "{text}");
    std::fs::write(site.scratch.join("states"), "n1 drained\n").expect("a file");
    let (code, text) = run(&["--submit"]);
    assert!(code == Some(3) && text.contains("can run a job now: n1 (drained)"), "{text}");
}

#[test]
fn a_sweep_of_several_nodes_is_refused() {
    let machine = apexmap_run::sweep::Machine::with_cores(2, 1 << 30);
    let read = |text: &str| apexmap_run::sweep::parse(text, Path::new("s.toml"), machine.clone()).expect("a sweep");
    let mpi = |points: &str| {
        read(&format!(
            "[fixed]\nkernel = \"message_rate.ping_pong\"\n{points}\n[launch]\ntransport = \"mpi\"\nlauncher = \"srun\"\n"
        ))
    };
    let nodes = EachNode::new(["n1", "n2"]).expect("names");
    for (mut sweep, ranks_per_node) in [(mpi("nodes = 2\nranks_per_node = 1"), None), (mpi("ranks = 4"), Some(2))] {
        let error = nodes.apply(&mut sweep, ranks_per_node, None).expect_err("two nodes");
        assert!(error.message.contains("does not fit on one"), "{error}");
    }
    let mut sweep = mpi("ranks = 4");
    nodes.apply(&mut sweep, None, None).expect("points of one node");
    let sizes: Vec<LaunchSize> = sweep.points.iter().map(|point| point.launch_size()).collect();
    assert_eq!(
        sizes.iter().map(|size| (size.ranks, size.node.map(|n| n.to_string()))).collect::<Vec<_>>(),
        [(4, Some("n1".into())), (4, Some("n2".into()))]
    );
    assert!(EachNode::new(["n1; rm -rf"]).is_err());
}

#[test]
fn a_resumed_sweep_measures_only_new_nodes_and_ends_with_code_5_if_one_is_slow() {
    let site = login_node("n1 idle\nn2 idle\nn3 idle\nn4 drained\n");
    let run = ["run", "s.toml", "--out", "r", "--each-node", "--submit"];
    let (code, text) = site.apexmap(&run);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(text.matches("submitted job").count(), 3, "{text}");
    assert!(text.contains("submitted job 2: node n2, about") && text.contains("time limit 5 min"), "{text}");
    // The same command compares what the jobs have measured.
    let (code, text) = site.apexmap(&run);
    assert!(code == Some(0) && text.contains("3 nodes: too few for a comparison"), "{text}");
    // n4 is back, and n1 went down: its samples stay in the comparison.
    std::fs::write(site.scratch.join("states"), "n1 down\nn2 idle\nn3 idle\nn4 idle\n").expect("a file");
    let (code, text) = site.apexmap(&run);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(text.matches("submitted job").count(), 1, "{text}");
    assert!(text.contains("node n4") && text.contains("n1 (down)"), "{text}");
    let folder = Folder { path: site.scratch.join("r") };
    let records = folder.records().expect("journals");
    let mut measured: Vec<&str> =
        records.iter().flat_map(|record| &record.samples).filter_map(|sample| sample.point.node()).collect();
    measured.sort_unstable();
    assert_eq!(measured.len(), 48, "6 samples of 2 points on 4 nodes");
    measured.dedup();
    assert_eq!(measured, ["n1", "n2", "n3", "n4"]);
    let (_, status) = site.apexmap(&["status", "r"]);
    assert!(status.contains("4 nodes: 4 done") && !status.contains("has not started"), "{status}");
    // The samples are replaced by those of quiet nodes, of which one is twenty times slower than the others.
    for path in folder.journal_files().expect("journals") {
        let replace = |line: &str| match serde_json::from_str(line).expect("an event") {
            Event::Sample(mut sample) => {
                let slowdown = if sample.point.node() == Some("n3") { 20.0 } else { 1.0 };
                sample.seconds = Some(slowdown * (1e-3 + 1e-6 * f64::from(sample.repetition)));
                sample.disturbance = Default::default();
                serde_json::to_string(&Event::Sample(sample)).expect("an event")
            }
            _ => line.to_owned(),
        };
        let text = std::fs::read_to_string(&path).expect("a journal");
        std::fs::write(&path, text.lines().map(|line| replace(line) + "\n").collect::<String>()).expect("a file");
    }
    let (code, text) = site.apexmap(&[&run[..], &["--fail-if", "slow-node", "--no-report"]].concat());
    assert_eq!(code, Some(5), "{text}");
    assert!(text.contains("1 of 4 nodes is slow: n3") && !text.contains("submitted job"), "{text}");
    assert!(text.contains("apexmap query") && text.contains("--each-node"), "{text}");
}

#[test]
fn samples_of_another_node_than_the_requested_one_are_refused() {
    let size = |node: &str| LaunchSize {
        ranks: 2,
        nodes: None,
        ranks_per_node: None,
        node: Some(NodeName::from(node).expect("a name")),
    };
    let mut hello = launch("0001", 2, "b1");
    assert!(faults::check_nodes(size("node1"), &hello).is_ok());
    hello.placement.iter_mut().for_each(|place| place.node = "node1.cluster.example.org".into());
    assert!(faults::check_nodes(size("node1"), &hello).is_ok());
    hello.placement[1].node = "node2".into();
    let error = faults::check_nodes(size("node1"), &hello).expect_err("another node");
    assert!(error.message.contains("is for node node1, but its ranks are on"), "{error}");
}

#[test]
fn launchers_place_the_ranks_on_the_node() {
    let expected = [
        ("openmpi", "--host n07:4"),
        ("mpich", "-hosts n07"),
        ("srun", "--nodelist=n07"),
        ("pals", "--hosts n07"),
        ("flux", "--requires=hosts:n07"),
    ];
    for (id, words) in expected {
        let entry = launch::find(id).expect("a launcher");
        let context = apexmap_run::drive::plan::Context {
            transport: entry.transport,
            launcher: entry,
            ranks_per_node: None,
            place: None,
            simulation: None,
            machine: "m".into(),
            build: "b1".into(),
            builds: Default::default(),
            library: "MPI".into(),
        };
        let size = LaunchSize {
            ranks: 4,
            nodes: None,
            ranks_per_node: None,
            node: Some(NodeName::from("n07").expect("a name")),
        };
        let machine =
            LocalMachine { cores: 4, hardware_threads: 4, packages: 1, nodes: 1, allocated: false, root: false };
        let job: LaunchJob = apexmap_run::campaign::starter::launch_job(
            (&context, &[]),
            ("program", Path::new("/worker")),
            Path::new("/job"),
            size,
            machine,
        );
        let line = (entry.make)(&[]).expect("a launcher").command(&job).argv.join(" ");
        assert!(line.contains(words), "{id}: {line}");
    }
}

#[test]
fn failed_samples_are_counted_and_never_compared() {
    let nodes = steady_nodes(6);
    let mut samples: Vec<Record> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let point = small_point("apex_map.sequential", 1).with_parameter("node", node.name.as_str());
        let run = |run: u32| {
            let sample = sample(&point, &node.name, run, usual_time(node, 1, run));
            if index == 0 { Sample { status: Status::Wrong, seconds: Some(1e-9), ..sample } } else { sample }
        };
        let samples_of_node = (0..6).map(run).collect();
        samples.push(Record {
            launch: Some(launch(&format!("{index:04}"), 1, "b1")),
            samples: samples_of_node,
            ..Record::default()
        });
    }
    let check = nodes::compare(&Samples::from(tabulate(&samples, |_| true))).expect("columns");
    let row = check.nodes.iter().find(|row| row.node == "n01").expect("the node is listed");
    assert_eq!((row.points, row.failed_samples, row.samples), (0, 6, 0));
    assert_eq!(check.points[0].nodes.len(), 5);
    assert!(nodes::text(&check, None).contains("6 samples failed"));
}
