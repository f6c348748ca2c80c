//! Studentised bootstrap over whole launches.

use super::interval::covariance;
use super::optimum::{Optimum, Search, minimise};
use super::task::Task;
use super::{Estimate, Observation, Options, bits};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;

/// Minimum launches per point. Fewer do not show how launches differ.
const MIN_LAUNCHES: usize = 4;

/// Approximate number of observations fitted in all resamples together. Large data sets therefore have fewer resamples.
const MAX_FITTED_OBSERVATIONS: usize = 400_000;
const MIN_RESAMPLES: usize = 99;

/// Adds bootstrap intervals if every point was measured in enough launches. Resampled launches of the same points keep the
/// design. The interval of ln p is its estimate minus the quantiles of (p* - p) / se*, times its standard error.
pub fn add_intervals(task: &Task, optimum: &Optimum, estimates: &mut [Estimate], options: Options) {
    let groups = group_launches(task);
    let enough = groups.iter().all(|launches| launches.len() >= MIN_LAUNCHES);
    let (true, true, Some(errors)) = (options.resamples > 0, enough, standard_errors(task, optimum)) else { return };
    let mut rng = Pcg64Mcg::seed_from_u64(options.seed);
    let resamples =
        (MAX_FITTED_OBSERVATIONS / task.data.len().max(1)).max(MIN_RESAMPLES).min(options.resamples as usize);
    let mut studentised: Vec<Vec<f64>> = vec![Vec::new(); estimates.len()];
    for _ in 0..resamples {
        let mut resample = task.clone();
        resample.data.clear();
        for launches in &groups {
            let drawn: Vec<&Launch> = launches.iter().map(|_| &launches[rng.random_range(0..launches.len())]).collect();
            // Point by point: consecutive launches of the same point share one prediction.
            resample
                .data
                .extend((0..launches[0].len()).flat_map(|point| drawn.iter().map(move |launch| launch[point])));
        }
        let Some(resample_optimum) = minimise(&resample, std::slice::from_ref(&optimum.theta), Search::Refit) else {
            continue;
        };
        let Some(resample_errors) = standard_errors(&resample, &resample_optimum) else { continue };
        for (index, values) in studentised.iter_mut().enumerate() {
            values.push((resample_optimum.theta[index] - optimum.theta[index]) / resample_errors[index]);
        }
    }
    for (index, (estimate, values)) in estimates.iter_mut().zip(&mut studentised).enumerate() {
        // If half of the resamples have no result, the design depends on single launches. The logarithm of a parameter that the
        // data do not need has no standard error.
        if estimate.value == 0.0 || values.len() * 2 < resamples || values.iter().any(|v| !v.is_finite()) {
            continue;
        }
        values.sort_by(f64::total_cmp);
        let quantile = |share: f64| values[((values.len() as f64 * share) as usize).min(values.len() - 1)];
        // The quantile is subtracted, so the upper one gives the lower end.
        let end = |share: f64| (optimum.theta[index] - errors[index] * quantile(share)).exp();
        estimate.bootstrap = Some((end(0.975), end(0.025)));
    }
}

/// Observations of one launch, ordered by point.
type Launch<'a> = Vec<&'a Observation>;

fn group_launches<'a>(task: &Task<'a>) -> Vec<Vec<Launch<'a>>> {
    let mut launches: BTreeMap<u32, Launch> = BTreeMap::new();
    for observation in &task.data {
        launches.entry(observation.launch).or_default().push(observation);
    }
    let mut groups: BTreeMap<Vec<Vec<u64>>, Vec<Launch>> = BTreeMap::new();
    for mut observations in launches.into_values() {
        observations.sort_by_cached_key(|observation| bits(&observation.x));
        groups
            .entry(observations.iter().map(|observation| bits(&observation.x)).collect())
            .or_default()
            .push(observations);
    }
    groups.into_values().collect()
}

fn standard_errors(task: &Task, optimum: &Optimum) -> Option<Vec<f64>> {
    let covariance = covariance(task, optimum)?;
    Some(covariance.diagonal().iter().map(|v| v.sqrt()).collect())
}
