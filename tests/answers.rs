//! Tests of the answers that sweeps declare: their values from samples, and their wording.

use apexmap_base::point::Value;
use apexmap_results::samples::Samples;
use apexmap_results::table::TableBuilder;
use apexmap_run::sweep::answer::{Part, parse_answer};
use apexmap_run::sweep::ready::READY_SWEEPS;
use apexmap_study::answers::declared::{Declared, answer};

/// Returns samples of ping-pong, three for each length of messages, with these medians in seconds.
fn ping_pong(medians: &[(u64, f64)]) -> Samples {
    let mut table = TableBuilder::default();
    for (bytes, median) in medians {
        for factor in [0.9, 1.0, 1.2] {
            table.begin_row();
            table.set("kernel", &Value::from("message_rate.ping_pong"));
            table.set("ranks", &Value::Integer(2));
            table.set("message_bytes", &Value::Integer(*bytes));
            table.set("message_seconds_p50", &Value::Real(median * factor));
            table.set("bytes_per_second", &Value::Real(*bytes as f64 / (median * factor)));
        }
    }
    Samples::from(table.finish())
}

fn declare(samples: &Samples, values: &str, text: &str) -> Declared {
    let sweep = format!("question = \"How long?\"\n[answer]\ntext = '{text}'\n[answer.values]\n{values}");
    answer(samples, &sweep).expect("samples").expect("an answer")
}

/// Latency 500 ns and 0.1 ns a byte, with 400 ns more beyond 4 KiB.
fn with_step() -> Samples {
    let seconds = |bytes: u64| 500e-9 + bytes as f64 * 1e-10 + if bytes > 4096 { 400e-9 } else { 0.0 };
    let sizes = [8, 64, 512, 1024, 2048, 4096, 8192, 16384];
    ping_pong(&sizes.map(|bytes| (bytes, seconds(bytes))))
}

#[test]
fn an_answer_has_medians_extremes_and_the_places_where_a_rate_is_reached() {
    let values = r#"
        latency = { median = "message_seconds_p50", where = 'message_bytes == 8' }
        peak = { max = "bytes_per_second" }
        at = { max = "bytes_per_second", at = "message_bytes" }
        half = { max = "bytes_per_second", at = "message_bytes", reaches = 0.5 }
        least = { min = "message_seconds_p50", at = "message_bytes" }
        longest = { at = "message_bytes", largest = "message_bytes" }
    "#;
    let samples = ping_pong(&[(8, 1e-6), (4096, 2e-6), (8192, 3e-6), (16384, 5e-6)]);
    let declared = declare(&samples, values, "{latency}, {peak} at {at}, half from {half}, {least} to {longest}");
    assert!(declared.is_known);
    assert_eq!(declared.text, "1 us, 3.28 GB/s at 16 KiB, half from 4 KiB, 8 B to 16 KiB");
    assert_eq!(declared.lines().lines().next(), Some("How long?"));
    let equal = declare(&samples, values, "in {latency} to {latency}, at {at} or {at}");
    assert_eq!(equal.text, "in 1 us, at 16 KiB or 16 KiB", "equal ends of a range are printed once");
}

#[test]
fn a_step_is_where_medians_leave_the_line_of_those_before() {
    let values = r#"limit = { step = "message_seconds_p50", at = "message_bytes" }"#;
    assert_eq!(declare(&with_step(), values, "up to {limit}").text, "up to 4 KiB");
    let straight = [8u64, 64, 512, 1024, 2048, 4096, 8192].map(|bytes| (bytes, 500e-9 + bytes as f64 * 1e-10));
    let without = declare(&ping_pong(&straight), values, "up to {limit}");
    assert!(!without.is_known);
    assert_eq!(without.text, "not answered: these samples give no value for limit");
}

#[test]
fn formulas_have_the_unit_of_their_values_or_none() {
    let values = r#"
        short = { median = "message_seconds_p50", smallest = "message_bytes" }
        long = { median = "message_seconds_p50", largest = "message_bytes" }
        more = "long - short"
        ratio = "long / short"
        share = "100 * short / long"
    "#;
    let samples = ping_pong(&[(8, 1e-6), (4096, 4e-6)]);
    let declared = declare(&samples, values, "{more} more, {ratio} times, {share} %");
    assert_eq!(declared.text, "3 us more, 4 times, 25 %");
    let single = declare(&ping_pong(&[(8, 1e-6)]), values, "{more} more, {ratio} times, {share} %");
    assert!(!single.is_known, "one value is not compared with itself");
    let text = "not answered: these samples have one value of message_bytes, 8, so there is nothing to compare";
    assert_eq!(single.text, text);
}

#[test]
fn a_median_of_several_points_and_a_word_without_samples_are_no_values() {
    let samples = ping_pong(&[(8, 1e-6), (64, 1e-6)]);
    let values = r#"
        all = { median = "message_seconds_p50" }
        other = { median = "message_seconds_p50", where = 'kernel == "message_rate.streaming"' }
    "#;
    let declared = declare(&samples, values, "{all} {other}");
    assert_eq!(declared.text, "not answered: these samples give no value for all, other");
    assert!(declared.intervals.is_empty());
}

#[test]
fn intervals_are_those_of_the_medians_and_of_ratios_of_independent_ones() {
    let mut table = TableBuilder::default();
    for block in 0..5u64 {
        for (ranks, base) in [(1u64, 1.0), (2, 2.0)] {
            table.begin_row();
            table.set("kernel", &Value::from("apex_map.two_sided"));
            table.set("ranks", &Value::Integer(ranks));
            table.set("block", &Value::Integer(block));
            table.set("launch", &Value::from(format!("{ranks}-{block}").as_str()));
            table.set("bytes_per_second", &Value::Real(1e9 * base * (1.0 + 0.01 * block as f64)));
        }
    }
    let samples = Samples::from(table.finish());
    let values = r#"
        one = { median = "bytes_per_second", smallest = "P" }
        two = { median = "bytes_per_second", largest = "P" }
        gain = "two / one"
    "#;
    let declared = declare(&samples, values, "{one}, {gain} times");
    // Student's t with 4 degrees of freedom on ln(1 + 0.01 i), i from 0 to 4: half width 0.0192; of the ratio sqrt(2) times it.
    assert_eq!(declared.text, "1.02 GB/s, 2 times");
    assert_eq!(declared.intervals, ["one 1 to 1.04 GB/s", "gain 1.95 to 2.05"]);
}

#[test]
fn every_ready_sweep_has_a_question_and_an_answer_of_at_most_15_words() {
    for sweep in READY_SWEEPS {
        let answered = parse_answer(sweep.text).unwrap_or_else(|| panic!("{} has no answer", sweep.name));
        assert!(answered.question.ends_with(['?', ')']), "{}", sweep.name);
        let words = |part: &Part| match part {
            Part::Text(text) => text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count(),
            // A quantity is read as one word.
            Part::Value(_) => 1,
        };
        let count: usize = answered.answer.parts().expect("a sentence").iter().map(words).sum();
        assert!(count <= 15, "{}: {count} words", sweep.name);
    }
}
