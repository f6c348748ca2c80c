//! The joint fit of Red Storm's card to Table 2 of the hypercube paper, recomputed with simulated ranks:
//! `cargo test --release -- simulated_fit --nocapture` prints estimates, intervals and the ranges with each row left out.

use super::simulated_kernels::simulated_seconds;
use apexmap_base::point::Point;
use apexmap_measure::kernels;
use apexmap_simulate::{computation_costs, machine};
use apexmap_theory::machine::{Card, Number};
use apexmap_theory::paper_tables;
use apexmap_theory::statistics::distributions::t_quantile;

/// The fitted numbers: name, unit, and the step of differences.
const FITTED: [(&str, &str, f64); 2] = [("network_overhead_seconds", "us", 0.2), ("divide_seconds", "ns", 0.8)];
const LOOK_AHEAD: u64 = 1024;

/// Returns processors and seconds of a round in the fitted rows; without optimisation, in those of up to 300 processors.
fn printed_rows() -> Vec<(usize, f64)> {
    let most = if cfg!(debug_assertions) { 300.0 } else { 1024.0 };
    let rows = paper_tables::table("hypercube-table-2").expect("a table").pairs("processors", "gups");
    let rows = rows.into_iter().filter(|(ranks, _)| (2.0..=most).contains(ranks));
    rows.map(|(ranks, gups)| (ranks as usize, ranks * LOOK_AHEAD as f64 / gups / 1e9)).collect()
}

/// Returns the seconds of a round of the original algorithm.
fn simulated_round(card: &Card, ranks: usize) -> f64 {
    const ROUNDS: u64 = 8;
    let words = LOOK_AHEAD * ranks.next_power_of_two() as u64;
    let updates = (ROUNDS * LOOK_AHEAD * ranks as u64) as f64 / words as f64;
    let point = Point::new("random_access.hypercube", ranks).with_parameter("N_words", words);
    let point = point.with_parameter("Q", LOOK_AHEAD).with_parameter("updates", updates).with_parameter("SMSG", 1u64);
    let point = point.with_parameter("receives", "on_demand").with_parameter("own_updates", "at_once");
    let point = kernels::complete(point.with_parameter("waits", "early")).expect("a valid point");
    let (machine, costs) =
        (machine(card, ranks, 1).expect("a machine"), computation_costs(card, &point).expect("costs"));
    simulated_seconds(&machine, costs, &point) / ROUNDS as f64
}

/// A fit of two numbers by least squares of the logarithms, for times that are straight lines in the numbers.
struct Fit {
    estimates: [f64; 2],
    errors: [f64; 2],
    misfit: f64,
}

/// Fits rows of printed and simulated times and their derivatives at `start`.
fn fit(start: [f64; 2], rows: &[(f64, f64, [f64; 2])]) -> Fit {
    let mut theta = start;
    let mut inverse = [[0.0; 2]; 2];
    for _ in 0..20 {
        let (mut normal, mut gradient) = ([[0.0; 2]; 2], [0.0; 2]);
        for (_, residual, slopes) in residuals(start, theta, rows) {
            for i in 0..2 {
                gradient[i] -= slopes[i] * residual;
                (0..2).for_each(|k| normal[i][k] += slopes[i] * slopes[k]);
            }
        }
        let [[a, b], [c, d]] = normal;
        inverse = [[d, -b], [-c, a]].map(|row| row.map(|x| x / (a * d - b * c)));
        (0..2).for_each(|i| theta[i] += inverse[i][0] * gradient[0] + inverse[i][1] * gradient[1]);
    }
    let squares: f64 = residuals(start, theta, rows).map(|(_, residual, _)| residual * residual).sum();
    let variance = squares / (rows.len() - 2) as f64;
    Fit { estimates: theta, errors: [0, 1].map(|i| (variance * inverse[i][i]).sqrt()), misfit: variance.sqrt() }
}

/// Returns the time of each row, the logarithm of its ratio to the printed one, and the derivatives of this logarithm.
fn residuals<'a>(
    start: [f64; 2],
    theta: [f64; 2],
    rows: &'a [(f64, f64, [f64; 2])],
) -> impl Iterator<Item = (f64, f64, [f64; 2])> + 'a {
    rows.iter().map(move |(printed, simulated, slopes)| {
        let time = simulated + (0..2).map(|i| slopes[i] * (theta[i] - start[i])).sum::<f64>();
        (time, (time / printed).ln(), slopes.map(|slope| slope / time))
    })
}

#[test]
fn red_storm_has_the_numbers_of_its_joint_fit() {
    let card = Card::find("red-storm").expect("a published card");
    let start = FITTED.map(|(name, ..)| card.numbers()[name].value);
    let times = |card: &Card| printed_rows().iter().map(|(ranks, _)| simulated_round(card, *ranks)).collect::<Vec<_>>();
    let at_start = times(&card);
    let slopes = FITTED.map(|(name, unit, step)| {
        let mut moved = card.clone();
        moved.set(name, Number::new(card.numbers()[name].value + step, unit, "moved")).expect("a number");
        times(&moved).iter().zip(&at_start).map(|(moved, time)| (moved - time) / step).collect::<Vec<_>>()
    });
    let rows: Vec<(f64, f64, [f64; 2])> = (printed_rows().iter().zip(&at_start).enumerate())
        .map(|(row, ((_, printed), simulated))| (*printed, *simulated, [slopes[0][row], slopes[1][row]]))
        .collect();
    let whole = fit(start, &rows);
    let t = t_quantile(rows.len() - 2);
    println!("misfit {:.1} %", 100.0 * whole.misfit);
    for (i, (name, unit, _)) in FITTED.into_iter().enumerate() {
        let (estimate, half) = (whole.estimates[i], t * whole.errors[i]);
        let without = |row: usize| fit(start, &[&rows[..row], &rows[row + 1..]].concat()).estimates[i];
        let left_out: Vec<f64> = (0..rows.len()).map(without).collect();
        let (least, most) =
            (left_out.iter().copied().fold(f64::INFINITY, f64::min), left_out.iter().copied().fold(0.0, f64::max));
        println!(
            "{name} {estimate:.3} {unit} [{:.3}, {:.3}], with a row left out {least:.3} to {most:.3}",
            estimate - half,
            estimate + half
        );
        let number = &card.numbers()[name];
        assert!(
            number.low.zip(number.high).is_some_and(|(low, high)| low < estimate && estimate < high),
            "{name}: {estimate}"
        );
        assert!((estimate / number.value - 1.0).abs() < 0.1, "{name}: the fit gives {estimate} {unit}");
    }
}
