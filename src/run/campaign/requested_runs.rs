//! Runs of commands, each when it is requested, by one worker on this machine.

use crate::drive::protocol::{Lines, parse_event};
use apexmap_base::error::{Error, Result};
use apexmap_base::guarded::TemporaryFolder;
use apexmap_base::new_file;
use apexmap_base::point::Point;
use apexmap_base::process::{Output, Process, this_program};
use apexmap_base::sample::{Event, Launch, Sample};
use apexmap_measure::comm::TransportKind;
use apexmap_measure::worker::{Job, Repeat, Task};
use std::collections::BTreeMap;
use std::io::{PipeWriter, Write};
use std::process::Command;
use std::time::{Duration, Instant};

/// Longest time without a sign of life. The time limit of a command ends its run before.
const SILENCE_LIMIT: Duration = Duration::from_secs(60);
/// Longest line of the worker, in bytes.
const LINE_LIMIT: usize = 1 << 20;

pub struct RequestedRuns {
    process: Process,
    requests: PipeWriter,
    lines: Lines,
    launch: Option<Launch>,
    /// The messages of the worker besides its lines.
    errors: Vec<u8>,
    /// Has the job.
    _folder: TemporaryFolder,
}

impl RequestedRuns {
    /// Starts this program as a worker for points of one rank.
    pub fn start(points: &[Point]) -> Result<Self> {
        let folder = TemporaryFolder::create("job")?;
        let file = folder.path.join("job.json");
        let job = serde_json::to_string(&job(points)).map_err(|error| Error::internal(error.to_string()))?;
        new_file::replace_contents(&file, &job)?;
        let program = this_program()?;
        let (input, requests) =
            std::io::pipe().map_err(|error| Error::environment(format!("cannot make a pipe: {error}"), ""))?;
        let mut command = Command::new(program);
        command.args(["worker", "--transport", "threads", "--ranks", "1", "--job"]).arg(&file).stdin(input);
        let process = Process::start_with_input(command)?;
        let lines = Lines::new(LINE_LIMIT);
        Ok(Self { process, requests, lines, launch: None, errors: Vec::new(), _folder: folder })
    }

    /// Runs the point at this position. Returns its sample with the record of the launch.
    pub fn run(&mut self, index: usize, interrupted: &dyn Fn() -> Result<()>) -> Result<(Launch, Sample)> {
        // A worker that has ended is noticed below.
        let _ = self.requests.write_all(format!("{index}\n").as_bytes());
        let (mut last_event, mut measured, mut fault) = (Instant::now(), None, None);
        loop {
            interrupted()?;
            let Self { process, lines, launch, errors, .. } = self;
            let is_open = process.read(Duration::from_millis(200), &mut |output| match output {
                Output::Standard(bytes) => {
                    let _ = lines.add(bytes, |line| -> Result<(), ()> {
                        last_event = Instant::now();
                        match parse_event(line) {
                            Some(Event::Hello(greeting)) => *launch = Some(*greeting),
                            Some(Event::Sample(sample)) => measured = Some(*sample),
                            Some(Event::Fatal { message }) => fault = Some(message),
                            _ => {}
                        }
                        Ok(())
                    });
                }
                Output::Error(bytes) => errors.extend_from_slice(bytes),
            });
            if let (Some(launch), Some(sample)) = (launch.as_ref(), measured.take()) {
                return Ok((launch.clone(), sample));
            }
            if !is_open || fault.is_some() || last_event.elapsed() > SILENCE_LIMIT {
                interrupted()?;
                let text = String::from_utf8_lossy(errors).trim().to_owned();
                let cause = fault.unwrap_or_else(|| if is_open { "it gives no sign of life".into() } else { text });
                return Err(Error::environment(format!("the worker of the runs ended: {cause}"), "rerun to resume"));
            }
        }
    }
}

fn job(points: &[Point]) -> Job {
    let task = |point: &Point| Task {
        key: String::new(),
        point: point.clone(),
        seconds_so_far: Vec::new(),
        next_repetition: 0,
        costs: None,
        resampled_costs: Vec::new(),
    };
    Job {
        launch: String::new(),
        block: 0,
        launcher: "local".into(),
        transport: TransportKind::Threads.name().into(),
        ranks: 1,
        seed: 0,
        repeat: Repeat { min: 1, max: 1, width: None, budget_seconds: None },
        on_request: true,
        first_round_seconds: None,
        eager_bytes: None,
        preflight_seconds: 0.0,
        node_type: None,
        environment: BTreeMap::new(),
        machine: None,
        resampled: Vec::new(),
        tasks: points.iter().map(task).collect(),
    }
}
