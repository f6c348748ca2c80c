//! Progress of a run: a bar on a terminal, plain lines elsewhere.

use crate::explore::store::quietness::Quietness;
use crate::explore::sweep::driver::Watcher;
use crate::explore::sweep::execute::Ending;
use crate::sample::{Sample, Status};
use crate::units::{self, plural};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Time between two plain lines.
const QUIET: Duration = Duration::from_secs(10);

pub struct Progress {
    bar: Option<ProgressBar>,
    started: Instant,
    last_line: Instant,
    budget: Option<f64>,
    points: usize,
    done: usize,
    failed: usize,
    samples: usize,
    /// Samples if each point needs only the minimum.
    expected_samples: usize,
    min_samples: u32,
    health: String,
}

impl Progress {
    /// `min_samples` is the minimum number of samples per point.
    pub fn new(min_samples: u32) -> Self {
        let now = Instant::now();
        Self {
            bar: None,
            started: now,
            last_line: now,
            budget: None,
            points: 0,
            done: 0,
            failed: 0,
            samples: 0,
            expected_samples: 1,
            min_samples,
            health: String::new(),
        }
    }

    fn tell(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.println(line),
            None => eprintln!("{line}"),
        }
    }

    fn line(&self) -> String {
        let mut line = format!("{}/{}, {} failed", self.done, plural(self.points, "point"), self.failed);
        if let Some(seconds) = self.seconds_left() {
            line.push_str(&format!(", at most {} left", units::seconds(seconds.ceil())));
        }
        if !self.health.is_empty() {
            line.push_str(&format!("; {}", self.health));
        }
        line
    }

    /// Estimated from the samples so far, but never more than the budget leaves. How many more samples a point needs to
    /// become precise is unknown: once all have the minimum, only the budget is known.
    fn seconds_left(&self) -> Option<f64> {
        let elapsed = self.started.elapsed().as_secs_f64();
        let known = self.samples >= self.expected_samples / 20 && (1..self.expected_samples).contains(&self.samples);
        let by_samples = known.then(|| elapsed * (self.expected_samples as f64 / self.samples as f64 - 1.0));
        let by_budget = self.budget.map(|budget| (budget - elapsed).max(0.0));
        match (by_samples, by_budget) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (None, Some(budget)) => Some(budget),
            (by_samples, None) => by_samples,
        }
    }
}

impl Watcher for Progress {
    fn begin(&mut self, points: usize, budget: Option<f64>) {
        (self.points, self.budget) = (points, budget);
        self.expected_samples = (points * self.min_samples as usize).max(1);
        if points > 0 && std::io::stderr().is_terminal() {
            let style = ProgressStyle::with_template("{bar:30} {msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
            self.bar = Some(ProgressBar::new(self.expected_samples as u64).with_style(style));
        }
    }

    fn launched(&mut self, launch: &str, ranks: usize, points: usize) {
        if self.bar.is_none() {
            eprintln!("launch {launch}: {} on {}", plural(points, "point"), plural(ranks, "rank"));
        }
    }

    fn preflight(&mut self, verdict: Quietness, text: &str) {
        self.tell(&format!("machine before the first sample: {}: {text}", verdict.name()));
    }

    fn health(&mut self, line: &str) {
        self.health.clear();
        self.health.push_str(line);
    }

    fn sample(&mut self, sample: &Sample, finished: bool) {
        self.samples += 1;
        if sample.status != Status::Ok {
            self.failed += 1;
            let line = format!("{}: {}: {}", sample.status.name(), sample.point.label(), sample.message);
            match &self.bar {
                Some(bar) => bar.println(line),
                None => eprintln!("{line}"),
            }
        } else if finished {
            self.done += 1;
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.samples.min(self.expected_samples) as u64);
            bar.set_message(self.line());
        } else if self.last_line.elapsed() > QUIET {
            self.last_line = Instant::now();
            eprintln!("{}", self.line());
        }
    }

    fn ended(&mut self, ending: &Ending) {
        if ending.status != Status::Ok {
            let line = format!("a launch ended with status {}: {}", ending.status.name(), ending.message);
            match &self.bar {
                Some(bar) => bar.println(line),
                None => eprintln!("{line}"),
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if self.points > 0 {
            let elapsed = units::seconds(self.started.elapsed().as_secs_f64());
            eprintln!("{} of {} done, {} failed, in {elapsed}", self.done, plural(self.points, "point"), self.failed);
        }
    }
}
