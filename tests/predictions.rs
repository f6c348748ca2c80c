//! Tests of predictions drawn without a result, of compact models of Apex-Map in fits and reports, of the published surface of a
//! device, and of cards without some numbers.

use super::common::{Scratch, refusal_message, successful_stdout};
use crate::synthetic_machines;
use apexmap_pages::report::Additions;
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::samples::Samples;
use apexmap_study::model_fit;
use apexmap_theory::fit::Options;
use apexmap_theory::fit::quality::geometric_spread;
use apexmap_theory::machine::{Card, Number};
use apexmap_theory::models::scan::{Numbers, scan, scan_point};
use apexmap_theory::models::{self, Model};
use apexmap_theory::paper_tables::table;
use std::cell::RefCell;
use std::path::Path;

const ALPHAS: [f64; 7] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0];

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/cards").join(name);
    path.to_str().expect("a path").to_owned()
}

/// Returns predicted bandwidths at [alpha, L] in 512 MiB for the card of a hypothetical machine.
fn predict_map(card: &str) -> Vec<Vec<f64>> {
    let model = models::find("apex_map.two_level_linear").expect("a model");
    let card = Card::read(Path::new(&file(card))).expect("a card");
    assert!(card.name.starts_with("Hypothetical"), "{}", card.name);
    let numbers = Numbers::new(model, &card, &[]).expect("numbers");
    let blocks: Vec<f64> = (0..15).map(|power| f64::from(1 << power)).collect();
    let given = [("alpha".into(), ALPHAS.to_vec()), ("L".into(), blocks), ("M".into(), vec![67108864.0])];
    let rows = scan(model, &numbers, &given).expect("predictions");
    rows.chunks(15).map(|row| row.iter().map(|point| point.prediction.value).collect()).collect()
}

#[test]
fn contours_are_vertical_for_vector_machines_and_diagonal_with_caches() {
    // Apex-Map paper, Figure 7: the effect of alpha in each column, and of L in each row.
    let span = |values: &mut dyn Iterator<Item = f64>| {
        let (low, high) = values.fold((f64::INFINITY, 0.0f64), |(low, high), v| (low.min(v), high.max(v)));
        high / low
    };
    let spans = |map: &[Vec<f64>]| {
        let by_alpha: Vec<f64> = (0..15).map(|column| span(&mut map.iter().map(|row| row[column]))).collect();
        let by_length: Vec<f64> = map.iter().map(|row| span(&mut row.iter().copied())).collect();
        (by_alpha, by_length)
    };
    let (by_alpha, by_length) = spans(&predict_map("hypothetical-vector.toml"));
    assert!(by_alpha.iter().all(|span| *span < 1.3) && by_length.iter().all(|span| *span > 300.0), "{by_alpha:?}");
    let (by_alpha, by_length) = spans(&predict_map("hypothetical-cache.toml"));
    assert!(by_alpha.iter().all(|span| *span > 5.0) && by_length.iter().all(|span| *span > 3.0), "{by_alpha:?}");
}

#[test]
fn predictions_without_a_result_are_drawn_and_marked_as_not_measured() {
    let scratch = Scratch::new();
    let card = file("hypothetical-cache.toml");
    let alphas = ALPHAS.map(|alpha| alpha.to_string()).join(",");
    let (alphas, out) =
        (format!("alpha={alphas}"), |name: &str| scratch.join(name).to_str().expect("a path").to_owned());
    let predict = |more: &[&str]| {
        let base = ["predict", "apex_map.two_level_linear", "--machine", &card, "--set", "M=67108864"];
        [&base[..], more].concat().iter().map(|word| (*word).to_owned()).collect::<Vec<String>>()
    };
    for (kind, name) in [("surface", "a.svg"), ("contour", "b.svg"), ("curves", "c.svg"), ("contour", "d.png")] {
        let file = out(name);
        let words = predict(&["--set", &alphas, "--set", "L=1..16384", "--plot", kind, "--out", &file]);
        let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        assert!(successful_stdout(&arguments).contains(name));
        if name.ends_with(".svg") {
            let svg = std::fs::read_to_string(&file).expect("a picture");
            assert!(svg.contains("predicted, not measured"), "{kind}");
            assert!(svg.contains("PREDICTED with the card of Hypothetical cache-rich machine"), "{kind}");
        } else {
            assert!(std::fs::read(&file).expect("a picture").starts_with(b"\x89PNG"));
        }
    }
    let file = out("e.svg");
    for (further_arguments, expected) in [
        (
            vec!["--set", "alpha=1", "--set", "L=1..64", "--plot", "contour", "--out", &file],
            "ranges of two variables; here L vary",
        ),
        (vec!["--set", "alpha=1", "--set", "L=1", "--plot", "curves", "--out", &file], "curves need a range"),
        (vec!["--set", "alpha=1", "--set", "L=1..64", "--plot", "curves"], "--out"),
        (vec!["--set", "alpha=1", "--set", "L=1..64", "--out", &file], "--plot"),
        (vec!["--set", "alpha=1", "--set", "L=1..64", "--plot", "curves", "--out", "e.txt"], "none of .svg"),
        (
            vec!["--set", "alpha=1", "--set", "L=1", "--format", "json", "--plot", "curves", "--out", &file],
            "cannot be used with",
        ),
        (vec!["--set", "alpha=1", "--set", "L=1", "--set", "P=4", "--set", "far=memory"], "far=ranks"),
    ] {
        let words = predict(&further_arguments);
        let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        let error = refusal_message(&arguments);
        assert!(error.contains(expected), "{further_arguments:?}: {error}");
    }
}

#[test]
fn all_missing_card_numbers_and_the_usable_machines_are_listed() {
    let predict = ["predict", "apex_map.surface", "--machine", "seaborg", "--ranks", "1", "--set", "alpha=1"];
    let error = refusal_message(&[&predict[..], &["--set", "L=1", "--set", "M=1048576"]].concat());
    for name in ["l1_bytes", "l2_bytes", "issue_seconds", "overlap_seconds"] {
        assert!(error.contains(name), "{name}: {error}");
    }
    let rates = successful_stdout(&["predict", "random_access.hypercube", "--machine", "red-storm", "--ranks", "4"]);
    assert!(rates.contains(" GUPS") && !rates.contains("M/s"), "{rates}");
    let error = refusal_message(&["predict", "random_access.hypercube", "--machine", "seaborg", "--ranks", "4"]);
    assert!(error.contains("round_seconds") && error.contains("stage_seconds"), "{error}");
    assert!(
        successful_stdout(&["models", "random_access.hypercube"]).contains("published machines: red-storm, bluegene-l")
    );
    assert!(
        successful_stdout(&["models", "apex_map.two_level"]).contains("published machines: no card has all parameters")
    );
    let model = models::find("message_rate.nic").expect("a model");
    assert_eq!(models::published::published_machines(model), ["simulated-nic"]);
    // Their cards have no numbers of messages between ranks.
    let surface = models::find("apex_map.surface").expect("a model");
    assert_eq!(
        models::published::published_machines(surface),
        ["hypothetical-smp (P = 1)", "hypothetical-vector (P = 1)"]
    );
}

#[test]
fn a_report_compares_compact_models_with_the_large_one() {
    // The geometric standard deviation of 1, 2 and 4: their logarithms differ by ln 2.
    assert!((geometric_spread([1.0, 2.0, 4.0].into_iter()) - 2.0).abs() < 1e-12);
    assert!(geometric_spread(std::iter::once(1.0)).is_nan());
    let scratch = Scratch::new();
    let plan = synthetic_machines::Plan { words: &[1 << 26], noise: 0.02, ..synthetic_machines::ONE_RANK };
    let folder = synthetic_machines::folder(&scratch, "ladder", plan, &synthetic_machines::NUMBERS, true);
    let folder = Folder::open(&folder).expect("a folder");
    let samples = Samples::from(folder.table().expect("a table"));
    let pages = RefCell::new(Vec::new());
    let progress = |line: &str| {
        let page = std::fs::read_to_string(folder.report()).expect("a page before the fits");
        pages.borrow_mut().push((line.to_owned(), page));
    };
    let additions = Additions { fits: Some(&progress), ..Additions::default() };
    apexmap_pages::report::make(&folder, &samples, additions).expect("a report");
    let pages = pages.into_inner();
    let count = pages.len();
    for (number, (line, page)) in pages.iter().enumerate() {
        let end = format!(" {} of {count}: apex_map.sequential", number + 1);
        assert!(line.starts_with("fitting apex_map.") && line.ends_with(&end), "{line}");
        assert!(page.contains(&format!(" --models</code> adds the fits of models ({count})")), "{line}");
    }
    assert!(count > 1 && pages[0].0.starts_with("fitting apex_map.surface 1 of"), "{count}");
    let page = std::fs::read_to_string(folder.report()).expect("a page");
    assert!(!page.contains("--models"), "the page is the first one");
    // The synthetic machine follows the large model, which therefore comes first.
    let first = page.find("<strong>apex_map.surface ").expect("the best model first");
    assert!(
        page[first..].starts_with("<strong>apex_map.surface explains it: ")
            || page[first..].contains(" describes it: ")
    );
    let heading = |model: &str| page.find(&format!("<h3>{model}: "));
    assert!(heading("apex_map.surface") < heading("apex_map.linear"), "the smallest error first");
    assert!(page.contains("How well few numbers describe the machine"), "no ladder");
    assert!(page.contains("<td>apex_map.linear</td><td class=\"number\">2</td>"), "two numbers of the linear model");
    // The model is fitted, or refused with advice for its parameters.
    assert!(page.contains("apex_map.two_level_linear"));
    assert!(page.contains("geometric standard deviation of measured/predicted"));
    // No calibration gives these numbers, so their absence from a card is not a fault.
    assert!(!page.contains("has no near_word_seconds"));
}

/// The samples and the card are of a machine on which the model was not made. Its numbers are of one core and of two ranks.
#[test]
fn surfaces_of_one_core_and_of_16_ranks_are_predicted_from_the_card_of_the_machine() {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let folder = Folder::open(&recorded.join("quickstart-xeon-16")).expect("the recorded result");
    let samples = Samples::from(folder.table().expect("samples")).with_word("pages", &["huge"]);
    let card = Card::read(&recorded.join("xeon-16-card.toml")).expect("a card");
    let model = models::find("apex_map.surface").expect("a model");
    let smape = |kernel: &str, card: &Card| {
        let predicted = model_fit::card::predict(&samples.with_word("kernel", &[kernel]), model, card);
        predicted.expect("a prediction").1.smape
    };
    assert!(smape("apex_map.sequential", &card) < 0.18, "{}", smape("apex_map.sequential", &card));
    assert!(smape("apex_map.two_sided", &card) < 0.25, "{}", smape("apex_map.two_sided", &card));
    // Over MPI, a rank has one queue for all senders.
    let mut other = card.clone();
    other.provenance.insert("transport".into(), "mpi".into());
    assert!(smape("apex_map.two_sided", &other) > 0.7);
}

/// Recorded results of Apex-Map: folder, card from the same hour, and the machine in `models/tested-errors.csv`. Each has its own name of the
/// machine there, so that its tests can be left out.
pub const RECORDED: [(&str, &str, &str); 2] = [
    ("quickstart-xeon-16", "xeon-16-card.toml", "16-core Xeon"),
    ("quickstart-epyc-2", "quickstart-epyc-2/machine.toml", "two-core EPYC (Zen 5)"),
];

/// Returns the share of measured medians within the printed 95 %, if no test of this machine is known.
fn coverage(model: &dyn Model, card: &Card, machine: &str, measured: &[(Vec<f64>, f64)]) -> f64 {
    let mut numbers = Numbers::new(model, card, &[]).expect("numbers");
    let test_count = numbers.tests.len();
    numbers.tests.retain(|test| test.machine != machine);
    assert!(
        !numbers.tests.is_empty() && numbers.tests.len() < test_count,
        "{machine}: others and this one were tested"
    );
    assert_eq!(numbers.band_basis().head(), "95 %");
    // A band that holds everything says nothing.
    assert!(numbers.tests.iter().all(|test| test.width < 2.5f64.ln()), "{machine}");
    let is_inside = |(x, rate): &&(Vec<f64>, f64)| {
        let row = scan_point(model, &numbers, x.clone(), &|_| Vec::new()).expect("a prediction");
        let (low, high) = row.band.expect("a band");
        (low..=high).contains(rate)
    };
    measured.iter().filter(is_inside).count() as f64 / measured.len() as f64
}

#[test]
fn the_printed_95_per_cent_hold_measurements_of_a_machine_whose_tests_are_left_out() {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let surface = models::find("apex_map.surface").expect("a model");
    let mut shares = Vec::new();
    for (folder, card, machine) in RECORDED {
        let folder = Folder::open(&recorded.join(folder)).expect("the recorded result");
        let card = Card::read(&recorded.join(card)).expect("a card");
        let samples = Samples::from(folder.table().expect("samples"));
        for kernel in ["apex_map.sequential", "apex_map.two_sided"] {
            for pages in ["huge", "base"] {
                let samples = samples.with_word("kernel", &[kernel]).with_word("pages", &[pages]);
                if samples.is_empty() {
                    continue;
                }
                let data = model_fit::observations(&samples, surface, &[]).expect("observations");
                let measured: Vec<_> = data.observations.into_iter().map(|point| (point.x, point.y)).collect();
                shares.push((format!("{machine}, {kernel}, {pages}"), coverage(surface, &card, machine, &measured)));
            }
        }
    }
    let device = models::find("apex_map.device").expect("a model");
    let rates: Vec<_> = device_surface().into_iter().map(|(x, gwords)| (x, 8e9 * gwords)).collect();
    shares.push(("H100".into(), coverage(device, &Card::find("h100").expect("a card"), "NVIDIA H100", &rates)));
    assert!(shares.iter().all(|(_, share)| *share >= 0.85), "{shares:#?}");
}

/// Returns the published surface of the H100 without the cell that gives the issue time on the card: points and 1e9 words per second.
fn device_surface() -> Vec<(Vec<f64>, f64)> {
    let table = table("h100-apex-map").expect("a table");
    let rows = table.pairs("alpha", "gwords").into_iter().zip(table.pairs("l", "gwords"));
    let others = rows.filter(|((alpha, _), (block, _))| (*alpha, *block) != (0.001, 64.0));
    others.map(|((alpha, gwords), (block, _))| (vec![alpha, block, 134_217_728.0, 0.0], gwords)).collect()
}

/// Its best number of lines before prefetching lies at a measured length of blocks.
#[test]
fn the_surface_settles_on_the_recorded_quickstarts() {
    let model = models::find("apex_map.surface").expect("a model");
    for (folder, _, machine) in RECORDED {
        let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded").join(folder);
        let folder = Folder::open(&recorded).expect("the recorded result");
        let manifest = Manifest::read(&folder).expect("a manifest");
        let samples = Samples::from(folder.table().expect("samples")).with_word("kernel", &["apex_map.sequential"]);
        let host = manifest.host_of(samples.first_word("launch"));
        let roles = model_fit::roles(model, (&samples, host), None, &[], &[]);
        let options = Options { resamples: 0, leave_out: false, ..Options::default() };
        for pages in [&["huge"][..], &["huge", "base"]] {
            let data = model_fit::observations(&samples.with_word("pages", pages), model, &[]).expect("rates");
            let fit = data.fit(model, &roles, options).expect("a fit that has settled");
            assert!(fit.quality.smape < 0.15, "{machine}, {pages:?}: {}", fit.quality.smape);
        }
    }
}

/// 16 ranks at alpha = 1, L = 1: 15 of 16 accesses are remote, and replies are always outstanding.
#[test]
fn each_further_sender_costs_two_polls_and_its_share_of_handles() {
    let model = models::find("apex_map.surface").expect("a model");
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded/xeon-16-card.toml");
    let card = Card::read(&recorded).expect("a card");
    let seconds = |ranks: f64, (poll, line): (f64, f64)| {
        let given = |name: &str| match name {
            "alpha" | "L" => Some(1.0),
            "M" => Some(2f64.powi(28)),
            "P" => Some(ranks),
            _ => None,
        };
        let x = model.variables(&given).expect("variables");
        let mut p = model.parameters(&card).expect("numbers");
        let count = p.len();
        p[count - 2..].copy_from_slice(&[poll, line]);
        model.budget(&x, &p).iter().map(|term| term.1).sum::<f64>()
    };
    let (poll, line) = (2e-9, 80e-9);
    assert_eq!(seconds(2.0, (0.0, 0.0)), seconds(2.0, (poll, line)), "two ranks have one sender each");
    let added = seconds(16.0, (poll, line)) - seconds(16.0, (0.0, 0.0));
    // 14 further rings, looked at twice; a sixteenth of 14 lines and rings for a request and for a reply; 14 of 15 parts of what
    // the messages of a ring hide of each other.
    let share: f64 = 15.0 / 16.0;
    let number = |name: &str| card.get(name).expect("a number");
    let hidden = share * (number("request_alone_seconds") - number("request_seconds"));
    let expected = 2.0 * 14.0 * poll + share * (2.0 * (14.0 * line + 14.0 * poll) / 16.0 + 14.0 / 15.0 * hidden);
    assert!((added / expected - 1.0).abs() < 1e-6, "{added} {expected}");
}

/// The cell that gives the issue time on the card is left out.
#[test]
fn the_published_surface_of_a_device_is_predicted_from_its_card() {
    let model = models::find("apex_map.device").expect("a model");
    let card = Card::find("h100").expect("a card");
    let numbers = model.parameters(&card).expect("all numbers");
    let error = |(x, gwords): (Vec<f64>, f64)| {
        let predicted = model.predict(&x, &numbers).value / 8e9;
        2.0 * (predicted - gwords).abs() / (predicted + gwords)
    };
    let errors: Vec<f64> = device_surface().into_iter().map(error).collect();
    assert_eq!(errors.len(), 41);
    let smape = errors.iter().sum::<f64>() / errors.len() as f64;
    assert!((0.04..0.055).contains(&smape), "{smape}: docs/appendix/gpu.md says 5 %");
    assert!(errors.iter().all(|error| *error < 0.4), "{errors:?}");
    // With these numbers, blocks of 4 and 16 random words are half as fast as words, and those of 64 cached words half as fast as long ones.
    let mut slower = card.clone();
    let (word, issue) = (card.get("memory_access_seconds").unwrap(), card.get("issue_seconds_per_byte").unwrap());
    for (name, seconds) in [("short_block_seconds", 2.0 * word), ("index_seconds", 16.0 * issue)] {
        slower.set(name, Number::new(seconds, "s", "given")).expect("a number");
    }
    let slower = model.parameters(&slower).expect("all numbers");
    let ratio = |alpha: f64, block: f64| {
        let x = [alpha, block, 134_217_728.0, 0.0];
        model.predict(&x, &slower).value / model.predict(&x, &numbers).value
    };
    let ratios = [ratio(1.0, 1.0), ratio(1.0, 4.0), ratio(1.0, 64.0), ratio(0.001, 64.0), ratio(0.001, 4096.0)];
    for (ratio, expected) in ratios.into_iter().zip([1.0, 0.5, 1.0, 0.5, 1.0]) {
        assert!((ratio - expected).abs() < 0.03, "{ratios:?}");
    }
    let variables = |source: f64| {
        let given = [("alpha", 0.1), ("L", 1.0), ("M", 1e8), ("index_source", source)];
        model.variables(&|name| given.iter().find(|(given, _)| *given == name).map(|(_, value)| *value))
    };
    assert!(variables(0.0).is_ok() && variables(1.0).is_err(), "no number is that of generated indices");
    let mut lacking = Card::new("a device", "", "");
    lacking.set("l1_bytes", Number::new(1e5, "B", "given")).expect("a number");
    let error = model.parameters(&lacking).expect_err("numbers are missing");
    assert!(error.message.contains("l2_bytes") && error.message.contains("sector_bytes"), "{error}");
}

#[test]
fn the_published_surface_of_a_device_is_plotted_with_its_origin() {
    let scratch = Scratch::new();
    let file = scratch.join("h100.svg");
    successful_stdout(&["plot", "h100", "surface", "--out", file.to_str().expect("a path")]);
    let drawn = std::fs::read_to_string(&file).expect("a figure");
    for text in ["NVIDIA H100", "per device", "measured: a CUDA program, 2026-11-26"] {
        assert!(drawn.contains(text), "{text}: {drawn}");
    }
    assert!(refusal_message(&["plot", "seaborg"]).contains("seaborg"), "a machine without rates");
}
