//! Tests that no model predicts a point that no run can have.

use crate::common::{refusal_message, successful_stdout};
use apexmap_base::reservation::Reservation;
use apexmap_measure::numerics::mix::mix;
use apexmap_theory::machine::Card;
use apexmap_theory::models::scan::{Numbers, scan};
use apexmap_theory::models::{self, Model, Variable};
use std::path::Path;

/// Returns numbers without origin: the first guesses of fits.
fn guesses(model: &dyn Model) -> Numbers {
    let parameters = model.about().parameters;
    Numbers {
        values: parameters.iter().map(|parameter| parameter.first_guess).collect(),
        intervals: vec![None; parameters.len()],
        joint: None,
        domains: Vec::new(),
        without_domain: Vec::new(),
        tests: Vec::new(),
    }
}

/// Returns a value of a variable, often an impossible one.
fn draw(variable: &Variable, number: u64) -> f64 {
    const VALUES: [f64; 14] = [0.0, 0.001, 0.5, 1.0, 2.0, 3.0, 4.5, 7.0, 16.0, 64.0, 1e3, 1e6, 4294967296.0, 1e15];
    match variable.words.len() {
        0 => VALUES[number as usize % VALUES.len()],
        words => (number as usize % words) as f64,
    }
}

#[test]
fn no_model_predicts_an_impossible_combination_of_its_variables() {
    let (mut predicted, mut reduced, mut refused) = (0, 0, 0);
    for (index, model) in models::ALL.iter().enumerate() {
        let (about, numbers) = (model.about(), guesses(*model));
        for case in 0..400u64 {
            let number = |variable: usize| mix((index as u64) << 40 | case << 20 | variable as u64);
            let given: Vec<(String, Vec<f64>)> = about
                .variables
                .iter()
                .enumerate()
                .map(|(place, variable)| (variable.name.to_owned(), vec![draw(variable, number(place))]))
                .collect();
            let Ok(rows) = scan(*model, &numbers, &given) else {
                refused += 1;
                continue;
            };
            let row = &rows[0];
            let get = |name: &str| about.variable_index(name).map(|place| row.x[place]);
            let place = format!("{} at {given:?}: {row:?}", about.id);
            predicted += 1;
            for (variable, value) in about.variables.iter().zip(&row.x) {
                assert!(variable.valid.check(*value).is_ok(), "{place}");
            }
            for name in ["P", "Q", "L", "M", "cores", "senders", "locks", "N_words"] {
                assert!(get(name).is_none_or(|value| value >= 1.0 && value.fract() == 0.0), "{place}: {name}");
            }
            let ranks = get("P").unwrap_or(1.0);
            assert!(get("ranks_per_node").is_none_or(|on_node| on_node <= ranks), "{place}");
            assert!(get("d").is_none_or(|dimensions| dimensions <= ranks.log2()), "{place}");
            assert!(get("L").zip(get("M")).is_none_or(|(block, words)| block * ranks <= words), "{place}");
            assert!(get("L").zip(get("region_bytes")).is_none_or(|(block, bytes)| 8.0 * block <= bytes), "{place}");
            assert!(get("given_remote_share").is_none() || ranks > 1.0, "{place}");
            let is_reduced = row.reservations.iter().any(|words| matches!(words, Reservation::Reduced { .. }));
            let replaced = given.iter().zip(&row.x).filter(|((name, given), x)| {
                // The hypercube is d = 0, and with several ranks far memory is that of other ranks.
                given[0] != **x && !(name == "d" && given[0] == ranks.log2()) && name != "far"
            });
            assert_eq!(replaced.count() > 0, is_reduced, "{place}");
            reduced += usize::from(is_reduced);
        }
    }
    assert!(predicted >= 300 && reduced >= 30 && refused >= 3000, "{predicted} {reduced} {refused}");
}

/// One rank was predicted to poll 15 others: 204 MB/s, 50 times too slow.
#[test]
fn a_node_has_no_more_ranks_than_there_are() {
    let card = Card::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded/xeon-16-card.toml"));
    let model = models::find("apex_map.surface").expect("a model");
    let numbers = Numbers::new(model, &card.expect("a card"), &[]).expect("numbers");
    let rates = |on_node: &[f64]| {
        let given = [
            ("alpha", vec![0.001]),
            ("L", vec![1.0]),
            ("M", vec![1073741824.0]),
            ("P", vec![1.0, 2.0, 16.0]),
            ("ranks_per_node", on_node.to_vec()),
        ];
        let given: Vec<_> = given.into_iter().map(|(name, values)| (name.to_owned(), values)).collect();
        scan(model, &numbers, &given).expect("rates")
    };
    let (wide, by_ranks) = (rates(&[16.0]), rates(&[0.0]));
    for (wide, by_ranks) in wide.iter().zip(&by_ranks) {
        assert_eq!(wide.prediction, by_ranks.prediction);
    }
    // Measured: 8.1 GB/s.
    assert!((8e9..12e9).contains(&wide[0].prediction.value), "{}", wide[0].prediction.value);
    assert_eq!(wide[0].reservations[0].to_string(), "ranks_per_node = 1 instead of 16, because P = 1");
    assert!(!matches!(wide[2].reservations[0], Reservation::Reduced { .. }));
}

#[test]
fn impossible_combinations_are_refused_with_the_next_step_or_noted() {
    let card = "tests/recorded/xeon-16-card.toml";
    let surface = ["predict", "apex_map.surface", "--machine", card, "--set", "alpha=0.1"];
    for (more, message) in [
        (
            vec!["--set", "M=1024", "--set", "L=128", "--set", "P=16"],
            "a block of L = 128 words does not fit into the memory",
        ),
        (vec!["--set", "M=1024", "--set", "L=0", "--set", "P=16"], "L must be a whole number from 1, found 0"),
        (vec!["--set", "M=1024", "--set", "L=1", "--set", "P=1", "--set", "access=read,write"], "covers only access"),
    ] {
        let error = refusal_message(&[&surface[..], &more].concat());
        assert!(error.contains(message) && error.contains("help: "), "{more:?}: {error}");
    }
    let puts = ["predict", "random_access.puts", "--machine", "simulated-nic"];
    let text = successful_stdout(&[&puts[..], &["--ranks", "1", "--set", "ranks_per_node=4"]].concat());
    assert!(text.contains("\nranks_per_node = 1 instead of 4, because P = 1\n"), "{text}");
    let error = refusal_message(&[&puts[..], &["--ranks", "4", "--set", "Q=0"]].concat());
    assert!(error.contains("Q must be a whole number from 1"), "{error}");
}
