//! Tests of the comparison of two machines term by term: simulated machines that differ in one parameter, and cards
//! without some numbers.

use crate::common::{Scratch, refusal_message, successful_stdout};
use crate::synthetic_machines::{NUMBERS, ONE_RANK, Plan, TWO_RANKS, card, folder, machine, numbers_with, points};
use apexmap_measure::kernels;
use apexmap_pages::compare::machine::Machine;
use apexmap_pages::compare::matching::{AllowedDifferences, Matching};
use apexmap_pages::compare::sections::terms::{Explanation, Terms};
use apexmap_pages::compare::terms::{SIMILAR_FACTOR, TermPair, explain_pair, parts};
use apexmap_pages::compare::{Comparison, compare};
use apexmap_theory::machine::Card;
use apexmap_theory::models::Model;
use apexmap_theory::models::apex_map::Surface;
use proptest::prelude::*;

fn compare_machines(machines: &[Machine]) -> Comparison<'_> {
    let allowed = AllowedDifferences::parse(&["page-size".into()]).unwrap();
    compare(machines, Matching { allowed, ..Matching::default() }).expect("a comparison")
}

fn pair(machines: &[Machine]) -> TermPair {
    explain_pair(&compare_machines(machines), 1).expect("points of the model").expect("cards")
}

fn explain(machines: &[Machine]) -> Vec<Explanation> {
    let (scratch, comparison) = (Scratch::new(), compare_machines(machines));
    Terms::new(&comparison, Some(&scratch)).expect("an explanation").explained
}

proptest! {
    #[test]
    fn the_terms_of_a_ratio_add_up_to_its_logarithm(
        terms in prop::collection::vec((prop_oneof![Just(0.0), 1e-12f64..1e-3], prop_oneof![Just(0.0), 1e-12f64..1e-3]), 1..9),
        base in 1e-12f64..1e-3, near in -1e-9f64..1e-9,
    ) {
        let a: Vec<f64> = terms.iter().map(|term| term.0).chain([base]).collect();
        for last in [base * (1.0 + near), base, 1e-6] {
            let b: Vec<f64> = terms.iter().map(|term| term.1).chain([last]).collect();
            let (forward, back) = (parts(&a, &b), parts(&b, &a));
            let ratio = (b.iter().sum::<f64>() / a.iter().sum::<f64>()).ln();
            prop_assert!((forward.iter().sum::<f64>() - ratio).abs() <= 1e-9 * ratio.abs().max(1e-5), "{forward:?} {ratio}");
            for ((part, back), (a, b)) in forward.iter().zip(back).zip(a.iter().zip(&b)) {
                prop_assert!((part + back).abs() <= 1e-9 * part.abs(), "{part} {back}");
                prop_assert!(part.signum() == (b - a).signum() || a == b, "{part}: {a} to {b}");
            }
        }
    }
}

#[test]
fn the_single_differing_number_is_named_only_where_it_matters() {
    let crowd = Plan { ranks: &[16], words: &[1 << 24], ..TWO_RANKS };
    let slow = numbers_with(&[("node_bandwidth_bytes_per_second", 1e10)]);
    for (plan, changes, term) in [
        (ONE_RANK, &[("memory_alone_seconds", 450e-9), ("memory_line_seconds", 7.5e-9)][..], "memory"),
        (ONE_RANK, &[("l3_alone_seconds", 60e-9)], "L3"),
        (ONE_RANK, &[("walk_seconds", 500e-9)], "TLB"),
        (ONE_RANK, &[("issue_seconds_per_byte", 5e-11)], "issue"),
        (TWO_RANKS, &[("request_seconds", 1e-6), ("request_alone_seconds", 2e-6)], "remote"),
        (TWO_RANKS, &[("request_seconds_per_byte", 1e-9)], "remote"),
        (crowd, &[("node_bandwidth_bytes_per_second", 1e10)], "node bandwidth"),
    ] {
        let pair = pair(&[machine("a", plan, &NUMBERS), machine("b", plan, &numbers_with(changes))]);
        assert_eq!(pair.cells.len(), points(plan).len());
        let mut named = 0;
        for cell in &pair.cells {
            assert!(cell.unexplained_log_ratio().abs() < 1e-9 && cell.seconds[0].len() == cell.parts.len(), "{cell:?}");
            let Some(leading) = cell.leading() else { continue };
            let name = *pair.terms.get(leading.term).expect("all is explained");
            // The time to issue a block also hides misses.
            let hidden = term == "issue" && ["TLB", "memory", "L3"].contains(&name);
            assert!(name == term || hidden, "{name} instead of {term}: {cell:?}");
            named += usize::from(name == term && leading.share > 0.5);
        }
        assert!((2..pair.cells.len()).contains(&named), "{term} at {named}");
        let equal_cells = pair.cells.iter().filter(|cell| cell.measured.abs() < SIMILAR_FACTOR.ln()).count();
        assert!(equal_cells > 0, "{term} matters everywhere");
    }
    // Node bandwidth is a separate term: the time that an access waits for it.
    let x = [1.0, 4096.0, 2f64.powi(28), 16.0, 4096.0, 16.0, 0.0, 0.0];
    let time: f64 = Surface.budget(&x, &slow).iter().map(|term| term.1).sum();
    assert!((8.0 * 4096.0 / Surface.predict(&x, &slow).value / time - 1.0).abs() < 1e-12);
}

#[test]
fn the_explanation_quantifies_the_slower_term_and_its_certainty() {
    let noisy = Plan { noise: 0.03, ..ONE_RANK };
    let slow = numbers_with(&[("memory_alone_seconds", 450e-9), ("memory_line_seconds", 7.5e-9)]);
    let explanations = explain(&[machine("a", noisy, &NUMBERS), machine("b", noisy, &slow)]);
    let [explanation] = &explanations[..] else { panic!("{explanations:?}") };
    let text = explanation.sentences.join("\n");
    assert!(text.contains("within a factor of 1.25 at 50 of 50 points"), "{text}");
    assert!(text.contains("times slower than a at") && text.contains("because of memory ("), "{text}");
    assert!(!text.contains("times faster"), "{text}");
    // One group per memory size, each with both maps.
    assert_eq!(explanation.groups.len(), 2);
    for group in &explanation.groups {
        assert_eq!(group.pictures.len(), 2, "{}", group.label);
        assert!(group.terms.last().is_some_and(|last| last == "not explained"), "{:?}", group.terms);
        assert_eq!(group.rows.iter().map(|row| row.points).collect::<Vec<_>>(), [25, 10, 15, 10, 15]);
        for row in &group.rows {
            let number = |text: &String| text.parse::<f64>().expect("a number");
            let product: f64 = row.factors.iter().map(number).product();
            assert!((product / number(&row.measured) - 1.0).abs() < 0.02, "{row:?}");
        }
    }
    assert!(
        explanation.groups[1].label.contains("M = 512 MiB")
            && explanation.groups[1].terms.contains(&"memory".to_owned())
    );
}

#[test]
fn differences_missing_on_the_cards_are_called_unexplained() {
    let mut machines =
        [machine("a", ONE_RANK, &NUMBERS), machine("b", ONE_RANK, &numbers_with(&[("memory_line_seconds", 2.5e-8)]))];
    machines[1].card = Some(card("b", &NUMBERS));
    let pair = pair(&machines);
    let leading: Vec<usize> = pair.cells.iter().filter_map(|cell| Some(cell.leading()?.term)).collect();
    assert!(!leading.is_empty() && leading.iter().all(|&term| term == pair.terms.len()), "{leading:?}");
    let text = explain(&machines)[0].sentences.join("\n");
    assert!(text.contains("mostly not explained by the model (100 % of it)"), "{text}");
}

#[test]
fn missing_card_numbers_are_named_and_not_guessed() {
    let plans = Plan { ranks: &[1, 2], kernel: "apex_map.two_sided", words: &[1 << 14], ..ONE_RANK };
    let with_cards = |change: &dyn Fn(&mut Machine)| {
        let mut machines = [machine("a", plans, &NUMBERS), machine("b", plans, &NUMBERS)];
        change(&mut machines[1]);
        explain(&machines).remove(0)
    };
    let silent = with_cards(&|machine| machine.card = None);
    assert!(silent.pair.is_none() && silent.groups.is_empty() && silent.sentences.len() == 1);
    let next = |result: &str| {
        let card = "--card results/calibrate/card.toml";
        format!(". To explain the ratio, run apexmap calibrate there, then apexmap report {result} {card}.")
    };
    assert_eq!(silent.sentences[0], format!("b has no machine card{}", next("b")));
    let neither = {
        let mut machines =
            [machine("a", plans, &NUMBERS), machine("b", plans, &NUMBERS), machine("c", plans, &NUMBERS)];
        machines.iter_mut().for_each(|machine| machine.card = None);
        [explain(&machines[..2]), explain(&machines)]
    };
    let [sentences_of_two, sentences_of_three] = neither
        .map(|explanations| explanations.into_iter().flat_map(|explanation| explanation.sentences).collect::<Vec<_>>());
    assert_eq!(sentences_of_two, [format!("Neither result has a machine card{}", next("a"))]);
    assert_eq!(sentences_of_three, [format!("No result has a machine card{}", next("a"))], "once, not for each pair");
    let silent = with_cards(&|machine| machine.card = Some(Card::new("b", "", "")));
    assert!(silent.sentences[0].contains("the card of b has no l1_bytes"), "{:?}", silent.sentences);
    // Without the parameters of messages, one rank is explained and two are not.
    let mut half = Card::new("b", "", "");
    for (parameter, value) in Surface.about().parameters.iter().zip(NUMBERS).take(18) {
        half.set_base(parameter.number, value, "made up").expect("a number of cards");
    }
    let explained = with_cards(&|machine| machine.card = Some(half.clone()));
    let pair = explained.pair.expect("some points");
    assert_eq!((pair.cells.len(), pair.left_out.values().sum::<usize>()), (25, 25));
    assert!(explained.sentences[0].contains("25 points, because the card of b has no numbers of messages"));
}

#[test]
fn points_with_writes_have_no_terms() {
    let writing = Plan { access: "write", ..ONE_RANK };
    let explanations = explain(&[machine("a", writing, &NUMBERS), machine("b", writing, &NUMBERS)]);
    let text = explanations[0].sentences.join("\n");
    assert!(text.contains("50 points, because apex_map.surface covers only access = \"read\""), "{text}");
    assert!(explanations[0].groups.is_empty());
}

#[test]
fn the_model_and_the_kernel_use_the_same_words() {
    let variable = Surface.about().variables.iter().find(|variable| variable.name == "access").expect("a variable");
    let kernel = kernels::find("apex_map.sequential").expect("a kernel");
    let parameter = kernel.parameters.iter().find(|parameter| parameter.name == "access").expect("a parameter");
    assert!(matches!(parameter.domain, kernels::Domain::Choice(words) if words == variable.words));
}

#[test]
fn the_page_maps_the_terms_and_the_terminal_names_the_decisive_one() {
    let scratch = Scratch::new();
    let plan =
        Plan { noise: 0.03, kernel: "apex_map.two_sided", ranks: &[1, 2], words: &[1 << 20, 1 << 26], ..ONE_RANK };
    let slow =
        numbers_with(&[("memory_alone_seconds", 450e-9), ("memory_line_seconds", 7.5e-9), ("request_seconds", 5e-7)]);
    let [old, new] = [("old", &NUMBERS, true), ("new", &slow, false)]
        .map(|(name, numbers, keeps)| folder(&scratch, name, plan, numbers, keeps).display().to_string());
    let out = scratch.join("page");
    let to = out.to_str().expect("a path");
    let page = || std::fs::read_to_string(out.join("compare.html")).expect("a page");
    let text = successful_stdout(&["compare", &old, &new, "--out", to]);
    assert!(text.contains("new has no machine card") && !out.join("terms.csv").exists(), "{text}");
    assert!(page().contains("Differences between the machines, term by term"));
    let card = format!(",{}", scratch.join("new.toml").display());
    let text = successful_stdout(&["compare", &old, &new, "--out", to, "--cards", &card]);
    assert!(text.contains("times slower than old at") && text.contains("because of memory ("), "{text}");
    // A surface for each rank count and size. N follows from alpha, L and P, so it splits no surface.
    assert_eq!(page().matches("aria-label=\"Which term separates new from old\"").count(), 4);
    assert!(page().contains("<th>long blocks, L"));
    let csv = std::fs::read_to_string(out.join("terms.csv")).expect("a table");
    assert_eq!(csv.lines().count(), 1 + 4 * 25);
    for line in csv.lines().skip(1) {
        let numbers: Vec<f64> = line.split(',').rev().take(10).map(|cell| cell.parse().expect("a number")).collect();
        let ratio: f64 = line.split(',').rev().nth(29).expect("a cell").parse().expect("a ratio");
        assert!((numbers.iter().sum::<f64>() - ratio.ln()).abs() < 1e-9, "{line}");
    }
    successful_stdout(&["compare", &old, &new, "--out", to]);
    assert!(!out.join("terms.csv").exists(), "the earlier file is removed");
    assert!(
        refusal_message(&["compare", &old, &new, "--cards", "a.toml"]).contains("--cards has 1 card for 2 machines")
    );
}
