//! Tests of the baseline: its errors are those of interpolation, and a model that is no better explains nothing.

use apexmap_study::model_fit;
use apexmap_theory::fit::baseline::{Baseline, interpolate};
use apexmap_theory::fit::{self, Fit, Observation, Options, Role};
use apexmap_theory::models;
use rand::SeedableRng;
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64Mcg;

fn near(a: f64, b: f64, relative: f64) {
    assert!((a / b - 1.0).abs() <= relative, "{a} is not {b}");
}

fn observation(x: &[f64], y: f64) -> Observation {
    Observation { x: x.to_vec(), y, launch: 0 }
}

/// Returns a grid of 7 by 8 values with these rates.
fn grid(rate: impl Fn(f64, f64) -> f64) -> Vec<Observation> {
    let values = |n: i32| (0..n).map(|k| 4f64.powi(k));
    values(7).flat_map(|a| values(8).map(move |b| (a, b))).map(|(a, b)| observation(&[a, b], rate(a, b))).collect()
}

fn baseline_of(data: &[Observation]) -> Baseline {
    interpolate(data).expect("enough points")
}

#[test]
fn power_laws_are_interpolated_exactly() {
    let baseline = baseline_of(&grid(|a, b| 3.0 * a * b.powf(0.3)));
    assert!(baseline.left_out < 1e-12 && baseline.lines_left_out.len() == 2, "{baseline:?}");
    assert!(baseline.lines_left_out.iter().all(|line| line.smape < 1e-12), "{baseline:?}");
    assert!(interpolate(&grid(|_, _| 1.0)[..3]).is_none());
}

#[test]
fn a_value_left_out_is_predicted_along_the_other_variable() {
    // Steps of one variable, the same for all values of the other.
    let edged = |a: f64, b: f64| b.powf(0.5) * [1.0, 5.0, 1.3, 9.0, 2.0, 7.0, 1.1][(a.log2() / 2.0) as usize];
    let baseline = baseline_of(&grid(edged));
    assert_eq!(baseline.lines_left_out.len(), 2);
    // Along the other variable, the rate is a power law, and lines between neighbours are exact.
    assert!(baseline.lines_left_out[1].smape < 1e-9, "{baseline:?}");
    assert!(baseline.lines_left_out[0].smape > 0.5, "{baseline:?}");
}

/// A point between two others is predicted by their mean, and a point at an end by two of one minus the other. The mean of
/// |ln y - ln f| of independent points is then 0.3 sqrt(2 / pi) times sqrt(1 + 1/2), and sqrt(1 + 4 + 1) at the two ends of 12.
#[test]
fn noise_is_predicted_as_badly_as_it_must_be() {
    let mut rng = Pcg64Mcg::seed_from_u64(4);
    let normal = Normal::new(0.0, 0.3).expect("a deviation");
    let (mut sum, sets) = (0.0, 200);
    for _ in 0..sets {
        let data: Vec<_> = (0..12).map(|k| observation(&[2f64.powi(k)], f64::exp(normal.sample(&mut rng)))).collect();
        sum += baseline_of(&data).left_out;
    }
    near(sum / f64::from(sets), 0.342, 0.05);
}

/// Fits the surface model on one core, over alpha and L, and its baseline.
fn fit_surface(truth: &dyn Fn(&[f64]) -> f64, noise: f64) -> (Fit, Baseline) {
    let model = models::find("apex_map.surface").expect("a model");
    let (mut rng, normal) = (Pcg64Mcg::seed_from_u64(11), Normal::new(0.0, noise).expect("a deviation"));
    let mut data = Vec::new();
    for alpha in [0.001, 0.00316, 0.01, 0.0316, 0.1, 0.316, 1.0] {
        for block in [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0] {
            let x = [alpha, block, 67108864.0, 1.0, 2097152.0, 0.0, 0.0, 0.0];
            data.push(observation(
                &x,
                model.predict(&x, &NUMBERS).value * truth(&x) * f64::exp(normal.sample(&mut rng)),
            ));
        }
    }
    let roles: Vec<Role> = model
        .about()
        .parameters
        .iter()
        .zip(NUMBERS)
        .map(|(p, v)| if p.is_given || HELD_PARAMETERS.contains(&p.number) { Role::Hold(v) } else { Role::Fit })
        .collect();
    let fit = fit::fit(model, &data, &roles, Options { resamples: 0, ..Options::default() }).expect("a fit");
    (fit, interpolate(&data).expect("a baseline"))
}

/// Parameters that are held in addition to the sizes, because a single size of memory does not identify them.
const HELD_PARAMETERS: [&str; 4] = ["l3_alone_seconds", "startup_factor", "startup_lines", "overlap_seconds"];
const NUMBERS: [f64; 30] = [
    32768.0, 524288.0, 3.2e7, 8.0, 1024.0, 0.0, 0.0, 0.6e-9, 5e-12, 0.3e-9, 0.8e-9, 2.5e-9, 1.5, 64.0, 15e-9, 150e-9,
    24e-9, 50e-9, 13e-9, 110e-9, 7e-11, 190e-9, 9e-9, 5e-9, 2.4e-11, 20e-9, 1e11, 1e10, 0.0, 0.0,
];

#[test]
fn a_true_model_is_accepted_and_the_loss_of_others_reported() {
    let model = models::find("apex_map.surface").expect("a model");
    let (fit, baseline) = fit_surface(&|_| 1.0, 0.02);
    let sentence = model_fit::sentence(model, &fit, Some(&baseline));
    assert!(sentence.starts_with("apex_map.surface explains the measurement to within 1."), "{sentence}");
    assert!(
        sentence.contains("no worse than the empirical baseline: ") && sentence.contains("of one L left out"),
        "{sentence}"
    );
    // A wave over alpha, which no level produces but the baseline follows.
    let wave = |x: &[f64]| (0.5 * (0.9 * x[0].ln()).cos()).exp();
    let (fit, baseline) = fit_surface(&wave, 0.02);
    let sentence = model_fit::sentence(model, &fit, Some(&baseline));
    assert!(sentence.contains("apex_map.surface describes the measurement"), "{sentence}");
    assert!(sentence.contains("It does not explain it: the empirical baseline, "), "{sentence}");
    // The sentence gives the errors of both, or says that the model's parameters are not identified if a row is left
    // out.
    let mut lost = 0;
    for theirs in &baseline.lines_left_out {
        let ours = fit.quality.lines_left_out.iter().find(|ours| ours.variable == theirs.variable);
        let text = match ours {
            Some(ours) if ours.smape <= theirs.smape => continue,
            Some(ours) => format!("{:.1} % against {:.1} %", 100.0 * ours.smape, 100.0 * theirs.smape),
            None => {
                format!("its numbers are not identified, where the baseline is within {:.1} %", 100.0 * theirs.smape)
            }
        };
        assert!(sentence.contains(&text), "{text}: {sentence}");
        lost += 1;
    }
    assert!(lost > 0, "{:?} {:?}", fit.quality, baseline);
    // Without a baseline, the sentence does not claim an explanation.
    assert!(model_fit::sentence(model, &fit, None).contains("describes"));
}

#[test]
fn a_model_with_a_large_error_is_rejected_despite_a_worse_baseline() {
    let model = models::find("apex_map.surface").expect("a model");
    let (mut fit, baseline) = fit_surface(&|_| 1.0, 0.02);
    assert!(model_fit::failure(0.25, &fit.points).is_none());
    fit.quality.smape = 0.509;
    let sentence = model_fit::sentence(model, &fit, Some(&baseline));
    let first =
        "apex_map.surface does not describe the measurement: its error is 50.9 % (SMAPE), more than 25 %; worst";
    assert!(sentence.starts_with(first) && !sentence.contains("surface explains"), "{sentence}");
    assert!(
        sentence.contains("It does not explain it with such an error, though it predicts what is left out"),
        "{sentence}"
    );
    // Every point is 1.5 times faster than predicted: no error is large, but the bias is not by chance.
    fit.quality.smape = 0.2;
    fit.points.iter_mut().for_each(|point| point.measured = 1.5 * point.predicted);
    let sentence = model_fit::sentence(model, &fit, Some(&baseline));
    assert!(
        sentence.contains("does not describe the measurement: its median point is 1.50 times faster than predicted"),
        "{sentence}"
    );
}

#[test]
fn impossible_and_unknown_numbers_are_reported_first() {
    let model = models::find("apex_map.surface").expect("a model");
    let (mut fit, baseline) = fit_surface(&|_| 1.0, 0.02);
    assert!(model_fit::doubts(model, &fit).is_empty(), "{:?}", model_fit::doubts(model, &fit));
    let index_of =
        |fit: &Fit, name: &str| fit.estimates.iter().position(|estimate| estimate.number == name).expect("fitted");
    let l2 = index_of(&fit, "l2_line_seconds");
    let original = fit.estimates[l2].clone();
    (fit.estimates[l2].value, fit.estimates[l2].high) = (52e-9, 60e-9);
    let sentence = model_fit::sentence(model, &fit, Some(&baseline));
    let first = "The fitted numbers are impossible or unknown: l2_line_seconds (52 ns) is above l3_line_seconds";
    assert!(sentence.starts_with(first) && !sentence.contains("surface explains"), "{sentence}");
    fit.estimates[l2] = original;
    let l3 = index_of(&fit, "l3_line_seconds");
    (fit.estimates[l3].low, fit.estimates[l3].high) = (0.1e-9, 30e-9);
    let sentence = model_fit::sentence(model, &fit, Some(&baseline));
    assert!(sentence.contains("l3_line_seconds may be anything from 0.1 ns to 30 ns. apex_map"), "{sentence}");
    fit.estimates[l3].high = 1.0;
    assert!(model_fit::doubts(model, &fit)[0].ends_with("or more"), "{:?}", model_fit::doubts(model, &fit));
}
