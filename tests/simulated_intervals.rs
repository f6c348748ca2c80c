//! Intervals of simulated rates, which follow from the intervals of the card.

use super::common::{Scratch, successful_stdout};
use apexmap_theory::machine::{Card, JointFit, Number};
use std::path::Path;

/// Returns mean and standard deviation of these numbers.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt())
}

#[test]
fn drawn_cards_vary_as_the_intervals_of_the_card_say() {
    let mut card = Card::new("A", "-", "-");
    assert!(card.resample(20, 1).is_empty());
    card.set("cores", Number::new(4.0, "", "-")).expect("a number");
    card.set("router_latency_seconds", Number::new(100.0, "ns", "-").with_interval(80.0, 125.0)).expect("a number");
    let cards = card.resample(4000, 1);
    assert_eq!(cards, card.resample(4000, 1));
    assert!(cards.iter().all(|card| card.get("cores") == Some(4.0)));
    let logarithms = |cards: &[Card], name: &str| -> Vec<f64> {
        cards.iter().map(|drawn| (drawn.get(name).expect("a number") / card.get(name).unwrap_or(1.0)).ln()).collect()
    };
    let (mean, spread) = moments(&logarithms(&cards, "router_latency_seconds"));
    // ln(125 / 80) is 3.92 standard deviations of the normal distribution.
    let expected = (125.0f64 / 80.0).ln() / 3.92;
    assert!(mean.abs() < 4.0 * expected / 4000f64.sqrt() && (spread / expected - 1.0).abs() < 0.05, "{mean} {spread}");
}

#[test]
fn numbers_of_one_fit_are_drawn_together() {
    let mut card = Card::new("A", "-", "-");
    for name in ["round_seconds", "stage_seconds"] {
        card.set(name, Number::new(1.0, "us", "-").with_interval(0.8, 1.25)).expect("a number");
    }
    let names = vec!["round_seconds".to_owned(), "stage_seconds".to_owned()];
    let mut fit = JointFit::new("random_access.hypercube", names, 5, 2.57, 0.0);
    fit.covariance = vec![vec![0.01, -0.0081], vec![-0.0081, 0.01]];
    card.joint = Some(fit);
    let cards = card.resample(4000, 2);
    let pairs: Vec<[f64; 2]> = cards
        .iter()
        .map(|card| ["round_seconds", "stage_seconds"].map(|name| (card.get(name).expect("a number") * 1e6).ln()))
        .collect();
    let column = |index: usize| pairs.iter().map(|pair| pair[index]).collect::<Vec<f64>>();
    let ((_, first), (_, second)) = (moments(&column(0)), moments(&column(1)));
    let covariance = pairs.iter().map(|pair| pair[0] * pair[1]).sum::<f64>() / 4000.0;
    assert!((first / 0.1 - 1.0).abs() < 0.05 && (second / 0.1 - 1.0).abs() < 0.05, "{first} {second}");
    assert!((covariance / -0.0081 - 1.0).abs() < 0.1, "{covariance}");
}

const CARD: &str = r#"
name = "A"
summary = "-"
source = "-"
[numbers.network_send_overhead_seconds]
value = 0
unit = "us"
how = "-"
[numbers.network_receive_overhead_seconds]
value = 0
unit = "us"
how = "-"
[numbers.wire_latency_seconds]
value = 10
unit = "us"
low = 8
high = 12.5
how = "-"
[numbers.network_bandwidth_bytes_per_second]
value = 1000
unit = "GB/s"
how = "-"
"#;

const SWEEP: &str = r#"
[fixed]
kernel = "message_rate.ping_pong"
ranks = 2
[axes]
message_bytes = [8, 16]
[launch]
resamples = 40
"#;

#[test]
fn the_interval_of_a_simulated_latency_is_that_of_the_card() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("card.toml"), CARD).expect("a card");
    std::fs::write(scratch.join("sweep.toml"), SWEEP).expect("a sweep");
    let file = |name: &str| scratch.join(name).to_str().expect("a path").to_owned();
    let (sweep, card, out) = (file("sweep.toml"), file("card.toml"), file("out"));
    successful_stdout(&["run", &sweep, "--simulate", &card, "--no-report", "--out", &out]);
    let query = |more: &[&str]| {
        let base = ["query", &out, "--group-by", "message_bytes", "--select", "operations_per_second"];
        successful_stdout(&[&base[..], more].concat())
    };
    let groups: serde_json::Value = serde_json::from_str(&query(&["--format", "json"])).expect("JSON");
    let groups = groups.as_array().expect("groups");
    assert_eq!(groups.len(), 2);
    for group in groups {
        let number = |name: &str| group["values"]["operations_per_second"][name].as_f64().expect("a number");
        let (low, median, high) = (number("low"), number("median"), number("high"));
        // The latency is all of the time. Its interval is [8, 12.5] us; 40 draws give its width within a third.
        let width = (high / low).ln() / (12.5f64 / 8.0).ln();
        assert!((0.67..1.5).contains(&width) && low < median && median < high, "{width} {group}");
    }
    assert!(query(&[]).contains("Simulated: intervals are those of the card's numbers"), "{}", query(&[]));
    // Without intervals on the card, a point runs once and has none.
    let plain = CARD.replace("low = 8\nhigh = 12.5\n", "");
    std::fs::write(scratch.join("card.toml"), plain).expect("a card");
    let out = file("plain");
    successful_stdout(&["run", &sweep, "--simulate", &card, "--no-report", "--out", &out]);
    let text = successful_stdout(&["query", &out, "--group-by", "message_bytes", "--select", "operations_per_second"]);
    assert!(!text.contains("Simulated: intervals"), "{text}");
    assert!(Path::new(&out).exists());
}
