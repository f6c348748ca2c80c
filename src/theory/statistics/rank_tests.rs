//! Ratios of rates and their uncertainty: intervals, one-sided tests, multiple tests.
//!
//! All computations are in logarithms, because errors of rates are factors. Samples of one launch share pages, placement and
//! neighbours, so launches are the unit if a side has two:
//!
//! * launches: Welch's t on the logarithms of the launches' medians (B. L. Welch, Biometrika 34, 1947). A single published
//!   value counts as exact.
//! * samples, otherwise: the median of all pairwise ratios (Hodges and Lehmann, Annals of Mathematical Statistics 34, 1963),
//!   with the interval and the test of Mann and Whitney, without differences between launches.
//!
//! Tests over many cells are adjusted by the procedure of Benjamini and Hochberg (Journal of the Royal Statistical Society B
//! 57, 1995), which holds for positively dependent tests, too (Benjamini and Yekutieli, Annals of Statistics 29, 2001).

use crate::statistics::median_interval_rank;
use statrs::distribution::{ContinuousCDF, Normal};
use std::collections::HashMap;

/// Largest product of two sample sizes for which the Mann-Whitney distribution is computed exactly.
const MAX_EXACT_PRODUCT: usize = 900;

/// Distribution of Mann and Whitney's U without ties: P(U <= u) for u = 0, 1, ...
#[derive(Debug, Default)]
pub struct MannWhitney {
    cumulatives: HashMap<(usize, usize), Vec<f64>>,
}

impl MannWhitney {
    fn cumulative(&mut self, n: usize, m: usize) -> &[f64] {
        self.cumulatives.entry((n.min(m), n.max(m))).or_insert_with_key(|&(n, m)| {
            // The generating function of U is the Gaussian binomial: a product of (1 - q^(m+k)) / (1 - q^k), k = 1..n.
            let size = n * m + 1;
            let mut counts = vec![0.0; size];
            counts[0] = 1.0;
            for k in 1..=n {
                // A product in place goes down, a quotient goes up.
                for u in (m + k..size).rev() {
                    counts[u] -= counts[u - m - k];
                }
                for u in k..size {
                    counts[u] += counts[u - k];
                }
            }
            let total: f64 = counts.iter().sum();
            let mut sum = 0.0;
            let cumulate = |count: &f64| {
                sum += count;
                sum / total
            };
            counts.iter().map(cumulate).collect()
        })
    }

    /// Returns P(U <= u) for samples of n and m, without ties.
    pub fn cumulative_probability(&mut self, u: f64, n: usize, m: usize) -> f64 {
        if u < 0.0 {
            return 0.0;
        }
        if n * m <= MAX_EXACT_PRODUCT {
            let cumulative = self.cumulative(n, m);
            return cumulative[(u.floor() as usize).min(cumulative.len() - 1)];
        }
        let (n, m) = (n as f64, m as f64);
        normal_cdf((u + 0.5 - n * m / 2.0) / (n * m * (n + m + 1.0) / 12.0).sqrt())
    }

    /// Returns the one-sided p value of `y` this far above `x`, both ascending. Ties and large samples use the normal
    /// approximation with corrections for ties and continuity.
    pub fn p_above(&mut self, x: &[f64], y: &[f64]) -> f64 {
        let (n, m) = (x.len(), y.len());
        if n == 0 || m == 0 {
            return 1.0;
        }
        // Count the pairs with x above y; ties count half.
        let above: f64 = y.iter().map(|v| (n - x.partition_point(|u| u <= v)) as f64).sum();
        let tied: f64 = y.iter().map(|v| (x.partition_point(|u| u <= v) - x.partition_point(|u| u < v)) as f64).sum();
        let u = above + tied / 2.0;
        let mut pooled: Vec<f64> = x.iter().chain(y).copied().collect();
        pooled.sort_by(f64::total_cmp);
        let ties: f64 =
            pooled.chunk_by(|a, b| a == b).map(|same| (same.len() as f64).powi(3) - same.len() as f64).sum();
        if ties == 0.0 {
            return self.cumulative_probability(u, n, m);
        }
        let (n, m) = (n as f64, m as f64);
        let total = n + m;
        let variance = n * m / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
        if variance <= 0.0 { 1.0 } else { normal_cdf((u + 0.5 - n * m / 2.0) / variance.sqrt()) }
    }

    pub fn min_p(&mut self, n: usize, m: usize) -> f64 {
        if n == 0 || m == 0 { 1.0 } else { self.cumulative_probability(0.0, n, m) }
    }

    /// Returns the shift from `x` to `y`, both ascending: the median of all differences, and its 95 % interval if samples
    /// suffice; that of the other's median if one is a single value.
    pub fn shift(&mut self, x: &[f64], y: &[f64]) -> Option<(f64, Option<(f64, f64)>)> {
        let (n, m) = (x.len(), y.len());
        let pairs = n * m;
        if pairs == 0 {
            return None;
        }
        let differences = Differences { x, y };
        let middle = (differences.smallest(pairs.div_ceil(2)) + differences.smallest(pairs / 2 + 1)) / 2.0;
        let rank = if n == 1 || m == 1 { median_interval_rank(n.max(m)) } else { self.interval_rank(n, m) };
        let ends = |rank: usize| (differences.smallest(rank), differences.smallest(pairs + 1 - rank));
        Some((middle, rank.map(ends)))
    }

    /// Returns the largest k for which the k-th smallest and the k-th largest difference enclose the shift with 95 %.
    fn interval_rank(&mut self, n: usize, m: usize) -> Option<usize> {
        // P(U <= k - 1) <= 2.5 %; bisection over k. 0 means that no k exists.
        let (mut low, mut high) = (0, n * m / 2 + 1);
        while low + 1 < high {
            let k = (low + high) / 2;
            if self.cumulative_probability(k as f64 - 1.0, n, m) <= 0.025 {
                low = k;
            } else {
                high = k;
            }
        }
        (low > 0).then_some(low)
    }
}

/// All differences y - x of two ascending samples, never stored.
struct Differences<'a> {
    x: &'a [f64],
    y: &'a [f64],
}

impl Differences<'_> {
    fn count_up_to(&self, limit: f64) -> usize {
        let (mut count, mut reach) = (0, 0);
        // As x grows, more values of y are within reach.
        for x in self.x {
            while reach < self.y.len() && self.y[reach] - x <= limit {
                reach += 1;
            }
            count += reach;
        }
        count
    }

    fn smallest(&self, k: usize) -> f64 {
        let (x_first, x_last) = (self.x[0], self.x[self.x.len() - 1]);
        let (mut low, mut high) = (self.y[0] - x_last, self.y[self.y.len() - 1] - x_first);
        if self.count_up_to(low) >= k {
            return low;
        }
        while high - low > 1e-13 * (1.0 + low.abs().max(high.abs())) {
            let middle = low + (high - low) / 2.0;
            if self.count_up_to(middle) >= k {
                high = middle;
            } else {
                low = middle;
            }
        }
        high
    }
}

fn normal_cdf(z: f64) -> f64 {
    Normal::new(0.0, 1.0).map_or(f64::NAN, |normal| normal.cdf(z))
}

/// Returns Benjamini and Hochberg's adjusted p values. Cells of at most q have a share of false findings of at most q.
pub fn adjust_p_values(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut lowest: f64 = 1.0;
    // The largest first: no adjusted value is above that of a larger p.
    for (rank, &index) in order.iter().enumerate().rev() {
        lowest = lowest.min(p[index] * p.len() as f64 / (rank + 1) as f64);
        adjusted[index] = lowest;
    }
    adjusted
}
