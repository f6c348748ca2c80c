//! Corrects rates for a slow machine, by the times of the canary.

use crate::table::quietness::Reference;
use apexmap_base::disturbance::{Fact, Facts};

/// Time and facts of one run of a point.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    pub seconds: f64,
    pub facts: &'a Facts,
    pub reference: &'a Reference,
}

/// Prior standard deviation of the slopes of a point's time against a canary's time, both in logarithms. A slope of 1 means
/// proportional.
const PRIOR_DEVIATION: f64 = 0.5;
/// Upper limit of these slopes; the lower limit is 0.
const MAX_SLOPE: f64 = 1.5;

/// Returns, for each run of one point, the factor by which its rate would be higher on the quiet machine: c^b m^d. c and m
/// are the canary's times in the cache and in memory, divided by those of the reference. b and d are the slopes of the
/// point's time against them, from a ridge regression of logarithms within the point. All factors are 1 if the times do not
/// depend on the canary.
///
/// With few runs the correction is small: the regression keeps b and d near 0 unless the runs show otherwise.
pub fn factors(runs: &[Run]) -> Vec<f64> {
    let canaries = |run: &Run| {
        let over = |fact, reference: Option<f64>| Some((run.facts.get(fact)? / reference?).ln());
        let both = [
            over(Fact::CacheCanary, run.reference.cache_seconds),
            over(Fact::MemoryCanary, run.reference.memory_seconds),
        ];
        both.map(|value| value.filter(|value| value.is_finite()).unwrap_or(0.0))
    };
    let x: Vec<[f64; 2]> = runs.iter().map(canaries).collect();
    let y: Vec<f64> = runs.iter().map(|run| run.seconds.ln()).collect();
    let slope = slopes(&x, &y);
    x.iter().map(|x| (slope[0] * x[0] + slope[1] * x[1]).exp()).collect()
}

/// Returns the slopes of a ridge regression of `y` on the columns of `x`, all relative to their means. The slopes have
/// independent normal priors, and the variance of the residuals is estimated together with them.
fn slopes(x: &[[f64; 2]], y: &[f64]) -> [f64; 2] {
    let n = y.len() as f64;
    if y.len() < 3 {
        return [0.0; 2];
    }
    let mean = |value: &dyn Fn(usize) -> f64| (0..y.len()).map(value).sum::<f64>() / n;
    let (my, mx) = (mean(&|i| y[i]), [mean(&|i| x[i][0]), mean(&|i| x[i][1])]);
    let sum = |value: &dyn Fn([f64; 2], f64) -> f64| -> f64 {
        (0..y.len()).map(|i| value([x[i][0] - mx[0], x[i][1] - mx[1]], y[i] - my)).sum()
    };
    let (aa, ab, bb) = (sum(&|x, _| x[0] * x[0]), sum(&|x, _| x[0] * x[1]), sum(&|x, _| x[1] * x[1]));
    let (ay, by, yy) = (sum(&|x, y| x[0] * y), sum(&|x, y| x[1] * y), sum(&|_, y| y * y));
    let (mut variance, mut estimate) = (yy / (n - 1.0), [0.0; 2]);
    for _ in 0..20 {
        let ridge = variance / (PRIOR_DEVIATION * PRIOR_DEVIATION);
        let (a, b) = (aa + ridge, bb + ridge);
        let determinant = a * b - ab * ab;
        if determinant <= 0.0 {
            return [0.0; 2];
        }
        estimate = [(ay * b - by * ab) / determinant, (by * a - ay * ab) / determinant];
        let residual = sum(&|x, y| (y - estimate[0] * x[0] - estimate[1] * x[1]).powi(2));
        variance = residual / (n - 1.0);
    }
    estimate.map(|slope| slope.clamp(0.0, MAX_SLOPE))
}
