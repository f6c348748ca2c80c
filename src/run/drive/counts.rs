//! Counts the samples of a run, and the points of its plan that need no more: all their launches have enough samples.

use super::forecast::OpenLaunch;
use apexmap_base::sample::{Sample, Status};
use apexmap_base::units::{self, NumberStyle, plural};
use apexmap_measure::worker::Repeat;
use std::collections::{HashMap, HashSet};

#[derive(Clone, Debug, Default)]
pub struct RunCounts {
    pub points: usize,
    pub samples: usize,
    /// Minimum number of samples that a point needs over all its launches.
    pub needed: usize,
    may_need_more: bool,
    /// Number of launches that still have to measure a point, by its key.
    open: HashMap<String, usize>,
    blocks: u32,
    /// Points without a sample in any launch, by their keys.
    unmeasured: HashSet<String>,
    failed: HashSet<String>,
    failed_earlier: usize,
    resumes: bool,
}

impl RunCounts {
    pub fn new(points: usize, blocks: u32, repeat: Repeat) -> Self {
        let (needed, may_need_more) = ((blocks * repeat.min) as usize, repeat.width.is_some());
        Self { points, needed, may_need_more, blocks, ..Self::default() }
    }

    /// Sets the remaining launches, and the number of points that failed earlier and are not measured again.
    pub fn begin(&mut self, launches: &[OpenLaunch], failed: usize) {
        self.open.clear();
        self.failed_earlier = failed;
        for point in launches.iter().flat_map(|launch| &launch.points) {
            *self.open.entry(point.key.clone()).or_default() += 1;
            self.resumes |= !point.values.is_empty();
        }
        self.resumes |= self.open.len() < self.points;
        // A point that is open in fewer launches has all its samples in another one.
        let is_new = |(_, launches): &(&String, &usize)| **launches >= self.blocks as usize;
        self.unmeasured = self.open.iter().filter(is_new).map(|(key, _)| key.clone()).collect();
        let measured = launches.iter().flat_map(|launch| &launch.points).filter(|point| !point.values.is_empty());
        measured.for_each(|point| _ = self.unmeasured.remove(&point.key));
    }

    /// Adds a sample. `is_finished`: its launch needs no more samples of its point.
    pub fn add_sample(&mut self, sample: &Sample, is_finished: bool) {
        self.samples += 1;
        if sample.status != Status::Ok {
            self.failed.insert(sample.key.clone());
            return;
        }
        self.unmeasured.remove(&sample.key);
        if is_finished && let Some(launches) = self.open.get_mut(&sample.key) {
            *launches = launches.saturating_sub(1);
        }
    }

    /// The number of points that need no more samples.
    pub fn count_done(&self) -> usize {
        let open = self.open.iter().filter(|(key, launches)| **launches > 0 && !self.failed.contains(*key)).count();
        self.points.saturating_sub(open + self.count_failed())
    }

    pub fn count_failed(&self) -> usize {
        self.failed_earlier + self.failed.len()
    }

    /// The progress if about `samples_left` samples are missing: `1693 of ~6600 samples`, a total that is never below the samples so far.
    pub fn samples_text(&self, samples_left: f64) -> String {
        let total = units::number(self.samples as f64 + samples_left, NumberStyle::Rounded(2));
        let is_below = total.parse().is_ok_and(|total: f64| total < self.samples as f64);
        let total = if is_below { self.samples.to_string() } else { total };
        format!("{} of ~{total} {}samples", self.samples, self.new_word())
    }

    /// The progress of a run with a budget: `178 samples, 56 of 126 points at least once, 1 failed`. No number decreases.
    pub fn coverage_text(&self) -> String {
        let measured = self.points.saturating_sub(self.unmeasured.len() + self.failed_earlier);
        let noun = if self.samples == 1 { "sample" } else { "samples" };
        let points = plural(self.points, "point");
        format!(
            "{} {}{noun}, {measured} of {points} at least once{}",
            self.samples,
            self.new_word(),
            self.failed_text()
        )
    }

    fn failed_text(&self) -> String {
        if self.count_failed() > 0 { format!(", {} failed", self.count_failed()) } else { String::new() }
    }

    /// The state of the points: `0 of 126 points done (each needs 6), 2 failed`.
    pub fn points_text(&self) -> String {
        let (failed, points) = (self.failed_text(), plural(self.points, "point"));
        let least = if self.may_need_more { "at least " } else { "" };
        format!("{} of {points} done (each needs {least}{}){failed}", self.count_done(), self.needed)
    }

    /// The samples at the end of a run: `756 samples in 110 s`.
    pub fn summary(&self, seconds: f64) -> String {
        let noun = if self.samples == 1 { "sample" } else { "samples" };
        format!("{} {}{noun} in {}", self.samples, self.new_word(), units::seconds(seconds))
    }

    fn new_word(&self) -> &'static str {
        if self.resumes { "new " } else { "" }
    }
}
