use super::Job;
use crate::numerics::mix::seed;
use crate::numerics::statistics::Summary;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

/// All numbers refer to samples in one launch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeat {
    /// Per point, at least 1; 6 for a 95 % interval of the median.
    pub min: u32,
    /// Per point; equal to `min` without `width`.
    pub max: u32,
    /// Width of the median's 95 % interval, relative to the median: 0.05. Without it every point gets `min` samples. The median is
    /// that of the times, or of the value that a command prints ([`repeated_value`](crate::kernels::repeated_value)).
    pub width: Option<f64>,
    /// This launch ends then, even if points are not precise enough.
    pub budget_seconds: Option<f64>,
}

impl Repeat {
    pub fn is_satisfied(&self, values: &[f64]) -> bool {
        let n = values.len() as u32;
        let is_precise = |width: f64| {
            Summary::from_samples(values).and_then(|s| s.relative_width()).is_some_and(|relative| relative <= width)
        };
        n >= self.max || (n >= self.min && self.width.is_none_or(is_precise))
    }
}

/// Rounds over all unfinished points, each round in a new random order.
pub struct Schedule {
    repeat: Repeat,
    values_by_point: Vec<Vec<f64>>,
    finished: Vec<bool>,
    round: Vec<usize>,
    /// The point of the latest run, if that was its first of a visit.
    visited: Option<usize>,
    random: Pcg64Mcg,
}

impl Schedule {
    /// On nodes of this type.
    pub fn new(job: &Job, node_type: &str) -> Self {
        let values_by_point: Vec<_> = job.tasks.iter().map(|task| job.seconds_so_far(task, node_type)).collect();
        let finished = values_by_point.iter().map(|values| job.repeat.is_satisfied(values)).collect();
        let random = Pcg64Mcg::seed_from_u64(seed(&[job.seed, u64::from(job.block), job.ranks as u64]));
        Self { repeat: job.repeat, values_by_point, finished, round: Vec::new(), visited: None, random }
    }

    /// With `twice`, each visit of a point has two runs, so that the second begins with the caches of the first.
    pub fn next_point(&mut self, twice: bool) -> Option<usize> {
        if let Some(index) = self.visited.take().filter(|&index| twice && !self.finished[index]) {
            return Some(index);
        }
        if self.round.is_empty() {
            self.round = (0..self.finished.len()).filter(|&index| !self.finished[index]).collect();
            // In a run that continues, points without a sample come first.
            if self.first_round_share() < 1.0 {
                self.round.retain(|&index| self.values_by_point[index].is_empty());
            }
            self.round.shuffle(&mut self.random);
        }
        self.visited = self.round.pop();
        self.visited
    }

    /// Lets the next run warm up again, because another program had the core.
    pub fn end_visit(&mut self) {
        self.visited = None;
    }

    /// The fraction of the points that need no first run any more.
    pub fn first_round_share(&self) -> f64 {
        let unmeasured = self
            .finished
            .iter()
            .zip(&self.values_by_point)
            .filter(|(finished, values)| !*finished && values.is_empty());
        1.0 - unmeasured.count() as f64 / self.finished.len().max(1) as f64
    }

    /// A point without a valid value is not run again.
    pub fn record(&mut self, index: usize, value: Option<f64>) {
        match value {
            Some(value) => {
                self.values_by_point[index].push(value);
                self.finished[index] = self.repeat.is_satisfied(&self.values_by_point[index]);
            }
            None => self.finished[index] = true,
        }
    }
}
