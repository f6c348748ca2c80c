//! Tests of comparisons without noise: two simulations, and a simulation against a prediction, have exact ratios.

use crate::common::{Scratch, apexmap, check};
use apexmap_base::point::Value;
use apexmap_pages::compare::machine::{Machine, Origin, Source};
use apexmap_pages::compare::matching::Matching;
use apexmap_pages::compare::ratio::Basis;
use apexmap_pages::compare::regression::Outcome;
use apexmap_pages::compare::regression::SlowdownLimit;
use apexmap_pages::compare::sections::headline::{details, sentences};
use apexmap_pages::compare::{Comparison, compare};
use apexmap_results::disk::parquet;
use apexmap_results::table::{Table, TableBuilder};
use std::path::Path;

const FIVE_PERCENT: SlowdownLimit = SlowdownLimit { slowdown: 1.05 };

/// Returns samples of RandomAccess over ranks and look-ahead: the rate is `speed(ranks)` times the look-ahead. Simulated ranks give
/// one sample per point; others give six in each of `launches` launches, up to 1 % apart.
fn table(transport: &str, launches: u64, speed: impl Fn(u64) -> f64) -> Table {
    let mut table = TableBuilder::default();
    let samples = if transport == "simulated" { 1 } else { 6 };
    let launched = (0..launches).flat_map(|launch| (0..samples).map(move |sample| (launch, sample)));
    for (launch, sample) in launched {
        for (ranks, look_ahead) in [4u64, 16, 64].into_iter().flat_map(|ranks| [64, 1024].map(|q| (ranks, q))) {
            table.begin_row();
            let mut set = |name: &str, value: Value| table.set(name, &value);
            let noise = 1.0 + 0.001 * (sample as f64 + 5.0 * (launch % 2) as f64);
            set("kernel", Value::from("random_access.hypercube"));
            set("ranks", Value::Integer(ranks));
            set("look_ahead", Value::Integer(look_ahead));
            set("status", Value::from("ok"));
            set("launch", Value::from(format!("{launch:04}").as_str()));
            set("transport", Value::from(transport));
            set("library", Value::from(if transport == "simulated" { "simulated, card Example" } else { "MPI" }));
            set("seconds", Value::Real(1.0 / speed(ranks) / noise));
            set("operations_per_second", Value::Real(1e6 * speed(ranks) * look_ahead as f64 * noise));
        }
    }
    table.finish()
}

fn machine(name: &str, table: Table) -> Machine {
    Machine { name: name.into(), ..Machine::from_samples(name, table.into(), None).unwrap() }
}

fn simulation(name: &str, speed: impl Fn(u64) -> f64) -> Machine {
    machine(name, table("simulated", 1, speed))
}

/// Returns a machine of a card with the rate of each rank count, printed in a paper or predicted by a model.
fn card(name: &str, source: Source, speed: impl Fn(u64) -> f64) -> Machine {
    let mut table = TableBuilder::default();
    for ranks in [4u64, 16, 64] {
        table.begin_row();
        table.set("kernel", &Value::from("random_access.hypercube"));
        table.set("ranks", &Value::Integer(ranks));
        table.set("look_ahead", &Value::Integer(1024));
        table.set("status", &Value::from("ok"));
        table.set("operations_per_second", &Value::Real(1e6 * speed(ranks) * 1024.0));
        table.set(Source::COLUMN, &Value::from(source.name()));
    }
    let samples = table.finish().into();
    let origin = Origin::Published;
    let (name, given, refused) = (name.into(), name.into(), Vec::new());
    let (run, content, cores) = (None, None, None);
    Machine { name, given, origin, samples, manifest: None, card: None, run, content, cores, transfer: None, refused }
}

fn compare_machines(machines: &[Machine]) -> Comparison<'_> {
    compare(machines, Matching::default()).unwrap()
}

fn bases(comparison: &Comparison) -> Vec<Basis> {
    comparison.ratios[1].ratios.values().map(|tested| tested.ratio.basis).collect()
}

#[test]
fn two_simulations_have_exact_ratios_and_no_statistics() {
    // Equal on 64 ranks, and three times as fast on fewer.
    let machines = [simulation("old", |_| 1.0), simulation("new", |ranks| if ranks < 64 { 3.0 } else { 1.0 })];
    let comparison = compare_machines(&machines);
    assert_eq!(bases(&comparison), vec![Basis::Exact; 6]);
    for tested in comparison.ratios[1].ratios.values() {
        assert!(tested.q.is_none() && tested.ratio.p.is_none(), "nothing is tested: {tested:?}");
        assert!(!comparison.decision.leaves_open(tested), "{tested:?}");
        assert_eq!(comparison.decision.differs(tested), tested.ratio.value != 1.0);
    }
    // The geometric mean of 3, 3 and 1.
    let expected = "new is 2.08 times as fast as old, exact for these cards; faster at 4 of 6 points.";
    assert_eq!(sentences(&comparison), [expected]);
    let expected = "new / old = 2.08 (geometric mean over 6 points, exact for these cards). Faster at 4 points, slower at 0, equal \
                    at 2;";
    assert!(details(&comparison)[0].starts_with(expected), "{:?}", details(&comparison));
    let same = [simulation("a", |_| 1.0), simulation("b", |_| 1.0)];
    assert_eq!(sentences(&compare_machines(&same)), ["No difference: b / a = 1.00, exact for these cards."]);
}

#[test]
fn a_check_of_two_simulations_decides_by_the_limit_alone() {
    let slower_by = |percent: f64| {
        let machines = [simulation("old", |_| 1.0), simulation("new", |_| 1.0 / (1.0 + percent / 100.0))];
        check(&compare_machines(&machines), FIVE_PERCENT).unwrap()
    };
    let (below, above) = (slower_by(4.9), slower_by(5.1));
    assert_eq!((below.verdict, above.verdict), (Outcome::Passed, Outcome::Failed));
    assert_eq!((below.tested, below.slower.len(), above.slower.len()), (6, 0, 6), "no launch is missing");
    assert!(below.exact && below.sentence().ends_with("all ratios are exact for these cards."), "{}", below.sentence());
}

#[test]
fn a_simulation_against_a_prediction_is_exact_and_against_a_printed_value_it_is_not() {
    let model = [card("card", Source::Predicted, |_| 1.0), simulation("simulation", |_| 2.0)];
    assert_eq!(bases(&compare_machines(&model)), vec![Basis::Exact; 3]);
    let paper = [card("card", Source::Printed, |_| 1.0), simulation("simulation", |_| 2.0)];
    assert_eq!(bases(&compare_machines(&paper)), vec![Basis::Nothing; 3], "a paper prints no spread");
    assert_eq!(sentences(&compare_machines(&paper)), ["simulation / card = 2.00; no interval is known."]);
    assert!(!details(&compare_machines(&paper)).iter().any(|line| line.contains("exact")));
}

#[test]
fn a_simulation_against_a_measurement_has_the_interval_of_the_measurement() {
    let machines = [machine("measured", table("mpi", 4, |_| 1.0)), simulation("simulation", |_| 2.0)];
    let comparison = compare_machines(&machines);
    assert_eq!(bases(&comparison), vec![Basis::Launches; 6]);
    for (point, tested) in &comparison.ratios[1].ratios {
        let measured = comparison.points.points[*point].by_machine[0].as_ref().unwrap().summary().unwrap();
        let (low, high) = measured.interval.unwrap();
        let interval = tested.ratio.interval.unwrap();
        let width = (high / low).ln();
        assert!(width > 0.0 && ((interval.1 / interval.0).ln() / width - 1.0).abs() < 1e-9, "{interval:?}");
    }
    let lines = [sentences(&comparison), details(&comparison)].concat();
    assert!(!lines.iter().any(|line| line.contains("exact")), "{lines:?}");
}

fn written(scratch: &Path, name: &str, table: &Table) -> String {
    let path = scratch.join(name).join("run.parquet");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    parquet::write(&mut std::fs::File::create(&path).unwrap(), &path, table).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn the_page_and_the_terminal_call_ratios_of_simulations_exact_and_ask_for_nothing() {
    let scratch = Scratch::new();
    let side = |name: &str, speed: f64| written(&scratch, name, &table("simulated", 1, |_| speed));
    let (a, b, page) = (side("a", 1.0), side("b", 0.2), scratch.join("page"));
    let run = |more: &[&str]| {
        let output = apexmap(&[&["compare", &a, &b, "--names", "a,b"], more].concat());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    };
    let (code, out, error) = run(&["--out", page.to_str().unwrap()]);
    assert_eq!(code, 0, "{error}");
    assert!(out.contains("SIMULATED, not measured") && !out.contains("geometric mean over"), "{out}");
    let html = std::fs::read_to_string(page.join("compare.html")).unwrap();
    assert!(html.contains("0.200 (geometric mean over 6\u{a0}points, exact"), "the page has the details");
    let shown = html.split("<h2 id=\"method\">").next().unwrap();
    assert!(out.starts_with("a is 5.00 times as fast as b, exact for these cards.\n"), "{out}");
    for words in ["not certain", "significant", "Hatched", "95 % interval over", "undecided"] {
        assert!(!shown.contains(words) && !out.contains(words), "{words}");
    }
    assert!(
        shown.contains("6 points, exact for these cards") && shown.contains("The ratios are exact for these cards.")
    );
    let cells = std::fs::read_to_string(page.join("cells.csv")).unwrap();
    assert_eq!(cells.matches(",exact,,").count(), 6, "{cells}");

    let (code, out, error) = run(&["--fail-if", "slower=5%", "--no-page"]);
    assert_eq!(code, 5, "{error}");
    assert!(out.contains("FAILED: 6 of 6 points of b are more than 5 % slower than a"), "{out}");
    assert!(!out.contains("q = ") && !out.contains('[') && !error.contains("measure again"), "{out}{error}");
    let again = side("c", 1.0);
    let same = apexmap(&["compare", &a, &again, "--names", "a,c", "--fail-if", "slower=5%", "--no-page"]);
    assert!(same.status.success(), "equal simulations of two cards: {}", String::from_utf8_lossy(&same.stderr));
    let (_, out, _) = run(&["--fail-if", "slower=5%", "--no-page", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&json["exact"], &json["slower"][0]["basis"]), (&true.into(), &"exact".into()), "{json}");
}
