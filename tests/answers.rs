//! Tests of the answers that sweeps declare: their values from samples, and their wording.

use super::common::{launch, sample};
use apexmap_base::point::{Point, Value};
use apexmap_base::reservation::Reservation;
use apexmap_base::sample::Sample;
use apexmap_measure::kernels;
use apexmap_results::disk::record::Record;
use apexmap_results::disk::tabulate::{tabulate, tabulate_points};
use apexmap_results::samples::Samples;
use apexmap_results::table::TableBuilder;
use apexmap_run::sweep::answer::{Answered, StatisticSpec, parse_answer};
use apexmap_run::sweep::ready::{self, READY_SWEEPS, ReadySweep};
use apexmap_run::sweep::{Machine, Sweep};
use apexmap_study::answers::declared::{Declared, answer};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::collections::BTreeMap;
use std::path::Path;

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
    answer(samples, &Samples::default(), &sweep).expect("samples").expect("an answer")
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
    assert!(declared.lines().ends_with(&format!("How long?\n  {}\n", declared.text)), "the answer comes last");
    let equal = declare(&samples, values, "in {latency} to {latency}, at {at} or {at}");
    assert_eq!(equal.text, "in 1 us, at 16 KiB or 16 KiB", "equal ends of a range are printed once");
    let pair = declare(&samples, values, "{peak}, at {at} and {at}, from {half} and {at}");
    assert_eq!(pair.text, "3.28 GB/s, at 16 KiB, from 4 KiB and 16 KiB", "and an equal pair");
}

#[test]
fn a_step_is_where_medians_leave_the_line_of_those_before() {
    let values = r#"limit = { step = "message_seconds_p50", at = "message_bytes" }"#;
    assert_eq!(declare(&with_step(), values, "up to {limit}").text, "up to 4 KiB");
    let straight = [8u64, 64, 512, 1024, 2048, 4096, 8192].map(|bytes| (bytes, 500e-9 + bytes as f64 * 1e-10));
    let without = declare(&ping_pong(&straight), values, "up to {limit}");
    assert!(!without.is_known);
    assert_eq!(without.text, "not answered: the samples show no limit");
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
    let text = "not answered: the sweep has one value of message_bytes, 8 B, so there is nothing to compare";
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
    assert_eq!(declared.text, "not measured yet: other");
    let several = declare(&samples, values, "{all}");
    assert_eq!(several.text, "not answered: several points have all, so there is no one value");
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
    let [rate, gain] = &declared.values[..] else { panic!("{declared:?}") };
    assert_eq!((rate.text.as_str(), rate.unit, gain.number.map(f64::round)), ("1.02 GB/s", "B/s", Some(2.0)));
    let limited = declared.with([Reservation::Partial { measured: 2, planned: 4 }]);
    assert_eq!(limited.text, "1.02 GB/s, 2 times (2 of 4 points)");
}

#[test]
fn an_answer_says_what_limits_it() {
    let mut table = TableBuilder::default();
    for bytes in [8u64, 64, 64, 512, 512] {
        table.begin_row();
        table.set("message_bytes", &Value::Integer(bytes));
        table.set("seconds", &Value::Real(1e-6 * bytes as f64));
    }
    let values = r#"
        short = { median = "seconds", smallest = "message_bytes" }
        long = { median = "seconds", largest = "message_bytes" }
        gain = "long / short"
    "#;
    let declared = declare(&Samples::from(table.finish()), values, "{short}, {gain} times");
    assert_eq!(declared.text, "8 us, 64 times (1 value from a single sample)");
    let disturbed = Reservation::SomeDisturbed { disturbed: 3, samples: 5 };
    let text = declared.with([Reservation::Partial { measured: 3, planned: 4 }, disturbed]).text;
    assert_eq!(text, "8 us, 64 times (1 value from a single sample; 3 of 4 points; 3 of 5 samples disturbed)");
}

#[test]
fn a_range_has_its_unit_once() {
    let values = r#"
        short = { median = "message_seconds_p50", smallest = "message_bytes" }
        long = { median = "message_seconds_p50", largest = "message_bytes" }
    "#;
    let range = |long: f64| declare(&ping_pong(&[(8, 1e-6), (64, long)]), values, "{short} to {long}").text;
    assert_eq!([range(4e-6), range(4e-3), range(1e-6)], ["1 to 4 us", "1 us to 4 ms", "1 us"]);
}

/// Answers of `stream` on two cores, from samples of these operations on these cores.
fn answer_stream(measured: &[(&str, usize)]) -> Declared {
    let sweep = READY_SWEEPS.iter().find(|sweep| sweep.name == "stream").expect("a sweep");
    let complete = Synthetic::new(sweep, 2);
    let is_measured = |point: &Point| measured.contains(&(point.params["access"].to_string().as_str(), point.ranks));
    let chosen: Vec<bool> = complete.points.iter().map(is_measured).collect();
    complete.answer(&chosen, sweep.text)
}

#[test]
fn values_of_one_sentence_come_from_the_ends_of_the_plan() {
    let both = answer_stream(&[("triad", 1), ("triad", 2)]);
    assert!(both.is_known && both.text.contains(" on 2 cores, "), "{both:?}");
    // The fault of an earlier version: `triad 7.1 GB/s on 2 cores, 7.1 GB/s on one core`, with triad on one core only.
    let partial = answer_stream(&[("triad", 1), ("copy", 1), ("copy", 2)]);
    assert_eq!(partial.text, "not measured yet: triad on 2 cores");
    assert!(partial.values.is_empty() && partial.intervals.is_empty());
    assert_eq!(partial.clone().with([Reservation::Untested]), partial);
    let none = answer_stream(&[("copy", 1)]);
    assert_eq!(none.text, "not measured yet: triad on 2 cores and triad on one core");
}

#[test]
fn one_of_several_points_is_not_the_fastest() {
    let sweep = READY_SWEEPS.iter().find(|sweep| sweep.name == "random-access-algorithms").expect("a sweep");
    let complete = Synthetic::new(sweep, 2);
    let on_two: Vec<usize> = (0..complete.points.len()).filter(|&k| complete.points[k].ranks == 2).collect();
    let answer = |measured: &[usize]| {
        let chosen: Vec<bool> = (0..complete.points.len()).map(|k| measured.contains(&k)).collect();
        complete.answer(&chosen, sweep.text)
    };
    assert_eq!(
        answer(&on_two[..1]).text,
        "not measured yet: the rate on 2 ranks, the fastest on 2 ranks and the slowest on 2 ranks"
    );
    assert!(answer(&on_two[..2]).is_known && on_two.len() > 2);
}

/// A complete result of a ready sweep, with another median at each point.
struct Synthetic {
    points: Vec<Point>,
    samples: Vec<Vec<Sample>>,
}

impl Synthetic {
    fn new(sweep: &ReadySweep, cores: usize) -> Self {
        let machine = Machine {
            numa_cores: [(0, cores / 2), (1, cores - cores / 2)].into(),
            memory_nodes: vec![0, 1],
            cores_of_numa_node: Some(cores / 2),
            last_cache: 32 << 20,
            ..Machine::with_cores(cores, 64 << 30)
        };
        let Sweep { points, .. } = ready::open(Path::new(sweep.name), machine).expect(sweep.name);
        let mut random = Pcg64::seed_from_u64(1);
        let mut samples_at = |(index, point): (usize, &Point)| {
            let seconds = random.random_range(1e-3..1.0);
            let runs = [0.9, 1.0, 1.2].map(|factor| {
                let mut run = sample(point, &format!("k{index}"), 0, seconds * factor);
                let outputs = kernels::find(&point.kernel).expect("a kernel").outputs;
                for column in ["operation_seconds", "message_seconds_p50", "error_fraction"] {
                    if outputs.iter().any(|output| output.column == column) {
                        run.outputs.insert(column.into(), Value::Real(seconds * factor * 1e-6));
                    }
                }
                if outputs.iter().any(|output| output.column == "message_way") {
                    run.outputs.insert("message_way".into(), Value::from("through memory"));
                }
                // The only answer that needs more than different values.
                if sweep.name == "eager-limit" {
                    let bytes = point.params["message_bytes"].as_f64().expect("bytes");
                    let seconds = (500.0 + bytes * 0.1 + if bytes > 4096.0 { 4000.0 } else { 0.0 }) * 1e-9;
                    run.outputs.insert("message_seconds_p50".into(), Value::Real(seconds * factor));
                }
                run
            });
            runs.into()
        };
        let samples = points.iter().enumerate().map(&mut samples_at).collect();
        Self { points, samples }
    }

    /// Returns the samples of the chosen points.
    fn samples(&self, chosen: &[bool]) -> Samples {
        let samples = self.samples.iter().zip(chosen).filter(|(_, is_chosen)| **is_chosen);
        let samples = samples.flat_map(|(samples, _)| samples.clone()).collect();
        let record = Record { launch: Some(launch("0001", 2, "b")), samples, ..Record::default() };
        Samples::from(tabulate(&[record], |_| true))
    }

    fn answer(&self, chosen: &[bool], sweep: &str) -> Declared {
        let plan = Samples::from(tabulate_points(&self.points));
        answer(&self.samples(chosen), &plan, sweep).expect("samples").expect("an answer")
    }

    /// Returns the largest or the smallest planned value of a parameter.
    fn end(&self, axis: &str, is_largest: bool) -> f64 {
        let value = |point: &Point| match axis {
            "P" => Some(point.ranks as f64),
            name => point.params.get(name)?.as_f64(),
        };
        let planned = self.points.iter().filter_map(value);
        planned.reduce(if is_largest { f64::max } else { f64::min }).expect("a planned value")
    }

    /// Returns the medians that a statistic may state, by the point: the points that meet its condition, at the ends of its axes.
    fn medians(&self, chosen: &[bool], statistic: &StatisticSpec) -> BTreeMap<String, f64> {
        let mut samples = self.samples(chosen);
        if let Some(condition) = &statistic.condition {
            let Ok(condition) = samples.condition(condition.get_ref()) else { return BTreeMap::new() };
            samples = samples.filter(&condition);
        }
        for (axis, is_largest) in statistic.ends() {
            let end = self.end(axis, is_largest);
            let is_at_end = |row: usize| samples.table().number(samples.resolve(axis), row) == end;
            samples = samples.filter_rows(is_at_end);
        }
        let column = statistic.kinds().next().expect("a column").get_ref();
        let middle = |point: &Samples| {
            let mut values = point.numbers(samples.resolve(column));
            values.sort_by(f64::total_cmp);
            (point.first_word("key").to_owned(), values[1])
        };
        samples.group_by(&["key"]).iter().map(middle).collect()
    }
}

/// Returns a sweep whose sentence states all statistics of its answer.
fn state_all(sweep: &ReadySweep, answered: &Answered) -> String {
    let statistics = answered.answer.values.iter().filter(|(_, value)| value.get_ref().statistic().is_some());
    let names: Vec<String> = statistics.map(|(name, _)| format!("{{{}}}", name.get_ref())).collect();
    let text = answered.answer.text.get_ref();
    sweep.text.replace(&format!("text = \"{text}\""), &format!("text = \"{}\"", names.join(" ")))
}

#[test]
fn each_number_of_an_answer_is_the_median_of_a_point_that_the_sentence_names() {
    let mut random = Pcg64::seed_from_u64(2);
    let (mut answered_count, mut unanswered_count) = (0, 0);
    for sweep in READY_SWEEPS {
        let complete = Synthetic::new(sweep, 4);
        let answered = parse_answer(sweep.text).expect("an answer");
        let every_point = vec![true; complete.points.len()];
        let whole = complete.answer(&every_point, sweep.text);
        assert!(whole.is_known, "{}: {}", sweep.name, whole.text);
        assert!(complete.answer(&every_point, &state_all(sweep, &answered)).is_known, "{}", sweep.name);
        for part in 0..24 {
            let share = f64::from(part) / 24.0;
            let chosen: Vec<bool> = complete.points.iter().map(|_| random.random_bool(share)).collect();
            let sentence = complete.answer(&chosen, sweep.text);
            let stated = complete.answer(&chosen, &state_all(sweep, &answered));
            let place = format!("{}, {share}: {sentence:?}", sweep.name);
            assert!(
                sentence.is_known
                    || ["not answered", "not measured"].iter().any(|start| sentence.text.starts_with(start)),
                "{place}"
            );
            assert!(stated.is_known || stated.values.is_empty(), "{place}");
            *(if sentence.is_known { &mut answered_count } else { &mut unanswered_count }) += 1;
            let mut values = stated.values.iter();
            let statistics = answered.answer.values.values().filter_map(|value| value.get_ref().statistic());
            for (statistic, value) in
                statistics.take_while(|_| stated.is_known).map(|s| (s, values.next().expect("a value")))
            {
                let number = value.number.unwrap_or(f64::NAN);
                if statistic.is_end() {
                    assert!(statistic.ends().all(|(axis, largest)| number == complete.end(axis, largest)), "{place}");
                }
                if statistic.at.is_some() {
                    continue;
                }
                let medians = complete.medians(&chosen, statistic);
                let is_median = |median: &f64| (median / number - 1.0).abs() < 1e-12;
                assert!(medians.values().any(is_median), "{place}: {value:?} of {medians:?}");
                if statistic.median.is_some() {
                    // The same point as in the complete result, whatever else is measured.
                    assert_eq!(complete.medians(&every_point, statistic).len(), 1, "{place}");
                }
            }
        }
    }
    assert!(answered_count > 100 && unanswered_count > 100, "{answered_count}, {unanswered_count}");
}

#[test]
fn every_ready_sweep_has_a_question_and_an_answer_of_short_parts_with_words_for_each_value() {
    for sweep in READY_SWEEPS {
        let answered = parse_answer(sweep.text).unwrap_or_else(|| panic!("{} has no answer", sweep.name));
        assert!(answered.question.ends_with(['?', ')']), "{}", sweep.name);
        // A quantity is read as one word.
        let sentence = answered.answer.text.get_ref().replace(['{', '}'], "");
        for part in sentence.split(';') {
            let count = part.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
            assert!(count <= 15, "{}: {count} words in {part}", sweep.name);
        }
        for (name, value) in &answered.answer.values {
            let is_end = value.get_ref().statistic().is_some_and(StatisticSpec::is_end);
            let words = value.get_ref().words().map(|words| words.get_ref().as_str());
            assert!(is_end || words.is_some_and(|words| words.len() > 1), "{}: {}", sweep.name, name.get_ref());
        }
    }
}
