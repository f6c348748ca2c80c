//! Tests of domains: no prediction leaves the domain of its numbers without a label or a refusal.

use super::common::{Scratch, refusal_message, successful_stdout};
use apexmap_base::point::{Point, Value};
use apexmap_pages::compare::machine::{Machine, Origin};
use apexmap_pages::compare::published_machines;
use apexmap_results::samples::Samples;
use apexmap_results::table::TableBuilder;
use apexmap_simulate as simulation;
use apexmap_study::calibrate;
use apexmap_theory::machine::{Card, Domain, Extent, PUBLISHED};
use apexmap_theory::models::scan::{Numbers, ScanPoint, scan};
use apexmap_theory::models::{self, Model, ValidNumbers, card_number};
use apexmap_theory::paper_tables;
use std::path::Path;

/// Returns the domains of the card's numbers that a model uses.
fn domains_on_card(model: &dyn Model, card: &Card) -> Vec<Domain> {
    let used = model.about().parameters.iter().filter(|parameter| card_number(card, parameter.number).is_some());
    used.filter_map(|parameter| card.domain(parameter.number)).cloned().collect()
}

/// Returns numbers within an extent and, if the variable has such numbers, below and above it.
fn probes(extent: &Extent, valid: ValidNumbers) -> Vec<(f64, bool)> {
    let (low, high) = match extent {
        Extent::Number(number) => (*number, *number),
        Extent::Range(low, high) => (*low, *high),
        _ => return Vec::new(),
    };
    let values = [(low, true), (high, true), (low / 2.0, false), (2.0 * high, false)];
    values.into_iter().filter(|(value, _)| *value > 0.0 && valid.check(*value).is_ok()).collect()
}

/// Predicts at one value of a variable. All other variables are within the domains.
fn predict_at(
    model: &dyn Model,
    numbers: &Numbers,
    domains: &[Domain],
    place: (&str, f64),
) -> apexmap::Result<ScanPoint> {
    let inside = |name: &str| match domains.iter().find_map(|domain| domain.extent(name)) {
        Some(Extent::Number(number) | Extent::Range(number, _)) => *number,
        _ if name == "alpha" || name == "random_share" => 0.5,
        _ => 4.0,
    };
    let variables = model.about().variables.iter();
    let chosen = variables
        .filter(|v| v.name == place.0 || domains.iter().any(|d| d.extent(v.name).is_some()) || v.default.is_none());
    let given: Vec<(String, Vec<f64>)> =
        chosen.map(|v| (v.name.to_owned(), vec![if v.name == place.0 { place.1 } else { inside(v.name) }])).collect();
    scan(model, numbers, &given).map(|mut rows| rows.remove(0))
}

#[test]
fn every_prediction_from_a_published_card_is_inside_of_its_domain_or_labelled_or_refused() {
    let (mut inside, mut labelled, mut refused) = (0, 0, 0);
    for (name, _) in PUBLISHED {
        let card = Card::find(name).expect("a published card");
        for model in models::ALL {
            let Ok(numbers) = Numbers::new(*model, &card, &[]) else { continue };
            let domains = domains_on_card(*model, &card);
            for fixed in model.fixed_variables() {
                assert!(domains.iter().all(|domain| domain.extent(fixed).is_some()), "{name}: {fixed}");
            }
            for variable in model.about().variables {
                for extent in domains.iter().filter_map(|domain| domain.extent(variable.name)) {
                    for (value, is_inside) in probes(extent, variable.valid) {
                        let place = format!("{} of {name} at {} = {value}", model.about().id, variable.name);
                        let has_label =
                            |row: &ScanPoint| row.extrapolations.iter().any(|e| e.variable == variable.name);
                        match predict_at(*model, &numbers, &domains, (variable.name, value)) {
                            Ok(row) if is_inside => {
                                assert!(!has_label(&row), "{place}");
                                inside += 1;
                            }
                            Ok(row) => {
                                assert!(
                                    has_label(&row) && !model.fixed_variables().contains(&variable.name),
                                    "{place}"
                                );
                                labelled += 1;
                            }
                            Err(error) => {
                                assert!(!is_inside && error.message.contains("no term for"), "{place}: {error}");
                                refused += 1;
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(inside >= 20 && labelled >= 8 && refused >= 8, "{inside} {labelled} {refused}");
}

#[test]
fn every_look_ahead_of_the_hypercube_papers_table_4_is_predicted_within_15_per_cent_or_refused() {
    let table = paper_tables::table("hypercube-table-4").expect("a table");
    let mut refused = 0;
    for (look_ahead, gups) in table.pairs("look_ahead", "gups") {
        match apexmap_study::validate::predict(
            "random_access.hypercube",
            "red-storm",
            &[("P", 32.0), ("Q", look_ahead)],
        ) {
            Ok(prediction) => {
                assert_eq!(look_ahead, 1024.0);
                assert!((prediction.value / (gups * 1e9) - 1.0).abs() < 0.15, "{}", prediction.value);
            }
            Err(error) => {
                assert!(error.help.contains("use random_access.all_to_all, which has Q as a variable"), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused >= 8, "{refused}");
    let error =
        refusal_message(&["predict", "random_access.hypercube", "--machine=red-storm", "--ranks=32", "--set=Q=256"]);
    assert!(error.contains("T_1 and T_C hold for Q = 1024, not for Q = 256"), "{error}");
}

#[test]
fn extrapolated_predictions_have_a_label_in_text_json_and_figure() {
    let scratch = Scratch::new();
    let predict = |more: &[&str]| {
        let base = ["predict", "random_access.hypercube", "--machine", "red-storm", "--ranks", "8192..16384"];
        successful_stdout(&[&base[..], more].concat())
    };
    let text = predict(&[]);
    assert!(text.contains("T_1, T_C hold for: P = 1 to 8192, Q = 1024, kernel = random_access.hypercube"), "{text}");
    assert_eq!(text.matches("extrapolated from P = 1 to 8192").count(), 1, "{text}");
    let json: serde_json::Value = serde_json::from_str(&predict(&["--format", "json"])).expect("JSON");
    assert!(json["predictions"][0]["extrapolated_from"].is_null());
    assert_eq!(json["predictions"][1]["extrapolated_from"], serde_json::json!({"P": [1.0, 8192.0]}));
    let file = scratch.join("a.svg").to_str().expect("a path").to_owned();
    predict(&["--ranks", "1..16384", "--plot", "curves", "--out", &file][2..]);
    let svg = std::fs::read_to_string(&file).expect("a picture");
    assert!(svg.contains("at 1 of 2 points: extrapolated from P = 1 to 8192"), "{svg}");
}

/// Returns a machine with rates of the hypercube at these ranks and look-aheads.
fn hypercube_rates(points: &[(u64, u64)]) -> Machine {
    let mut table = TableBuilder::default();
    for (ranks, look_ahead) in points {
        table.begin_row();
        let mut set = |name: &str, value: Value| table.set(name, &value);
        set("kernel", Value::from("random_access.hypercube"));
        set("ranks", Value::Integer(*ranks));
        set("look_ahead", Value::Integer(*look_ahead));
        set("status", Value::from("ok"));
        set("launch", Value::from("0001"));
        set("operations_per_second", Value::Real(1e7));
    }
    Machine::from_samples("measured", Samples::from(table.finish()), None).expect("samples")
}

#[test]
fn a_comparison_with_a_published_machine_leaves_out_points_for_which_its_numbers_do_not_hold() {
    let measured = hypercube_rates(&[(4, 64), (4, 1024), (16384, 1024)]);
    let card = Card::find("red-storm").expect("a card");
    let storm = published_machines::machine("red-storm", card, &[measured]).expect("rates");
    assert_eq!(storm.origin, Origin::Published);
    let rates = |ranks: f64, look_ahead: f64| {
        let table = storm.samples.table();
        let row = (0..table.rows)
            .find(|&row| table.number("ranks", row) == ranks && table.number("look_ahead", row) == look_ahead);
        row.map(|row| table.word("origin", row).to_owned())
    };
    assert_eq!(rates(4.0, 64.0), None);
    assert_eq!(rates(4.0, 1024.0).as_deref(), Some("measured: hypercube paper, Table 2"));
    let origin = rates(16384.0, 1024.0).expect("a rate");
    assert!(origin.starts_with("extrapolated from P = 1 to 8192: random_access.hypercube"), "{origin}");
    let [refused] = storm.refused.as_slice() else { panic!("{:?}", storm.refused) };
    assert!(refused.contains("not for Q = 64; use random_access.all_to_all"), "{refused}");
}

const FITTED: &str = "name = \"A\"\nsummary = \"-\"\nsource = \"-\"\n[domain]\nkernel = \"random_access.hypercube\"\nP = [1, 8]\n\
    Q = 64\nreceives = \"ahead\"\n[numbers.round_seconds]\nvalue = 5\nunit = \"us\"\nhow = \"fit\"\n[numbers.stage_seconds]\n\
    value = 3\nunit = \"us\"\nhow = \"fit\"\n";

fn parse(text: &str) -> apexmap::Result<Card> {
    Card::parse(text, Path::new("a.toml"))
}

#[test]
fn a_fitted_card_predicts_for_its_own_look_ahead_and_options() {
    let card = parse(FITTED).expect("a card");
    assert_eq!(parse(&card.to_toml()).expect("its own text"), card);
    let model = models::find("random_access.hypercube").expect("a model");
    let numbers = Numbers::new(model, &card, &[]).expect("numbers");
    let rows = scan(model, &numbers, &[("P".into(), vec![8.0, 16.0])]).expect("rates");
    assert_eq!(rows[0].x, [8.0, 64.0]);
    assert!(rows[0].extrapolations.is_empty() && rows[1].extrapolations.len() == 1);
    let option = |name: &str| Vec::from_iter((name == "receives").then(|| Value::from("on_demand")));
    let error = models::scan::scan_point(model, &numbers, vec![8.0, 64.0], &option).expect_err("another option");
    assert!(error.message.contains("receives = ahead, not for receives = on_demand"), "{error}");
    // Numbers from the command line are the user's own.
    let given = [("round_seconds".to_owned(), 1e-6), ("stage_seconds".to_owned(), 1e-6)];
    let numbers = Numbers::new(model, &card, &given).expect("numbers");
    assert!(scan(model, &numbers, &[("P".into(), vec![16.0])]).expect("rates")[0].extrapolations.is_empty());
}

#[test]
fn a_card_that_does_not_say_for_which_look_ahead_its_times_hold_is_refused() {
    let model = models::find("random_access.hypercube").expect("a model");
    let card = parse(&FITTED.replace("Q = 64\n", "")).expect("a card");
    let error = Numbers::new(model, &card, &[]).expect_err("no Q");
    assert!(error.message.contains("does not say for which Q T_1 holds"), "{error}");
    assert!(error.help.contains("domain = { Q = 1024 }"), "{error}");
    let own = FITTED.replace("Q = 64\n", "").replace("how = \"fit\"", "how = \"fit\"\ndomain = { Q = 1024 }");
    Numbers::new(model, &parse(&own).expect("a card"), &[]).expect("numbers");
}

#[test]
fn wrong_domains_are_errors_with_their_place() {
    for (wrong, message) in [
        ("Pp = 4", "no kernel and no model has the variable Pp"),
        ("Q = [8, 4]", "the domain of Q holds no value"),
        ("Q = nan", "the domain of Q holds no value"),
        ("d = []", "the domain of d holds no value"),
    ] {
        let error = parse(&FITTED.replace("Q = 64", wrong)).expect_err(wrong);
        assert!(error.message.contains(message), "{wrong}: {error}");
    }
}

#[test]
fn a_simulation_beyond_the_domain_of_its_card_lists_where_it_extrapolates_from() {
    let mut card = Card::find("red-storm").expect("a card");
    let mut domain = Domain::default();
    [1.0, 16.0].iter().for_each(|ranks| domain.include("P", *ranks));
    card.domain = Some(domain);
    let point =
        |ranks| apexmap_measure::kernels::complete(Point::new("random_access.hypercube", ranks)).expect("a point");
    assert_eq!(simulation::extrapolations(&card, 16, 1, &point(16)), [""; 0]);
    assert_eq!(simulation::extrapolations(&card, 32, 1, &point(32)), ["P = 1 to 16"]);
}

#[test]
fn a_calibrated_card_has_the_ranges_of_its_measurement() {
    let samples = hypercube_rates(&[(1, 64), (2, 64)]).samples;
    let host = apexmap_measure::provenance::host();
    let card = calibrate::card(&[], &samples, "a", &host).expect("a card");
    assert_eq!(card.domain.expect("a domain").extent("P"), Some(&Extent::Range(1.0, 2.0)));
}
