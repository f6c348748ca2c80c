use super::schedule::Schedule;
use super::{Job, unix_seconds, write_event};
use crate::kernels;
use crate::observer::SHARED_CORE;
use crate::progress;
use crate::provenance;
use apexmap_base::disturbance::{Fact, Facts};
use apexmap_base::error::Result;
use apexmap_base::point::Value;
use apexmap_base::provenance::MemoryPlacement;
use apexmap_base::sample::{Event, Launch, Sample, Status};
use apexmap_base::units;
use std::collections::BTreeMap;

/// Rank 0 selects the runs and writes the lines to the driver.
pub struct Root<'a> {
    job: &'a Job,
    schedule: Schedule,
    repetitions: Vec<u32>,
    started: f64,
    pub budget_spent: bool,
    /// Last sent to the driver.
    memory: Vec<Option<MemoryPlacement>>,
}

impl<'a> Root<'a> {
    /// `now` is the transport's clock.
    pub fn new(job: &'a Job, launch: Launch, now: f64) -> Result<Self> {
        let schedule = Schedule::new(job, &launch.node_type());
        write_event(&Event::Hello(Box::new(launch)))?;
        Ok(Self {
            job,
            schedule,
            repetitions: job.tasks.iter().map(|task| task.next_repetition).collect(),
            started: now,
            budget_spent: false,
            memory: vec![None; job.worker_ranks()],
        })
    }

    /// If it has changed.
    pub fn report_memory(&mut self, memory: Vec<Option<MemoryPlacement>>) -> Result<()> {
        if self.memory == memory {
            return Ok(());
        }
        self.memory = memory;
        write_event(&Event::Memory { ranks: self.memory.clone() })
    }

    /// After announcing it to the driver.
    pub fn announce_next(&mut self, now: f64) -> Result<Option<[u64; 2]>> {
        let (elapsed, share) = (now - self.started, self.schedule.first_round_share());
        let first_round = self.job.first_round_seconds.filter(|_| share < 1.0);
        let is_spent = self.job.repeat.budget_seconds.is_some_and(|budget| elapsed > budget);
        let in_time = !is_spent && first_round.is_none_or(|budget| elapsed <= budget * share);
        let on_request = self.job.on_request;
        let next = if on_request { requested_task(self.job.tasks.len()) } else { self.schedule.next_point(in_time) };
        let Some(index) = next else { return Ok(None) };
        if first_round.map_or(is_spent, |budget| elapsed > budget) {
            self.budget_spent = true;
            return Ok(None);
        }
        let repetition = self.repetitions[index];
        self.repetitions[index] += 1;
        // Before the run, so that the driver knows the point of a launch that crashes.
        write_event(&Event::Start { index, repetition })?;
        progress::begin_run();
        Ok(Some([index as u64, u64::from(repetition)]))
    }

    /// `clock_resolution` returns that of the transport's clock.
    pub fn record(
        &mut self,
        index: usize,
        repetition: u32,
        outcome: kernels::Outcome,
        disturbance: Facts,
        clock_resolution: impl FnOnce() -> f64,
    ) -> Result<()> {
        let timed = outcome.seconds > 0.0 && outcome.seconds.is_finite();
        let (status, message) = match outcome.verdict {
            // A kernel without a time has not come to its end.
            Err(why) if !timed => (Status::Failed, why),
            Err(why) => (Status::Wrong, why),
            Ok(()) if !timed => (Status::Failed, coarse_clock_message(clock_resolution())),
            Ok(()) => (Status::Ok, String::new()),
        };
        // JSON has no form for other numbers, such as rates of a run that took no time.
        let is_writable = |value: &Value| value.as_f64().is_none_or(f64::is_finite);
        let outputs = outcome.outputs.into_iter().filter(|(_, value)| is_writable(value));
        let outputs = outputs.map(|(name, value)| (name.to_owned(), value)).collect();
        let seconds = timed.then_some(outcome.seconds);
        self.write_sample(index, repetition, (status, message), seconds, outputs, disturbance)
    }

    /// The ranks of the run failed.
    pub fn record_failure(&mut self, index: usize, repetition: u32, message: String) -> Result<()> {
        self.write_sample(index, repetition, (Status::Failed, message), None, BTreeMap::new(), Facts::default())
    }

    fn write_sample(
        &mut self,
        index: usize,
        repetition: u32,
        (status, message): (Status, String),
        seconds: Option<f64>,
        outputs: BTreeMap<String, Value>,
        disturbance: Facts,
    ) -> Result<()> {
        let task = &self.job.tasks[index];
        let sample = Sample {
            point: task.point.clone(),
            key: task.key.clone(),
            block: self.job.block,
            repetition,
            status,
            message,
            unix_seconds: unix_seconds(),
            load: provenance::load_average(),
            pages_elsewhere: self.memory.iter().flatten().map(|memory| memory.elsewhere).reduce(f64::max),
            disturbance,
            seconds,
            outputs,
        };
        if sample.disturbance.get(Fact::RunDelayShare).is_some_and(|share| share > SHARED_CORE) {
            self.schedule.end_visit();
        }
        self.schedule.record(index, kernels::repeated_value(&sample));
        write_event(&Event::Sample(Box::new(sample)))
    }
}

/// `None` at the end.
fn requested_task(tasks: usize) -> Option<usize> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).ok()?;
    line.trim().parse().ok().filter(|index| *index < tasks)
}

fn coarse_clock_message(resolution: f64) -> String {
    // Differences of readings have rounding errors far below a nanosecond.
    let resolution = (resolution * 1e9).round() / 1e9;
    format!(
        "the clock is too coarse for this run: it did not advance (resolution {}); the run needs more work, such as a larger N",
        units::seconds(resolution)
    )
}
