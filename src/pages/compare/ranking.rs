//! Means over points: of each pair of machines, and a ranking of three or more with its uncertainty.
//!
//! Only ratios are averaged, and only geometrically, over points that all machines finished.

use super::Comparison;
use super::points::{Point, PointData};
use super::ratio::{GeometricMean, geometric_mean, over_points};
use apexmap_results::samples::estimate::Mean;
use apexmap_theory::statistics::rank_tests::MannWhitney;
use rand::SeedableRng;
use rand_distr::{Distribution, StudentT};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

/// The geometric mean of every machine's speed by every other's.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Points that all machines finished; with none, each pair has points of its own.
    pub cells: usize,
    /// `[of][to]`; `None` on the diagonal and without points.
    pub means: Vec<Vec<Option<GeometricMean>>>,
}

/// A machine's place among all.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MachineRank {
    pub machine: String,
    /// From 1, by the mean of the log speeds.
    pub rank: usize,
    /// The ranks that 95 % of the draws lie in; absent if it is not known how launches of every machine differ.
    pub range: Option<(usize, usize)>,
    /// The share of draws in which it is first.
    pub first: Option<f64>,
    /// Geometric mean of its speeds by those of the geometric mean of all machines.
    pub speed: f64,
}

/// Points that all machines finished.
pub fn finished<'a>(comparison: &'a Comparison) -> Vec<&'a Point> {
    let all = |point: &&Point| point.by_machine.iter().all(|data| data.as_ref().is_some_and(|data| data.samples() > 0));
    comparison.matched_points().into_iter().filter(all).collect()
}

pub fn matrix(comparison: &Comparison) -> Matrix {
    let all = finished(comparison);
    let cells = all.len();
    // Without a point that all have, each pair has its own.
    let points = if all.is_empty() { comparison.matched_points() } else { all };
    let count = comparison.machines.len();
    let mut tests = MannWhitney::default();
    let mut mean = |of: usize, to: usize| if of == to { None } else { geometric_mean(&points, of, to, &mut tests) };
    let means = (0..count).map(|of| (0..count).map(|to| mean(of, to)).collect()).collect();
    Matrix { cells, means }
}

const DRAWS: usize = 10_000;

/// The ranking over all points that all machines finished; empty if there are none.
///
/// Its uncertainty is that of the measurement: means over launches, redrawn from their t distributions.
pub fn ranking(comparison: &Comparison, seed: u64) -> Vec<MachineRank> {
    let points = finished(comparison);
    if points.is_empty() {
        return Vec::new();
    }
    let of = |machine: usize| -> Vec<PointData> {
        points.iter().filter_map(|point| point.by_machine[machine].clone()).collect()
    };
    let means: Vec<Option<Mean>> = (0..comparison.machines.len()).map(|machine| over_points(&of(machine))).collect();
    let values: Vec<f64> = (0..comparison.machines.len())
        .map(|machine| {
            let logs = of(machine).into_iter().filter_map(|data| Some(data.speed()?.ln()));
            means[machine].map_or_else(|| logs.sum::<f64>() / points.len() as f64, |mean| mean.value)
        })
        .collect();
    let average = values.iter().sum::<f64>() / values.len() as f64;
    let place = |values: &[f64], of: usize| 1 + values.iter().filter(|other| **other > values[of]).count();
    let known: Option<Vec<Mean>> = means.into_iter().collect();
    let draws = known.map(|known| drawn(&known, seed));
    let mut ranks: Vec<MachineRank> = comparison
        .machines
        .iter()
        .enumerate()
        .map(|(of, machine)| {
            let mut places: Option<Vec<usize>> =
                draws.as_ref().map(|draws| draws.iter().map(|values| place(values, of)).collect());
            if let Some(places) = &mut places {
                places.sort_unstable();
            }
            let at = |places: &Vec<usize>, share: f64| places[((places.len() - 1) as f64 * share).round() as usize];
            MachineRank {
                machine: machine.name.clone(),
                rank: place(&values, of),
                range: places.as_ref().map(|places| (at(places, 0.025), at(places, 0.975))),
                first: places.as_ref().map(|p| p.iter().filter(|place| **place == 1).count() as f64 / p.len() as f64),
                speed: (values[of] - average).exp(),
            }
        })
        .collect();
    ranks.sort_by_key(|rank| rank.rank);
    ranks
}

/// Draws of all machines' means.
fn drawn(means: &[Mean], seed: u64) -> Vec<Vec<f64>> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut draw = |mean: &Mean| match StudentT::new(mean.freedom.min(1e6)) {
        Ok(t) if mean.variance > 0.0 => mean.value + mean.variance.sqrt() * t.sample(&mut random),
        _ => mean.value,
    };
    (0..DRAWS).map(|_| means.iter().map(&mut draw).collect()).collect()
}
