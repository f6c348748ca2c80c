//! Tests of types of nodes: samples of unlike nodes have no common median, figure, fit, card or comparison.

use super::common::{Scratch, apexmap, host, launch, sample, small_point};
use apexmap_base::provenance::{Host, PlainNode, Processors};
use apexmap_base::sample::{Event, Launch, Sample};
use apexmap_draw::plot;
use apexmap_draw::selection;
use apexmap_pages::compare::machine::Machine;
use apexmap_pages::compare::matching::{Matching, match_points};
use apexmap_results::disk::Folder;
use apexmap_results::disk::tabulate::Tabulation;
use apexmap_results::query;
use apexmap_results::samples::Samples;
use apexmap_results::samples::groups::short_names;
use apexmap_results::table::columns::NODE_TYPE;
use apexmap_study::calibrate;
use apexmap_study::model_fit;
use apexmap_theory::models;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Returns a launch on nodes of these types.
fn launch_on(name: &str, types: &[(&str, &[&str])]) -> Launch {
    let nodes = |nodes: &[&str]| nodes.iter().map(|node| (*node).to_owned()).collect();
    let node_types: BTreeMap<String, Vec<String>> =
        types.iter().map(|(name, names)| ((*name).to_owned(), nodes(names))).collect();
    Launch { node_types, ..launch(name, 2, "b1") }
}

/// Returns the table of these samples: type of nodes, alpha, L and seconds. Each type has its own launch.
fn samples(rows: &[(&str, f64, u64, f64)]) -> Samples {
    let mut table = Tabulation::new(None);
    for (index, (node_type, alpha, block, seconds)) in rows.iter().enumerate() {
        let point = small_point("apex_map.two_sided", 2).with_parameter("alpha", *alpha).with_parameter("L", *block);
        let key = format!("{alpha} {block}");
        let sample: Sample = sample(&point, &key, index as u32, *seconds);
        table.add(&sample, Some(&launch_on(&format!("of {node_type}"), &[(node_type, &["n1"])])), true);
    }
    Samples::from(table.finish())
}

/// Returns a surface on type A, with three samples at each point, and the same on type B at ten times the speed.
fn two_surfaces() -> Vec<(&'static str, f64, u64, f64)> {
    let mut rows = Vec::new();
    for (node_type, seconds) in [("A", 10.0), ("B", 1.0)] {
        for alpha in [0.1, 1.0] {
            for block in [1, 64] {
                rows.extend([0.9, 1.0, 1.1].map(|factor| (node_type, alpha, block, factor * seconds)));
            }
        }
    }
    rows
}

#[test]
fn nodes_of_one_model_have_one_type_whatever_a_job_may_use_of_them() {
    let processors = Processors {
        machine_cores: Some(64),
        machine_hardware_threads: Some(128),
        packages: Some(2),
        numa_nodes: Some(2),
        ..Processors::default()
    };
    let node = Host { processors, memory_bytes: 251 << 30, cpu_model: "Example(R) CPU  7".into(), ..host() };
    assert_eq!(
        node.node_type(),
        "Example CPU 7, 2 packages, 64 cores, 128 hardware threads, 2 NUMA nodes, last cache 32 KiB, 256 GiB"
    );
    let narrow = Processors { cores: Some(4), hardware_threads: Some(8), ..node.processors.clone() };
    let like = Host { name: "n2".into(), processors: narrow, memory_bytes: 254 << 30, ..node.clone() };
    assert_eq!(like.node_type(), node.node_type());
    let threads = Processors { machine_hardware_threads: Some(64), ..node.processors.clone() };
    let packages = Processors { packages: Some(1), ..node.processors.clone() };
    let unlike = [
        Host { cpu_model: "Example CPU 8".into(), ..node.clone() },
        Host { memory_bytes: 503 << 30, ..node.clone() },
        Host { processors: threads, ..node.clone() },
        Host { processors: packages, ..node.clone() },
        Host { caches: Vec::new(), ..node.clone() },
    ];
    let names: BTreeSet<String> = unlike.iter().chain([&node]).map(Host::node_type).collect();
    assert_eq!(names.len(), 6, "{names:#?}");
    assert!(apexmap_measure::provenance::node_type().contains("core"));
}

#[test]
fn a_launch_on_several_types_is_mixed_and_counts_its_nodes() {
    let mixed = launch_on("0001", &[("A", &["n1"]), ("B", &["n2", "n3"])]);
    assert_eq!(mixed.node_type(), "mixed: 1 node of A; 2 nodes of B");
    assert_eq!(launch_on("0001", &[("A", &["n1", "n2"])]).node_type(), "A");
    let old = launch("0001", 2, "b1");
    assert_eq!(old.node_type(), old.host.node_type(), "earlier versions recorded only rank 0's host");
    let text = serde_json::to_string(&Event::Hello(old.clone().into())).expect("a line");
    assert!(!text.contains("node_types"), "{text}");
    let read: Event = serde_json::from_str(&text).expect("an event");
    assert_eq!(read, Event::Hello(old.into()));
    // Samples of a mixed launch stay apart from those of each of its types.
    let mut table = Tabulation::new(None);
    let point = small_point("apex_map.two_sided", 2);
    for (number, launch) in [mixed, launch_on("0002", &[("A", &["n1"])])].iter().enumerate() {
        table.add(&sample(&point, "k", number as u32, 1.0), Some(launch), true);
    }
    let both = Samples::from(table.finish());
    assert_eq!((both.summary("seconds"), both.groups().expect("groups").len()), (None, 2));
    assert!(both.has_mixed_nodes());
    let sentence = both.with_rows(vec![0]).describe_node_types().expect("a sentence");
    assert!(
        sentence.starts_with("The ranks of a launch were on unlike nodes: mixed: 1 node of A; 2 nodes of B"),
        "{sentence}"
    );
}

#[test]
fn tables_and_groups_keep_types_apart_with_known_medians() {
    let both = samples(&two_surfaces());
    assert_eq!(both.axes(), [NODE_TYPE, "alpha", "block_words"]);
    let by = both.cells(&[NODE_TYPE]).expect("cells");
    let medians: Vec<f64> = by.iter().map(|cell| cell.summary("seconds").expect("a median").median).collect();
    assert_eq!(medians, [10.0, 1.0]);
    assert_eq!(both.median("seconds"), None);
    let labels: Vec<String> = both.groups().expect("groups").iter().map(|group| group.label()).collect();
    assert_eq!(labels, ["apex_map.two_sided, P = 2, A", "apex_map.two_sided, P = 2, B"]);
    let types = ["Old CPU, 4 cores, 8 GiB", "CPU, 4 cores, 8 GiB", "CPU, 4 cores, 16 GiB"];
    assert_eq!(short_names(&types), ["Old CPU", "CPU, 8 GiB", "CPU, 16 GiB"]);
    let rows = [(types[1], 1.0, 1, 1.0), (types[2], 1.0, 1, 2.0)];
    let plain: Vec<String> = samples(&rows)
        .groups()
        .expect("groups")
        .iter()
        .map(|group| group.plain_label(&PlainNode { cores: Some(4), granularity: None }))
        .collect();
    assert_eq!(plain, ["2 cores, by messages, 16 GiB", "2 cores, by messages, 8 GiB"]);
    // A table without the type gets it, and a table that a user forces has no median.
    assert_eq!(query::missing_columns(&both, &["alpha"]).expect("columns")[0], NODE_TYPE);
    let forced = query::groups(&both, &["alpha"], &["seconds"]).expect("a table");
    assert!(
        forced.groups.iter().all(|group| group.summaries == [None]) && forced.mixed.contains(&NODE_TYPE.to_owned())
    );
    let sentence = both.describe_node_types().expect("a sentence");
    assert_eq!(
        sentence,
        "The samples are from 2 types of nodes, which are kept apart: A (12 samples, launch of A); B (12 samples, launch of B)."
    );
    assert_eq!(both.filter_rows(|row| row < 12).describe_node_types(), None);
}

#[test]
fn figures_fits_cards_and_comparisons_refuse_unlike_nodes_with_a_condition_that_helps() {
    let both = samples(&two_surfaces());
    let request = plot::Request {
        kind: plot::FigureKind::Curves,
        x: "block_words".into(),
        by: vec!["alpha".into()],
        z: "seconds".into(),
        title: String::new(),
    };
    for error in [
        plot::figure(&both, &request).map(|_| ()).expect_err("a refusal"),
        selection::select(&both, &request).map(|_| ()).expect_err("a refusal"),
        model_fit::observations(&both, models::find("apex_map.surface").expect("a model"), &[]).expect_err("a refusal"),
    ] {
        assert!(error.help.contains("--where 'node_type == \"A\"'"), "{error}");
    }
    let by_type = plot::Request { by: vec![NODE_TYPE.into()], ..request.clone() };
    let line = both.filter_rows(|row| both.table().number("alpha", row) == 1.0);
    assert!(plot::figure(&line, &by_type).is_ok(), "curves by type are no mixture");
    let error = calibrate::require_one_node_type(&both).expect_err("a refusal");
    assert!(error.message.contains("kept apart") && error.help.contains("--out"), "{error}");
    let machine = |samples: &Samples| Machine::from_samples("r", samples.clone(), None).expect("a machine");
    let error =
        match_points(&[machine(&both), machine(&both)], &Matching::default()).map(|_| ()).expect_err("a refusal");
    assert!(error.help.contains("'r[node_type == \"A\"]'"), "{error}");
    let halves = [0..12, 12..24].map(|rows| machine(&both.with_rows(rows.collect())));
    assert!(match_points(&halves, &Matching::default()).is_ok(), "a type against the other");
}

/// A chain whose second job ran on other nodes left half of a surface on each type.
#[test]
fn halves_of_a_surface_on_unlike_nodes_are_two_groups_and_no_figure() {
    let rows: Vec<_> = two_surfaces().into_iter().filter(|row| (row.0 == "A") == (row.1 == 0.1)).collect();
    let halves = samples(&rows);
    assert_eq!(halves.groups().expect("groups").len(), 2);
    assert_eq!(halves.axes()[0], NODE_TYPE);
    let request = plot::Request {
        kind: plot::FigureKind::Contour,
        x: "block_words".into(),
        by: vec!["alpha".into()],
        z: "seconds".into(),
        title: String::new(),
    };
    assert!(plot::figure(&halves, &request).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever columns a table is grouped by, a median is that of samples of one type, or there is none.
    #[test]
    fn no_summary_pools_two_types(
        rows in prop::collection::vec((0usize..3, 0usize..2, 0u64..3, 1.0f64..9.0), 1..40),
        by in prop::sample::subsequence(vec!["alpha", "block_words", NODE_TYPE, "launch", "ranks"], 0..5),
    ) {
        let row = |&(node_type, alpha, block, seconds): &(usize, usize, u64, f64)|
            (["A", "B", "mixed: 1 node of A; 1 node of B"][node_type], [0.1, 1.0][alpha], 1 << block, seconds);
        let samples = samples(&rows.iter().map(row).collect::<Vec<_>>());
        for cell in samples.cells(&by).expect("cells") {
            let types = cell.samples.words(NODE_TYPE).len();
            let summary = cell.summary("seconds");
            prop_assert_eq!(summary.is_some(), types == 1);
            prop_assert_eq!(summary.map_or(0, |summary| summary.n), if types == 1 { cell.samples.len() } else { 0 });
        }
        for cell in samples.cells(&samples.axes()).expect("cells") {
            prop_assert!(cell.samples.is_constant(NODE_TYPE));
        }
        let groups = samples.groups().expect("groups");
        prop_assert!(groups.iter().all(|group| group.samples.is_constant(NODE_TYPE)));
        prop_assert_eq!(groups.iter().map(|group| group.samples.len()).sum::<usize>(), rows.len());
    }
}

/// Lines of a result whose second launch ran on other nodes.
#[test]
fn commands_name_the_types_of_a_result_in_one_line_and_keep_them_apart() {
    let scratch = Scratch::new();
    let path = scratch.join("result");
    let out = path.to_str().expect("text");
    let sweep = "name = \"s\"\n[fixed]\nkernel = \"apex_map.sequential\"\nranks = 1\nM = 4096\nI = 64\nN = 2\nalpha = 1\n\
                 [axes]\nL = [1, 2]\n[repeat]\nmin = 2\n[launch]\nlaunches = 2\npreflight = 0\n";
    std::fs::write(scratch.join("s.toml"), sweep).expect("a file");
    let run = |extra: &[&str]| {
        let sweep_file = scratch.join("s.toml");
        let output = apexmap(&[&["run", sweep_file.to_str().expect("text"), "--out", out], extra].concat());
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{text}");
        text
    };
    assert!(!run(&["--no-report"]).contains("unlike nodes"));
    // The first launch was on another type.
    let journal = Folder { path: path.clone() }.journal("0001");
    let text = std::fs::read_to_string(&journal).expect("a journal");
    let own = apexmap_measure::provenance::node_type();
    assert!(text.contains(&format!("\"node_types\":{{\"{own}\"")), "{text}");
    std::fs::write(&journal, text.replace(&format!("{{\"{own}\""), "{\"Old CPU, 4 cores, 8 GiB\"")).expect("a file");
    let expected = "from 2 types of nodes, which are kept apart: Old CPU, 4 cores, 8 GiB (4 samples, launch 0001);";
    let status = String::from_utf8(apexmap(&["status", out]).stdout).expect("text");
    assert!(status.contains(expected) && status.contains("2 done, 0 partial"), "{status}");
    let summary = run(&[]);
    assert!(
        summary.contains("nothing to do")
            && summary.replace('\n', " ").contains("warning: The samples are from 2 types"),
        "{summary}"
    );
    assert!(summary.contains("Old CPU, 4 cores, 8 GiB"), "{summary}");
    let page = std::fs::read_to_string(path.join("report.html")).expect("a page");
    assert!(page.contains(expected), "the report says so");
    let table = String::from_utf8(apexmap(&["query", out, "--format", "csv", "--group-by", "L"]).stdout).expect("text");
    assert_eq!(table.lines().count(), 5, "two sizes on two types: {table}");
    let figure = scratch.join("f.svg");
    let plot = ["plot", out, "curves", "--x", "L", "--out", figure.to_str().expect("text")];
    assert!(apexmap(&plot).status.success());
    assert!(std::fs::read_to_string(&figure).expect("a figure").contains("Old CPU"), "a curve of each type");
    let one_curve = apexmap(&[&plot[..], &["--y", "P"]].concat());
    let refusal = String::from_utf8_lossy(&one_curve.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(refusal.contains("help: choose one value with --where 'node_type =="), "{refusal}");
}
