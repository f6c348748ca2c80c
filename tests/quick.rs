//! Tests of `apexmap try`: its points, its table, and its card as JSON, which other commands take.

use super::calibrate::{add_run, small_host};
use super::common::{Scratch, apexmap, output, refusal_message, successful_stdout};
use super::terminal::TINY_SWEEP;
use apexmap_measure::provenance::host;
use apexmap_results::table::TableBuilder;
use apexmap_run::sweep::{Machine, parse};
use apexmap_study::calibrate::{card, classic, node_probes, probes, quick_probes, sweep};
use apexmap_theory::machine::Card;
use std::path::Path;
use std::process::Command;

const LEVELS: [&str; 4] = ["l1", "l2", "l3", "memory"];

#[test]
fn try_measures_few_points_of_the_whole_calibration_with_its_settings() {
    let host = small_host();
    for cores in [1, 2, 8, 64] {
        let whole = [probes(&host, cores), node_probes(&host, cores)].concat();
        let quick = quick_probes(&host, cores);
        assert!(quick.iter().all(|probe| whole.contains(probe)), "{cores}");
        let names: Vec<String> = quick.iter().map(|probe| probe.number.to_string()).collect();
        let of_level = LEVELS
            .iter()
            .flat_map(|level| [format!("{level}_latency_seconds"), format!("{level}_bandwidth_bytes_per_second")]);
        let of_node = ["stream_triad_bytes_per_second", "node_updates_per_second--star"].map(str::to_owned);
        for name in of_level.chain(of_node) {
            assert!(names.contains(&name), "{name} on {cores} cores: {names:?}");
        }
        assert_eq!(quick.len(), 10 + cores.min(16) - 1, "the other numbers are from the first core to each other one");
    }
}

/// Measured in this process, as the card of this host.
fn quick_card() -> Card {
    let small = small_host();
    let probes = quick_probes(&small, 2);
    let text = sweep(&probes, "transport = \"threads\"\n", 1);
    let points = parse(&text, Path::new("sweep.toml"), Machine::with_cores(2, small.memory_bytes)).unwrap().points;
    let mut table = TableBuilder::default();
    for point in points.iter().flat_map(|point| [point; 3]) {
        add_run(&mut table, point);
    }
    let mut card = card(&probes, &table.finish().into(), "small", &small).expect("a card");
    let real_host = host();
    card.provenance
        .extend([("host".to_owned(), real_host.name.into()), ("cpu_model".to_owned(), real_host.cpu_model.into())]);
    card
}

#[test]
fn the_table_of_try_has_each_number_on_one_screen() {
    let card = quick_card();
    let rows = classic::table(&card);
    let groups: Vec<&str> = rows.iter().map(|row| row.group.as_str()).filter(|group| !group.is_empty()).collect();
    assert_eq!(groups, ["STREAM", "Updates", "Latency", "Reads", "Core to core"]);
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let levels = ["L1", "L2", "L3", "memory"];
    assert_eq!(names, [&["triad", "GUPS, own tables"][..], &levels, &levels, &["handover"]].concat());
    assert!(rows[0].note.starts_with("all ") && rows[0].note.contains(", arrays of "), "{}", rows[0].note);
    for (row, unit) in rows.iter().skip(2).zip([" ns", "B/s"].into_iter().flat_map(|unit| [unit; 4])) {
        assert!(row.value.ends_with(unit) || unit == " ns" && row.value.ends_with('s'), "{row:?}");
    }
    let text = classic::text(&card, Some(100));
    assert!(text.lines().count() <= 23 && !text.contains("Core to core, by rank"), "{text}");
}

#[test]
fn the_pairs_of_one_core_are_no_matrix() {
    let number = |ns: f64| apexmap_theory::machine::Number::new(ns, "ns", "made up");
    let mut card = Card::new("four", "four cores", "made up");
    for second in 1..4 {
        card.set(&format!("core_to_core_seconds--0_to_{second}"), number(30.0 + f64::from(second))).expect("a number");
    }
    let title = "Core to core, by rank";
    assert!(!classic::text(&card, None).contains(title), "{}", classic::text(&card, None));
    for (first, second) in [(1, 2), (1, 3), (2, 3)] {
        card.set(&format!("core_to_core_seconds--{first}_to_{second}"), number(40.0)).expect("a number");
    }
    assert!(classic::text(&card, None).contains(title));
}

#[test]
fn other_commands_take_the_card_of_try_as_json() {
    let scratch = Scratch::new();
    let path = |name: &str| scratch.join(name).to_str().unwrap().to_owned();
    let (json, result, sweep) = (path("card.json"), path("result"), path("tiny.toml"));
    let card = quick_card();
    std::fs::write(&json, serde_json::to_string_pretty(&card).unwrap()).unwrap();
    let again = Card::read(Path::new(&json)).expect("a card");
    assert_eq!((again.numbers(), &again.name, &again.domain), (card.numbers(), &card.name, &card.domain));
    std::fs::write(&json, successful_stdout(&["card", &json, "--format", "json"])).unwrap();
    assert_eq!(Card::read(Path::new(&json)).expect("what card prints is a card, too").numbers(), card.numbers());

    std::fs::write(&sweep, TINY_SWEEP).unwrap();
    successful_stdout(&["run", &sweep, "--no-report", "--out", &result]);
    successful_stdout(&["report", &result, "--card", &json]);
    let kept = Card::read(&scratch.join("result/machine.toml")).expect("the copy in the result");
    assert_eq!(kept.numbers(), card.numbers());
    let given = ["block_seconds=1e-7", "word_gap_seconds=1e-9", "alpha=1", "L=8", "M=65536"];
    let given: Vec<&str> = given.into_iter().flat_map(|setting| ["--set", setting]).collect();
    let predict = ["predict", "apex_map.linear", "--machine", &json, "--ranks", "1"];
    let predicted = successful_stdout(&[&predict[..], &given].concat());
    assert!(predicted.contains("598 MB/s"), "64 bytes in 107 ns: {predicted}");
    let compared = successful_stdout(&["compare", &result, &json, "--no-page"]);
    assert!(compared.contains("has no rates: no model predicts"), "{compared}");

    std::fs::write(&json, "{ \"name\": \"half\"").unwrap();
    let error = refusal_message(&["card", &json]);
    assert!(error.contains("not complete JSON") && error.contains("apexmap try --json"), "{error}");
}

#[test]
fn try_prints_a_card_names_what_its_budget_left_out_and_keeps_no_files() {
    let scratch = Scratch::new();
    // A busy machine may need more time for its first number.
    let (budget, output) = ["2 s", "10 s", "60 s"]
        .into_iter()
        .find_map(|budget| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
            command.args(["try", "--json", "--budget", budget]).current_dir(&*scratch).env("TMPDIR", &*scratch);
            let output = output(&mut command);
            let messages = String::from_utf8_lossy(&output.stderr);
            let is_short = output.status.code() == Some(4) && messages.contains("no number was measured in");
            assert!(output.status.success() || is_short, "{messages}");
            output.status.success().then_some((budget, output))
        })
        .expect("a number in 60 s");
    let messages = String::from_utf8_lossy(&output.stderr);
    let card = Card::parse(&json_as_toml(&output.stdout), Path::new("card.json")).expect("a card");
    assert_eq!(card.source, "measured by apexmap try");
    let measured = card.numbers().values().filter(|number| number.runs.is_some()).count();
    let wanted = quick_probes(&host(), apexmap_measure::hardware::Hardware::this_machine().cores_or_threads()).len();
    assert!(measured > 0 && measured <= wanted, "{measured} of {wanted}");
    assert_eq!(measured < wanted, messages.contains(&format!("not measured in {budget}: ")), "{messages}");
    assert_eq!(std::fs::read_dir(&*scratch).unwrap().count(), 0, "no files are left");
    assert_eq!(apexmap(&["try", "--budget", "0s"]).status.code(), Some(2));
}

fn json_as_toml(json: &[u8]) -> String {
    apexmap_base::toml_file::from_json(String::from_utf8(json.to_vec()).unwrap(), Path::new("card.json")).unwrap()
}
