//! Tests of models against stores and papers, by the library and by the commands `models`, `predict`, `fit` and
//! `validate`.

use super::common::{Scratch, WITH_FITS, host, launch, manifest, refusal_message, sample, successful_stdout};
use crate::browser;
use crate::synthetic_machines;
use apexmap_base::point::Point;
use apexmap_base::provenance::Host;
use apexmap_base::sample::Event;
use apexmap_measure::kernels;
use apexmap_measure::kernels::keys::Q;
use apexmap_results::disk::Folder;
use apexmap_results::disk::journal::Journal;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::disk::record::Record;
use apexmap_results::disk::tabulate::tabulate;
use apexmap_results::samples::Samples;
use apexmap_run::sweep::ready;
use apexmap_study::model_fit;
use apexmap_study::model_fit::card::predict;
use apexmap_study::model_fit::groups::{groups, left_out};
use apexmap_study::validate::{self, Fault, Kind, Verdict, papers};
use apexmap_theory::fit::{self, Options, Role};
use apexmap_theory::machine::{Card, Domain, Number};
use apexmap_theory::models;
use apexmap_theory::models::apex_map::Surface;
use apexmap_theory::paper_tables;
use std::collections::BTreeSet;

fn hypercube(ranks: usize, look_ahead: u64) -> Point {
    let point = Point::new("random_access.hypercube", ranks)
        .with_parameter("N_words", 4096 * ranks as u64)
        .with_parameter("Q", look_ahead);
    kernels::complete(point).expect("a valid point")
}

/// Creates a result with rates of T_P = 50 us + 20 us log2 P, launches that differ by 1 %, and one outlier in each
/// launch.
fn result(scratch: &Scratch, points: &[Point]) -> Folder {
    let folder = Folder::create(&scratch.join("result")).expect("a folder");
    let mut number = 0;
    for point in points {
        for (block, factor) in [0.985, 0.995, 1.0, 1.005, 1.015].into_iter().enumerate() {
            number += 1;
            let name = format!("{number:04}");
            let mut journal = Journal::create(&folder.journal(&name)).expect("a journal");
            journal.append(&Event::Hello(Box::new(launch(&name, point.ranks, "b1")))).expect("a line");
            let operations = kernels::find(&point.kernel).expect("a kernel").work(point).operations;
            let rounds = operations / (point.ranks as f64 * Q.of(point) as f64);
            let seconds = factor * rounds * (50e-6 + 20e-6 * (point.ranks as f64).log2());
            for (repetition, times) in [1.0, 1.001, 9.0].into_iter().enumerate() {
                let mut sample = sample(point, &point.label(), repetition as u32, seconds * times);
                sample.block = block as u32;
                journal.append(&Event::Sample(Box::new(sample))).expect("a line");
            }
            journal.finish().expect("on disk");
        }
    }
    let manifest = Manifest {
        title: "made up".into(),
        machine: "made up machine".into(),
        points: points.len(),
        blocks: 5,
        budget_seconds: None,
        ..manifest()
    };
    let records = folder.records().expect("journals");
    manifest.with_records(&records).write(&folder).expect("a manifest");
    folder.compact().expect("a table");
    folder
}

fn ranks_1_to_16() -> Vec<Point> {
    [1, 2, 4, 8, 16].map(|ranks| hypercube(ranks, 1024)).to_vec()
}

#[test]
fn observations_are_the_medians_of_launches() {
    let scratch = Scratch::new();
    let samples = Samples::from(result(&scratch, &ranks_1_to_16()).table().expect("a table"));
    let model = models::find("random_access.hypercube").expect("a model");
    let data = model_fit::observations(&samples, model, &[]).expect("observations");
    assert_eq!((data.observations.len(), data.samples, data.kernel.as_str()), (25, 75, "random_access.hypercube"));
    // The median of a time multiplied by 1, 1.001 and 9.
    let first = &data.observations[0];
    let rate = 1024.0 / (0.985 * 1.001 * 50e-6);
    assert!(first.x == [1.0, 1024.0] && (first.y / rate - 1.0).abs() < 1e-9, "{first:?} {rate}");
    let fit = fit::fit(model, &data.observations, &[Role::Fit, Role::Fit], Options::default()).expect("a fit");
    assert!((fit.estimates[0].value / 50e-6 - 1.0).abs() < 0.01, "{:?}", fit.estimates);
    assert!((fit.estimates[1].value / 20e-6 - 1.0).abs() < 0.01, "{:?}", fit.estimates);
    assert!(fit.estimates.iter().all(|estimate| estimate.bootstrap.is_some()));
    let sentence = model_fit::sentence(model, &fit, None);
    assert!(sentence.contains("within 0.8 %") && sentence.contains("predicts P = 16"), "{sentence}");
}

#[test]
fn samples_that_differ_in_unmodelled_columns_are_refused() {
    let scratch = Scratch::new();
    let mut points = ranks_1_to_16();
    points.push(kernels::complete(hypercube(4, 1024).with_parameter("pages", "base")).expect("a valid point"));
    let samples = Samples::from(result(&scratch, &points).table().expect("a table"));
    let model = models::find("random_access.hypercube").expect("a model");
    let error = model_fit::observations(&samples, model, &[]).expect_err("mixed pages");
    assert!(error.message.contains("pages") && error.help.contains("--where 'pages == \""), "{error}");
    let surface = models::find("apex_map.surface").expect("a model");
    let error = model_fit::observations(&samples, surface, &[]).expect_err("another kernel");
    assert!(error.help.contains("apex_map.sequential"), "{error}");
}

#[test]
fn fit_prints_estimates_and_a_card_that_predict_accepts() {
    let scratch = Scratch::new();
    let folder = result(&scratch, &ranks_1_to_16());
    let path = folder.path.to_str().expect("a path");
    let text = successful_stdout(&["fit", path, "--model", "random_access.hypercube"]);
    assert!(
        text.contains("round_seconds (T_1)") && text.contains("SMAPE") && text.contains("The model assumes"),
        "{text}"
    );
    let card = successful_stdout(&["fit", path, "--model", "random_access.hypercube", "--format", "toml"]);
    let file = scratch.join("card.toml");
    std::fs::write(&file, &card).expect("written");
    let card = file.to_str().expect("a path");
    let text = successful_stdout(&[
        "predict",
        "random_access.hypercube",
        "--machine",
        card,
        "--ranks",
        "1..64",
        "--format",
        "json",
    ]);
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let last = &json["predictions"][6];
    let rate = last["value"].as_f64().expect("a rate");
    assert_eq!(last["P"], 64.0);
    assert!((rate / (64.0 * 1024.0 / 170e-6) - 1.0).abs() < 0.01, "{text}");
    // The card's intervals give a band.
    assert!(last["low"].as_f64().expect("low") < rate && rate < last["high"].as_f64().expect("high"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&successful_stdout(&[
        "fit",
        path,
        "--model",
        "random_access.hypercube",
        "--format",
        "json",
    ]))
    .expect("JSON");
    assert_eq!(json["fit"]["points"].as_array().map(Vec::len), Some(25));
    assert_eq!(json["variables"], serde_json::json!(["P", "Q"]));
    let pictures = scratch.join("pictures");
    let to = pictures.to_str().expect("a path");
    successful_stdout(&["fit", path, "--model", "random_access.hypercube", "--figures", to]);
    let svg = std::fs::read_to_string(pictures.join("random_access.hypercube-curves.svg")).expect("a picture");
    assert!(svg.contains("model and measurement") && pictures.join("random_access.hypercube-curves.png").is_file());
    let error = refusal_message(&["fit", path, "--model", "random_access.hypercube", "--where", "P >= 8 && P <= 8"]);
    assert!(error.contains("cannot identify 2 parameters") && error.contains("P = 1, 2, 4"), "{error}");
    let error = refusal_message(&["fit", path, "--model", "random_access.hypercube", "--hold", "round_second=1"]);
    assert!(error.contains("round_seconds"), "{error}");
}

#[test]
fn predict_accepts_ranges_units_and_words() {
    let text =
        successful_stdout(&["predict", "random_access.hypercube", "--machine", "red-storm", "--ranks", "1..8192"]);
    assert_eq!(text.lines().filter(|line| line.ends_with("exchange") || line.ends_with("computation")).count(), 14);
    assert!(text.contains("17.3 GUPS"), "{text}");
    let predict_with = |set: &str| {
        let arguments =
            ["predict", "random_access.bottleneck", "--machine", "bluegene-p", "--ranks", "1048576", "--set", set];
        successful_stdout(&[&arguments[..], &["--format", "toml"]].concat())
    };
    assert!(predict_with("topology=fat_tree").contains("topology = \"fat_tree\""));
    assert!(predict_with("link_bandwidth_bytes_per_second=1MB/s").contains("set_by = \"bisection\""));
    for (arguments, expected) in [
        (vec!["--set", "topology=toros"], "torus"),
        (vec!["--set", "Q"], "--set NAME=VALUE"),
        (vec!["--set", "rank=4"], "known are: P"),
        (vec!["--ranks", "0..8"], "write 1 or more"),
        (vec!["--ranks", "many"], "\"many\" is not a number"),
        (vec![], "--set P="),
    ] {
        let command =
            [&["predict", "random_access.bottleneck", "--machine", "bluegene-p"], arguments.as_slice()].concat();
        let error = refusal_message(&command);
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
    assert!(
        refusal_message(&["predict", "random_access.hypercube", "--machine", "seaborg", "--ranks", "4"])
            .contains("round_seconds")
    );
    let list = successful_stdout(&["models"]);
    assert!(models::ALL.iter().all(|model| list.contains(model.about().id)) && list.contains("red-storm"));
}

/// Values that contradict the formula, text or table of the same paper, in the order of the checks.
const CONTRADICTIONS: &[&str] = &[
    "gain over ping-pong, by accesses",
    "\"the primitive polynomial\" X64 + X63 + X62",
    "\"a primitive polynomial\" of the loop",
    "mod2 (TC 3.132 s), P = 2", // by the other rows
    "mod2 (TC 3.177 s), P = 2",
    "P = 8192",
    "P = 32",
    "P = 4", // Footnote 1
    "N = 64",
    "N = 1024",
    "N = 2048",
    "N = 4096", // multi-core bottleneck
    "an update, from the measured rate",
    "N = 32768", // measured multi-core
    "N = 384",   // mean of neighbours
    "latency with HyperTransport at 25 ns",
    "gain by a command of 8 bytes, 16-byte messages",
    "overhead allowed, four cores, 8 bytes",
    "saving by E-registers",
];

/// Values that depend on something that their model leaves out.
const MODEL_GAPS: &[&str] = &[
    "P = 1", // by the other rows
    "P = 4", // measured on few processors
    "original (TC 3.533 s), P = 2",
    "original (TC 3.533 s), P = 4",
    "original (TC 3.401 s), P = 16",
    "original (TC 3.401 s), P = 32",
    "mod6 (TC 2.953 s), P = 32", // by the other rows
    "original (TC 3.491 s), P = 2",
    "mod6 (TC 2.943 s), P = 32",
    "on 8192 processors",
    "Q = 1",
    "Q = 16", // by the other rows
    "Q = 1",
    "N = 1024",
    "N = 2048",
    "N = 4096", // single-core bottleneck
    "both models, N = 4096",
    "N = 384",
    "N = 768", // prediction
    "512M updates",
    "256M updates", // deviation, by the other rows
    "1 locks",
];

#[test]
fn validation_agrees_with_the_papers_except_for_known_disagreements() {
    let report = validate::validate(None).expect("a validation");
    let checks_with =
        |verdict: Verdict| report.checks.iter().filter(|check| check.verdict == verdict).collect::<Vec<_>>();
    let with = |fault: Fault| {
        let differing = checks_with(Verdict::Differs).into_iter().filter(|check| check.at_fault == Some(fault));
        differing.map(|check| check.what.clone()).collect::<Vec<_>>()
    };
    assert_eq!(with(Fault::Paper), CONTRADICTIONS);
    assert_eq!(with(Fault::Model), MODEL_GAPS);
    assert!(checks_with(Verdict::Differs).iter().all(|check| !check.remark.is_empty()));
    assert_eq!(
        checks_with(Verdict::NotExplained).iter().map(|check| &check.what).collect::<Vec<_>>(),
        ["TC, without copying"]
    );
    assert!(checks_with(Verdict::Agrees).iter().all(|check| check.at_fault.is_none()));
    let counts = report.counts();
    let counted = report.checks.iter().filter(|check| check.counts).count();
    assert_eq!(counts.iter().map(|count| count.values).sum::<usize>(), counted);
    let [identity, model, fitted, feature, predicted] = counts[..] else { panic!("{counts:?}") };
    assert_eq!((fitted.kind, feature.kind), (Kind::Fitted, Kind::Feature));
    let page =
        |name: &str| std::fs::read_to_string(name).expect("a page").split_whitespace().collect::<Vec<_>>().join(" ");
    let summary = format!(
        "{} of {} predicted values are within 10 % of the printed ones and {} within 5 %",
        predicted.within_10, predicted.values, predicted.within_5
    );
    assert!(page("README.md").contains(&summary), "README.md does not say: {summary}");
    assert!(page("docs/appendix/models.md").contains(&summary), "docs/appendix/models.md does not say: {summary}");
    for count in &counts {
        let paper = count.differ - count.model_at_fault;
        let row =
            format!("| {} | {} | {} | {paper} | {} |", count.values, count.agree, count.differ, count.model_at_fault);
        assert!(
            page("docs/appendix/models.md").contains(&row),
            "docs/appendix/models.md has no row for {:?}: {row}",
            count.kind
        );
    }
    assert!(identity.values > 40 && model.values > 60, "{counts:?}");
    let fitted = &report.fits[0];
    assert!(fitted.lines[0].contains("54.7 us") && fitted.lines[0].contains("the paper: 56.9 us"), "{fitted:?}");
    assert!(fitted.lines[1].contains("31.6 us") && fitted.lines[1].contains("the paper: 33 us"), "{fitted:?}");
    // Large tori do not identify the two parameters of routing on one core.
    assert!(report.fits[3].lines[0].starts_with("refused") && report.fits[4].smape.is_some());
    let text = successful_stdout(&["validate", "--all"]);
    assert!(
        text.contains("NOT EXPLAINED")
            && text.contains("DIFFERS (the paper's fault): ")
            && text.contains("DIFFERS (the model's fault): ")
    );
    assert!(
        text.contains("within 3 % [fitted, counted above]\n") && text.contains("within 3 % [predicted]\n"),
        "{text}"
    );
    let short = successful_stdout(&["validate"]);
    assert!(short.lines().count() <= 20 && short.contains("  hypercube paper, Table 3 (5)\n"), "{short}");
    assert!(short.contains("--all") && short.contains("--report FOLDER"), "the next steps: {short}");
    assert!(!successful_stdout(&["validate", "--help"]).contains("nothing was tuned"));
    // This folder has no results of `make papers`.
    let (scratch, simulated) = (Scratch::new(), "--simulated");
    let empty = scratch.join("").to_string_lossy().into_owned();
    let text = successful_stdout(&["validate", "--format", "json", simulated, &empty]);
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["checks"].as_array().map(Vec::len), Some(report.checks.len()));
}

#[test]
fn each_printed_value_counts_once_and_only_a_tolerance_makes_it_a_test() {
    let report = validate::validate(None).expect("a validation");
    let mut seen = BTreeSet::new();
    for check in report.checks.iter().filter(|check| check.counts) {
        let is_new = check.printed.iter().fold(false, |any, name| any | seen.insert(name));
        assert!(is_new, "{}: {} counts twice", check.source, check.what);
    }
    let counted = |kind: Kind| report.checks.iter().filter(move |check| check.kind == kind && check.counts);
    // The fitted number of a row that the other rows predict does not count again.
    assert!(counted(Kind::Fitted).all(|check| !check.source.contains("Table 3") && !check.source.contains("Table 2")));
    assert_eq!(counted(Kind::Predicted).filter(|check| check.source.contains("Table 2 (b)")).count(), 3);
    // What lies on one side of a limit is a feature at most.
    for table in ["checks-hypercube", "checks-bluegene", "checks-nic", "checks-simulated"] {
        let table = paper_tables::table(table).expect("a table");
        for row in 0..table.rows.len() {
            let (kind, condition) = (table.word(row, "kind"), table.word(row, "agrees"));
            let has_two_sides = condition.contains("difference <= ") || condition.contains(" && ");
            let is_test = ["predicted", "simulated", "fitted"].contains(&kind);
            assert!(has_two_sides || !is_test, "{}: {}", table.word(row, "source"), table.word(row, "what"));
        }
    }
}

#[test]
fn each_fault_of_a_paper_shows_its_numbers() {
    let report = validate::validate(None).expect("a validation");
    let of_the_paper = report.checks.iter().filter(|check| check.at_fault == Some(Fault::Paper));
    for check in of_the_paper {
        let digits = check.remark.split(|letter: char| !letter.is_ascii_digit()).filter(|digits| !digits.is_empty());
        assert!(digits.count() >= 2, "{}: {}: {}", check.source, check.what, check.remark);
    }
}

#[test]
fn the_table_of_papers_lists_only_existing_items_and_each_value_once() {
    let report = validate::validate(None).expect("a validation");
    let items = papers::items().expect("the items");
    for item in &items {
        let place = format!("{}, {}", item.paper, item.place);
        item.models.iter().for_each(|id| assert!(models::find(id).is_ok(), "{place}: {id}"));
        for name in &item.sweeps {
            assert!(ready::READY_SWEEPS.iter().any(|sweep| sweep.name == *name), "{place}: {name}");
        }
        for source in &item.checks {
            assert!(report.checks.iter().any(|check| check.source.starts_with(source)), "{place}: {source}");
        }
        let nothing = item.models.is_empty() && item.sweeps.is_empty() && item.checks.is_empty();
        assert!(!nothing || !item.missing.is_empty(), "{place} is not reproduced and does not say why");
    }
    for check in &report.checks {
        let own = items.iter().filter(|item| item.has(check)).count();
        assert_eq!(own, 1, "{}: {}", check.source, check.what);
    }
    // The list includes every published table of values.
    for paper in ["Table 1", "Table 2", "Table 3", "Table 4"] {
        assert!(items.iter().filter(|item| item.place.contains(paper)).count() >= 2, "{paper}");
    }
    let values = report.papers.iter().flat_map(|row| &row.values).map(|count| count.values);
    assert_eq!(values.sum::<usize>(), report.checks.iter().filter(|check| check.counts).count());
    let text = successful_stdout(&["validate", "--all"]);
    assert!(
        text.contains("Reproduced parts of each table and figure") && text.contains("identities of printed numbers")
    );
}

#[test]
fn every_fitted_number_is_tested_on_each_row_left_out() {
    let report = validate::validate(None).expect("a validation");
    let recomputed = |source: &str, kind: Kind| {
        let matching = report.checks.iter().filter(move |check| check.source.starts_with(source) && check.kind == kind);
        matching.map(|check| check.recomputed).collect::<Vec<_>>()
    };
    for (source, rows) in [
        ("hypercube paper, Table 3, T1", 35),
        ("hypercube paper, Table 4, the round", 10),
        ("Blue Gene/P paper, Table 2 (a), mean", 5),
        ("Blue Gene/P paper, Table 2 (a), standard deviation by mean", 5),
        ("Blue Gene/P paper, Table 2 (b)", 3),
        ("Blue Gene/P paper, Table 3, owner by division", 4),
    ] {
        let (fitted, predicted) = (recomputed(source, Kind::Fitted), recomputed(source, Kind::Predicted));
        assert_eq!((fitted.len(), predicted.len()), (rows, rows), "{source}");
        assert_ne!(fitted, predicted, "{source}");
    }
    let near = |actual: &[f64], expected: &[f64]| {
        assert_eq!(actual.len(), expected.len());
        actual.iter().zip(expected).for_each(|(a, b)| assert!((a / b - 1.0).abs() < 2e-3, "{actual:?} {expected:?}"));
    };
    // Least squares and means computed by another program (Python).
    let source = "hypercube paper, Table 2, measured powers of two by T_1";
    near(
        &recomputed(source, Kind::Predicted),
        &[0.02517, 0.034246, 0.090339, 0.26810, 0.85329, 2.8384, 9.7777, 18.2347],
    );
    near(
        &recomputed("Blue Gene/P paper, Table 2 (a), mean", Kind::Predicted),
        &[2.2549, 3.6750, 5.5454, 10.3442, 15.2666],
    );
    let source = "Blue Gene/P paper, Table 2 (a), standard deviation by mean";
    near(&recomputed(source, Kind::Fitted), &[0.47542, 0.43674, 0.32785, 0.27832, 0.18574]);
    near(&recomputed(source, Kind::Predicted), &[0.46714, 0.43349, 0.31003, 0.29517, 0.18990]);
    near(&recomputed("Blue Gene/P paper, Table 2 (b)", Kind::Predicted), &[0.98072, 1.81257, 1.88927]);
    near(
        &recomputed("Blue Gene/P paper, Table 3, owner by division", Kind::Predicted),
        &[0.33898, 0.67035, 1.25677, 2.57130],
    );
    // 0.3989 sqrt((1 - 1/P) / 1024), in per cent: the statement "less than 1%" holds for two processors only.
    near(&recomputed("hypercube paper, Footnote 1", Kind::Feature), &[1.2466, 1.2271, 1.0797, 0.8815]);
    // 7 us plus 4096 bytes at 1.1 GB/s.
    near(&recomputed("hypercube paper, Section 3, TC in parts", Kind::Model), &[10.7236]);
    assert_eq!(recomputed("Blue Gene/P paper, Theorem 4.1: floor", Kind::Model), [1134224.0]);
}

#[test]
fn unidentified_parameters_are_taken_from_a_card_or_assumed_and_named() {
    let scratch = Scratch::new();
    let plan =
        synthetic_machines::Plan { words: &[1 << 26], base_pages: false, noise: 0.02, ..synthetic_machines::ONE_RANK };
    let folder = synthetic_machines::folder(&scratch, "one-size", plan, &synthetic_machines::NUMBERS, false);
    let path = folder.to_str().expect("a path");
    let fit = ["fit", path, "--model", "apex_map.surface", "--where", "L >= 256"];
    let sizes = ["--hold", "l2_bytes=512KiB", "--hold", "l3_bytes=32MB", "--hold", "l3_cores=8"];
    let text = successful_stdout(&[&fit[..], &sizes].concat());
    assert!(text.contains(model_fit::ASSUMED), "{text}");
    assert!(text.contains("the fit assumes typical values") && text.contains("l3_alone_seconds"), "{text}");
    let card = scratch.join("one-size.toml");
    let text = successful_stdout(&[&fit[..], &["--machine", card.to_str().expect("a path")]].concat());
    assert!(text.contains("from the card: not identified by the data"), "{text}");
    assert!(text.contains("These points do not identify ") && text.contains("l3_alone_seconds"), "{text}");
}

#[test]
fn a_fit_does_not_depend_on_interruptions() {
    let scratch = Scratch::new();
    let folder = result(&scratch, &ranks_1_to_16());
    let records = || folder.records().expect("journals");
    let model = models::find("random_access.hypercube").expect("a model");
    let data = |records: &[Record]| {
        let samples = Samples::from(tabulate(records, |_| true));
        model_fit::observations(&samples, model, &[]).expect("observations").observations
    };
    let (mut pieces, mut rest) = (records(), records());
    for (index, (piece, rest)) in pieces.iter_mut().zip(&mut rest).enumerate() {
        rest.samples = piece.samples.split_off(1 + index % 2);
        rest.launch.as_mut().expect("a greeting").launch = format!("{:04}", 1000 + index);
    }
    pieces.append(&mut rest);
    assert_eq!(data(&pieces), data(&records()));
}

#[test]
fn numbers_on_which_no_point_depends_are_not_asked_for() {
    let records = |nodes: usize| {
        let record = |(index, ranks): (usize, usize)| {
            let point = Point::new("random_access.base", ranks)
                .with_parameter("N_words", 4096 * ranks as u64)
                .with_parameter("sending", "immediate");
            let point = kernels::complete(point).expect("a valid point");
            let mut launch = launch(&format!("{index:04}"), ranks, "b1");
            launch.transport = "mpi".into();
            launch.placement.iter_mut().for_each(|place| place.node = format!("n{}", place.rank % nodes));
            let operations = kernels::find(&point.kernel).expect("a kernel").work(&point).operations;
            let p = ranks as f64;
            let seconds = operations / p * (50e-9 + (p - 1.0) / p * 400e-9);
            let samples = [1.0, 1.01].into_iter().enumerate();
            let samples = samples.map(|(run, factor)| sample(&point, &point.label(), run as u32, seconds * factor));
            Record { launch: Some(launch), samples: samples.collect(), ..Record::default() }
        };
        [1, 2, 4, 8].into_iter().enumerate().map(record).collect::<Vec<_>>()
    };
    let model = models::find("random_access.bottleneck").expect("a model");
    let fit = |nodes: usize, held: &[(&'static str, f64)]| {
        let samples = Samples::from(tabulate(&records(nodes), |_| true));
        let data = model_fit::observations(&samples, model, &[])?;
        data.fit(model, &model_fit::roles(model, (&samples, None), None, held, &[]), Options::default())
    };
    let numbers = ["link_bandwidth_bytes_per_second", "bisection_bytes_per_second", "update_wire_bytes"];
    let one_node = fit(1, &[]).expect("a fit");
    assert_eq!(one_node.absent, numbers);
    assert_eq!(one_node.estimates.len(), 2);
    // Several nodes have links; one error names all that is missing, and its help works.
    let error = fit(8, &[]).expect_err("no links");
    let needed = [numbers[0], numbers[2]];
    assert!(needed.iter().all(|number| error.message.contains(number)), "{error}");
    assert!(
        error.help.contains("--hold link_bandwidth_bytes_per_second=VALUE --hold update_wire_bytes=VALUE"),
        "{error}"
    );
    assert_eq!(fit(8, &[(needed[0], 1e9), (needed[1], 46.0)]).expect("a fit").absent, [numbers[1]]);
}

#[test]
fn sizes_that_a_machine_hides_are_typical_and_named_unless_a_card_has_them() {
    let model = models::find("apex_map.surface").expect("a model");
    let hidden = Host { caches: Vec::new(), tlb_entries_4k: None, ..host() };
    let role = |host: &Host, card: Option<&Card>, number: &str| {
        let roles = model_fit::roles(model, (&Samples::default(), Some(host)), card, &[], &[]);
        let index = model.about().parameters.iter().position(|parameter| parameter.number == number);
        roles[index.expect("a parameter")]
    };
    assert_eq!(role(&host(), None, "tlb_entries"), Role::Hold(1536.0), "as the processor reports");
    for (number, typical) in [("tlb_entries", 1536.0), ("l1_bytes", 32768.0), ("l3_cores", 8.0)] {
        assert_eq!(role(&hidden, None, number), Role::Assume(typical), "{number}");
    }
    let mut card = Card::new("measured", "a test", "a test");
    card.set("tlb_reach_bytes--base", Number::new(8.0, "MiB", "a test")).expect("a number");
    assert_eq!(role(&hidden, Some(&card), "tlb_entries"), Role::Hold(2048.0), "the reach of the card");
}

#[test]
fn a_surface_fit_to_writing_accesses_is_refused() {
    let scratch = Scratch::new();
    let plan = synthetic_machines::Plan { access: "update", words: &[1 << 20], ..synthetic_machines::ONE_RANK };
    let folder = synthetic_machines::folder(&scratch, "writes", plan, &synthetic_machines::NUMBERS, true);
    let error = refusal_message(&["fit", folder.to_str().expect("a path"), "--model", "apex_map.surface"]);
    assert!(error.contains("apex_map.surface covers only access = \"read\""), "{error}");
    // No condition selects what the result does not have.
    assert!(error.contains("this result has no such point: measure alpha") && !error.contains("--where"), "{error}");
    // Reports leave such points out and give their number.
    let samples = |plan| synthetic_machines::machine("a", plan, &synthetic_machines::NUMBERS).samples;
    let (points, why) = left_out(&samples(plan), &Surface).expect("all of them");
    assert!(points == 25 && why.message.contains("access"), "{points} {why}");
    assert!(left_out(&samples(synthetic_machines::ONE_RANK), &Surface).is_none());
    // Predictions for such accesses are refused, too, whatever the order of the words.
    let card = folder.join("machine.toml");
    let predict = ["predict", "apex_map.surface", "--machine", card.to_str().expect("a path"), "--ranks", "1"];
    for access in ["access=write", "access=read,write"] {
        let settings = ["--set", "alpha=1", "--set", "L=1", "--set", "M=1048576", "--set", access];
        assert!(refusal_message(&[&predict[..], &settings].concat()).contains("apex_map.surface"), "{access}");
    }
}

#[test]
fn samples_in_a_group_agree_in_every_unmodelled_column() {
    let scratch = Scratch::new();
    let mut points = ranks_1_to_16();
    points.push(hypercube(4, 64));
    points.push(kernels::complete(hypercube(4, 1024).with_parameter("pages", "base")).expect("a valid point"));
    let samples = Samples::from(result(&scratch, &points).table().expect("a table"));
    let labels = |id: &str| {
        let model_groups = groups(&samples, models::find(id).expect("a model")).expect("groups");
        model_groups.into_iter().map(|group| (group.label, group.points)).collect::<Vec<_>>()
    };
    // T_1 and T_C belong to one Q; the model with separate parts has Q as a variable.
    let first = labels("random_access.hypercube").remove(0);
    assert!(first.0.contains("Q = 1024") && !first.0.contains("base") && first.1 == 5, "{first:?}");
    assert_eq!(labels("random_access.hypercube").len(), 3);
    let parts = labels("random_access.all_to_all");
    assert!(parts.len() == 2 && parts[0].1 == 6, "{parts:?}");
    assert!(labels("apex_map.surface").is_empty());
}

fn point_with_sending(kernel: &str, ranks: usize, sending: Option<&str>) -> Point {
    let point = Point::new(kernel, ranks).with_parameter("N_words", 4096 * ranks as u64);
    let point = if let Some(sending) = sending { point.with_parameter("sending", sending) } else { point };
    kernels::complete(point).expect("a valid point")
}

#[test]
fn equation_1_is_not_fitted_to_updates_in_buckets() {
    let model = models::find("random_access.bottleneck").expect("a model");
    let base =
        |sending: &str| [1, 2, 4].map(|ranks| point_with_sending("random_access.base", ranks, Some(sending))).to_vec();
    let samples = |points: &[Point]| {
        let scratch = Scratch::new();
        Samples::from(result(&scratch, points).table().expect("a table"))
    };
    let bucketed = samples(&base("bucketed"));
    let error = groups(&bucketed, model).expect_err("buckets alone");
    assert!(error.message.contains("covers only sending = \"immediate\""), "{error}");
    assert!(error.help.starts_with("this result has no such point: measure sending"), "{error}");
    assert!(model_fit::observations(&bucketed, model, &[]).is_err());
    // Single updates in the same store are fitted, and so is another kernel of the same model.
    let both = samples(&[base("bucketed"), base("immediate")].concat());
    let both_groups = groups(&both, model).expect("groups");
    assert_eq!(both_groups.iter().map(|group| group.points).collect::<Vec<_>>(), [3]);
    assert_eq!(left_out(&both, model).expect("buckets").0, 3);
    // The suggested condition replaces one about the same name, and keeps the others.
    let scratch = Scratch::new();
    result(&scratch, &[base("bucketed"), base("immediate")].concat());
    let path = scratch.join("result");
    let fit = ["fit", path.to_str().expect("a path"), "--model", "random_access.bottleneck"];
    let error = refusal_message(&[&fit[..], &["--where", "sending == \"bucketed\" && P >= 2"]].concat());
    assert!(error.contains("--where 'P >= 2 && sending == \"immediate\"'"), "{error}");
    let puts = [1, 2, 4].map(|ranks| point_with_sending("random_access.one_sided", ranks, None)).to_vec();
    let puts_groups = groups(&samples(&[base("bucketed"), puts].concat()), model).expect("groups");
    assert_eq!(puts_groups.len(), 1);
    assert!(puts_groups[0].label.starts_with("random_access.one_sided"), "{}", puts_groups[0].label);
}

fn at_q_1024() -> Domain {
    let mut domain = Domain::default();
    domain.include("Q", 1024.0);
    domain
}

#[test]
fn a_card_alone_predicts_from_its_numbers() {
    let scratch = Scratch::new();
    let folder = result(&scratch, &ranks_1_to_16());
    let samples = Samples::from(folder.table().expect("a table"));
    let model = models::find("random_access.hypercube").expect("a model");
    let mut card = Card::new("half", "half as fast", "made up");
    card.set_base("round_seconds", 100e-6, "made up").expect("a number");
    card.set_base("stage_seconds", 40e-6, "made up").expect("a number");
    let error = predict(&samples, model, &card).expect_err("a card that does not say its Q");
    assert!(error.message.contains("does not say for which Q T_1 holds"), "{error}");
    card.domain = Some(at_q_1024());
    let (data, predicted) = predict(&samples, model, &card).expect("predictions");
    assert_eq!((data.observations.len(), predicted.points.len()), (25, 25));
    assert!((predicted.bias - 2.0).abs() < 0.02, "{}", predicted.bias);

    // 2 (2 - 1) / (2 + 1)
    assert!((predicted.smape - 2.0 / 3.0).abs() < 0.01, "{}", predicted.smape);
    let words = apexmap_study::model_fit::card::sentence(model, &card, &predicted);
    assert!(words.contains("does not describe the measurement: its error is 66."), "{words}");
    assert!(
        words.contains("% (SMAPE), more than 25 %, and its median point is 2.00 times faster than predicted"),
        "{words}"
    );
    let incomplete = predict(&samples, models::find("random_access.all_to_all").expect("a model"), &card);

    assert!(incomplete.expect_err("the card has no parts").message.contains("local_seconds"));
}

#[test]
fn a_report_shows_fits_refusals_and_predictions() {
    let scratch = Scratch::new();
    let folder = result(&scratch, &ranks_1_to_16());
    let mut card = Card::new("<b>mine</b>", "made up", "made up");
    card.set_base("round_seconds", 50e-6, "made up").expect("a number");
    card.set_base("stage_seconds", 20e-6, "made up").expect("a number");
    card.domain = Some(at_q_1024());
    let path = scratch.join("result/machine.toml");
    std::fs::write(&path, card.to_toml()).expect("a card");
    let samples = Samples::from(folder.table().expect("a table"));
    apexmap_pages::report::make(&folder, &samples, WITH_FITS).expect("a report");
    let page = std::fs::read_to_string(folder.report()).expect("a page");
    assert!(page.contains("random_access.hypercube explains the measurement to within 0.8 %"));
    assert!(page.contains("199 resamples") && page.contains("SMAPE at the largest P, from a fit without it"));
    assert!(page.contains("and nothing fitted, random_access.hypercube predicts the measurement to within 0.8 %"));
    assert!(page.contains("&lt;b&gt;mine") && !page.contains("<b>mine"));
    assert!(page.contains("network_bandwidth_bytes_per_second"), "all_to_all is refused");
    assert!(folder.figures().join("fit-random_access.hypercube-curves-random_access.hypercube.png").is_file());
    std::fs::write(&path, "name = 3").expect("a file");
    let error = apexmap_pages::report::make(&folder, &samples, WITH_FITS).expect_err("no card");
    assert!(format!("{error:?}").contains("machine.toml"), "{error:?}");
}

#[test]
fn the_validation_writes_a_page_with_figures() {
    let scratch = Scratch::new();
    let to = scratch.join("validation");
    let messages = successful_stdout(&["validate", "--report", to.to_str().expect("a path")]);
    assert!(messages.contains("validate.html"), "{messages}");
    let page = std::fs::read_to_string(to.join("validate.html")).expect("a page");
    browser::check_usable(&to.join("validate.html"));
    let report = validate::validate(None).expect("a validation");
    let plain = |text: &str| !text.contains(['"', '\'', '/', '<', '>', '&']);
    let remarks = report.checks.iter().map(|check| &check.remark).filter(|remark| !remark.is_empty() && plain(remark));
    assert!(remarks.clone().count() > 5);
    for remark in remarks {
        assert!(page.contains(remark.as_str()), "{remark}");
    }
    for name in ["efficiency-over-p", "efficiency-over-q", "measured-by-fitted", "fit-1-1-curves"] {
        assert!(to.join(format!("figures/{name}.png")).is_file(), "{name}");
    }
    assert!(!page.contains("<script src") && page.matches("<script").count() == 1, "only the shell's own script");
    assert!(refusal_message(&["validate", "--report", "x", "--format", "json"]).contains("cannot be used with"));
}

#[test]
fn a_saved_fit_serves_as_a_card_for_predictions_and_reports() {
    let scratch = Scratch::new();
    let folder = result(&scratch, &ranks_1_to_16());
    let path = scratch.join("mine.toml");
    let result = scratch.join("result");
    let result = result.to_str().expect("a path");
    let fitted = successful_stdout(&["fit", result, "--model", "random_access.hypercube", "--format", "toml"]);
    std::fs::write(&path, &fitted).expect("a file");
    let card = path.to_str().expect("a path");
    let predicted = successful_stdout(&[
        "predict",
        "random_access.hypercube",
        "--machine",
        card,
        "--ranks",
        "1..8192",
        "--format",
        "json",
    ]);
    let json: serde_json::Value = serde_json::from_str(&predicted).expect("JSON");
    let rows = json["predictions"].as_array().expect("rows");
    assert_eq!(rows.len(), 14);
    // 8192 ranks of 1024 updates take 50 + 13 x 20 us. Launches differ by 1 %; with 5 points, the interval extends to
    // 3.2 times that on both sides.
    let relative = |name: &str| rows[13][name].as_f64().expect("a number") / (8192.0 * 1024.0 / 310e-6);
    assert!((relative("value") - 1.0).abs() < 0.02, "{}", relative("value"));
    assert!(
        relative("low") > 0.93 && relative("low") < 0.99 && relative("high") > 1.01 && relative("high") < 1.07,
        "{}",
        rows[13]
    );
    let samples = Samples::from(folder.table().expect("a table"));
    let model = models::find("random_access.hypercube").expect("a model");
    let (_, predicted) = predict(&samples, model, &Card::read(&path).expect("a card")).expect("predictions");
    assert!(predicted.smape < 0.02 && (predicted.bias - 1.0).abs() < 0.01, "{predicted:?}");
}

#[test]
fn an_all_to_all_is_an_exchange_in_one_dimension() {
    let scratch = Scratch::new();
    let points = [1, 2, 4, 8].map(|ranks| {
        let point = Point::new("random_access.alltoallv", ranks).with_parameter("N_words", 4096 * ranks as u64);
        kernels::complete(point).expect("a valid point")
    });
    let samples = Samples::from(result(&scratch, &points).table().expect("a table"));
    let model = models::find("random_access.all_to_all").expect("a model");
    let data = model_fit::observations(&samples, model, &[]).expect("observations");
    assert!(data.observations.iter().all(|seen| seen.x[2] == 1.0), "{:?}", data.observations);
    // A value from the user takes precedence over the kernel's.
    let data = model_fit::observations(&samples, model, &[("d".into(), 2.0)]).expect("observations");
    assert!(data.observations.iter().all(|seen| seen.x[2] == 2.0), "{:?}", data.observations);
}
