apexmap_base::words! {
    /// An interval or a test derives its spread from these data.
    #[derive(PartialOrd, Ord)]
    pub enum Basis {
        /// No spread: values that a card determines, simulated or predicted.
        Exact = "exact",
        /// Differences between two sides of the same launches.
        Pairs = "pairs",
        /// The spread between launches.
        Launches = "launches",
        /// Within one launch, without differences between launches.
        Samples = "samples",
        /// The intervals of the numbers of the card whose machine is simulated.
        Card = "card",
        /// Too few launches and samples for any of these.
        Nothing = "nothing",
    }
}

impl Basis {
    /// If there are any differences between launches.
    pub fn includes_launches(self) -> bool {
        matches!(self, Basis::Exact | Basis::Pairs | Basis::Launches)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Summary {
    /// Number of samples, at least 1.
    pub n: usize,
    pub min: f64,
    /// With one launch, the middle sample, or the mean of the two in the middle. With several launches, the geometric mean of their
    /// medians.
    pub median: f64,
    pub max: f64,
    /// 95 % confidence interval of the median. Within one launch it is absent below six samples, because no interval then has this
    /// coverage.
    pub interval: Option<(f64, f64)>,
    pub basis: Basis,
    /// At least 1.
    pub launches: usize,
    /// Samples further than three scaled median absolute deviations from the median. They remain in the statistics.
    pub outliers: usize,
}

impl Summary {
    /// For one launch. `None` without samples, which must not contain NaN.
    pub fn from_samples(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let median = median_of_sorted(&sorted);
        let interval = median_interval_rank(sorted.len()).map(|j| (sorted[j - 1], sorted[sorted.len() - j]));
        let basis = if interval.is_some() { Basis::Samples } else { Basis::Nothing };
        let outliers = count_outliers(&sorted, median);
        Some(Self { n: sorted.len(), min, median, max, interval, basis, launches: 1, outliers })
    }

    /// Relative to the median.
    pub fn relative_width(&self) -> Option<f64> {
        self.interval.map(|(low, high)| (high - low) / self.median.abs())
    }
}

pub fn median(samples: &[f64]) -> Option<f64> {
    Summary::from_samples(samples).map(|summary| summary.median)
}

/// For samples in ascending order and p from 0 to 1. It interpolates linearly between the order statistics at (n - 1) p (Hyndman
/// and Fan 1996, definition 7: the default of R and NumPy). `None` without samples.
pub fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    let position = sorted.len().checked_sub(1)? as f64 * p.clamp(0.0, 1.0);
    let (lower, upper) = (sorted[position.floor() as usize], sorted[position.ceil() as usize]);
    Some(lower + (upper - lower) * position.fract())
}

fn median_of_sorted(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    if n % 2 == 1 { sorted[n / 2] } else { 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]) }
}

/// Hampel's rule: 1.4826 x MAD estimates the standard deviation of a normal sample.
fn count_outliers(sorted: &[f64], median: f64) -> usize {
    let mut distances: Vec<f64> = sorted.iter().map(|x| (x - median).abs()).collect();
    distances.sort_by(f64::total_cmp);
    let limit = 3.0 * 1.4826 * median_of_sorted(&distances);
    distances.iter().filter(|&&distance| distance > limit).count()
}

/// The largest j such that the j-th smallest and the j-th largest of n samples enclose the median with a probability of at least 95
/// %, for any distribution. The coverage is 1 - 2 P(Binomial(n, 1/2) < j). `None` for n < 6, because n = 5 covers only 93.75 %.
pub fn median_interval_rank(n: usize) -> Option<usize> {
    if n < 6 {
        return None;
    }
    // 2^-n underflows f64 beyond n = 1074. The normal approximation is accurate to one rank far below that.
    if n > 1000 {
        return Some(((n as f64 - 1.959_964 * (n as f64).sqrt()) / 2.0).floor() as usize);
    }
    let mut term = 0.5f64.powi(n as i32);
    let mut tail = 0.0;
    for j in 0..n / 2 {
        tail += term;
        if 2.0 * tail > 0.05 {
            return Some(j);
        }
        term *= (n - j) as f64 / (j + 1) as f64;
    }
    Some(n / 2)
}
