//! Tests commands on a terminal of 80 columns: lines fit, sizes have units, words are plain.

use super::common::{Scratch, host, launch, manifest, sample};
use super::mock::noisy_facts;
use super::terminal::{TINY_SWEEP, terminal_with_size};
use apexmap_base::disturbance::Facts;
use apexmap_base::point::{Point, Value};
use apexmap_base::provenance::{Granularity, PlainNode};
use apexmap_base::sample::{Event, Sample, Status};
use apexmap_base::terminal::wrap_lines;
use apexmap_base::units::{Unit, exact_bytes, size_of_words};
use apexmap_measure::kernels;
use apexmap_measure::worker::Repeat;
use apexmap_pages::report::summary::{self, Extreme, SummaryRow};
use apexmap_results::disk::Folder;
use apexmap_results::disk::journal::Record;
use apexmap_results::disk::manifest::{LaunchEnd, Manifest};
use apexmap_results::disk::tabulate::tabulate;
use apexmap_results::samples::Samples;
use apexmap_results::samples::health::Health;
use apexmap_results::samples::plain_names::{plain_limit, plain_name};
use apexmap_results::table::columns::{label, point_label};
use apexmap_results::table::quietness::Quietness;
use apexmap_run::drive::counts::RunCounts;
use apexmap_run::drive::forecast::{OpenLaunch, OpenPoint};
use apexmap_run::drive::plan::Entry;
use apexmap_study::answers::stream;
use apexmap_study::calibrate::first_stage_samples;
use apexmap_theory::machine::{Card, Number};
use apexmap_theory::statistics::Summary;
use proptest::prelude::*;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs apexmap with a terminal of this width as its standard output, and returns what the terminal shows.
fn shown(columns: u16, folder: &Path, arguments: &[&str]) -> String {
    let (mut master, slave) = terminal_with_size(columns, 24);
    let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    command.args(arguments).current_dir(folder).env("NO_COLOR", "1");
    command.stdin(Stdio::null()).stderr(slave.try_clone().expect("a copy")).stdout(slave);
    let mut child = command.spawn().expect("apexmap starts");
    drop(command);
    let mut text = Vec::new();
    // Reading from a terminal ends with an error.
    let _ = master.read_to_end(&mut text);
    let status = child.wait().expect("an end");
    let text = String::from_utf8_lossy(&text).replace("\r\n", "\n");
    assert!(status.success(), "{arguments:?}: {text}");
    text
}

/// Checks that lines of several words fit. A line of progress replaces the one before.
fn assert_fits(columns: usize, arguments: &[&str], text: &str) {
    assert!(!text.is_empty(), "{arguments:?}");
    let lines = text.lines().flat_map(|line| line.split("\r\x1b[K"));
    for line in lines.filter(|line| line.split_whitespace().count() > 1) {
        assert!(line.chars().count() <= columns, "{arguments:?}: {} columns: {line:?}\n{text}", line.chars().count());
    }
}

const SWEEP: &str = r#"
title = "A small surface with a title that is longer than a line of a terminal of eighty columns, for tests"
[fixed]
M = "64 kwords per rank"
I = 16
N = 2
[axes]
alpha = [0.00316227766, 1]
L = [1, 16384]
pages = ["huge", "base"]
[[together]]
kernel = ["apex_map.sequential", "apex_map.two_sided"]
ranks = [1, 2]
[launch]
launches = 2
preflight = 0
[repeat]
min = 3
"#;

#[test]
fn lines_of_all_screens_of_a_result_fit_into_80_columns() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("small.toml"), SWEEP).expect("a sweep");
    let show = |arguments: &[&str]| {
        let text = shown(80, &scratch, arguments);
        // The bar is redrawn with control codes.
        if arguments[0] != "run" {
            assert_fits(80, arguments, &text);
        }
        text
    };
    let plan = show(&["plan", "small.toml", "--out", "r"]);
    assert!(plan.contains("512 KiB, 1 MiB") && plan.contains("0.00316, 1"), "{plan}");
    assert!(plan.contains("wall time: ") && plan.contains("on a quiet machine"), "{plan}");
    show(&["plan", "small.toml", "--out", "r", "--points"]);
    show(&["run", "--no-report", "small.toml", "--out", "r"]);
    let report = show(&["report", "r"]);
    assert!(report.contains("1 core, 2 MiB pages (apex_map.sequential, P = 1, huge)\n"), "{report}");
    // A machine with one core has two ranks instead.
    assert!(report.contains("s, by messages, 4 KiB pages (apex_map.two_sided, P = 2, base)\n"), "{report}");
    assert!(report.contains("alpha 0.00316, L 16384") && !report.contains("cycles/op"), "{report}");
    for arguments in [&["status", "r"][..], &["query", "r"], &["card", "red-storm"], &["card", "red-storm", "--all"]] {
        show(arguments);
    }
    let wide = shown(200, &scratch, &["report", "r"]);
    assert!(wide.contains("total") && wide.contains("alpha = 0.00316, L = 16384"), "{wide}");
    assert!(!wide.contains("cycles/op") && !wide.contains("Details: "), "{wide}");
    assert_fits(200, &["report", "r"], &wide);
}

/// Replaces the facts about disturbance in a launch's journal, and multiplies its times.
fn disturb(folder: &Folder, launch: &str, facts: Facts, slowdown: f64) {
    let change = |line: &str| {
        let mut event: Event = serde_json::from_str(line).expect("an event");
        if let Event::Sample(sample) = &mut event {
            sample.disturbance = facts;
            sample.seconds = sample.seconds.map(|seconds| slowdown * seconds);
        }
        serde_json::to_string(&event).expect("JSON") + "\n"
    };
    let journal = std::fs::read_to_string(folder.journal(launch)).expect("a journal");
    std::fs::write(folder.journal(launch), journal.lines().map(change).collect::<String>()).expect("a file");
}

#[test]
fn a_run_without_missing_points_says_so() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("tiny.toml"), TINY_SWEEP).expect("a sweep");
    let run = |options: &[&str]| shown(80, &scratch, &[&["run", "tiny.toml", "--out", "r"], options].concat());
    let first = run(&["--no-report"]);
    assert!(first.contains("2 of 2 points done") && first.contains("8 samples in "), "{first}");
    assert!(first.contains("\n1 core (apex_map.sequential, P = 1)\n") && !first.contains("report: "), "{first}");
    // Samples without these facts are not disturbed.
    let folder = Folder::open(&scratch.join("r")).expect("a result");
    ["0001", "0002"].iter().for_each(|launch| disturb(&folder, launch, Facts::default(), 1.0));
    assert_eq!(run(&["--no-report"]), "all 2 points are measured; nothing to do\n");
    let with_report = run(&[]);
    assert!(with_report.starts_with("all 2 points are measured; nothing to do\n"), "{with_report}");
    assert!(with_report.contains("\n1 core (apex_map.sequential, P = 1)\n"), "{with_report}");
    assert!(with_report.ends_with("report: r/report.html\n"), "{with_report}");
    assert_eq!(run(&["--no-report"]), "all 2 points are measured; nothing to do\nreport: r/report.html\n");
    assert_eq!(run(&[]), "all 2 points are measured; nothing to do\nreport: r/report.html\n");
}

#[test]
fn a_run_without_a_report_shows_medians_and_that_the_machine_was_disturbed() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("tiny.toml"), TINY_SWEEP).expect("a sweep");
    let run = || {
        let text = shown(200, &scratch, &["run", "tiny.toml", "--out", "r", "--no-report"]);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    run();
    // Another program slows the first launch down. The second one is still to be measured.
    let folder = Folder::open(&scratch.join("r")).expect("a result");
    disturb(&folder, "0001", noisy_facts(), 2.0);
    std::fs::remove_file(folder.journal("0002")).expect("a journal");
    let text = run();
    let health = Health::from_samples(&Samples::from(folder.table().expect("samples")).current());
    let banner = health.banner().expect("a disturbed machine").short();
    assert!(banner.starts_with("DISTURBED: "), "{banner}");
    assert!(text.contains("1 core (apex_map.sequential, P = 1)") && text.contains(&banner), "{banner}\n{text}");
    // The sweep has two launches. The advice holds: they are kept, and others are added.
    let advice =
        "to measure again, run the same command with `--launches 7`, which adds launches, or with `--replace`,";
    assert!(text.contains(advice), "{text}");
    let again = run();
    assert!(again.starts_with("all 2 points are measured; nothing to do "), "{again}");
    assert!(again.contains(&format!(" of 8 samples are disturbed; {advice}")), "{again}");
}

#[test]
fn a_card_is_printed_as_text_json_and_csv() {
    let scratch = Scratch::new();
    let json: serde_json::Value =
        serde_json::from_str(&shown(200, &scratch, &["card", "red-storm", "--format", "json"])).expect("JSON");
    let card = Card::find("red-storm").expect("a published card");
    assert_eq!(json["name"], card.name);
    for (name, number) in card.numbers() {
        assert_eq!(json["numbers"][name]["value"], number.value, "{name}");
    }
    let csv = shown(200, &scratch, &["card", "red-storm", "--format", "csv"]);
    assert_eq!(csv.lines().count(), 1 + card.numbers().len());
    let (_, number) = card.numbers().iter().next().expect("a number");
    let row = csv.lines().nth(1).expect("a row");
    assert!(csv.starts_with("number,value,unit,low,high,least,greatest,best,how\n"), "{csv}");
    assert!(row.contains(&format!(",{:?},{},", number.value, number.unit)), "{row}");
}

#[test]
fn groups_limits_and_points_have_plain_names() {
    let key = |kernel: &str, ranks: u64, pages: &str| {
        vec![
            ("kernel".to_owned(), Value::from(kernel)),
            ("ranks".to_owned(), Value::Integer(ranks)),
            ("pages".to_owned(), Value::from(pages)),
        ]
    };
    let name = |kernel, ranks, pages, cores| {
        plain_name(&key(kernel, ranks, pages), &PlainNode { cores, granularity: Some(Granularity::default()) })
    };
    assert_eq!(name("apex_map.sequential", 1, "huge", None), "1 core, 2 MiB pages");
    assert_eq!(name("apex_map.two_sided", 2, "base", Some(2)), "2 cores, by messages, 4 KiB pages");
    assert_eq!(name("apex_map.two_sided", 4, "base", Some(2)), "4 ranks, by messages, 4 KiB pages", "more than cores");
    assert_eq!(name("apex_map.one_sided", 2, "huge", None), "2 ranks, by one-sided gets, 2 MiB pages");
    assert_eq!(name("random_access.star", 2, "huge", Some(2)), "random_access.star, 2 cores, 2 MiB pages");
    assert_eq!(name("random_access.shared", 1, "huge", Some(2)), "random_access.shared, 1 rank, 2 MiB pages");
    let none = PlainNode::default();
    assert_eq!(plain_name(&[("memory_words".into(), Value::Integer(1 << 26))], &none), "M = 512 MiB");
    assert_eq!(
        plain_name(&[("pages".into(), Value::from("huge"))], &none),
        "huge pages",
        "of machines with different sizes"
    );
    let granularity = Granularity { base_page_bytes: 64 << 10, huge_page_bytes: 512 << 20, ..Granularity::default() };
    let arm = PlainNode { cores: None, granularity: Some(granularity) };
    assert_eq!(plain_name(&key("random_access.star", 1, "base"), &arm), "random_access.star, 1 core, 64 KiB pages");
    assert_eq!(plain_name(&key("random_access.star", 1, "huge"), &arm), "random_access.star, 1 core, 512 MiB pages");
    assert_eq!(plain_limit("outstanding misses"), "waiting for memory (outstanding misses)");
    assert_eq!(plain_limit("memory bandwidth"), "memory bandwidth");
    assert_eq!(label("memory_words", &Value::Integer(2048)), "M = 16 KiB");
    assert_eq!(label("block_words", &Value::Integer(4096)), "L = 4096", "a block is a number of words");
    let point = Point::new("apex_map.two_sided", 2)
        .with_parameter("M", 1u64 << 26)
        .with_parameter("alpha", 0.00316227766017)
        .with_parameter("L", 64u64);
    assert_eq!(point_label(&point, |_| true), "apex_map.two_sided, P = 2, L = 64, M = 512 MiB, alpha = 0.00316");
    assert_eq!(point_label(&point, |name| name == "alpha"), "apex_map.two_sided, alpha = 0.00316");
    assert_eq!([exact_bytes(24584), exact_bytes(3 << 19), size_of_words(3 << 40)], ["24584 B", "1536 KiB", "24 TiB"]);
}

#[test]
fn a_summary_with_limits_fits_a_narrow_terminal() {
    let mut health = Health::default();
    for verdict in [[Quietness::Quiet; 3], [Quietness::Disturbed; 3]].concat() {
        health.add(verdict, []);
    }
    let rate =
        |median: f64, interval| Summary { median, interval, ..Summary::from_samples(&[1.0; 6]).expect("six samples") };
    let row = |first: bool, which: &[Extreme], share: f64| SummaryRow {
        group: "apex_map.two_sided, P = 2, huge".into(),
        plain_name: "2 cores, by messages, 2 MiB pages".into(),
        first,
        which: which.to_vec(),
        place: vec![("alpha".into(), Value::Real(0.001)), ("block_words".into(), Value::Integer(16384))],
        unit: Unit::BytesPerSecond,
        rate: rate(106e9, Some((89.9e9, 125e9))),
        health: Some(health.clone()),
        bytes_per_second: Some(212e9),
        share: Some((rate(share, None), "outstanding misses".into())),
        conformance: None,
    };
    let rows = [row(true, &[Extreme::Corner, Extreme::Worst], 0.18), row(false, &[Extreme::Best], 2.96)];
    let narrow = summary::text(&rows, 0, Some(80));
    assert_fits(80, &["summary"], &narrow);
    let words = narrow.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("worst alpha 0.001, L 16384 106 GB/s (89.9 to 125) 18 %, waiting for memory"), "{narrow}");
    assert!(words.contains("296 %, above the limit:") && words.contains("card is wrong"), "{narrow}");
    assert!(!narrow.contains("disturbed"), "{narrow}");
    let marked = [row(true, &[Extreme::Best], 1.19)]
        .map(|row| SummaryRow { share: Some((rate(1.19, Some((0.9, 1.5))), "outstanding misses".into())), ..row });
    let at_120 = summary::text(&marked, 0, Some(120));
    assert_fits(120, &["summary"], &at_120);
    assert!(
        at_120.contains("119 %*, waiting for memory") && at_120.contains("* The interval includes 100 %."),
        "{at_120}"
    );
    let alone = SummaryRow { bytes_per_second: Some(106e9), ..row(true, &[Extreme::Best], 0.18) };
    assert!(!summary::text(&[alone], 0, None).contains("total"), "one core has the rate of all cores");
    let wide = summary::text(&rows, 0, None);
    assert!(wide.contains("total"), "{wide}");
    assert!(wide.contains("18 %, waiting for memory (outstanding misses)") && wide.contains("disturbed"), "{wide}");
}

#[test]
fn ranks_on_several_nodes_or_unknown_cores_are_not_called_cores() {
    let end = |ranks: usize| LaunchEnd {
        launch: launch("0001", ranks, "b"),
        samples: 1,
        budget_spent: false,
        ended: Some(Status::Ok),
        message: String::new(),
        output: Default::default(),
        unreadable_lines: 0,
    };
    let cores = |launches: Vec<LaunchEnd>| Manifest { launches, ..manifest() }.plain_node().cores;
    assert_eq!(cores(vec![end(1), end(2)]), Some(2));
    let mut elsewhere = end(2);
    elsewhere.launch.placement[1].node = "node2".into();
    assert_eq!(cores(vec![end(1), elsewhere]), None);
    let mut unknown = end(1);
    unknown.launch.host.processors.cores = None;
    assert_eq!(cores(vec![unknown, end(2)]), None);
    assert_eq!(cores(Vec::new()), None);
    assert_eq!(host().processors.cores, Some(2));
}

#[test]
fn points_are_done_when_all_their_launches_have_enough_samples() {
    let open = |key: &str| OpenPoint { key: key.into(), values: Vec::new(), cost: 1.0 };
    let size = Point::new("apex_map.sequential", 1).launch_size();
    let open_launch = |block| OpenLaunch { block, size, points: vec![open("a"), open("b")] };
    let repeat = Repeat { min: 2, max: 2, width: None, budget_seconds: None };
    let mut counts = RunCounts::new(3, 2, repeat);
    counts.begin(&[open_launch(0), open_launch(1)], 1);
    let point = Point::new("apex_map.sequential", 1);
    let sample_of = |key: &str, status| Sample { status, ..sample(&point, key, 0, 1.0) };
    assert_eq!(counts.points_text(), "0 of 3 points done (each needs 4), 1 failed");
    counts.add_sample(&sample_of("a", Status::Ok), true);
    counts.add_sample(&sample_of("b", Status::Ok), false);
    assert_eq!((counts.count_done(), counts.samples), (0, 2), "a has another launch");
    assert_eq!(counts.samples_text(6598.0), "2 of ~6600 new samples", "a point of three was measured before");
    counts.add_sample(&sample_of("a", Status::Ok), true);
    assert_eq!(counts.points_text(), "1 of 3 points done (each needs 4), 1 failed");
    counts.add_sample(&sample_of("b", Status::Wrong), true);
    assert_eq!(counts.points_text(), "1 of 3 points done (each needs 4), 2 failed");
    assert_eq!(counts.summary(120.0), "4 new samples in 2 min");
    assert_eq!(counts.samples_text(0.0), "4 of ~4 new samples");
    counts.samples = 174;
    assert_eq!(counts.samples_text(0.0), "174 of ~174 new samples", "the total is not below the samples");
}

#[test]
fn points_with_a_sample_in_any_launch_are_measured() {
    let open = |key: &str, seconds: &[f64]| OpenPoint { key: key.into(), values: seconds.to_vec(), cost: 1.0 };
    let size = Point::new("apex_map.sequential", 1).launch_size();
    let repeat = Repeat { min: 2, max: 2, width: None, budget_seconds: Some(60.0) };
    let mut counts = RunCounts::new(5, 2, repeat);
    let first = OpenLaunch { block: 0, size, points: vec![open("new", &[]), open("begun", &[1.0])] };
    let points = vec![open("new", &[]), open("begun", &[]), open("done in the first launch", &[])];
    counts.begin(&[first, OpenLaunch { block: 1, size, points }], 1);
    assert_eq!(counts.coverage_text(), "0 new samples, 3 of 5 points at least once, 1 failed");
    let point = Point::new("apex_map.sequential", 1);
    counts.add_sample(&sample(&point, "new", 0, 1.0), false);
    assert_eq!(counts.coverage_text(), "1 new sample, 4 of 5 points at least once, 1 failed");
}

pub fn samples_of(points: &[(Point, f64)]) -> Samples {
    let measured = points.iter().enumerate().flat_map(|(index, (point, seconds))| {
        let point = kernels::complete(point.clone()).expect("a point that can be run");
        (0..6).map(move |repetition| sample(&point, &format!("k{index}"), repetition, *seconds))
    });
    let record = Record { launch: Some(launch("0001", 2, "b")), samples: measured.collect(), ..Record::default() };
    Samples::from(tabulate(&[record], |_| true))
}

#[test]
fn stream_is_answered_by_four_lines_for_one_core_and_all() {
    // The rates in GB/s of copy, scale, add and triad on one core; two cores have twice the rate.
    let rates = [("copy", 10.0), ("scale", 11.0), ("add", 12.0), ("triad", 13.0), ("read", 20.0)];
    let point = |access: &str, ranks: usize| {
        Point::new("calibrate.stream", ranks).with_parameter("access", access).with_parameter("bytes", 4u64 << 20)
    };
    let seconds = |point: &Point, rate: f64| {
        let complete = kernels::complete(point.clone()).expect("a point");
        kernels::find("calibrate.stream").expect("a kernel").work(&complete).bytes / rate / 1e9
    };
    let runs = |skipped: &str| {
        let points = rates.iter().filter(|(access, _)| *access != skipped);
        let points = points.flat_map(|&(access, rate)| [(point(access, 1), rate), (point(access, 2), 2.0 * rate)]);
        samples_of(&points.map(|(point, rate)| (point.clone(), seconds(&point, rate))).collect::<Vec<_>>())
    };
    let two_cores = PlainNode { cores: Some(2), granularity: None };
    let answer = stream::answer(&runs(""), None, &two_cores).expect("columns").expect("an answer");
    assert_eq!(answer.heads, ["1 core", "2 cores"]);
    let names: Vec<&str> = answer.rows.iter().map(|row| row.name).collect();
    assert_eq!(names, ["copy", "scale", "add", "triad"]);
    assert!(
        answer.rows[3].rates[0].median.starts_with("13 GB/s") && answer.rows[3].rates[1].median.starts_with("26 GB/s"),
        "{answer:?}"
    );
    assert!(!answer.has_shares && !answer.text().contains("card"));
    let mut card = Card::new("m", "", "made up");
    card.set("node_bandwidth_bytes_per_second", Number::new(52.0, "GB/s", "made up")).expect("a number");
    let text = stream::answer(&runs(""), Some(&card), &two_cores).expect("columns").expect("an answer").text();
    let triad = text.lines().find(|line| line.contains("triad")).expect("a line");
    assert!(triad.ends_with("50 %") && text.contains("of the card"), "{text}");
    assert_eq!(stream::answer(&runs("add"), None, &two_cores).expect("columns"), None, "an operation is missing");
}

#[test]
fn a_resumed_calibration_uses_the_samples_of_its_first_stage_before_the_second() {
    let sample_of = |key: &str, unix_seconds: f64| {
        let point = kernels::complete(Point::new("calibrate.chase", 1)).expect("a point");
        Sample { unix_seconds, ..sample(&point, key, unix_seconds as u32, 1.0) }
    };
    let table = |samples: Vec<Sample>| {
        let record = Record { launch: Some(launch("0001", 1, "b")), samples, ..Record::default() };
        Samples::from(tabulate(&[record], |key| key.starts_with("first")))
    };
    let both =
        vec![sample_of("first a", 1.0), sample_of("first b", 2.0), sample_of("second", 3.0), sample_of("first a", 4.0)];
    assert_eq!(first_stage_samples(&table(both.clone())).len(), 2);
    assert_eq!(first_stage_samples(&table(both[..2].to_vec())).len(), 2);
    let old = vec![sample_of("other plan", 0.0), sample_of("first a", 1.0), sample_of("first b", 2.0)];
    assert_eq!(first_stage_samples(&table(old)).len(), 2, "samples of an older plan do not end the first stage");
}

#[test]
fn the_quickstart_ends_with_a_warning_if_points_have_too_few_samples() {
    use apexmap_cluster::cluster::Cluster;
    use apexmap_results::disk::Folder;
    use apexmap_run::campaign::Request;
    use apexmap_run::drive::plan::Progress;
    let scratch = Scratch::new();
    std::fs::write(scratch.join("tiny.toml"), TINY_SWEEP).expect("a sweep");
    let folder = Folder::create(&scratch.join("r")).expect("a folder");
    let verdict = |sweep: Option<&Path>| {
        let request =
            Request { sweep: sweep.map(Path::to_owned), out: Some(folder.path.clone()), ..Request::default() };
        let campaign = Cluster::load().and_then(|cluster| cluster.planner(&request).plan()).expect("a plan");
        let progress = Progress::new::<Sample>(&campaign.plan, &[]);
        campaign.verdict(&folder, &progress, false)
    };
    verdict(None).expect("the quickstart without samples");
    let error = verdict(Some(&scratch.join("tiny.toml"))).expect_err("another sweep");
    assert_eq!(error.exit_code(), 4);
    assert!(error.message.starts_with("2 of 2 points have too few samples; "), "{error}");
    assert!(error.message.ends_with(" more") && error.help == "run it again: all samples are kept", "{error}");
}

#[test]
fn a_budget_that_ends_a_sweep_is_a_warning_if_every_point_has_a_sample() {
    use apexmap_cluster::cluster::Cluster;
    use apexmap_run::campaign::Request;
    use apexmap_run::drive::plan::Progress;
    let scratch = Scratch::new();
    let path = scratch.join("tiny.toml");
    std::fs::write(&path, TINY_SWEEP).expect("a sweep");
    let folder = Folder::create(&scratch.join("r")).expect("a folder");
    let verdict = |budget: Option<f64>, statuses: &[Status]| {
        let request =
            Request { sweep: Some(path.clone()), out: Some(folder.path.clone()), budget, ..Request::default() };
        let campaign = Cluster::load().and_then(|cluster| cluster.planner(&request).plan()).expect("a plan");
        let entries = campaign.plan.entries.iter().zip(statuses);
        let run =
            |(entry, status): (&Entry, &Status)| Sample { status: *status, ..sample(&entry.point, &entry.key, 0, 1.0) };
        let record = Record { samples: entries.map(run).collect(), ..Record::default() };
        let progress = Progress::new(&campaign.plan, &[record]);
        campaign.verdict(&folder, &progress, false).map_err(|error| error.exit_code())
    };
    assert_eq!(verdict(Some(1.0), &[Status::Ok, Status::Ok]), Ok(()));
    assert_eq!(verdict(Some(1.0), &[Status::Ok]), Err(4), "a point has no sample");
    assert_eq!(verdict(Some(1.0), &[Status::Ok, Status::Failed]), Err(4));
    assert_eq!(verdict(None, &[Status::Ok, Status::Ok]), Err(4), "without a budget");
}

proptest! {
    #[test]
    fn wrapped_lines_fit_and_keep_their_words(words in prop::collection::vec("[a-zé]{1,12}", 1..60), indent in 0..9usize) {
        let text = format!("first\n{:indent$}{}\n\nlast", "", words.join(" "));
        let wrapped = wrap_lines(&text, Some(40));
        prop_assert!(wrapped.lines().all(|line| line.chars().count() <= 40), "{}", wrapped);
        prop_assert!(wrapped.split_whitespace().eq(text.split_whitespace()));
        prop_assert_eq!(wrap_lines(&text, None), text.as_str());
    }
}

#[test]
fn words_longer_than_the_terminal_stay_whole() {
    let path = "results/".repeat(8);
    let text = format!("  report: {path} and more words after it\n");
    let wrapped = wrap_lines(&text, Some(30));
    assert_eq!(wrapped, format!("  report:\n    {path}\n    and more words after it\n"));
}
