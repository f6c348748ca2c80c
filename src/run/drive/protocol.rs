//! The protocol of a launch's lines, of bounded length. Only this module checks them against the job.
//!
//! ```text
//! hello  preflight?  (start  (progress | simulation)*  memory?  sample)*  done
//! ```

use apexmap_base::sample::{Event, Launch, Sample, Status};
use apexmap_measure::kernels;
use apexmap_measure::worker::{Job, Task};

pub struct Protocol {
    job: Job,
    tasks: Vec<TaskProgress>,
    stage: Stage,
}

struct TaskProgress {
    next_repetition: u32,
    /// Times of the samples, or values that a command printed.
    values: Vec<f64>,
    failed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Silent,
    Greeted,
    Between,
    Running { index: usize, repetition: u32, memory: bool },
    Done,
}

impl Protocol {
    pub fn new(job: Job) -> Self {
        let progress =
            |task: &Task| TaskProgress { next_repetition: task.next_repetition, values: Vec::new(), failed: false };
        Self { tasks: job.tasks.iter().map(progress).collect(), job, stage: Stage::Silent }
    }

    pub fn has_greeted(&self) -> bool {
        self.stage != Stage::Silent
    }

    /// The index of the task whose run has begun and not ended.
    pub fn in_flight(&self) -> Option<usize> {
        if let Stage::Running { index, .. } = self.stage { Some(index) } else { None }
    }

    pub fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    /// Checks the next line, and returns the index of its task. After an error, which says what is wrong, all lines are worthless.
    pub fn check(&mut self, event: &Event) -> Result<Option<usize>, String> {
        let running = self.in_flight();
        self.stage = match (event, self.stage) {
            // A worker may report a fatal error at any time.
            (Event::Fatal { .. }, stage) => stage,
            (_, Stage::Done) => return Err(format!("{} after the launch was done", event_name(event))),
            (Event::Hello(launch), Stage::Silent) => self.hello(launch)?,
            (Event::Hello(_), _) => return Err("a second launch begins".into()),
            (_, Stage::Silent) => return Err(format!("{} before the greeting", event_name(event))),
            (Event::Preflight { .. }, Stage::Greeted) => Stage::Between,
            (Event::Start { index, repetition }, Stage::Greeted | Stage::Between) => self.start(*index, *repetition)?,
            (Event::Progress { share, .. }, running @ Stage::Running { memory: false, .. })
                if share.is_none_or(|share| (0.0..=1.0).contains(&share)) =>
            {
                running
            }
            (Event::Simulation { .. }, running @ Stage::Running { .. }) if self.job.machine.is_some() => running,
            (Event::Memory { ranks }, Stage::Running { index, repetition, memory: false })
                if ranks.len() == self.job.worker_ranks() =>
            {
                Stage::Running { index, repetition, memory: true }
            }
            (Event::Sample(sample), Stage::Running { index, repetition, .. }) => {
                self.sample(sample, index, repetition)?
            }
            (Event::Done { budget_spent }, Stage::Greeted | Stage::Between) => self.end(*budget_spent)?,
            (Event::Start { .. }, Stage::Running { .. }) => return Err("a start before the last run's sample".into()),
            (Event::Sample(_), _) => return Err("a sample without a start".into()),
            _ => return Err(format!("{} out of place", event_name(event))),
        };
        // A sample belongs to the run that it ends.
        Ok(running.or(self.in_flight()))
    }

    fn hello(&mut self, launch: &Launch) -> Result<Stage, String> {
        let greeting = (launch.launch.as_str(), launch.block, launch.ranks, launch.transport.as_str());
        let expected = (self.job.launch.as_str(), self.job.block, self.job.ranks, self.job.transport.as_str());
        // Simulated ranks have no places on nodes.
        let places = if self.job.machine.is_some() { 0 } else { self.job.worker_ranks() };
        if greeting != expected || launch.placement.len() != places {
            return Err("a greeting of another launch".into());
        }
        let node_type = launch.node_type();
        for (progress, task) in self.tasks.iter_mut().zip(&self.job.tasks) {
            progress.values = self.job.seconds_so_far(task, &node_type);
        }
        Ok(Stage::Greeted)
    }

    fn start(&self, index: usize, repetition: u32) -> Result<Stage, String> {
        let Some(task) = self.tasks.get(index) else { return Err("a start of a point that is not in the job".into()) };
        if task.failed || self.job.repeat.is_satisfied(&task.values) {
            return Err("a start of a point that needs no more samples".into());
        }
        if repetition != task.next_repetition {
            return Err(format!("a start of repetition {repetition} instead of {}", task.next_repetition));
        }
        Ok(Stage::Running { index, repetition, memory: false })
    }

    fn sample(&mut self, sample: &Sample, index: usize, repetition: u32) -> Result<Stage, String> {
        let (task, progress) = (&self.job.tasks[index], &mut self.tasks[index]);
        if sample.key != task.key || sample.point != task.point {
            return Err("a sample of another point than the one that was started".into());
        }
        if (sample.block, sample.repetition) != (self.job.block, repetition) {
            return Err("a sample of another run than the one that was started".into());
        }
        progress.next_repetition = repetition + 1;
        match (sample.status, kernels::repeated_value(sample)) {
            (Status::Ok, Some(value)) => progress.values.push(value),
            (Status::Ok, None) => return Err("a sample without a time".into()),
            _ => progress.failed = true,
        }
        Ok(Stage::Between)
    }

    fn end(&self, budget_spent: bool) -> Result<Stage, String> {
        let repeat = self.job.repeat;
        if budget_spent && repeat.budget_seconds.is_none() {
            return Err("an end of the budget, but the job has no budget".into());
        }
        let is_settled = |task: &TaskProgress| task.failed || repeat.is_satisfied(&task.values);
        if !budget_spent && !self.tasks.iter().all(is_settled) {
            return Err("an end before all points were measured".into());
        }
        Ok(Stage::Done)
    }
}

fn event_name(event: &Event) -> &'static str {
    match event {
        Event::Hello(_) => "a greeting",
        Event::Start { .. } => "a start",
        Event::Progress { .. } => "a line about progress",
        Event::Simulation { .. } => "a line about a simulation",
        Event::Sample(_) => "a sample",
        Event::Memory { .. } => "a line about memory",
        Event::Preflight { .. } => "a line about the machine",
        Event::Done { .. } => "an end",
        Event::Fatal { .. } => "a fatal error",
        Event::Ended { .. } => "a line of the driver's",
    }
}

pub struct Lines {
    line: Vec<u8>,
    max_bytes: usize,
    is_skipping: bool,
}

impl Lines {
    /// Drops lines of more than `max_bytes` bytes.
    pub fn new(max_bytes: usize) -> Self {
        Self { line: Vec::new(), max_bytes, is_skipping: false }
    }

    /// Adds bytes, and passes on the lines that they complete, without line ends.
    pub fn add<E>(&mut self, bytes: &[u8], mut visit: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            let (text, has_end) = part.strip_suffix(b"\n").map_or((part, false), |text| (text, true));
            if self.line.len() + text.len() > self.max_bytes {
                self.is_skipping = true;
                self.line.clear();
            }
            if !self.is_skipping {
                self.line.extend_from_slice(text);
            }
            if has_end {
                let result = if self.is_skipping { Ok(()) } else { visit(&self.line) };
                self.is_skipping = false;
                self.line.clear();
                result?;
            }
        }
        Ok(())
    }

    /// The last line, if it has no line end.
    pub fn rest(&self) -> &[u8] {
        &self.line
    }
}

const EVENT: &[u8] = b"{\"event\":";

/// The event at the end of a line. Launchers print between the worker's lines, and some do not end theirs.
pub fn parse_event(line: &[u8]) -> Option<Event> {
    let start = line.windows(EVENT.len()).rposition(|window| window == EVENT)?;
    serde_json::from_slice(&line[start..]).ok().map(Event::with_short_message)
}
