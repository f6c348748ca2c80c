//! Tests of fits to large designs: which points are kept, whether the fit recovers the parameters, and that it is
//! judged on all points.

use apexmap_theory::fit::quality::smape;
use apexmap_theory::fit::subsample::choose;
use apexmap_theory::fit::{self, Fit, Observation, Options, Role};
use apexmap_theory::models;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64Mcg;
use std::collections::{BTreeMap, BTreeSet};

fn options_for(max_points: usize) -> Options {
    Options { resamples: 0, leave_out: false, most_points: max_points, ..Options::default() }
}

fn observations(points: impl IntoIterator<Item = Vec<f64>>) -> Vec<Observation> {
    points.into_iter().map(|x| Observation { x, y: 1.0, launch: 0 }).collect()
}

/// Returns the points that stay, without duplicates.
fn kept_points(data: &[Observation], max_points: usize) -> Vec<Vec<f64>> {
    let kept = choose(data, max_points).expect("more points than that");
    let mut stay: Vec<Vec<f64>> =
        data.iter().zip(kept).filter(|(_, kept)| *kept).map(|(seen, _)| seen.x.clone()).collect();
    stay.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
    stay.dedup();
    stay
}

fn grid(columns: u32, rows: u32) -> Vec<Vec<f64>> {
    (0..columns).flat_map(|a| (0..rows).map(move |b| vec![f64::from(a), f64::from(b)])).collect()
}

#[test]
fn a_thinned_line_keeps_both_ends_and_one_point_per_section() {
    let line = |n: u32| observations((0..n).map(|value| vec![f64::from(value)]));
    let numbers = |n: u32, max_points: usize| kept_points(&line(n), max_points).concat();
    // The stretches begin at 0, 3 and 6 for 10 points, and at 0, 5, 10 and 15 for 20 points. SplitMix64 selects one
    // point of each; the values are from Python.
    assert_eq!(numbers(10, 3), [0.0, 1.0, 5.0, 8.0, 9.0]);
    assert_eq!(numbers(20, 4), [0.0, 5.0, 10.0, 18.0, 19.0]);
}

#[test]
fn small_designs_are_not_thinned() {
    let data = observations(grid(20, 20));
    assert_eq!(choose(&data, 400), None);
    assert!(choose(&data, 399).is_some());
    // Only different points count, not their launches.
    let again = [data.clone(), data].concat();
    assert_eq!(choose(&again, 400), None);
    let measured = hypercube(0.05, 1);
    let fit = |max_points| fit(&measured, max_points);
    let (at_limit, unlimited) = (fit(measured.len()), fit(usize::MAX));
    assert_eq!((at_limit.quality.fitted_points, at_limit.quality.points), (600, 600));
    assert_eq!((at_limit.points, at_limit.estimates), (unlimited.points, unlimited.estimates));
}

#[test]
fn a_surface_is_thinned_evenly_along_both_axes_and_keeps_its_corners() {
    let stay = kept_points(&observations(grid(100, 20)), 400);
    assert!((400..=404).contains(&stay.len()), "{} points", stay.len());
    for corner in [[0.0, 0.0], [0.0, 19.0], [99.0, 0.0], [99.0, 19.0]] {
        assert!(stay.iter().any(|x| *x == corner), "{corner:?} is gone");
    }
    let counts = |axis: usize| {
        let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
        stay.iter().for_each(|x| *counts.entry(x[axis] as u64).or_default() += 1);
        counts
    };
    // Stretches follow the columns: each keeps four of its twenty points. Rows across the stretches get 20 points on
    // average, within four standard deviations of a binomial distribution.
    let along = counts(0);
    assert!(along.len() == 100 && along.values().all(|count| (4..=6).contains(count)), "{along:?}");
    let across = counts(1);
    assert!(across.len() == 20 && across.values().all(|count| (4..=36).contains(count)), "{across:?}");
}

proptest! {
    #[test]
    fn every_section_keeps_a_point_and_every_extreme_is_kept(
        points in proptest::collection::btree_set((0u8..40, 0u8..12, 0u8..6), 2..300),
        share in 0.01f64..1.0,
        seed in any::<u64>(),
    ) {
        let x = |&(a, b, c): &(u8, u8, u8)| vec![f64::from(a), f64::from(b), f64::from(c)];
        let max_points = ((points.len() as f64 * share) as usize).clamp(1, points.len() - 1);
        let points_as_rows: Vec<Vec<f64>> = points.iter().map(x).collect();
        let data = observations(points_as_rows.clone());
        let stay = kept_points(&data, max_points);
        prop_assert!(stay.len() >= max_points && stay.len() <= max_points + 12, "{} of {max_points}", stay.len());
        // The set is sorted, and so are its stretches.
        for stretch in 0..max_points {
            let members = &points_as_rows[stretch * points_as_rows.len() / max_points..(stretch + 1) * points_as_rows.len() / max_points];
            prop_assert!(members.iter().any(|x| stay.contains(x)), "nothing of stretch {stretch}");
        }
        for axis in 0..3 {
            let values = || points_as_rows.iter().map(|x| x[axis]);
            for end in [values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max)] {
                let at_end: Vec<_> = points_as_rows.iter().filter(|x| x[axis] == end).collect();
                prop_assert!(stay.contains(at_end[0]) && stay.contains(at_end[at_end.len() - 1]));
            }
        }
        // Order and number of launches do not matter, and a point keeps either all of its launches or none.
        let mut two_launches = [data.clone(), data.iter().map(|seen| Observation { launch: 1, ..seen.clone() }).collect()].concat();
        two_launches.sort_by_key(|seen| apexmap_measure::numerics::mix::seed(&[seed, seen.x[0] as u64, seen.x[1] as u64, u64::from(seen.launch)]));
        let kept = choose(&two_launches, max_points).expect("more points");
        for (seen, kept) in two_launches.iter().zip(kept) {
            prop_assert_eq!(kept, stay.contains(&seen.x));
        }
    }
}

const TRUTH: [f64; 2] = [56.9e-6, 33e-6];

/// Simulates 600 points of the hypercube's model over P and Q, with log-normal noise.
fn hypercube(noise: f64, seed: u64) -> Vec<Observation> {
    let model = models::find("random_access.hypercube").expect("a model");
    let (mut rng, normal) = (Pcg64Mcg::seed_from_u64(seed), Normal::new(0.0, noise).expect("a deviation"));
    let points = grid(20, 30).into_iter().map(|x| vec![2f64.powf(x[0] + 1.0), 2f64.powf(x[1] / 2.0)]);
    let measured = |x: Vec<f64>| {
        let y = model.predict(&x, &TRUTH).value * f64::exp(normal.sample(&mut rng));
        Observation { x, y, launch: 0 }
    };
    points.map(measured).collect()
}

fn fit(data: &[Observation], most: usize) -> Fit {
    let model = models::find("random_access.hypercube").expect("a model");
    fit::fit(model, data, &[Role::Fit; 2], options_for(most)).expect("a fit")
}

#[test]
fn the_intervals_of_a_thinned_fit_contain_the_truth() {
    let (mut held, mut total) = (0, 0);
    for seed in 0..200 {
        let fit = fit(&hypercube(0.1, seed), 50);
        assert!((50..=58).contains(&fit.quality.fitted_points), "{}", fit.quality.fitted_points);
        for (estimate, truth) in fit.estimates.iter().zip(TRUTH) {
            held += usize::from(estimate.low <= truth && truth <= estimate.high);
            total += 1;
        }
    }
    // 95 %, within three standard errors of 200 independent sets.
    let share = held as f64 / total as f64;
    assert!((0.904..=0.996).contains(&share), "{held} of {total}");
}

#[test]
fn a_thinned_fit_is_evaluated_on_all_points() {
    let data = hypercube(0.02, 3);
    let kept = choose(&data, 50).expect("more points");
    // The points that are not kept become half as fast again. No parameter may change, but the errors must show it.
    let faster = |(seen, kept): (&Observation, &bool)| Observation {
        y: if *kept { seen.y } else { 1.5 * seen.y },
        ..seen.clone()
    };
    let changed: Vec<Observation> = data.iter().zip(&kept).map(faster).collect();
    let options = Options { leave_out: true, ..options_for(50) };
    let model = models::find("random_access.hypercube").expect("a model");
    let fit_all = |data: &[Observation]| fit::fit(model, data, &[Role::Fit; 2], options).expect("a fit");
    let (before, after) = (fit_all(&data), fit_all(&changed));
    assert_eq!(before.estimates, after.estimates);
    assert_eq!((after.quality.points, after.quality.observations), (600, 600));
    assert_eq!(after.quality.fitted_points, kept.iter().filter(|kept| **kept).count());
    assert!(before.quality.smape < 0.02, "{}", before.quality.smape);
    // For points that are 1.5 times as fast, the error is 2 (1.5 - 1) / (1.5 + 1) = 40 %.
    let share = kept.iter().filter(|kept| !**kept).count() as f64 / 600.0;
    assert!((after.quality.smape - 0.4 * share).abs() < 0.01, "{}", after.quality.smape);
    assert_eq!(after.quality.smape, smape(after.points.iter().map(|point| (point.measured, point.predicted))));
    // The fit has not seen the points that are not kept, so leaving them out does not change their prediction.
    let left_out = |point: &fit::Point| point.left_out.expect("of every point");
    assert!(after.points.iter().zip(&kept).all(|(point, kept)| *kept || left_out(point) == point.predicted));
    assert!(after.points.iter().zip(&kept).any(|(point, kept)| *kept && left_out(point) != point.predicted));
    let predicted = smape(after.points.iter().map(|point| (point.measured, left_out(point))));
    assert_eq!(after.quality.left_out, Some(predicted));
}

#[test]
fn parameters_not_identified_by_kept_points_are_fitted_to_all() {
    let model = models::find("point_to_point.log_gp").expect("a model");
    let truth = [700e-9, 150e-9, 50e-9, 400e-9, 5e-10];
    // Only streams identify the gap, and there are two points of them.
    let lengths = |kernel: f64| (0..300).map(move |index| vec![kernel, 8.0 * 1.03f64.powi(index)]);
    let points = lengths(0.0).chain([vec![1.0, 64.0], vec![1.0, 512.0]]).chain(lengths(2.0));
    let mut rng = Pcg64Mcg::seed_from_u64(5);
    let normal = Normal::new(0.0, 0.01).expect("a deviation");
    let measured = |x: Vec<f64>| {
        let y = model.predict(&x, &truth).value * f64::exp(normal.sample(&mut rng));
        Observation { x, y, launch: 0 }
    };
    let data: Vec<Observation> = points.map(measured).collect();
    let of_streams: BTreeSet<bool> = choose(&data, 20)
        .expect("more")
        .iter()
        .zip(&data)
        .filter(|(_, seen)| seen.x[0] == 1.0)
        .map(|(kept, _)| *kept)
        .collect();
    assert_eq!(of_streams, BTreeSet::from([false]), "the test needs streams that are not kept");
    let roles = [Role::Fit, Role::Fit, Role::Hold(truth[2]), Role::Fit, Role::Fit];
    let fit = fit::fit(model, &data, &roles, options_for(20)).expect("a fit to all");
    assert_eq!(fit.quality.fitted_points, 602);
    let gap = fit.estimates.iter().find(|estimate| estimate.number == "network_gap_seconds").expect("a gap");
    assert!(gap.low < truth[3] && truth[3] < gap.high, "{gap:?}");
}

#[test]
fn a_break_between_kept_points_is_found_in_a_thinned_design() {
    let model = models::find("point_to_point.switch").expect("a model");
    let truth = [300e-9, 5e-11, 1e-6, 2.5e-10, 8192.0];
    let normal = Normal::new(0.0, 0.02).expect("a deviation");
    let mut rng = Pcg64Mcg::seed_from_u64(8);
    let measured = |x: Vec<f64>| {
        let y = model.predict(&x, &truth).value * f64::exp(normal.sample(&mut rng));
        Observation { x, y, launch: 0 }
    };
    let data: Vec<Observation> =
        (0..500).map(|index| vec![(8.0 * 1.024f64.powi(index)).round()]).map(measured).collect();
    let stay = kept_points(&data, 40).concat();
    let fit = fit::fit(model, &data, &[Role::Fit; 5], options_for(40)).expect("a fit");
    assert_eq!(fit.quality.fitted_points, stay.len());
    let limit = fit.estimates.iter().find(|estimate| estimate.number == "eager_bytes").expect("a limit");
    assert!(limit.low <= 8192.0 && 8192.0 < limit.high, "{limit:?}");
    assert!([limit.value, limit.low, limit.high].iter().all(|end| stay.contains(end)), "{limit:?}");
}
