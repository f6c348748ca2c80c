//! Tests of sweeps on simulated ranks, from the command line to the page.

use super::common::{Scratch, refusal_message, successful_stdout};
use serde_json::Value;
use std::fs::read_to_string;
use std::path::Path;

const SWEEP: &str = r#"
[fixed]
kernel = "random_access.hypercube"
N_words = "1 kwords per rank"
updates = 1
[axes]
ranks = [16, 64]
Q = [64, 256]
"#;

/// Runs the sweep on simulated ranks of a machine into a folder, and returns the terminal's text.
fn simulate(scratch: &Scratch, folder: &str, machine: &str) -> String {
    let (sweep, out) = (scratch.join("small.toml"), scratch.join(folder));
    std::fs::write(&sweep, SWEEP).expect("a sweep");
    let (sweep, out) = (sweep.to_str().expect("a path"), out.to_str().expect("a path"));
    successful_stdout(&["run", sweep, "--simulate", machine, "--out", out])
}

/// Returns the events of all journals of a result.
fn events(folder: &Path) -> Vec<Value> {
    let mut journals: Vec<_> = std::fs::read_dir(folder.join("journals"))
        .expect("journals")
        .map(|entry| entry.expect("a file").path())
        .collect();
    journals.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    journals.sort();
    let lines = |path: &std::path::PathBuf| {
        read_to_string(path).expect("a journal").lines().map(str::to_owned).collect::<Vec<_>>()
    };
    journals.iter().flat_map(lines).map(|line| serde_json::from_str(&line).expect("a line")).collect()
}

/// Returns the virtual time and the messages of each point.
fn times(folder: &Path) -> Vec<(String, String, String)> {
    let samples = events(folder).into_iter().filter(|event| event["event"] == "sample");
    let facts = |sample: Value| {
        assert_eq!(sample["status"], "ok", "{sample}");
        let wall = sample["outputs"]["simulation_wall_seconds"].as_f64().expect("a wall time");
        assert!(wall > 0.0);
        let point = format!("{} {}", sample["ranks"], sample["params"]["Q"]);
        (point, sample["seconds"].to_string(), sample["outputs"]["simulation_messages"].to_string())
    };
    let mut times: Vec<_> = samples.map(facts).collect();
    times.sort();
    times
}

/// It was said of such points that they are not tested, or nothing.
#[test]
fn simulated_ranks_that_share_a_node_are_said_to_be_too_fast_on_all_media() {
    let scratch = Scratch::new();
    let (sweep, out) = (scratch.join("small.toml"), scratch.join("shared"));
    std::fs::write(&sweep, SWEEP.replace("[16, 64]", "[2, 4]") + "[launch]\nresamples = 0\n").expect("a sweep");
    let (sweep, folder) = (sweep.to_str().expect("a path"), out.to_str().expect("a path"));
    let on_nodes = ["--simulate", "red-storm", "--ranks-per-node", "2", "--out", folder];
    let plan = successful_stdout(&[&["plan", sweep][..], &on_nodes].concat());
    let terminal = successful_stdout(&[&["run", sweep][..], &on_nodes].concat());
    let status = successful_stdout(&["status", folder]);
    let page = read_to_string(out.join("report.html")).expect("a page");
    let sentence = "At 4 points of random_access, ranks share a node. It was tested: simulations are 1.0 to 1.6 times as fast as \
                    measured (16-core Xeon, 16 points), without a part of what ranks of a node share, such as the latency of loaded memory.";
    for text in [&plan, &terminal, &status, &page] {
        assert_eq!(text.matches(sentence).count(), 1, "{text}");
        assert!(!text.contains("several ranks on a node, which share its interface"), "{text}");
    }
    assert!(!status.contains("The card has no intervals") && status.contains("resamples is 0"), "{status}");
    assert!(page.contains("SIMULATED: predictions, no measurement; too fast where ranks share a node"), "the banner");
}

#[test]
fn results_of_simulated_ranks_are_identical_and_say_that_they_are_simulated() {
    let scratch = Scratch::new();
    let text = simulate(&scratch, "first", "red-storm");
    assert!(text.contains("SIMULATED: the ranks ran in virtual time (simulated, card Red Storm)"), "{text}");
    let first = scratch.join("first");
    assert_eq!(times(&first).len(), 4, "each point runs once");
    let launch = events(&first).into_iter().next().expect("a greeting");
    assert_eq!((&launch["transport"], &launch["library"]), (&"simulated".into(), &"simulated, card Red Storm".into()));
    assert!(launch["placement"].as_array().is_some_and(Vec::is_empty), "simulated ranks have no place");

    let page = read_to_string(first.join("report.html")).expect("a page");
    assert!(page.contains("SIMULATED: predictions, no measurement") && !page.contains("Measured on"));
    let figures = std::fs::read_dir(first.join("figures")).expect("figures").map(|entry| entry.expect("a file").path());
    let drawn: Vec<_> = figures.filter(|path| path.extension().is_some_and(|extension| extension == "svg")).collect();
    assert!(!drawn.is_empty());
    for figure in drawn {
        let svg = read_to_string(&figure).expect("a figure");
        assert!(svg.contains("SIMULATED, card Red Storm"), "{}", figure.display());
    }
    let path = first.to_str().expect("a path");
    let rows = successful_stdout(&["export", path, "--format", "csv"]);
    assert!(rows.lines().skip(1).all(|row| row.contains("simulated, card Red Storm")), "{rows}");
    assert!(successful_stdout(&["status", path]).contains("4 planned, 4 done"));

    simulate(&scratch, "second", "red-storm");
    assert_eq!(times(&first), times(&scratch.join("second")));
    assert!(simulate(&scratch, "first", "red-storm").contains("nothing to do"));
}

#[test]
fn simulated_machines_are_compared_and_named_as_simulated() {
    let scratch = Scratch::new();
    simulate(&scratch, "storm", "red-storm");
    simulate(&scratch, "gene", "bluegene-p");
    let [storm, gene] = ["storm", "gene"].map(|name| scratch.join(name).to_str().expect("a path").to_owned());
    let out = scratch.join("comparison");
    successful_stdout(&["compare", &storm, &gene, "--out", out.to_str().expect("a path")]);
    let page = read_to_string(out.join("compare.html")).expect("a page");
    for text in [
        "Red Storm (simulated)",
        "Blue Gene/P (simulated)",
        "SIMULATED, not measured: card Red Storm and card Blue Gene/P",
    ] {
        assert!(page.contains(text) || page.contains(&text.replace('/', "&#x2f;")), "{text}");
    }
}

#[test]
fn a_fit_to_simulated_rates_says_so_in_its_text_json_figures_and_card() {
    let scratch = Scratch::new();
    let (sweep, out) = (scratch.join("ranks.toml"), scratch.join("out"));
    let axes = "ranks = [1, 4, 16, 64, 256]\nQ = [64, 1024]\n";
    std::fs::write(&sweep, SWEEP.split("ranks").next().expect("a beginning").to_owned() + axes).expect("a sweep");
    let [sweep, path] = [&sweep, &out].map(|path| path.to_str().expect("a path"));
    successful_stdout(&["run", sweep, "--simulate", "red-storm", "--out", path]);
    let figures = scratch.join("figures");
    let fit = ["fit", path, "--model", "random_access.hypercube", "--where", "Q == 1024"];
    let with = |further: &[&str]| successful_stdout(&[&fit[..], further].concat());

    let text = with(&["--figures", figures.to_str().expect("a path")]);
    assert!(text.contains("SIMULATED (simulated, card Red Storm)") && text.contains("the simulation"), "{text}");
    assert!(text.contains("spread of ln(simulated/predicted)") && !text.contains("the measurement"), "{text}");
    let svg = read_to_string(figures.join("random_access.hypercube-curves.svg")).expect("a figure");
    assert!(svg.contains("model and simulation") && svg.contains("simulated") && !svg.contains("measure"), "{svg}");

    let json: Value = serde_json::from_str(&with(&["--format", "json"])).expect("JSON");
    assert_eq!(json["fit"]["simulated"], "simulated, card Red Storm");
    let point = &json["fit"]["points"][0];
    assert!(point["simulated"].is_number() && point["measured"].is_null(), "{point}");

    let (toml, card) = (with(&["--format", "toml"]), scratch.join("card.toml"));
    for expected in [
        "name = \"Red Storm (simulated)\"",
        "fitted to a simulation",
        "of simulated rates",
        "simulated = \"simulated, card Red Storm\"",
        "simulated points",
    ] {
        assert!(toml.contains(expected), "{expected}: {toml}");
    }
    assert!(!toml.contains("measure"), "{toml}");
    std::fs::write(&card, toml).expect("a card");
    let card = card.to_str().expect("a path");
    let text = successful_stdout(&["predict", "random_access.hypercube", "--machine", card, "--ranks", "64"]);
    assert!(text.contains("SIMULATED (simulated, card Red Storm): the numbers were fitted to a simulation"), "{text}");

    // Numbers that are not fitted are those of the simulated machine.
    let text = successful_stdout(&["fit", path, "--model", "random_access.all_to_all"]);
    assert!(text.contains("network_bandwidth_bytes_per_second") && text.contains("SIMULATED"), "{text}");
}

#[test]
fn points_that_cannot_be_simulated_are_refused_before_anything_runs() {
    let scratch = Scratch::new();
    let out = scratch.join("out");
    let out = out.to_str().expect("a path");
    let error = refusal_message(&["run", "memory-sizes", "--simulate", "red-storm", "--out", out]);
    assert!(error.contains("memory and cores, so it cannot be simulated") && error.contains("help:"), "{error}");
    let error = refusal_message(&["run", "message-rate-sizes", "--simulate", "seaborg", "--out", out]);
    assert!(error.contains("_seconds") && error.contains("help:"), "{error}");
    let cold = scratch.join("cold.toml");
    let text = "[fixed]\nkernel = \"message_rate.ping_pong\"\nranks = 2\ncaches = \"cold\"\n";
    std::fs::write(&cold, text).expect("a sweep");
    let error = refusal_message(&["run", cold.to_str().expect("a path"), "--simulate", "red-storm", "--out", out]);
    assert!(error.contains("caches = \"cold\" cannot be simulated"), "{error}");
    let error = refusal_message(&["run", "protocol", "--simulate", "red-strom", "--out", out]);
    assert!(error.contains("red-storm"), "{error}");
    assert!(!Path::new(out).exists(), "nothing was written");
}

#[test]
fn a_plan_of_simulated_ranks_has_their_memory_and_wall_time() {
    let scratch = Scratch::new();
    let sweep = scratch.join("small.toml");
    std::fs::write(&sweep, SWEEP).expect("a sweep");
    let text = successful_stdout(&["plan", sweep.to_str().expect("a path"), "--simulate", "red-storm"]);
    for part in ["simulated ranks of Red Storm, each point once", "P = 64", "per rank", "1 us per simulated message"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
