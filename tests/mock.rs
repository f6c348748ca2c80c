//! A scripted launcher, which the driver's tests use instead of processes.

use super::common::{launch, sample};
use apexmap_base::disturbance::{Fact, Facts};
use apexmap_base::error::Result;
use apexmap_base::point::{LaunchSize, Point};
use apexmap_base::sample::{Event, Phase, Sample, Status};
use apexmap_measure::worker::{Job, Repeat, Task};
use apexmap_results::table::quietness::Quietness;
use apexmap_run::drive::driver::Watcher;
use apexmap_run::drive::execute::{Ending, Executor, LaunchLimits, Listener};
use apexmap_run::drive::forecast::OpenLaunch;
use apexmap_run::drive::watch::Watch;
use apexmap_run::launch::{CommandLine, causes};
use std::path::Path;
use std::time::Duration;

pub const LIMITS: LaunchLimits = LaunchLimits {
    start: Duration::from_secs(20),
    sample: Duration::from_secs(20),
    end: Duration::from_secs(20),
    line: 1 << 20,
};

/// Actions of a scripted launch.
#[derive(Clone)]
pub enum Script {
    /// Measures everything and ends well.
    Well,
    /// Dies without a message after this number of samples, within a run or between two.
    DiesAfter {
        samples: usize,
        in_a_run: bool,
    },
    /// The system kills it for its memory in a run, after this number of samples.
    LacksMemoryAfter(usize),
    /// A run takes too long, after this number of samples.
    TimesOutAfter(usize),
    /// Reports a fatal error within a run, after this number of samples.
    FatalAfter(usize),
    /// Dies in a run after this number of samples, with this message of a launcher.
    DiesWithMessageAfter(usize, &'static str),
    /// Its time runs out after this number of samples.
    OutOfBudgetAfter(usize),
    /// Measures everything and ends well; each run reports its progress.
    Slow,
    /// Measures all samples, but its process does not exit.
    Hangs,
    /// Returns wrong samples for this point.
    Wrong(usize),
    /// Ends with success within a run.
    LeavesEarly,
    NeverStarts,
    OtherBuild,
    /// Another thread has the cores half of the time, from before the first sample to the end.
    Noisy,
    /// Runs on nodes with this processor.
    On(&'static str, Box<Script>),
}

/// A launcher that plays scripts, with the jobs that it received.
pub struct Mock {
    scripts: Vec<Script>,
    pub jobs: Vec<Job>,
    /// Time limit of a sample, for each launch.
    pub sample_limits: Vec<Duration>,
}

type Sink<'a> = &'a mut dyn FnMut(Event) -> Result<()>;

impl Mock {
    pub fn new(scripts: &[Script]) -> Self {
        Self { scripts: scripts.iter().rev().cloned().collect(), jobs: Vec::new(), sample_limits: Vec::new() }
    }

    /// Measures the points in rounds, in order, up to `max_samples`. Returns the next run if samples remain.
    fn measure(job: &Job, max_samples: usize, wrong_point: Option<usize>, emit: Sink) -> Result<Option<(usize, u32)>> {
        Self::measure_with_events(job, max_samples, wrong_point, &[], emit)
    }

    /// Measures like `measure`; each run begins with these events.
    fn measure_with_events(
        job: &Job,
        max_samples: usize,
        wrong_point: Option<usize>,
        events: &[Event],
        emit: Sink,
    ) -> Result<Option<(usize, u32)>> {
        let mut taken: Vec<_> = job.tasks.iter().map(|task| task.seconds_so_far.clone()).collect();
        let mut given_up = vec![false; taken.len()];
        let mut repetitions: Vec<_> = job.tasks.iter().map(|task| task.next_repetition).collect();
        let mut samples = 0;
        while let Some(index) = (0..taken.len())
            .filter(|&index| !given_up[index] && !job.repeat.is_satisfied(&taken[index]))
            .min_by_key(|&index| (repetitions[index], index))
        {
            let (task, repetition) = (&job.tasks[index], repetitions[index]);
            if samples == max_samples {
                return Ok(Some((index, repetition)));
            }
            emit(Event::Start { index, repetition })?;
            events.iter().try_for_each(|event| emit(event.clone()))?;
            let mut sample = sample(&task.point, &task.key, repetition, 1.0);
            sample.block = job.block;
            if wrong_point == Some(index) {
                sample.status = Status::Wrong;
                given_up[index] = true;
            }
            emit(Event::Sample(Box::new(sample)))?;
            taken[index].push(1.0);
            repetitions[index] += 1;
            samples += 1;
        }
        Ok(None)
    }

    /// Announces the run that the launch does not survive.
    fn begin(job: &Job, emit: Sink, samples: usize) -> Result<()> {
        match Self::measure(job, samples, None, emit)? {
            Some((index, repetition)) => emit(Event::Start { index, repetition }),
            None => Ok(()),
        }
    }

    fn play(script: Script, job: &Job, say: Sink) -> Result<Ending> {
        let ok = Ok(Ending::new(Status::Ok, ""));
        let died = Ok(Ending { abrupt: true, ..Ending::new(Status::Failed, "killed by signal 9") });
        let build = if matches!(script, Script::OtherBuild) { "b2" } else { "b1" };
        let (cpu_model, script) = match script {
            Script::On(cpu_model, script) => (cpu_model, *script),
            script => ("Example CPU", script),
        };
        let mut hello = launch(&job.launch, job.ranks, build);
        hello.host.cpu_model = cpu_model.into();
        let counted =
            |task: &Task| Task { seconds_so_far: job.seconds_so_far(task, &hello.node_type()), ..task.clone() };
        let job = &Job { tasks: job.tasks.iter().map(counted).collect(), ..job.clone() };
        if !matches!(script, Script::NeverStarts) {
            hello.block = job.block;
            (hello.transport, hello.launcher) = (job.transport.clone(), job.launcher.clone());
            if let Some(node) = job.tasks.first().and_then(|task| task.point.node()) {
                hello.placement.iter_mut().for_each(|place| place.node = node.to_owned());
            }
            say(Event::Hello(Box::new(hello)))?;
        }
        match script {
            Script::Well | Script::Hangs | Script::Wrong(_) => {
                let wrong = if let Script::Wrong(index) = script { Some(index) } else { None };
                Self::measure(job, usize::MAX, wrong, say)?;
                say(Event::Done { budget_spent: false })?;
                if matches!(script, Script::Hangs) { Ok(Ending::new(Status::Hung, "it stays")) } else { ok }
            }
            Script::DiesAfter { samples, in_a_run: true } => Self::begin(job, say, samples).and(died),
            Script::DiesAfter { samples, .. } => Self::measure(job, samples, None, say).and(died),
            Script::Slow => {
                let phases = [(Phase::Filling, Some(0.5)), (Phase::Measuring, None)];
                let events = phases.map(|(phase, share)| Event::Progress { phase, share });
                Self::measure_with_events(job, usize::MAX, None, &events, say)?;
                say(Event::Done { budget_spent: false })?;
                ok
            }
            Script::LacksMemoryAfter(samples) => {
                let ending = Ending::new(Status::Failed, "killed by the system: out of memory");
                Self::begin(job, say, samples).and(Ok(Ending { abrupt: true, lacked_memory: true, ..ending }))
            }
            Script::TimesOutAfter(samples) => {
                Self::begin(job, say, samples).and(Ok(Ending::new(Status::TimedOut, "no sign of life")))
            }
            Script::FatalAfter(samples) => {
                Self::begin(job, say, samples)?;
                say(Event::Fatal { message: "rank 1 failed: out of luck".into() })?;
                Ok(Ending::new(Status::Failed, "rank 1 failed: out of luck"))
            }
            Script::DiesWithMessageAfter(samples, words) => {
                Self::begin(job, say, samples)?;
                let cause = causes::find(words).map(|known_cause| known_cause.cause);
                let lacked_memory = cause.is_some_and(|cause| cause.nature == causes::Nature::Memory);
                Ok(Ending { abrupt: true, lacked_memory, cause, ..Ending::new(Status::Failed, words) })
            }
            Script::OutOfBudgetAfter(samples) => {
                Self::measure(job, samples, None, say)?;
                say(Event::Done { budget_spent: true })?;
                ok
            }
            Script::LeavesEarly => Self::begin(job, say, 0).and(ok),
            Script::NeverStarts => Ok(Ending { abrupt: true, ..Ending::new(Status::Failed, "no such launcher") }),
            Script::OtherBuild | Script::On(..) => ok,
            Script::Noisy => {
                say(Event::Preflight { canaries: vec![noisy_facts(); 8] })?;
                Self::measure(job, usize::MAX, None, say)?;
                say(Event::Done { budget_spent: false })?;
                ok
            }
        }
    }
}

impl Executor for Mock {
    fn execute(&mut self, command: &CommandLine, _: &Path, limits: LaunchLimits, say: &mut Listener) -> Result<Ending> {
        let text = std::fs::read_to_string(&command.argv[0]).expect("the job file exists");
        let job: Job = serde_json::from_str(&text).expect("a job");
        assert_eq!(command.argv[1], job.ranks.to_string());
        let expected = LaunchLimits { line: LIMITS.line + 1024 * job.ranks, sample: limits.sample, ..LIMITS };
        assert_eq!(limits, expected);
        self.sample_limits.push(limits.sample);
        self.jobs.push(job.clone());
        say(None)?;
        Self::play(self.scripts.pop().unwrap_or(Script::Well), &job, &mut |event| say(Some(event)))
    }
}

/// Returns the facts of a rank that shares its core with another thread, which runs half of the time.
pub fn noisy_facts() -> Facts {
    Facts::default()
        .with_fact(Fact::WatchedSeconds, 0.01)
        .with_fact(Fact::RunDelayShare, 0.5)
        .with_fact(Fact::OffCoreShare, 0.5)
}

/// The events that a watcher received.
#[derive(Default)]
pub struct Recorder {
    pub points: usize,
    pub launched: Vec<(String, usize, usize)>,
    pub finished: usize,
    /// Number of samples that a point had when a run of it began.
    pub started: Vec<usize>,
    pub waits: usize,
    pub endings: Vec<Status>,
    /// Number of launches without a valid sample.
    pub doubted: usize,
    pub preflights: Vec<(Quietness, String)>,
    pub progress: Vec<(Phase, Option<f64>)>,
    pub lines: Vec<String>,
}

impl Watcher for Recorder {
    fn begin(&mut self, launches: &[OpenLaunch], _: Repeat, _: usize) {
        self.points = launches.iter().map(|launch| launch.points.len()).sum();
    }

    fn report_launch(&mut self, launch: &str, _: u32, size: LaunchSize, points: usize) {
        self.launched.push((launch.to_owned(), size.ranks, points));
    }

    fn report_start(&mut self, _: &Point, seconds: &[f64]) {
        self.started.push(seconds.len());
    }

    fn report_progress(&mut self, phase: Phase, share: Option<f64>) {
        self.progress.push((phase, share));
    }

    fn say(&mut self, text: &str) {
        self.lines.push(text.to_owned());
    }

    fn tick(&mut self) {
        self.waits += 1;
    }

    fn report_preflight(&mut self, verdict: Quietness, text: &str) {
        self.preflights.push((verdict, text.to_owned()));
    }

    fn report_sample(&mut self, _: &Sample, finished: bool, _: &Watch) {
        self.finished += usize::from(finished);
    }

    fn report_end(&mut self, ending: &Ending) {
        self.endings.push(ending.status);
    }

    fn report_misfit(&mut self) {
        self.doubted += 1;
    }
}
