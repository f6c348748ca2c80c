//! Tests of the time for which others leave lines in the last cache: the card's number from simulated latencies after
//! waits.

use apexmap_base::point::Value;
use apexmap_results::samples::Samples;
use apexmap_results::table::TableBuilder;
use apexmap_study::calibrate::residence;
use apexmap_theory::machine::Card;

const NUMBER: &str = "l3_displacements_per_second";

/// Simulates three runs after each wait, with the latency of a line in nanoseconds. The median run counts.
fn samples(latencies: &[(f64, f64)]) -> Samples {
    let mut table = TableBuilder::default();
    for &(wait, latency) in latencies {
        for factor in [0.98, 1.0, 1.3] {
            table.begin_row();
            for (column, text) in [("kernel", "calibrate.residence"), ("status", "ok")] {
                table.set(column, &Value::from(text));
            }
            for (column, value) in [
                ("region_bytes", 4e6),
                ("wait_seconds", wait),
                ("unused_seconds", wait * factor),
                ("operation_seconds", latency * factor / 1e9),
            ] {
                table.set(column, &Value::Real(value));
            }
        }
    }
    table.finish().into()
}

/// Returns the card of a machine with a memory latency of 150 ns.
fn card() -> Card {
    let mut card = Card::new("made up", "made up", "nowhere");
    for (number, value) in [("memory_latency_seconds", 150e-9), ("l3_bytes", 20e6)] {
        card.set_base(number, value, "made up").expect("a number of cards");
    }
    card
}

#[test]
fn the_displacement_rate_is_taken_where_half_of_the_lines_remain() {
    // The best run in the cache takes 10 ns and memory takes 150 ns, so half of the lines are lost at 80 ns. The
    // latency is 80 ns at 20 ms, the logarithmic middle of 10 and 40 ms. The region leaves four fifths of the cache.
    let measured = samples(&[(1e-3, 10.0 / 0.98), (1e-2, 45.0), (4e-2, 115.0), (0.1, 150.0)]);
    let mut card = card();
    assert_eq!(residence::add(&mut card, &measured).expect("a number"), None);
    let number = &card.numbers()[NUMBER];
    assert!((number.value / 40.0 - 1.0).abs() < 1e-9, "0.8 / 20 ms, not {}", number.value);
    let [low, high] = [number.low, number.high].map(|end| end.expect("the rates of the waits around it"));
    assert!((low / 20.0 - 1.0).abs() < 1e-9 && (high / 80.0 - 1.0).abs() < 1e-9, "{low} to {high}");
}

#[test]
fn a_machine_that_keeps_its_lines_has_no_displacement_rate() {
    let mut card = card();
    let measured = samples(&[(1e-3, 10.0), (1e-2, 10.2), (0.1, 11.0)]);
    assert_eq!(residence::add(&mut card, &measured).expect("nothing"), None);
    assert!(!card.numbers().contains_key(NUMBER));
    let mut unknown = Card::new("made up", "made up", "nowhere");
    let lost = samples(&[(1e-3, 10.0), (1e-2, 150.0)]);
    assert_eq!(residence::add(&mut unknown, &lost).expect("nothing"), None, "how slow is memory?");
    assert!(!unknown.numbers().contains_key(NUMBER));
}

#[test]
fn immediate_loss_of_lines_is_reported_and_gives_no_number() {
    let mut card = card();
    let measured = samples(&[(1e-6, 140.0), (1e-3, 10.0), (1e-2, 145.0)]);
    let note = residence::add(&mut card, &measured).expect("a sentence").expect("a sentence");
    assert!(note.contains(NUMBER) && note.contains("after the shortest wait"), "{note}");
    assert!(!card.numbers().contains_key(NUMBER));
}
