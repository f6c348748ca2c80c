//! Tests of comparisons of machines: statistics against known values, the coverage of intervals, and checks without
//! false alarms.

use crate::browser;
use crate::common::{Scratch, apexmap, check, refusal_message, successful_stdout};
use apexmap_base::point::Value;
use apexmap_pages::compare::comparison::Warning;
use apexmap_pages::compare::geometric_mean::geometric_mean;
use apexmap_pages::compare::machine::{Machine, name_all};
use apexmap_pages::compare::matching::{AllowedDifferences, Matching};
use apexmap_pages::compare::points::PointData;
use apexmap_pages::compare::ratio::{Basis, ratio};
use apexmap_pages::compare::regression::Outcome;
use apexmap_pages::compare::regression::{Conditions, SlowdownLimit};
use apexmap_pages::compare::sections::{cards, headline};
use apexmap_pages::compare::{Comparison, compare, published_machines};
use apexmap_results::samples::estimate::{LaunchValues, Mean};
use apexmap_results::samples::health::Slowing;
use apexmap_results::table::Table;
use apexmap_results::table::TableBuilder;
use apexmap_theory::machine::Card;
use apexmap_theory::statistics::rank_tests::{MannWhitney, adjust_p_values};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64Mcg;

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-9), "{a} is not {b}");
}

fn logs(values: &[f64]) -> Vec<f64> {
    values.iter().map(|v| v.ln()).collect()
}

/// Computed by scipy 1.17.1: ttest_ind(b, a, equal_var=False) of the logarithms, its confidence_interval, and p against
/// ln 1.05.
#[test]
fn welch_matches_scipy() {
    let a = Mean::from_values(&logs(&[10.0, 11.0, 12.5, 9.5, 10.7])).unwrap();
    let b = Mean::from_values(&logs(&[12.0, 13.1, 11.9, 14.2])).unwrap();
    let shift = b.subtract(&a);
    close(shift.freedom, 6.994748564212207);
    close(shift.value.exp(), 1.1939604627470135);
    let (low, high) = shift.interval();
    close(low.exp(), 1.0297605207979224);
    close(high.exp(), 1.3843428232211357);
    close(shift.p_above(0.0), 0.012644647330768269);
    close(shift.p_above(1.05f64.ln()), 0.03955479553000884);
}

/// Computed by scipy 1.17.1: mannwhitneyu, exact without ties and asymptotic with ties; the distribution and the
/// interval by enumeration.
#[test]
fn mann_whitney_and_hodges_lehmann_match_scipy() {
    let x = [1.1, 2.3, 3.1, 4.7, 5.2, 6.9];
    let y = [2.9, 4.1, 5.8, 7.7, 8.3, 9.1, 10.2];
    let mut tests = MannWhitney::default();
    close(tests.p_above(&x, &y), 0.03671328671328671);
    let (tied_x, tied_y) = ([1.0, 2.0, 2.0, 3.0, 4.0, 5.0, 5.0], [2.0, 3.0, 4.0, 5.0, 5.0, 6.0, 7.0, 7.0]);
    close(tests.p_above(&tied_x, &tied_y), 0.044179868405946614);
    for (u, p) in [(3.0, 0.004079254079254079), (10.0, 0.06876456876456877), (20.0, 0.4726107226107226)] {
        close(tests.cumulative_probability(u, 6, 7), p);
    }
    let (shift, interval) = tests.shift(&x, &y).unwrap();
    let (low, high) = interval.unwrap();
    for (actual, expected) in [(shift, 3.05), (low, -0.6), (high, 6.6)] {
        assert!((actual - expected).abs() < 1e-9, "{actual} is not {expected}");
    }
    assert_eq!(tests.shift(&x[..2], &y[..3]).unwrap().1, None, "five samples have no 95 % interval");
}

/// Computed by scipy 1.17.1: stats.false_discovery_control.
#[test]
fn adjusted_p_values_match_scipy() {
    let adjusted_values = adjust_p_values(&[0.001, 0.2, 0.03, 0.04, 0.5, 0.012]);
    adjusted_values
        .iter()
        .zip([0.006, 0.24, 0.06, 0.06, 0.5, 0.036])
        .for_each(|(actual, expected)| close(*actual, expected));
}

proptest! {
    #[test]
    fn the_shift_is_the_median_of_all_differences(
        mut x in prop::collection::vec(-5.0f64..5.0, 1..12), mut y in prop::collection::vec(-5.0f64..5.0, 1..12),
    ) {
        x.sort_by(f64::total_cmp);
        y.sort_by(f64::total_cmp);
        let mut differences: Vec<f64> = y.iter().flat_map(|y| x.iter().map(move |x| y - x)).collect();
        differences.sort_by(f64::total_cmp);
        let middle = (differences[(differences.len() - 1) / 2] + differences[differences.len() / 2]) / 2.0;
        let (shift, interval) = MannWhitney::default().shift(&x, &y).unwrap();
        prop_assert!((shift - middle).abs() < 1e-9);
        if let Some((low, high)) = interval {
            prop_assert!(low <= shift + 1e-9 && shift <= high + 1e-9);
        }
    }
}

fn point_data(launches: &[&[f64]]) -> PointData {
    let launch_values = |(index, values): (usize, &&[f64])| LaunchValues {
        block: Some(index as u64),
        values: values.to_vec(),
        systematic: 0.0,
    };
    let launches = launches.iter().enumerate().map(launch_values).collect();
    let (failures, facts) = (Vec::new(), Default::default());
    PointData {
        launches,
        run: None,
        widening: Some(1.0),
        failures,
        facts,
        exact: false,
        slowing: Slowing::NONE,
        ranks: 1.0,
        row: None,
        total: Some(false),
    }
}

#[test]
fn launches_are_the_unit_of_comparison_unless_only_one_exists() {
    let mut tests = MannWhitney::default();
    let three_launches = point_data(&[&[1.0, 1.1], &[1.2, 1.3], &[1.1, 1.2]]);
    let single = point_data(&[&[2.0, 2.1, 2.2, 2.3, 2.4, 2.5]]);
    assert_eq!(ratio(&three_launches, &three_launches, &mut tests).unwrap().basis, Basis::Launches);
    let ratio_of_single = ratio(&single, &three_launches, &mut tests).unwrap();
    assert_eq!(ratio_of_single.basis, Basis::Samples);
    assert!(ratio_of_single.interval.unwrap().0 > 1.5 && !ratio_of_single.is_decided());
    assert!(ratio(&point_data(&[]), &three_launches, &mut tests).is_none(), "an unfinished point has no ratio");
    assert_eq!(ratio(&point_data(&[&[1.0]]), &point_data(&[&[2.0]]), &mut tests).unwrap().basis, Basis::Nothing);
}

/// Creates a store of Apex-Map samples: `speed` gives the speed by point and launch.
fn store(
    given: &str,
    points: usize,
    launches: usize,
    samples: usize,
    speed: impl FnMut(usize, usize) -> f64,
) -> Machine {
    Machine::from_samples(given, table(points, launches, samples, speed).into(), None).unwrap()
}

fn table(points: usize, launches: usize, samples: usize, mut speed: impl FnMut(usize, usize) -> f64) -> Table {
    let mut table = TableBuilder::default();
    for launch in 0..launches {
        for point in 0..points {
            for _ in 0..samples {
                table.begin_row();
                let mut set = |name: &str, value: Value| table.set(name, &value);
                set("kernel", Value::from("apex_map.sequential"));
                set("ranks", Value::Integer(1));
                set("alpha", Value::Real(0.01 * (1 + point / 8) as f64));
                set("block_words", Value::Integer(1 << (point % 8)));
                set("memory_words", Value::Integer(1 << 20));
                set("pages", Value::from("huge"));
                set("page_bytes", Value::Real(2097152.0));
                set("status", Value::from("ok"));
                set("launch", Value::from(format!("{launch:04}").as_str()));
                set("build", Value::from("b"));
                set("bytes_per_second_per_rank", Value::Real(speed(launch, point)));
            }
        }
    }
    table.finish()
}

/// Simulates a run of a machine. Launches differ by 3 % as a whole and by 2 % at each point, samples by 4 %.
fn run(given: &str, points: usize, launches: usize, random: &mut Pcg64Mcg, slow: &[usize]) -> Machine {
    let launch_factors: Vec<f64> = (0..launches).map(|_| noise(0.03, random)).collect();
    let point_factors: Vec<f64> = (0..launches * points).map(|_| noise(0.02, random)).collect();
    store(given, points, launches, 3, |launch, point| {
        let slower = if slow.contains(&point) { 0.7 } else { 1.0 };
        slower * 1e9 * (launch_factors[launch] + point_factors[launch * points + point] + noise(0.04, random)).exp()
    })
}

fn noise(deviation: f64, random: &mut Pcg64Mcg) -> f64 {
    Normal::new(0.0, deviation).unwrap().sample(random)
}

fn compare_machines(machines: &[Machine], allowed: AllowedDifferences) -> Comparison<'_> {
    compare(machines, Matching { allowed, ..Matching::default() }).unwrap()
}

const FIVE_PERCENT: SlowdownLimit = SlowdownLimit { slowdown: 1.05 };

#[test]
fn identical_runs_fail_the_check_in_at_most_5_per_cent() {
    let mut random = Pcg64Mcg::seed_from_u64(11);
    // The limit is 0 %, so only chance exceeds it; a limit of 5 % would allow more.
    let limit = SlowdownLimit { slowdown: 1.0 };
    let tries = 240;
    let tripped = (0..tries)
        .filter(|_| {
            let machines = [run("base", 24, 5, &mut random, &[]), run("new", 24, 5, &mut random, &[])];
            check(&compare_machines(&machines, AllowedDifferences::default()), limit).unwrap().verdict
                == Outcome::Failed
        })
        .count();
    // 5 % plus three standard deviations of a binomial distribution.
    assert!(tripped as f64 <= tries as f64 * 0.05 + 3.0 * (tries as f64 * 0.0475).sqrt(), "{tripped} of {tries}");
}

#[test]
fn intervals_of_ratios_and_their_mean_cover_the_truth() {
    let mut random = Pcg64Mcg::seed_from_u64(12);
    let mut tests = MannWhitney::default();
    let (mut covered, mut total, mut means) = (0, 0, 0);
    let tries = 200;
    for _ in 0..tries {
        let machines = [run("base", 16, 5, &mut random, &[]), run("new", 16, 5, &mut random, &[])];
        let comparison = compare_machines(&machines, AllowedDifferences::default());
        for &index in &comparison.matched {
            let point = &comparison.points.points[index];
            let point_ratio =
                ratio(point.by_machine[1].as_ref().unwrap(), point.by_machine[0].as_ref().unwrap(), &mut tests)
                    .unwrap();
            covered += usize::from(!point_ratio.is_decided());
            total += 1;
        }
        let mean = geometric_mean(&comparison.matched_points(), 1, 0, &mut tests).unwrap();
        let (low, high) = mean.interval.unwrap();
        means += usize::from(low <= 1.0 && 1.0 <= high);
        assert_eq!((mean.cells, mean.basis), (16, Basis::Launches));
    }
    let share = covered as f64 / total as f64;
    assert!((0.93..=0.98).contains(&share), "points: {share}");
    let share = means as f64 / f64::from(tries);
    assert!((0.90..=0.99).contains(&share), "means: {share}");
}

#[test]
fn slower_and_unfinished_points_are_found_and_named() {
    let mut random = Pcg64Mcg::seed_from_u64(13);
    let mut machines = [run("base", 24, 5, &mut random, &[]), run("new", 24, 5, &mut random, &[9])];
    let report = check(&compare_machines(&machines, AllowedDifferences::default()), FIVE_PERCENT).unwrap();
    assert_eq!(report.slower.len(), 1, "{report:#?}");
    assert_eq!(report.slower[0].point, "alpha = 0.02, L = 2");
    assert!(report.slower[0].slowdown > 1.25 && report.slower[0].q <= 0.05);
    let broken = table(24, 5, 3, |_, _| 1e9);
    let failed: Vec<usize> = (0..broken.rows).filter(|&row| broken.number("block_words", row) == 4.0).collect();
    let mut again = TableBuilder::default();
    for row in 0..broken.rows {
        again.begin_row();
        for name in ["kernel", "ranks", "alpha", "block_words", "memory_words", "pages", "launch", "build"] {
            again.set(name, &broken.value(name, row).unwrap());
        }
        let bad = failed.contains(&row);
        again.set("status", &Value::from(if bad { "timed-out" } else { "ok" }));
        if !bad {
            again.set("bytes_per_second_per_rank", &Value::Real(1e9));
        }
    }
    machines[1] = Machine::from_samples("new", again.finish().into(), None).unwrap();
    let report =
        check(&compare_machines(&machines, AllowedDifferences::parse(&["page-size".into()]).unwrap()), FIVE_PERCENT)
            .unwrap();
    assert_eq!(report.not_finished.len(), 3);
    assert_eq!(report.verdict, Outcome::Failed);
}

#[test]
fn single_launches_need_permission_and_too_few_samples_are_refused() {
    let single = |samples: usize| {
        let mut next = 0.0;
        [0, 1].map(|k| {
            store(["base", "new"][k], 24, 1, samples, |_, _| {
                next += 1.0;
                1e9 + next * 1e3
            })
        })
    };
    let machines = single(8);
    let refused = check(&compare_machines(&machines, AllowedDifferences::default()), FIVE_PERCENT).unwrap_err();
    assert!(refused.message.contains("single launch") && refused.help.contains("--allow one-launch"), "{refused}");
    let allowed = AllowedDifferences::parse(&["one-launch".into()]).unwrap();
    let report = check(&compare_machines(&machines, allowed.clone()), FIVE_PERCENT).unwrap();
    assert!(report.verdict != Outcome::Failed && report.warnings[0].contains("single launch"), "{report:#?}");
    // Three values against three give p >= 0.05, which is not significant over 24 tests.
    let refusal = check(&compare_machines(&single(2), allowed), FIVE_PERCENT).unwrap_err();
    assert!(refusal.message.contains("cannot find any slowdown") && refusal.help.contains("more samples"), "{refusal}");
}

#[test]
fn limits_are_parsed_or_refused() {
    assert_eq!(SlowdownLimit::parse("slower=5%").unwrap(), FIVE_PERCENT);
    let texts = |texts: &[&str]| Conditions::parse(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
    assert_eq!(texts(&["slower=5%", "noisy"]).unwrap(), Conditions { limit: Some(FIVE_PERCENT), noisy: true });
    assert_eq!(texts(&["noisy"]).unwrap(), Conditions { limit: None, noisy: true });
    assert!(texts(&["slower=5%", "slower=6%"]).unwrap_err().message.contains("two limits"));
    assert!(texts(&["quiet"]).unwrap_err().message.contains("slower=PERCENT and noisy"));
    for wrong in ["slower=5", "faster=5%", "slower=x%", "slower=-1%", ""] {
        assert!(SlowdownLimit::parse(wrong).unwrap_err().message.contains("--fail-if"), "{wrong}");
    }
}

#[test]
fn unfair_comparisons_are_refused_unless_allowed() {
    let a = store("a", 8, 2, 2, |_, _| 1e9);
    let small = table(8, 2, 2, |_, _| 1e9);
    let mut other = TableBuilder::default();
    for row in 0..small.rows {
        other.begin_row();
        for name in small.names().to_vec() {
            let value = match name.as_str() {
                "page_bytes" => Value::Real(4096.0),
                "pages" => Value::from("base"),
                "build" => Value::from("another"),
                _ => small.value(&name, row).unwrap(),
            };
            other.set(&name, &value);
        }
    }
    let machines = [a, Machine::from_samples("b", other.finish().into(), None).unwrap()];
    let refused = compare(&machines, Matching::default()).unwrap_err();
    assert!(refused.message.contains("pages") && refused.help.contains("--allow page-size"), "{refused}");
    let pages = AllowedDifferences::parse(&["page-size".into()]).unwrap();
    let refused = compare(&machines, Matching { allowed: pages, ..Matching::default() }).unwrap_err();
    assert!(refused.message.contains("measuring code") && refused.help.contains("version"), "{refused}");
    let warnings =
        compare_machines(&machines, AllowedDifferences::parse(&["page-size".into(), "version".into()]).unwrap())
            .warnings();
    let warnings: Vec<String> = warnings.iter().map(Warning::to_string).collect();
    assert!(warnings.iter().any(|warning| warning.contains("4 KiB (b)")), "{warnings:?}");
    assert!(warnings.iter().any(|warning| warning.contains("measuring code")), "{warnings:?}");
    assert!(AllowedDifferences::parse(&["page-sise".into()]).unwrap_err().help.contains("page-size"));
}

#[test]
fn the_first_sentence_names_a_faster_machine_only_if_it_is_known() {
    let sentences = |speed: &dyn Fn(usize) -> f64| {
        let machines =
            [store("a", 8, 4, 2, |launch, _| [1e9, 1.01e9, 0.99e9, 1e9][launch]), store("b", 8, 4, 2, |l, _| speed(l))];
        let comparison = compare_machines(&machines, AllowedDifferences::default());
        [headline::sentences(&comparison).remove(0), headline::details(&comparison).remove(0)]
    };
    let [faster, details] = sentences(&|_| 2e9);
    assert_eq!(faster, "b is 2.00 times as fast as a (1.97 to 2.03).");
    assert!(details.starts_with("b / a = 2.00 [") && details.contains("Certainly faster at 8 points"), "{details}");
    let [slower, details] = sentences(&|_| 0.5e9);
    assert_eq!(slower, "a is 2.00 times as fast as b (1.97 to 2.03).");
    assert!(details.starts_with("b / a = 0.500 ["), "{details}");
    let [open, details] = sentences(&|launch| [1.02e9, 0.98e9, 1e9, 1.01e9][launch]);
    assert!(open.starts_with("No difference found: b / a = 1.00"), "{open}");
    assert!(details.contains("not certain at 8"), "{details}");
}

#[test]
fn unmatched_points_are_listed_and_a_mixture_is_refused() {
    let machines = [store("a", 16, 2, 2, |_, _| 1e9), store("b", 8, 2, 2, |_, _| 2e9)];
    let comparison = compare_machines(&machines, AllowedDifferences::default());
    assert_eq!((comparison.matched.len(), comparison.unmatched_points().count()), (8, 8));
    let ignored = vec!["block_words".to_owned()];
    let mixed = compare(&machines, Matching { ignored, ..Matching::default() }).unwrap_err();
    assert!(mixed.message.contains("mix") && mixed.message.contains("a:") && mixed.help.contains("[L == "), "{mixed}");
}

#[test]
fn machine_names_are_made_unique() {
    let mut machines = [store("r/one", 8, 1, 1, |_, _| 1.0), store("r/one", 8, 1, 1, |_, _| 1.0)];
    name_all(&mut machines, &[]).unwrap();
    assert_ne!(machines[0].name, machines[1].name);
    assert!(name_all(&mut machines, &["x".into()]).unwrap_err().message.contains("--names"));
    assert!(name_all(&mut machines, &["x".into(), "x".into()]).is_err());
}

/// Apex-Map paper, Section 3.3: "the ratio of processor speeds between these two systems is 3.47, the ratio of local
/// memory bandwidth is 1.375, and of network bandwidth is 4".
#[test]
fn ratios_of_published_cards_match_the_paper() {
    let card = |name: &str| published_machines::machine(name, Card::find(name).unwrap(), &[]).unwrap();
    let machines = [card("seaborg"), card("cheetah")];
    let comparison = compare_machines(&machines, AllowedDifferences::default());
    let rows = cards::rows(&comparison);
    let ratio = |number: &str| rows.iter().find(|row| row.number == number).unwrap().ratios[0].unwrap();
    assert!((ratio("clock_hz") - 3.47).abs() < 0.005);
    close(ratio("memory_bandwidth_bytes_per_second"), 1.375);
    close(ratio("node_network_bandwidth_bytes_per_second"), 4.0);
    assert!(cards::quote_paper(&comparison).iter().any(|line| line.contains("6 to 8")));
}

/// Hypercube paper, Table 2: 0.0180 GUPS on one processor; T_1 of Blue Gene/L is four times that of Red Storm.
#[test]
fn published_machines_have_printed_values_and_model_predictions() {
    let card = |name: &str| published_machines::machine(name, Card::find(name).unwrap(), &[]).unwrap();
    let machines = [card("red-storm"), card("bluegene-l")];
    let comparison = compare_machines(&machines, AllowedDifferences::default());
    let single_rank = comparison
        .matched_points()
        .into_iter()
        .find(|point| point.values.iter().any(|(column, value)| column == "ranks" && value.as_f64() == Some(1.0)))
        .unwrap();
    close(single_rank.by_machine[0].as_ref().unwrap().speed().unwrap(), 0.018e9);
    close(single_rank.by_machine[1].as_ref().unwrap().speed().unwrap(), 1024.0 / 227.6e-6);
    assert!(comparison.warnings().iter().any(|warning| warning.kind == "NOT MEASURED HERE"));
}

const SWEEP: &str = r#"
title = "t"
[fixed]
kernel = "apex_map.sequential"
M = "64 kwords"
I = 64
N = 2
pages = "base"      # huge ones are granted at times, and differences refused
[axes]
alpha = [0.01, 1.0]
L = [1, 16]
[launch]
launches = 2
[repeat]
min = 2
"#;

#[test]
fn two_results_give_a_page_and_hostile_names_are_shown_as_text() {
    let scratch = Scratch::new();
    let (sweep, out) = (scratch.join("s.toml"), scratch.join("page"));
    std::fs::write(&sweep, SWEEP).unwrap();
    let path = |path: &std::path::Path| path.to_string_lossy().into_owned();
    let results = [scratch.join("a"), scratch.join("b")].map(|result| {
        let name = "<script>alert(1)</script>";
        let run = apexmap(&["run", "--no-report", "--machine", name, "--out", &path(&result), &path(&sweep)]);
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        path(&result)
    });
    let names = "<img src=x onerror=alert(1)>,\"b\"";
    let output = apexmap(&["compare", &results[0], &results[1], "--names", names, "--out", &path(&out)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(out.join("compare.html")).unwrap();
    browser::check_usable(&out.join("compare.html"));
    assert!(page.contains("&lt;img src=x") && !page.contains("<img src=x"));
    for figure in ["ratio-map", "ratio-contours", "ratio-surface", "winners", "contours"] {
        for end in ["svg", "png"] {
            let file = out.join("figures").join(format!("{figure}-1-core.{end}"));
            assert!(std::fs::metadata(&file).is_ok_and(|meta| meta.len() > 4000), "{}", file.display());
        }
    }
    let cells = std::fs::read_to_string(out.join("cells.csv")).unwrap();
    assert_eq!(cells.lines().count(), 5, "a head and four points: {cells}");
    let parquet = format!("{}/samples.parquet", results[0]);
    let json = apexmap(&["compare", &parquet, &results[1], "--fail-if", "slower=900%", "--no-page", "--json"]);
    let code = json.status.code();
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["tested"], 4);
    // Two launches on a busy machine may give no decision.
    assert_eq!(code, Some(if json["verdict"] == "passed" { 0 } else { 4 }), "{json}");
    assert!(
        refusal_message(&["compare", &parquet, &results[0], "--fail-if", "slower=5%"]).contains("are the same samples")
    );
    // The folder and its archive are one run: equal sides have the same samples, others are compared in pairs.
    let archive = path(&scratch.join("a.tar.gz"));
    successful_stdout(&["archive", &results[0], "--out", &archive]);
    let page = path(&scratch.join("same"));
    let same = successful_stdout(&["compare", &results[0], &archive, "--names", "a,packed", "--out", &page]);
    assert!(same.starts_with("a and packed contain the same samples: all their ratios are 1.\n"), "{same}");
    let cells = std::fs::read_to_string(scratch.join("same/cells.csv")).unwrap();
    assert_eq!(cells.matches(",pairs,1,1").count(), 4, "{cells}");
    let halves = [format!("{}[alpha == 1]", results[0]), archive];
    let half = successful_stdout(&["compare", &halves[0], &halves[1], "--names", "a,packed", "--no-page"]);
    assert!(half.contains("packed / a = 1.00") && half.contains("compared in pairs"), "{half}");
}

#[test]
fn bad_input_names_the_folder_or_the_flag() {
    let scratch = Scratch::new();
    let file = scratch.join("x.parquet");
    std::fs::write(&file, "no parquet").unwrap();
    let file = file.to_string_lossy().into_owned();
    for (arguments, named) in [
        (vec!["compare", "nowhere", "red-storm"], "nowhere"),
        (vec!["compare", &file, "red-storm"], "x.parquet"),
        (vec!["compare", "red-storm", "bluegene-l", "--allow", "pages"], "--allow pages"),
        (vec!["compare", "red-storm", "bluegene-l", "--ignore", "nothing"], "--ignore nothing"),
        (vec!["compare", "red-storm", "bluegene-l", "--fail-if", "slow"], "--fail-if slow"),
        (vec!["compare", "red-storm", "bluegene-l", "--names", "a"], "--names"),
    ] {
        let output = apexmap(&arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && error.contains(named), "{arguments:?}: {error}");
    }
}
