//! Studentised bootstrap over whole launches.

use super::interval::covariance;
use super::optimum::{Optimum, minimise};
use super::task::Task;
use super::{Estimate, Observation, Options, bits};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;

/// Minimum launches per point. Fewer do not show how launches differ.
const LEAST_LAUNCHES: usize = 4;

/// Approximate number of observations fitted in all resamples together. Large data sets therefore have fewer resamples, but
/// at least [`LEAST_RESAMPLES`].
const MOST_FITTED: usize = 400_000;
const LEAST_RESAMPLES: usize = 99;

/// Adds bootstrap intervals if every point was measured in enough launches.
///
/// Launches that measured the same points are resampled with replacement, so every resample keeps the design. The interval of
/// ln p is its estimate minus the quantiles of (p* - p) / se*, times its standard error.
pub fn add(task: &Task, optimum: &Optimum, estimates: &mut [Estimate], options: Options) {
    let groups = groups(task);
    let enough = groups.iter().all(|launches| launches.len() >= LEAST_LAUNCHES);
    let (true, true, Some(errors)) = (options.resamples > 0, enough, deviations(task, optimum)) else { return };
    let mut rng = Pcg64Mcg::seed_from_u64(options.seed);
    let resamples = (MOST_FITTED / task.data.len().max(1)).max(LEAST_RESAMPLES).min(options.resamples as usize);
    let mut studentised: Vec<Vec<f64>> = vec![Vec::new(); estimates.len()];
    for _ in 0..resamples {
        let mut again = task.clone();
        again.data.clear();
        for launches in &groups {
            let drawn: Vec<&Launch> = launches.iter().map(|_| &launches[rng.random_range(0..launches.len())]).collect();
            // Point by point: consecutive launches of the same point share one prediction.
            again.data.extend((0..launches[0].len()).flat_map(|at| drawn.iter().map(move |launch| launch[at])));
        }
        let Some(found) = minimise(&again, std::slice::from_ref(&optimum.theta), None) else { continue };
        let Some(its_errors) = deviations(&again, &found) else { continue };
        for (at, values) in studentised.iter_mut().enumerate() {
            values.push((found.theta[at] - optimum.theta[at]) / its_errors[at]);
        }
    }
    for (at, (estimate, values)) in estimates.iter_mut().zip(&mut studentised).enumerate() {
        // If half of the resamples have no result, the design depends on single launches.
        if values.len() * 2 < resamples || values.iter().any(|v| !v.is_finite()) {
            continue;
        }
        values.sort_by(f64::total_cmp);
        let quantile = |share: f64| values[((values.len() as f64 * share) as usize).min(values.len() - 1)];
        let end = |share: f64| (optimum.theta[at] - errors[at] * quantile(share)).exp();
        estimate.bootstrap = Some((end(0.975), end(0.025)));
    }
}

/// Observations of one launch, ordered by point.
type Launch<'a> = Vec<&'a Observation>;

/// Groups the launches that measured the same points.
fn groups<'a>(task: &Task<'a>) -> Vec<Vec<Launch<'a>>> {
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

/// Returns the standard errors of the parameters' logarithms.
fn deviations(task: &Task, optimum: &Optimum) -> Option<Vec<f64>> {
    let covariance = covariance(task, optimum)?;
    Some(covariance.diagonal().iter().map(|v| v.sqrt()).collect())
}
