//! Tests of the intervals of medians: known values, their coverage when launches and samples vary, and correlated
//! samples.

use crate::docs::generated_parts;
use apexmap_base::point::Value;
use apexmap_measure::numerics::statistics::{Basis, Summary};
use apexmap_results::samples::Samples;
use apexmap_results::samples::estimate::{LaunchValues, Mean, log_ratio, pairs, summarise, unknown_interval_basis};
use apexmap_results::table::TableBuilder;
use apexmap_theory::statistics::autocorrelation::{Autocorrelation, TOO_HIGH};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;
use std::fmt::Write;

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-9), "{a} is not {b}");
}

fn launches(values: &[&[f64]]) -> Vec<LaunchValues> {
    let launch_values = |(index, values): (usize, &&[f64])| LaunchValues {
        block: Some(index as u64),
        values: values.to_vec(),
        systematic: 0.0,
    };
    values.iter().enumerate().map(launch_values).collect()
}

#[test]
fn intervals_over_decades_are_unknown_and_tables_give_their_launches() {
    // Two launches a factor of 1.5 apart: t(1, 0.975) = 12.7 half-differences, a factor of 1.5^12.7 = 173 between the
    // ends.
    let wide = summarise(&launches(&[&[2.0, 2.0], &[3.0, 3.0]]), None).unwrap();
    let (low, high) = wide.interval.unwrap();
    close((high / low).ln(), 12.706204736432095 * 1.5_f64.ln());
    assert_eq!(unknown_interval_basis(&wide).as_deref(), Some("2 launches"));
    let narrow = summarise(&launches(&[&[2.0, 2.0], &[2.1, 2.1]]), None).unwrap();
    assert_eq!(unknown_interval_basis(&narrow), None);
    assert_eq!(unknown_interval_basis(&summarise(&launches(&[&[2.0]]), None).unwrap()), None, "no interval at all");
    let mut table = TableBuilder::default();
    for (launch, seconds) in [("0001", 2.0), ("0002", 3.0)] {
        table.begin_row();
        for (name, value) in [("launch", Value::from(launch)), ("kernel", Value::from("apex_map.sequential"))] {
            table.set(name, &value);
        }
        table.set("status", &Value::from("ok"));
        table.set("seconds", &Value::Real(seconds));
    }
    let groups = apexmap_results::query::groups(&Samples::from(table.finish()), &[], &["seconds"]).unwrap();
    let text = apexmap_results::query::text(&groups);
    assert!(text.contains("2.45 s") && text.contains("not known (2 launches)"), "{text}");
}

/// Computed by scipy 1.17.1: exp of stats.t.interval(0.95, n - 1, mean, sem) of the logarithms of numpy.median of each
/// launch. If a median is negative, the medians themselves are used.
#[test]
fn an_interval_over_launches_is_students_t_on_logarithms_of_medians() {
    let estimate =
        summarise(&launches(&[&[10.0, 11.0, 12.5], &[9.5, 9.7, 10.7, 10.1], &[12.0, 13.1, 11.9]]), None).unwrap();
    let (low, high) = estimate.interval.unwrap();
    close(estimate.median, 10.932925161574746);
    close(low, 8.606155626214179);
    close(high, 13.888762622943007);
    assert_eq!((estimate.basis, estimate.launches, estimate.n), (Basis::Launches, 3, 10));
    assert_eq!((estimate.min, estimate.max), (9.5, 13.1));
    let estimate = summarise(&launches(&[&[-1.0], &[0.5], &[2.0], &[0.0, 0.25, 1.0]]), None).unwrap();
    let (low, high) = estimate.interval.unwrap();
    close(estimate.median, 0.4375);
    close(low, -1.5214663201619145);
    close(high, 2.3964663201619145);
}

#[test]
fn an_interval_within_one_launch_uses_order_statistics_and_is_marked() {
    let values = [9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 100.0, 5.0, 4.0];
    assert_eq!(summarise(&launches(&[&values]), Some(1.0)), Summary::from_samples(&values));
    let estimate = summarise(&launches(&[&values]), Some(1.0)).unwrap();
    assert_eq!((estimate.basis, estimate.launches, estimate.interval), (Basis::Samples, 1, Some((2.0, 9.0))));
    // Twice as far from the median 5, in logarithms: 5 (2/5)^2 and 5 (9/5)^2.
    let (low, high) = summarise(&launches(&[&values]), Some(2.0)).unwrap().interval.unwrap();
    close(low, 0.8);
    close(high, 16.2);
    let refused = summarise(&launches(&[&values]), None).unwrap();
    assert_eq!((refused.basis, refused.interval, refused.median), (Basis::Nothing, None, 5.0));
    assert_eq!(summarise(&[], Some(1.0)), None);
}

/// Computed by scipy 1.17.1: ttest_rel and ttest_ind(equal_var=False) of the logarithms, with their confidence_interval
/// and p values.
#[test]
fn sides_of_one_run_are_compared_in_pairs_and_others_by_welch() {
    let base = launches(&[&[10.0], &[12.0], &[9.0], &[11.0]]);
    let new = launches(&[&[12.1], &[14.1], &[10.9], &[13.4]]);
    let (paired, basis) = log_ratio(&new, &base, true).unwrap();
    close(paired.value.exp(), 1.2034549418932083);
    assert_eq!(basis, Basis::Pairs);
    let ends = |mean: &Mean| [mean.interval().0.exp(), mean.interval().1.exp()];
    ends(&paired)
        .into_iter()
        .zip([1.1727748677075363, 1.2349376142398372])
        .for_each(|(actual, expected)| close(actual, expected));
    close(paired.p_two_sided(), 0.00018423060149317844);
    let (apart, basis) = log_ratio(&new, &base, false).unwrap();
    assert_eq!(basis, Basis::Launches);
    ends(&apart)
        .into_iter()
        .zip([0.9790730771775407, 1.4792601603777487])
        .for_each(|(actual, expected)| close(actual, expected));
    close(apart.p_two_sided(), 0.07043216255124037);
    // Blocks that only one side has form no pairs.
    assert_eq!(pairs(&new[1..], &base[..3]).unwrap().into_keys().collect::<Vec<_>>(), [1, 2]);
    assert_eq!(log_ratio(&new[..2], &base[1..3], true).unwrap().1, Basis::Launches, "one common block is not enough");
}

/// Simulated shares of intervals that contain the true value.
struct Coverage {
    /// Intervals over launches, as apexmap computes them.
    launches: f64,
    /// Intervals over all samples, as if they were independent.
    samples: f64,
    /// Median width of the intervals over launches, relative to the median.
    width: f64,
}

const SAMPLES: usize = 6;

/// Simulates log-normal samples. `launch_deviation` and `sample_deviation` are the standard deviations of launches and
/// of samples in a launch.
fn simulate(
    launches: usize,
    launch_deviation: f64,
    sample_deviation: f64,
    tries: usize,
    random: &mut Pcg64Mcg,
) -> Coverage {
    let (mut held, mut pooled, mut widths) = (0, 0, Vec::new());
    for _ in 0..tries {
        let mut normal = |deviation: f64| -> f64 {
            let z: f64 = StandardNormal.sample(random);
            deviation * z
        };
        let simulate_launch = |_| {
            let launch = normal(launch_deviation);
            LaunchValues {
                values: (0..SAMPLES).map(|_| (launch + normal(sample_deviation)).exp()).collect(),
                ..Default::default()
            }
        };
        let data: Vec<LaunchValues> = (0..launches).map(simulate_launch).collect();
        let holds = |summary: Summary| summary.interval.is_some_and(|(low, high)| low <= 1.0 && 1.0 <= high);
        let estimate = summarise(&data, None).unwrap();
        widths.extend(estimate.relative_width());
        held += usize::from(holds(estimate));
        let samples: Vec<f64> = data.into_iter().flat_map(|launch| launch.values).collect();
        pooled += usize::from(holds(Summary::from_samples(&samples).unwrap()));
    }
    widths.sort_by(f64::total_cmp);
    let share = |count: usize| count as f64 / tries as f64;
    Coverage { launches: share(held), samples: share(pooled), width: widths[tries / 2] }
}

const DEVIATIONS: [f64; 4] = [0.01, 0.02, 0.05, 0.1];

#[test]
fn intervals_over_launches_cover_whether_samples_or_launches_vary_more() {
    let mut random = Pcg64Mcg::seed_from_u64(21);
    let mut table = String::from("| launches |");
    let percent = |share: f64| format!("{:.0}", 100.0 * share);
    for of_samples in DEVIATIONS {
        let _ = write!(table, " samples {} % |", percent(of_samples));
    }
    table.push_str("\n|---|---|---|---|---|\n");
    for launches in [2, 3, 5, 10] {
        for of_launches in DEVIATIONS {
            let mut row = format!("| {launches}, {} % |", percent(of_launches));
            for sample_deviation in DEVIATIONS {
                let coverage = simulate(launches, of_launches, sample_deviation, 3000, &mut random);
                assert!(
                    (0.93..=0.97).contains(&coverage.launches),
                    "{launches} {of_launches} {sample_deviation}: {}",
                    coverage.launches
                );
                let half = 50.0 * coverage.width;
                let _ = write!(row, " {:.1} ±{half:.1} ({}) |", 100.0 * coverage.launches, percent(coverage.samples));
            }
            // The page shows half of the rows.
            if [0.01, 0.05].contains(&of_launches) {
                table.push_str(&row);
                table.push('\n');
            }
        }
    }
    generated_parts::check("docs/appendix/measurements.md", "coverage", &table);
}

#[test]
fn intervals_that_treat_samples_as_independent_cover_too_little() {
    let coverage = simulate(5, 0.05, 0.02, 2000, &mut Pcg64Mcg::seed_from_u64(22));
    assert!(coverage.samples < 0.75 && coverage.launches > 0.93, "{} {}", coverage.samples, coverage.launches);
}

/// Returns a series with correlation `r` between successive values; each value depends only on the previous one.
fn series(n: usize, r: f64, random: &mut Pcg64Mcg) -> Vec<f64> {
    let mut normal = || -> f64 { StandardNormal.sample(random) };
    let mut last = normal();
    let mut values = vec![last];
    for _ in 1..n {
        last = r * last + (1.0 - r * r).sqrt() * normal();
        values.push(last);
    }
    values.into_iter().map(|value| (0.05 * value).exp()).collect()
}

fn autocorrelation(series: &[Vec<f64>]) -> Option<Autocorrelation> {
    // One launch; each round measures all points in order.
    let rounds = series.iter().map(Vec::len).max().unwrap_or(0);
    let points_of_round = |round_index: usize| {
        (0..series.len()).filter(move |&point| round_index < series[point].len()).map(move |point| (point, round_index))
    };
    Autocorrelation::from_series(series, &[(0..rounds).flat_map(points_of_round).collect()])
}

#[test]
fn the_correlation_of_a_simulated_process_is_estimated_from_few_samples() {
    let mut random = Pcg64Mcg::seed_from_u64(23);
    for n in [4, 6, 20] {
        for r in [-0.3, 0.0, 0.3, 0.6, 0.9] {
            let points: Vec<Vec<f64>> = (0..12_000 / n).map(|_| series(n, r, &mut random)).collect();
            let autocorrelation = autocorrelation(&points).unwrap();
            let successive = autocorrelation.successive.unwrap();
            assert!((successive - r).abs() < 0.05, "{n} samples, {r}: {successive}");
            assert!(autocorrelation.neighbours.abs() < 0.05, "points are independent: {}", autocorrelation.neighbours);
        }
    }
}

/// Calculated manually: the residuals of each point are 1, -1, -1, 1 in units. The sum of products of successive
/// residuals is -1, the sum of squares is 4. Four independent values minus their mean give the ratio -1/4 on average,
/// so the correlation is 0.
#[test]
fn a_known_series_has_the_manually_computed_correlations() {
    let points = vec![vec![1.1, 1.0 / 1.1, 1.0 / 1.1, 1.1]; 20];
    let correlations = autocorrelation(&points[..]).unwrap();
    assert_eq!(correlations.pairs, 60);
    assert!(correlations.successive.unwrap().abs() < 1e-9, "{correlations:?}");
    // 20 points in turn: within the four rounds all products are 1, between rounds they are -1, 1, -1.
    close(correlations.neighbours, (4.0 * 19.0 - 1.0) / 80.0);
    assert!(autocorrelation(&points[..9]).is_none(), "27 pairs are too few");
    let pairs = autocorrelation(&vec![vec![1.0, 1.1]; 40]).unwrap();
    assert_eq!(
        (pairs.successive, pairs.widening()),
        (None, Some(1.0)),
        "two samples do not determine their correlation"
    );
    assert!(autocorrelation(&vec![vec![1.0; 4]; 20]).is_none(), "equal times have no correlation");
}

#[test]
fn intervals_of_correlated_samples_are_widened_or_refused() {
    let mut random = Pcg64Mcg::seed_from_u64(24);
    for n in [6, 20] {
        for r in [0.0, 0.3, 0.5, TOO_HIGH] {
            let autocorrelation = Autocorrelation { successive: Some(r), neighbours: 0.0, pairs: 100 };
            let widening = autocorrelation.widening();
            let (mut plain, mut wide) = (0, 0);
            let tries = 3000;
            for _ in 0..tries {
                let data = launches(&[&series(n, r, &mut random)]);
                let holds = |widening| {
                    let (low, high) = summarise(&data, widening).unwrap().interval.unwrap();
                    usize::from(low <= 1.0 && 1.0 <= high)
                };
                plain += holds(Some(1.0));
                wide += holds(widening);
            }
            let share = |count: usize| count as f64 / f64::from(tries);
            assert!((0.93..=0.98).contains(&share(wide)), "{n} samples, {r}: {}", share(wide));
            assert!(r < 0.3 || share(plain) < 0.93, "{n} samples, {r}: {} without", share(plain));
        }
    }
    let autocorrelation = Autocorrelation { successive: Some(0.71), neighbours: 0.8, pairs: 100 };
    assert!(autocorrelation.widening().is_none() && autocorrelation.sentence().contains("measure several launches"));
}

/// Samples of 40 points, in launches with different rates, as in a store.
fn store(launches: usize, r: f64) -> Samples {
    interrupted_store(launches, r, &[])
}

/// Returns the samples of [`store`] as an interrupted and resumed sweep has them: a new journal begins at each of these rows.
fn interrupted_store(launches: usize, r: f64, interruptions: &[usize]) -> Samples {
    let mut random = Pcg64Mcg::seed_from_u64(25);
    let (mut table, mut row, mut journal) = (TableBuilder::default(), 0, 0);
    for launch in 0..launches {
        journal += 1;
        let times: Vec<Vec<f64>> = (0..40).map(|_| series(8, r, &mut random)).collect();
        for round in 0..8 {
            for (point, times) in times.iter().enumerate() {
                journal += usize::from(interruptions.contains(&row));
                row += 1;
                table.begin_row();
                let mut set = |name: &str, value: Value| table.set(name, &value);
                set("kernel", Value::from("apex_map.sequential"));
                set("ranks", Value::Integer(1));
                set("block_words", Value::Integer(1 << point));
                set("key", Value::from(format!("k{point}").as_str()));
                set("launch", Value::from(format!("{:04}", journal - 1).as_str()));
                set("block", Value::Integer(launch as u64));
                set("status", Value::from("ok"));
                set("unix_seconds", Value::Real((launch * 1000 + round * 40 + point) as f64));
                set("seconds", Value::Real(times[round]));
            }
        }
    }
    table.finish().into()
}

#[test]
fn samples_of_a_store_are_judged_by_launches_or_by_correlation() {
    let first = |samples: &Samples| samples.cells(&["block_words"]).unwrap()[0].summary("seconds").unwrap();
    let (several, correlated, too_correlated) = (store(3, 0.5), store(1, 0.5), store(1, 0.93));
    assert_eq!((first(&several).basis, first(&several).launches), (Basis::Launches, 3));
    assert!(several.method().contains("geometric mean of the medians of 3 launches"), "{}", several.method());
    let autocorrelation = correlated.autocorrelation().unwrap();
    assert!((autocorrelation.successive.unwrap() - 0.5).abs() < 0.15, "{autocorrelation:?}");
    let (low, high) = first(&correlated).interval.unwrap();
    let values = correlated.cells(&["block_words"]).unwrap()[0].samples.numbers("seconds");
    let plain = Summary::from_samples(&values).unwrap().interval.unwrap();
    close((high / low).ln(), (plain.1 / plain.0).ln() * autocorrelation.widening().unwrap());
    assert!(
        correlated.method().contains("within one launch") && correlated.method().contains("widened by"),
        "{}",
        correlated.method()
    );
    assert_eq!((first(&too_correlated).basis, first(&too_correlated).interval), (Basis::Nothing, None));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn interruptions_of_a_sweep_change_no_median_interval_or_count_of_launches(
        launches in 1..4usize,
        interruptions in prop::collection::vec(0..960usize, 1..8),
    ) {
        let (whole, pieces) = (store(launches, 0.3), interrupted_store(launches, 0.3, &interruptions));
        prop_assert_eq!(pieces.launches().len(), launches);
        prop_assert_eq!(pieces.summary("seconds"), whole.summary("seconds"));
        prop_assert_eq!(pieces.autocorrelation(), whole.autocorrelation());
        let cells = |samples: &Samples| samples.cells(&["block_words"]).unwrap();
        for (whole, piece) in cells(&whole).iter().zip(cells(&pieces)) {
            prop_assert_eq!(piece.summary("seconds"), whole.summary("seconds"));
            prop_assert_eq!(piece.samples.launch_values("seconds"), whole.samples.launch_values("seconds"));
        }
        // A piece may be as long as its launch.
        let remark = " A launch that was interrupted and resumed counts as one.";
        let is_interrupted = pieces.words("launch").len() > launches;
        prop_assert_eq!(pieces.method().contains(remark), is_interrupted);
        prop_assert_eq!(pieces.method().replace(remark, ""), whole.method());
    }
}

#[test]
fn launches_with_different_points_give_no_common_interval() {
    let samples = store(2, 0.0);
    let table = samples.table();
    // The second launch has no samples of one point.
    let part = samples.filter_rows(|row| table.word("launch", row) == "0000" || table.word("key", row) != "k3");
    let estimate = part.summary("seconds").unwrap();
    assert_eq!((estimate.interval, estimate.basis), (None, Basis::Nothing));
    assert_eq!(samples.summary("seconds").unwrap().basis, Basis::Launches, "the same points, twice");
}
