//! Tests a sweep that runs as jobs: how it is divided, submitted, followed and submitted again, however jobs end. The
//! cluster is simulated; the jobs' drivers are real, with scripted launches.

use super::common::{Scratch, apexmap, output, small_point};
use super::mock::{LIMITS, Mock, Recorder, Script};
use super::terminal::TINY_SWEEP;
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::point::LaunchSize;
use apexmap_cluster::batch::answer::{Answer, is_id};
use apexmap_cluster::batch::{JobOptions, JobState, TEMPLATES, find_built_in};
use apexmap_cluster::submit::decide::{NextStep, choose_step, may_extend};
use apexmap_cluster::submit::follow::{Follower, Stopped, follow};
use apexmap_cluster::submit::known::cancel;
use apexmap_cluster::submit::parts::{chain, parts};
use apexmap_cluster::submit::record::{DriverLine, Job, Line};
use apexmap_cluster::submit::submission::MAX_QUEUED_JOBS;
use apexmap_cluster::submit::{Jobs, Part, PartFile, Queue, Submission, System, log};
use apexmap_measure::comm::TransportKind;
use apexmap_measure::worker::Repeat;
use apexmap_results::disk::Folder;
use apexmap_results::disk::journal::Record;
use apexmap_results::disk::manifest::Manifest;
use apexmap_run::launch::{self, CommandLine};
use apexmap_run::sweep::Machine;
use apexmap_run::sweep::cost::SampleCosts;
use apexmap_run::sweep::driver::{DriverInputs, drive};
use apexmap_run::sweep::plan::{Context, Plan, Progress};
use apexmap_run::sweep::submit_table::{Jobs as Division, SubmitTable};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const REPEAT: Repeat = Repeat { min: 3, max: 3, width: None, budget_seconds: None };

/// Returns a plan with twelve points on two nodes and twelve on four, and 2 launches.
fn plan() -> Plan {
    let context = Context {
        transport: TransportKind::Mpi,
        launcher: launch::find("srun").expect("a launcher"),
        ranks_per_node: Some(1),
        place: None,
        machine: "m".into(),
        build: "b1".into(),
        builds: Default::default(),
        simulation: None,
        library: "MPI".into(),
    };
    let point = |ranks: usize, block: u64| small_point("apex_map.two_sided", ranks).with_parameter("L", block);
    let points = [2, 4].iter().flat_map(|&ranks| [1, 2, 4].map(|block| point(ranks, block))).collect();
    Plan::new(context, points, 2, REPEAT, 5).expect("a plan")
}

fn options(tries: u32) -> JobOptions {
    let table = SubmitTable { tries: Some(tries), ..SubmitTable::default() };
    JobOptions::new(table, "slurm").expect("options that hold")
}

/// How a job ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// It measures all its points.
    Well,
    /// It is killed after this number of samples, and the batch system reports this state.
    Killed(usize, JobState),
    /// Its driver stops in order after this number of samples.
    InOrder(usize),
    /// It is killed after this number of samples, returns to the queue and starts once more.
    Requeued(usize),
    /// It never starts.
    Never(JobState),
    /// Its driver refuses to work.
    Refuses,
    /// Its driver finds the set-up at fault.
    SetUp,
    /// It is killed after this number of samples, and the batch system forgets it.
    Forgotten(usize),
    /// A signal ends its driver after this number of samples and seconds, and the batch system forgets it.
    Signalled(usize, f64),
}

/// A simulated cluster in this process. A job runs when the follower first asks about it.
struct Cluster {
    plan: Plan,
    folder: Folder,
    ends: Vec<End>,
    /// Id, name of the script, id of the job that it waits for, state.
    jobs: Vec<(String, String, Option<String>, Option<JobState>)>,
    requeued: HashSet<String>,
    asked: usize,
    cancelled: Vec<String>,
    fails: usize,
    /// True if the next submission returns no id.
    mute: bool,
    /// True if the next job is lost without a message.
    loses: bool,
    /// Scripted launches of the next job.
    launches: RefCell<Vec<Script>>,
    /// Text that jobs print.
    log_text: Option<String>,
    /// Largest number of jobs that the queue accepts at a time.
    places: usize,
    /// Largest number of jobs that were in the queue at a time.
    most_queued: usize,
    refused: usize,
    /// A node whose jobs wait because it is down.
    down: Option<String>,
}

impl Cluster {
    /// Returns whether a job is for the node that is down.
    fn waits_for_node(&self, index: usize) -> bool {
        let part = Jobs::read_part(&Jobs::new(&self.folder).part_file(&self.jobs[index].1)).expect("the part");
        self.down.is_some() && part.part.node().as_deref() == self.down.as_deref()
    }

    /// Runs the driver of a job until it has this number of samples.
    fn drive(&self, job: &str, samples: usize) {
        let part = Jobs::read_part(&Jobs::new(&self.folder).part_file(job)).expect("the part");
        let mut plan = self.plan.clone();
        plan.entries.retain(|entry| part.part.sizes.contains(&entry.point.launch_size()));
        let count = Cell::new(0);
        let command = |job: &Path, size: LaunchSize| CommandLine {
            argv: vec![job.to_string_lossy().into_owned(), size.ranks.to_string()],
            env: Vec::new(),
        };
        let before = self.samples();
        let interrupted = || {
            count.set(self.samples() - before);
            if count.get() < samples { Ok(()) } else { Err(Error::new(ErrorKind::Interrupted(9), "killed", "")) }
        };
        let mut setting = DriverInputs {
            folder: &self.folder,
            executor: &mut Mock::new(&self.launches.borrow_mut().split_off(0)),
            command: &command,
            limits: LIMITS,
            limits_grow: false,
            retry_failed: part.retry_failed,
            preflight_seconds: 0.0,
            ends_if_noisy: false,
            remedy: &|_| Ok(None),
            explain: &|_, error| error,
            watcher: &mut Recorder::default(),
            node_types: Default::default(),
            failed: None,
            interrupted: &interrupted,
        };
        match drive(&plan, &mut setting) {
            Ok(()) => {}
            Err(error) => assert_eq!(error.kind, ErrorKind::Interrupted(9), "{error}"),
        }
    }

    fn samples(&self) -> usize {
        self.folder.records().expect("journals").iter().map(|record| record.samples.len()).sum()
    }

    fn own(&self, job: &str, line: &DriverLine) {
        Jobs::new(&self.folder).append_driver_line(job, line).expect("a line");
    }

    fn run_job(&mut self, index: usize) -> JobState {
        let (id, job) = (self.jobs[index].0.clone(), self.jobs[index].1.clone());
        let started = DriverLine::Started { id: Some(id.clone()), host: "n1".into(), unix_seconds: 1.0 };
        let end = if self.requeued.contains(&id) { End::Well } else { self.ends.pop().unwrap_or(End::Well) };
        match end {
            End::Never(state) => return state,
            End::SetUp => {
                self.own(&job, &started);
                let message = "3 consecutive launches failed for the same reason, so the set-up is at fault".into();
                self.own(&job, &DriverLine::Ended { code: 6, message, help: "set it up".into(), ran_seconds: None });
                return JobState::Failed;
            }
            End::Refuses => {
                self.own(&job, &started);
                self.own(
                    &job,
                    &DriverLine::Ended { code: 3, message: "no srun".into(), help: String::new(), ran_seconds: None },
                );
                return JobState::Failed;
            }
            _ => self.own(&job, &started),
        }
        if let Some(text) = &self.log_text {
            std::fs::write(self.folder.path.join(Jobs::log(&job)), text).expect("a log");
        }
        match end {
            End::Well => {
                self.drive(&job, usize::MAX);
                self.own(
                    &job,
                    &DriverLine::Ended { code: 0, message: String::new(), help: String::new(), ran_seconds: None },
                );
                JobState::Completed
            }
            End::Killed(samples, state) => {
                self.drive(&job, samples);
                state
            }
            End::Forgotten(samples) => {
                self.drive(&job, samples);
                JobState::Ended
            }
            End::Signalled(samples, seconds) => {
                self.drive(&job, samples);
                let (message, help, ran_seconds) = ("interrupted".into(), String::new(), Some(seconds));
                self.own(&job, &DriverLine::Ended { code: 143, message, help, ran_seconds });
                JobState::Ended
            }
            End::InOrder(samples) => {
                self.drive(&job, samples);
                self.own(
                    &job,
                    &DriverLine::Ended {
                        code: 0,
                        message: "its time limit was near".into(),
                        help: String::new(),
                        ran_seconds: None,
                    },
                );
                JobState::Completed
            }
            End::Requeued(samples) => {
                self.drive(&job, samples);
                // The driver received a signal and recorded its end.
                self.own(
                    &job,
                    &DriverLine::Ended {
                        code: 143,
                        message: "interrupted".into(),
                        help: String::new(),
                        ran_seconds: None,
                    },
                );
                self.requeued.insert(id);
                JobState::Waiting
            }
            End::Never(_) | End::Refuses | End::SetUp => unreachable!("handled above"),
        }
    }
}

impl Queue for Cluster {
    fn submit(&mut self, script: &Path, after: Option<&str>) -> Result<Submission> {
        if std::mem::take(&mut self.loses) {
            return Ok(Submission::Accepted(None));
        }
        let is_queued = |job: &&(String, String, Option<String>, Option<JobState>)| {
            job.3.is_none_or(JobState::is_alive) && !self.cancelled.contains(&job.0)
        };
        let queued = self.jobs.iter().filter(is_queued).count();
        if queued >= self.places {
            self.refused += 1;
            return Ok(Submission::Postponed("AssocMaxSubmitJobLimit".into()));
        }
        self.most_queued = self.most_queued.max(queued + 1);
        let job = script.file_stem().expect("a name").to_string_lossy().into_owned();
        assert!(script.is_file(), "the script exists before it is submitted");
        if let Some(after) = after {
            assert!(self.jobs.iter().any(|(id, ..)| id == after), "the job that it waits for is known");
        }
        let id = (100 + self.jobs.len()).to_string();
        self.jobs.push((id.clone(), job, after.map(str::to_owned), None));
        Ok(Submission::Accepted(Some(id).filter(|_| !std::mem::take(&mut self.mute))))
    }

    fn names(&mut self, ids: &[String]) -> Result<BTreeMap<String, Option<String>>> {
        let asked = self.jobs.iter().filter(|(id, ..)| ids.is_empty() || ids.contains(id));
        Ok(asked.map(|(id, name, ..)| (id.clone(), Some(name.clone()))).collect())
    }

    fn ask(&mut self, _: &[String]) -> Result<BTreeMap<String, Answer>> {
        self.asked += 1;
        if self.fails > 0 {
            self.fails -= 1;
            return Err(Error::environment("squeue refused: Unable to contact slurm controller", "wait"));
        }
        for index in 0..self.jobs.len() {
            let (id, _, after, state) = self.jobs[index].clone();
            let over = |other: &String| {
                let job = self.jobs.iter().find(|(id, ..)| id == other).expect("a job");
                job.3.is_some_and(|state| !state.is_alive())
            };
            let is_ready = !self.waits_for_node(index) && after.as_ref().is_none_or(over);
            if state.is_none_or(JobState::is_alive) && !self.cancelled.contains(&id) && is_ready {
                self.jobs[index].3 = Some(self.run_job(index));
                break;
            }
        }
        let mut answers = BTreeMap::new();
        for (index, (id, name, _, state)) in self.jobs.iter().enumerate() {
            let state = match state {
                _ if self.cancelled.contains(id) && state.is_none_or(JobState::is_alive) => JobState::Cancelled,
                Some(JobState::Ended) => continue,
                Some(state) => *state,
                None => JobState::Waiting,
            };
            let down = self.down.iter().find(|_| self.waits_for_node(index));
            let reason = down.map_or("Priority".into(), |node| format!("ReqNodeNotAvail, UnavailableNodes:{node}"));
            let start = String::new();
            let (name, help) = (name.clone(), String::new());
            answers.insert(id.clone(), Answer { id: id.clone(), name, state, reason, start, help });
        }
        Ok(answers)
    }

    fn cancel(&mut self, ids: &[String]) -> Result<()> {
        self.cancelled.extend(ids.iter().cloned());
        Ok(())
    }
}

struct Case {
    _scratch: Scratch,
    cluster: Cluster,
    tries: u32,
    division: Division,
    measuring: f64,
    limit: Option<f64>,
    retry_failed: bool,
    other_owner: Option<String>,
    max_node_hours: Option<f64>,
    detaches: bool,
    ask_every: Duration,
    recorder: Recorder,
}

impl Case {
    /// Creates a case with these ends of jobs. The last element of `ends` belongs to the first job.
    fn new(ends: &[End]) -> Self {
        let scratch = Scratch::new();
        let folder = Folder::create(&scratch.join("result")).expect("a folder");
        Jobs::new(&folder).create().expect("a folder of jobs");
        let mut ends = ends.to_vec();
        ends.reverse();
        let cluster = Cluster {
            plan: plan(),
            folder,
            ends,
            jobs: Vec::new(),
            requeued: HashSet::new(),
            asked: 0,
            cancelled: Vec::new(),
            fails: 0,
            mute: false,
            loses: false,
            launches: RefCell::default(),
            log_text: None,
            places: usize::MAX,
            most_queued: 0,
            refused: 0,
            down: None,
        };
        let (division, measuring) = (Division::One, 10.0);
        let (other_owner, max_node_hours, recorder) = (None, None, Recorder::default());
        let (limit, retry_failed, detaches) = (None, false, false);
        let tries = 10;
        Self {
            _scratch: scratch,
            cluster,
            tries,
            division,
            measuring,
            limit,
            retry_failed,
            other_owner,
            max_node_hours,
            detaches,
            ask_every: Duration::ZERO,
            recorder,
        }
    }

    fn follow(&mut self) -> Result<Stopped> {
        let (plan, folder) = (self.cluster.plan.clone(), self.cluster.folder.clone());
        let parts = parts(&plan, self.division).expect("parts");
        let options = JobOptions { time_limit_seconds: self.limit, ..options(self.tries) };
        let (measuring, retry_failed) = (self.measuring, self.retry_failed);
        follow(&mut Follower {
            plan: &plan,
            folder: &folder,
            parts: &parts,
            options: &options,
            retry_failed,
            other_owner: self.other_owner.clone(),
            max_node_hours: self.max_node_hours,
            detaches: self.detaches,
            queue: &mut self.cluster,
            watcher: &mut self.recorder,
            prepare: &|job: &str, part: &Part, seconds| {
                let (machine, part) = (Machine::with_cores(2, 1 << 30), part.clone());
                let part = PartFile { job: job.into(), part, machine, seconds, retry_failed };
                Jobs::new(&folder).prepare("#!/bin/sh\n", &part)
            },
            // In proportion to the 36 samples of the plan.
            measuring: &move |progress, _| Ok((measuring * (36 - progress.samples()) as f64 / 36.0, 2)),
            cost: &|_| 1.0,
            interrupted: &|| Ok(()),
            ask_every: self.ask_every,
            look_every: Duration::from_millis(1),
        })
    }

    fn end_states(&self) -> Vec<JobState> {
        let jobs = Jobs::new(&self.cluster.folder).read().expect("the record").1;
        jobs.into_iter().filter_map(|job| Some(job.end?.0)).collect()
    }

    /// Asserts that all points are done and that no sample is missing or duplicated.
    fn assert_whole(&self) {
        let records = self.cluster.folder.records().expect("journals");
        let samples: Vec<_> = records.iter().flat_map(|record| &record.samples).collect();
        let different: HashSet<_> = samples.iter().map(|s| (&s.key, s.block, s.repetition)).collect();
        assert_eq!((samples.len(), different.len()), (36, 36), "samples lost or doubled");
        assert!(records.iter().all(|record| record.unreadable == 0 && record.repeated == 0));
        assert_eq!(Progress::new(&self.cluster.plan, &records).counts(), [6, 0, 0, 0]);
    }
}

#[test]
fn a_sweep_runs_in_one_job_or_one_per_node_count() {
    for (division, jobs) in [(Division::One, 1), (Division::PerNodeCount, 2)] {
        let mut case = Case::new(&[]);
        case.division = division;
        assert!(case.follow().expect("an end").is_empty());
        case.assert_whole();
        assert_eq!(case.end_states(), vec![JobState::Completed; jobs]);
    }
}

#[test]
fn a_chain_that_continues_on_unlike_nodes_says_so_and_keeps_samples_apart() {
    let mut case = Case::new(&[End::InOrder(5), End::Well]);
    case.division = Division::One;
    *case.cluster.launches.borrow_mut() = vec![Script::On("Old CPU", Script::Well.into())];
    assert!(case.follow().expect("an end").is_empty());
    let records = case.cluster.folder.records().expect("journals");
    let progress = Progress::new(&case.cluster.plan, &records);
    assert_eq!((progress.counts(), progress.node_types.len(), case.cluster.jobs.len()), ([6, 0, 0, 0], 2, 2));
    let (old, new): (Vec<&Record>, Vec<&Record>) = records
        .iter()
        .partition(|record| record.launch.as_ref().is_some_and(|launch| launch.host.cpu_model == "Old CPU"));
    let count = |records: &[&Record]| records.iter().map(|record| record.samples.len()).sum::<usize>();
    assert_eq!((count(&old), count(&new)), (5, 36), "36 of one type, beside 5 of the other");
    let lines = case.recorder.lines.join("\n");
    assert_eq!(lines.matches("runs on other nodes").count(), 1, "{lines}");
}

#[test]
fn failed_points_are_measured_again_by_one_more_job_on_request() {
    let mut case = Case::new(&[]);
    *case.cluster.launches.borrow_mut() = vec![Script::TimesOutAfter(3)];
    assert!(case.follow().expect("an end").is_empty());
    let counts = |case: &Case| {
        let records = case.cluster.folder.records().expect("journals");
        Progress::new(&case.cluster.plan, &records).counts()
    };
    assert_eq!((counts(&case), case.cluster.jobs.len()), ([5, 0, 0, 1], 1));
    assert!(case.follow().expect("an end").is_empty());
    assert_eq!(
        (case.cluster.jobs.len(), case.recorder.points),
        (1, 0),
        "a failed point is not measured again automatically"
    );
    // It fails again after a single job.
    case.retry_failed = true;
    *case.cluster.launches.borrow_mut() = vec![Script::TimesOutAfter(0)];
    assert!(case.follow().expect("an end").is_empty());
    assert_eq!((counts(&case), case.cluster.jobs.len()), ([5, 0, 0, 1], 2));
    assert!(case.follow().expect("an end").is_empty());
    assert_eq!((counts(&case), case.cluster.jobs.len()), ([6, 0, 0, 0], 3));
    assert_eq!(case.recorder.points, 1, "progress counts the failed point");
    assert!(case.follow().expect("an end").is_empty());
    assert_eq!(case.cluster.jobs.len(), 3, "nothing is left");
}

#[test]
fn remaining_points_are_resubmitted_without_lost_or_duplicate_samples() {
    use JobState::*;
    // Tries each way to end ten times, after 1 to 34 samples.
    for samples in (0..10).map(|k| 1 + 11 * k % 34) {
        let killed = [TimeLimit, NodeFailure, Preempted, Removed, OutOfMemory, Deadline, Failed];
        let mut ends: Vec<(End, Vec<JobState>)> =
            killed.map(|state| (End::Killed(samples, state), vec![state, Completed])).into();
        ends.push((End::InOrder(samples), vec![Completed, Completed]));
        ends.push((End::Requeued(samples), vec![Completed]));
        ends.push((End::Forgotten(samples), vec![Ended, Completed]));
        ends.push((End::Never(NeverStarts), vec![NeverStarts, Completed]));
        for (end, states) in ends {
            let mut case = Case::new(&[end]);
            let stopped = case.follow().expect("an end");
            assert!(stopped.is_empty(), "{end:?}: {stopped:?}");
            case.assert_whole();
            assert_eq!(case.end_states(), states, "{end:?}");
        }
    }
}

#[test]
fn a_job_cancelled_by_its_user_is_resubmitted_only_on_request() {
    for samples in 1..=10 {
        let mut case = Case::new(&[End::Killed(samples, JobState::Cancelled)]);
        let stopped = case.follow().expect("an end");
        assert_eq!(stopped["all"], "the last job was cancelled (Priority): no further job is submitted");
        assert_eq!(case.cluster.samples(), samples);
        assert!(case.follow().expect("an end").is_empty());
        case.assert_whole();
    }
}

#[test]
fn jobs_without_new_samples_are_resubmitted_a_limited_number_of_times() {
    let mut case = Case::new(&[End::Refuses; 5]);
    let stopped = case.follow().expect("an end");
    assert_eq!(stopped["all"], "the last job ended with an error (no srun): 2 consecutive jobs measured no new sample");
    assert_eq!(case.cluster.jobs.len(), 2);
    // Jobs that measure samples do not count as tries.
    let lost = End::Killed(0, JobState::NodeFailure);
    let mut case = Case::new(&[&[End::Killed(1, JobState::TimeLimit), lost].repeat(3)[..], &[End::Well]].concat());
    case.tries = 3;
    let stopped = case.follow().expect("an end");
    assert_eq!(stopped["all"], "the last job lost a node (Priority): 3 jobs measured no new sample");
    assert_eq!((case.cluster.samples(), case.cluster.jobs.len()), (3, 6));
}

/// Each job measures further points before one of them takes all memory, so samples do not stop the submissions.
#[test]
fn two_jobs_in_a_row_that_run_out_of_memory_end_their_part() {
    let mut case = Case::new(&[End::Killed(3, JobState::OutOfMemory); 30]);
    let stopped = case.follow().expect("an end");
    assert_eq!(stopped["all"], "two jobs in a row ran out of memory; no further job is submitted");
    assert_eq!((case.cluster.jobs.len(), case.cluster.samples()), (2, 6));
    let store = Jobs::new(&case.cluster.folder);
    let job = store.read().expect("the record").1.remove(1);
    assert!(log::advice(&store, &job).expect("files").is_some_and(|advice| advice.contains("lower M")));
    // The system reports a failure, and the log says more. The other jobs of the chain are cancelled.
    let mut case = Case::new(&[End::Killed(3, JobState::Failed); 30]);
    case.cluster.log_text = Some("slurmstepd: error: Exceeded job memory limit\n".into());
    (case.measuring, case.limit) = (2000.0, Some(600.0));
    assert!(case.follow().expect("an end")["all"].contains("ran out of memory"));
    assert_eq!(case.end_states()[..2], [JobState::OutOfMemory; 2]);
    assert_eq!(case.cluster.cancelled.len(), case.cluster.jobs.len() - 2);
    // Other ends between them, and the next command, begin again.
    let (memory, other) = (End::Killed(3, JobState::OutOfMemory), End::Killed(3, JobState::NodeFailure));
    let mut case = Case::new(&[memory, other, memory, other]);
    assert!(case.follow().expect("an end").is_empty());
    case.assert_whole();
}

#[test]
fn a_long_plan_becomes_a_chain_whose_unneeded_jobs_are_cancelled() {
    let mut case = Case::new(&[End::InOrder(20), End::Well]);
    (case.measuring, case.limit) = (1000.0, Some(600.0));
    assert!(case.follow().expect("an end").is_empty());
    case.assert_whole();
    let after: Vec<Option<&str>> = case.cluster.jobs.iter().map(|job| job.2.as_deref()).collect();
    assert_eq!(after, [None, Some("100"), Some("101")]);
    assert_eq!(case.cluster.cancelled, ["102"]);
}

#[test]
fn a_long_chain_grows_while_its_jobs_measure_samples() {
    // 24 jobs by the plan. Each measures one sample, so more are needed.
    let mut case = Case::new(&[End::InOrder(1); 30]);
    (case.measuring, case.limit, case.tries) = (8000.0, Some(600.0), 2);
    let stopped = case.follow().expect("an end");
    assert!(stopped.is_empty(), "{stopped:?}");
    case.assert_whole();
    assert!(case.cluster.jobs.len() > 30, "{}", case.cluster.jobs.len());
    assert_eq!(case.cluster.most_queued, MAX_QUEUED_JOBS);
    let lines = case.recorder.lines.join("\n");
    assert!(lines.contains("a chain of 24 jobs; at most 10 are in the queue at a time"), "{lines}");
    // Each job waits for the one before.
    let after: Vec<_> = case.cluster.jobs[1..].iter().filter_map(|job| job.2.clone()).collect();
    let ids: Vec<_> = case.cluster.jobs[..case.cluster.jobs.len() - 1].iter().map(|job| job.0.clone()).collect();
    assert_eq!(after, ids);
}

#[test]
fn jobs_beyond_the_limit_of_a_user_are_submitted_when_a_place_is_free() {
    let mut case = Case::new(&[]);
    (case.division, case.cluster.places) = (Division::PerNodeCount, 1);
    let stopped = case.follow().expect("an end");
    assert!(stopped.is_empty(), "{stopped:?}");
    case.assert_whole();
    assert_eq!((case.cluster.jobs.len(), case.cluster.most_queued), (2, 1));
    let lines = case.recorder.lines.join("\n");
    let postponed = "nodes-4: the queue accepts no further job now (AssocMaxSubmitJobLimit); it is submitted later";
    assert_eq!(lines.matches(postponed).count(), 1, "{lines}");
    // The queue accepts two jobs of a chain at a time. A postponed job is none of the result's jobs.
    let mut case = Case::new(&[End::InOrder(9); 4]);
    (case.measuring, case.limit, case.cluster.places) = (1000.0, Some(600.0), 2);
    assert!(case.follow().expect("an end").is_empty());
    case.assert_whole();
    assert!(case.cluster.refused > 0 && case.cluster.most_queued == 2, "{}", case.cluster.refused);
    let recorded = Jobs::new(&case.cluster.folder).read().expect("the record").1;
    assert_eq!(recorded.len(), case.cluster.jobs.len());
}

/// Returns the plan of one rank on each of twelve nodes.
fn plan_of_nodes() -> Plan {
    let points = (1..=12).map(|node| {
        let (name, block) = (format!("n{node:02}"), 1_u64);
        small_point("apex_map.two_sided", 1).with_parameter("L", block).with_parameter("node", name.as_str())
    });
    Plan::new(plan().context, points.collect(), 1, REPEAT, 5).expect("a plan")
}

#[test]
fn each_node_has_its_own_job_and_a_full_queue_is_asked_once_per_round() {
    let mut case = Case::new(&[]);
    (case.cluster.plan, case.cluster.places) = (plan_of_nodes(), 3);
    assert!(case.follow().expect("an end").is_empty());
    assert_eq!((case.cluster.jobs.len(), case.cluster.most_queued), (12, 3));
    let record = Jobs::new(&case.cluster.folder).read().expect("the record").1;
    let names: Vec<&str> = record.iter().map(|job| job.part.as_str()).collect();
    assert_eq!(names, (1..=12).map(|node| format!("n{node:02}")).collect::<Vec<_>>());
    assert!(record.iter().all(|job| job.is_through()));
    let progress = Progress::new(&case.cluster.plan, &case.cluster.folder.records().expect("journals"));
    assert_eq!((progress.counts(), progress.samples()), ([12, 0, 0, 0], 36));
    // Without a limit for each round, every waiting node would be tried again each time: 9 + 8 + ... times.
    let rounds = 12;
    assert!(case.cluster.refused <= rounds, "{}", case.cluster.refused);
}

#[test]
fn a_job_for_a_node_that_went_down_is_given_up() {
    let mut case = Case::new(&[]);
    case.cluster.plan = plan_of_nodes();
    case.cluster.down = Some("n05".into());
    let stopped = case.follow().expect("an end");
    assert_eq!(stopped.keys().collect::<Vec<_>>(), ["n05"], "{stopped:?}");
    assert!(stopped["n05"].contains("UnavailableNodes:n05"), "{stopped:?}");
    let progress = Progress::new(&case.cluster.plan, &case.cluster.folder.records().expect("journals"));
    assert_eq!(progress.counts(), [11, 0, 1, 0]);
}

#[test]
fn a_detached_command_submits_what_the_queue_accepts() {
    let mut case = Case::new(&[End::InOrder(20), End::Well]);
    (case.measuring, case.limit, case.detaches) = (1000.0, Some(600.0), true);
    assert!(case.follow().expect("an end").is_empty());
    assert_eq!((case.cluster.jobs.len(), case.cluster.cancelled.len()), (3, 0));
    case.detaches = false;
    assert!(case.follow().expect("an end").is_empty());
    case.assert_whole();
    assert_eq!(case.cluster.jobs.len(), 3, "the same jobs");
}

impl Case {
    /// Submits a job as another apexmap does, and returns the contents of the record.
    fn submit_as_owner(&mut self) -> String {
        let store = Jobs::new(&self.cluster.folder);
        let part = parts(&self.cluster.plan, Division::One).expect("parts").remove(0);
        let (machine, job) = (Machine::with_cores(2, 1 << 30), "am-001-abc".to_owned());
        let file = PartFile { job: job.clone(), part, machine, seconds: 300.0, retry_failed: false };
        store.prepare("#!/bin/sh\n", &file).expect("files");
        let submitting =
            Line::Submitting { job: job.clone(), part: "all".into(), seconds: 300.0, after: None, samples: 0 };
        store.append(&submitting).expect("a line");
        let Ok(Submission::Accepted(Some(id))) = self.cluster.submit(&store.script(&job), None) else {
            panic!("the queue refuses the job");
        };
        store.append(&Line::Submitted { job, id }).expect("a line");
        self.record()
    }

    fn record(&self) -> String {
        std::fs::read_to_string(self.cluster.folder.path.join("jobs/jobs.jsonl")).expect("a record")
    }
}

#[test]
fn a_colleague_follows_jobs_without_submitting_cancelling_or_recording() {
    let mut case = Case::new(&[]);
    let record = case.submit_as_owner();
    case.other_owner = Some("anna".into());
    assert!(case.follow().expect("an end").is_empty());
    case.assert_whole();
    assert_eq!((case.record(), case.cluster.jobs.len()), (record, 1));

    let mut case = Case::new(&[End::Killed(2, JobState::TimeLimit)]);
    let record = case.submit_as_owner();
    case.other_owner = Some("anna".into());
    let stopped = case.follow().expect("an end");
    assert_eq!(stopped["all"], "points are left, and only anna, who submitted its jobs, submits further jobs");
    assert_eq!((case.record(), case.cluster.jobs.len()), (record, 1));
    assert!(case.cluster.cancelled.is_empty());
    // The owner's own command submits the rest.
    case.other_owner = None;
    assert!(case.follow().expect("an end").is_empty());
    case.assert_whole();
}

#[test]
fn a_job_that_ended_early_by_a_signal_for_an_unknown_reason_is_not_resubmitted() {
    let mut case = Case::new(&[End::Signalled(3, 20.0)]);
    let stopped = case.follow().expect("an end");
    assert_eq!(
        stopped["all"],
        "the last job was ended by a signal long before its time limit (interrupted): a user may have cancelled it, so no \
         further job is submitted; rerun the same command to submit the remaining points"
    );
    assert_eq!(case.cluster.jobs.len(), 1);
    assert!(case.follow().expect("an end").is_empty());
    case.assert_whole();
    // At the end of its time, the batch system ends the job.
    let mut case = Case::new(&[End::Signalled(3, 299.0)]);
    assert!(case.follow().expect("an end").is_empty());
    case.assert_whole();
    assert_eq!(case.end_states(), [JobState::Ended, JobState::Completed]);
}

#[test]
fn the_display_shows_what_is_awaited_while_no_driver_runs() {
    let mut case = Case::new(&[End::Requeued(5)]);
    case.ask_every = Duration::from_millis(50);
    assert!(case.follow().expect("an end").is_empty());
    let Recorder { lines, pauses, .. } = &case.recorder;
    assert!(lines.contains(&"job 100 (all): a signal ended its driver".to_owned()), "{lines:?}");
    assert!(pauses.iter().any(|text| text.starts_with("a signal ended the driver of job 100")), "{pauses:?}");
    assert!(pauses.contains(&"job 100 (all) is waiting in the queue (Priority)".to_owned()), "{pauses:?}");
}

#[test]
fn the_length_of_a_chain_follows_from_its_work() {
    assert_eq!(chain(10.0, 2, None), (300.0, 1));
    assert_eq!(chain(10.0, 2, Some(3600.0)), (300.0, 1));
    assert_eq!(chain(1000.0, 4, None), (1620.0, 1));
    assert_eq!(chain(1000.0, 4, Some(1800.0)), (1620.0, 1));
    // 1560 s of work. A job of 600 s needs 60 s to start and 30 s to end.
    assert_eq!(chain(1000.0, 4, Some(600.0)), (600.0, 4));
}

#[test]
fn an_unresponsive_batch_system_is_queried_again() {
    let mut case = Case::new(&[]);
    case.cluster.fails = 3;
    assert!(case.follow().expect("an end").is_empty());
    case.assert_whole();
    assert!(case.cluster.asked >= 4);
}

#[test]
fn a_restarted_driver_neither_submits_nor_measures_twice() {
    let mut case = Case::new(&[]);
    let store = Jobs::new(&case.cluster.folder);
    // The follower was killed after the batch system accepted the job and before it could record that.
    let part = parts(&case.cluster.plan, Division::One).expect("parts").remove(0);
    let (machine, job) = (Machine::with_cores(2, 1 << 30), "am-001-abc".into());
    let file = PartFile { job, part, machine, seconds: 300.0, retry_failed: false };
    store.prepare("#!/bin/sh\n", &file).expect("files");
    let line =
        Line::Submitting { job: "am-001-abc".into(), part: "all".into(), seconds: 300.0, after: None, samples: 0 };
    store.append(&line).expect("a line");
    case.cluster.submit(&store.script("am-001-abc"), None).expect("a job");
    assert!(case.follow().expect("an end").is_empty());
    case.assert_whole();
    assert_eq!(case.cluster.jobs.len(), 1, "the job was found by its name");
    assert!(case.follow().expect("an end").is_empty());
    assert_eq!(case.cluster.jobs.len(), 1);
}

#[test]
fn jobs_without_an_id_are_found_by_name_or_resubmitted() {
    let mut case = Case::new(&[]);
    case.cluster.mute = true;
    assert!(case.follow().expect("an end").is_empty());
    case.assert_whole();
    assert_eq!((case.cluster.jobs.len(), case.end_states()), (1, vec![JobState::Completed]));
    let mut case = Case::new(&[]);
    case.cluster.loses = true;
    assert!(case.follow().expect("an end").is_empty());
    case.assert_whole();
    assert_eq!((case.cluster.jobs.len(), case.end_states()), (1, vec![JobState::Ended, JobState::Completed]));
    // The rest of a chain waits until the first job has an id.
    let mut case = Case::new(&[End::InOrder(20), End::Well]);
    (case.measuring, case.limit, case.cluster.mute) = (1000.0, Some(600.0), true);
    assert!(case.follow().expect("an end").is_empty());
    case.assert_whole();
    let after: Vec<Option<&str>> = case.cluster.jobs.iter().map(|job| job.2.as_deref()).collect();
    assert_eq!(after[..2], [None, None]);
}

/// Returns a batch system with a script in the place of each of Slurm's programs.
fn system<'a>(scratch: &Scratch, script: &str, interrupted: &'a dyn Fn() -> Result<()>) -> System<'a> {
    let program = scratch.join("program");
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("a file");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("rights");
    let mut template = find_built_in("slurm").expect("a template");
    for command in [&mut template.submit, &mut template.ask.command, &mut template.cancel] {
        command[0] = program.to_str().expect("a path").into();
    }
    template.ask_ended = None;
    System::new(template, scratch, interrupted)
}

#[test]
fn a_job_id_is_read_while_a_process_keeps_the_output_open() {
    let scratch = Scratch::new();
    let submit = |script: &str| system(&scratch, script, &|| Ok(())).submit(&scratch.join("job.sh"), None);
    let id_of = |script: &str| match submit(script) {
        Ok(Submission::Accepted(id)) => id,
        other => panic!("{script}: {other:?}"),
    };
    assert_eq!(id_of("sleep 30 & echo $! > pid; echo 42").as_deref(), Some("42"));
    let pid: i32 = std::fs::read_to_string(scratch.join("pid")).expect("a process").trim().parse().expect("a number");
    kill(Pid::from_raw(pid), Signal::SIGKILL).expect("it stayed behind");
    for script_without_id in ["exit 0", "echo Have a nice day", "echo --user=root", "echo 0", "echo all"] {
        assert_eq!(id_of(script_without_id), None, "{script_without_id}");
    }
    let limit = "echo 'sbatch: error: AssocMaxSubmitJobLimit' >&2; echo 'sbatch: error: Batch job submission failed: \
                 Job violates accounting/QOS policy (job submit limit, user'\\''s size and/or time limits)' >&2; exit 1";
    assert!(matches!(submit(limit), Ok(Submission::Postponed(reason)) if reason.contains("AssocMaxSubmitJobLimit")));
    let other_limit = limit.replace("AssocMaxSubmitJobLimit", "AssocMaxWallDurationPerJobLimit");
    assert!(submit(&other_limit).expect_err("a refusal").message.contains("AssocMaxWallDurationPerJobLimit"));
    let error = submit("echo no such partition >&2; exit 1").expect_err("a refusal");
    assert!(error.message.ends_with("refused: no such partition"), "{error}");
}

#[test]
fn an_interruption_ends_a_query_without_an_answer() {
    let scratch = Scratch::new();
    let pid = scratch.join("pid");
    let asked = || match std::fs::read_to_string(&pid) {
        Ok(text) if text.ends_with('\n') => Err(Error::new(ErrorKind::Interrupted(2), "interrupted", "")),
        _ => Ok(()),
    };
    let error = system(&scratch, "echo $$ > pid; exec sleep 1000", &asked).ask(&[]).expect_err("an interruption");
    assert_eq!(error.kind, ErrorKind::Interrupted(2));
    let pid: i32 = std::fs::read_to_string(&pid).expect("a process").trim().parse().expect("a number");
    assert!(kill(Pid::from_raw(pid), None).is_err(), "the query still runs");
}

impl Case {
    /// Follows jobs about which the batch system was just asked, and stops at look number `last`. Returns the number of
    /// looks, too.
    fn follow_looks(&mut self, last: u32, look_every: Duration) -> (Result<Stopped>, u32) {
        let (plan, folder) = (self.cluster.plan.clone(), self.cluster.folder.clone());
        let parts = parts(&plan, Division::One).expect("parts");
        std::fs::write(Jobs::new(&folder).asked_file(), "").expect("a file");
        let looks = Cell::new(0);
        let result = follow(&mut Follower {
            plan: &plan,
            folder: &folder,
            parts: &parts,
            options: &options(10),
            retry_failed: false,
            other_owner: None,
            max_node_hours: None,
            detaches: false,
            queue: &mut self.cluster,
            watcher: &mut Recorder::default(),
            prepare: &|job: &str, part: &Part, seconds| {
                let (machine, part) = (Machine::with_cores(2, 1 << 30), part.clone());
                let part = PartFile { job: job.into(), part, machine, seconds, retry_failed: false };
                Jobs::new(&folder).prepare("#!/bin/sh\n", &part)
            },
            measuring: &|_, _| Ok((1.0, 1)),
            cost: &|_| 1.0,
            interrupted: &|| {
                looks.set(looks.get() + 1);
                let error = || Error::new(ErrorKind::Interrupted(2), "interrupted", "");
                if looks.get() < last { Ok(()) } else { Err(error()) }
            },
            ask_every: Duration::from_secs(3600),
            look_every,
        });
        (result, looks.get())
    }
}

#[test]
fn an_interruption_is_handled_between_polls_even_if_queries_are_slow() {
    let mut case = Case::new(&[]);
    // As if each query had taken longer.
    let (result, looks) = case.follow_looks(3, Duration::ZERO);
    assert_eq!((result.expect_err("an interruption").kind, looks), (ErrorKind::Interrupted(2), 3));
}

#[test]
fn a_link_in_place_of_the_job_record_is_not_followed() {
    let case = Case::new(&[]);
    let store = Jobs::new(&case.cluster.folder);
    let jobs = case.cluster.folder.path.join("jobs");
    let victim = case.cluster.folder.path.join("victim");
    std::fs::write(&victim, "precious").expect("a file");
    symlink(&victim, jobs.join("jobs.jsonl")).expect("a link");
    symlink(&victim, jobs.join("am-1.jsonl")).expect("a link");
    let own = DriverLine::Ended { code: 0, message: String::new(), help: String::new(), ran_seconds: None };
    for result in [store.append(&Line::Cancelling { job: "am-1".into() }), store.append_driver_line("am-1", &own)] {
        let error = result.expect_err("a refusal");
        assert!(error.message.contains("it is a link, which is not followed here"), "{error}");
    }
    assert_eq!(std::fs::read_to_string(&victim).expect("a file"), "precious");
}

#[test]
fn an_id_that_means_all_jobs_of_a_user_is_refused() {
    for id in ["42", "1207.pbs-01", "77[].server", "ƒ2oLkTLb3", "f2oLkTLb3", "012"] {
        assert!(is_id(id), "{id}");
    }
    for other in ["", "0", "00", "0.server", "all", "ALL", "-u", "--me", "7 8", "7,8", "7\n", "fall", "ƒ", "job7"] {
        assert!(!is_id(other), "{other}");
    }
}

#[test]
fn only_queued_jobs_with_recorded_names_are_cancelled() {
    let mut case = Case::new(&[]);
    let store = Jobs::new(&case.cluster.folder);
    // Jobs of this user. A result of another user names them as its own.
    for name in ["mine", "am-2", "am-3"] {
        case.cluster.jobs.push((format!("10{}", case.cluster.jobs.len()), name.into(), None, None));
    }
    for (job, id) in [("am-1", Some("100")), ("am-2", Some("101")), ("am-3", None), ("am-4", Some("999"))] {
        let line = Line::Submitting { job: job.into(), part: "all".into(), seconds: 60.0, after: None, samples: 0 };
        store.append(&line).expect("a line");
        if let Some(id) = id {
            store.append(&Line::Submitted { job: job.into(), id: id.into() }).expect("a line");
        }
    }
    let jobs = store.read().expect("the record").1;
    let cancelled = cancel(&mut case.cluster, &store, &jobs.iter().collect::<Vec<_>>()).expect("an answer");
    let expected = [("am-2", "101"), ("am-3", "102")].map(|(name, id)| (name.to_owned(), id.to_owned()));
    assert_eq!(cancelled, expected.into());
    assert_eq!(case.cluster.cancelled, ["101", "102"]);
}

#[test]
fn a_foreign_job_record_neither_submits_nor_cancels_jobs() {
    let scratch = Scratch::new();
    let (sweep, out, bin) = (scratch.join("tiny.toml"), scratch.join("r"), scratch.join("bin"));
    std::fs::write(&sweep, TINY_SWEEP).expect("a file");
    std::fs::create_dir(&bin).expect("a folder");
    // A queue with one job that has another name.
    let queue =
        format!("echo $0 >> {}; case $0 in *squeue) echo '7|RUNNING|mine||';; esac", scratch.join("called").display());
    for program in ["sbatch", "squeue", "scancel", "sinfo"] {
        std::fs::write(bin.join(program), format!("#!/bin/sh\n{queue}\n")).expect("a file");
        std::fs::set_permissions(bin.join(program), PermissionsExt::from_mode(0o755)).expect("rights");
    }
    let apexmap = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
        let output = command.args(arguments).env("PATH", path).output().expect("the program");
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let folder = Folder::create(&out).expect("a folder");
    let store = Jobs::new(&folder);
    store.create().expect("a folder");
    let foreign = JobOptions { account: Some("theirs".into()), ..options(1) };
    let submitting =
        Line::Submitting { job: "am-1".into(), part: "all".into(), seconds: 60.0, after: None, samples: 0 };
    let submitted = Line::Submitted { job: "am-1".into(), id: "7".into() };
    for line in [Line::Options { options: Box::new(foreign), command: Vec::new() }, submitting, submitted] {
        store.append(&line).expect("a line");
    }
    let (out, sweep) = (out.to_str().expect("a path"), sweep.to_str().expect("a path"));
    let run = ["run", "--no-report", "--out", out, sweep];
    let (code, messages) = apexmap(&run);
    assert_eq!(code, Some(2), "{messages}");
    assert!(messages.contains("1 job without a recorded end, and the batch system does not know them"), "{messages}");
    assert!(messages.contains("add --submit") && messages.contains("apexmap cancel"), "{messages}");
    let called = || std::fs::read_to_string(scratch.join("called")).unwrap_or_default();
    assert!(!called().contains("sbatch"), "{}", called());
    let (code, messages) = apexmap(&["cancel", out]);
    assert!(code == Some(0) && messages.contains("job 7 (all) is not cancelled"), "{code:?}: {messages}");
    assert!(!called().contains("scancel"), "{}", called());
    let (code, messages) = apexmap(&run);
    assert!(code == Some(0) && messages.contains("2 of 2 points done"), "{code:?}: {messages}");
    assert!(!called().contains("sbatch"), "{}", called());
}

#[test]
fn a_job_that_was_never_submitted_is_skipped() {
    let mut case = Case::new(&[]);
    let line =
        Line::Submitting { job: "am-001-abc".into(), part: "all".into(), seconds: 300.0, after: None, samples: 0 };
    Jobs::new(&case.cluster.folder).append(&line).expect("a line");
    assert!(case.follow().expect("an end").is_empty());
    case.assert_whole();
    assert_eq!(case.end_states(), [JobState::Ended, JobState::Completed]);
}

#[test]
fn queries_to_the_batch_system_are_rate_limited() {
    let mut case = Case::new(&[]);
    let (result, _) = case.follow_looks(50, Duration::from_millis(1));
    assert!(result.is_err());
    assert_eq!((case.cluster.jobs.len(), case.cluster.asked), (1, 0));
}

#[test]
fn parts_contain_their_node_counts() {
    let plan = plan();
    let parts_per_node_count = parts(&plan, Division::PerNodeCount).expect("parts");
    let summaries: Vec<_> =
        parts_per_node_count.iter().map(|part| (part.name.as_str(), part.nodes, part.sizes.len())).collect();
    assert_eq!(summaries, [("nodes-2", 2, 1), ("nodes-4", 4, 1)]);
    let whole = parts(&plan, Division::One).expect("a part");
    assert_eq!((whole[0].name.as_str(), whole[0].nodes, whole[0].sizes.len()), ("all", 4, 2));
    let context = Context { ranks_per_node: None, ..plan.context.clone() };
    let points = plan.entries.iter().map(|entry| entry.point.clone()).collect();
    let error =
        parts(&Plan::new(context, points, 1, REPEAT, 1).expect("a plan"), Division::One).expect_err("a refusal");
    assert!(error.message.contains("the number of nodes for 2 ranks is unknown"), "{error}");
}

#[test]
fn decisions_follow_from_how_jobs_ended() {
    let job = |name: &str, ended: Option<(JobState, usize)>| Job {
        name: name.into(),
        part: "all".into(),
        seconds: 60.0,
        predecessor: None,
        id: Some("1".into()),
        samples_before: 0,
        cancel_requested: false,
        end: ended.map(|(state, samples)| (state, String::new(), samples)),
        has_started: false,
        started_at: None,
        ended_at: None,
        driver_end: None,
    };
    let living = job("a", None);
    let limit = |name, samples| job(name, Some((JobState::TimeLimit, samples)));
    assert_eq!(choose_step(true, &[], 0, 3), NextStep::Submit);
    assert_eq!(choose_step(false, &[&living], 0, 3), NextStep::Done);
    assert_eq!(choose_step(true, &[&limit("b", 3), &living], 0, 3), NextStep::Wait);
    assert_eq!(choose_step(true, &[&limit("a", 3), &limit("b", 5)], 0, 3), NextStep::Submit);
    assert!(matches!(choose_step(true, &[&limit("a", 3), &limit("b", 3), &limit("c", 3)], 0, 5), NextStep::Stop(_)));
    // Only jobs without a new sample are tries.
    assert_eq!(choose_step(true, &[&limit("a", 3), &limit("b", 5), &limit("c", 7)], 0, 1), NextStep::Submit);
    assert!(matches!(choose_step(true, &[&limit("a", 3), &limit("b", 3)], 0, 1), NextStep::Stop(_)));
    assert!(may_extend(&[&limit("a", 3), &living], 0) && !may_extend(&[&limit("a", 3), &limit("b", 3), &living], 0));
    // Jobs of an earlier command do not count as tries of this one.
    assert_eq!(choose_step(true, &[&limit("a", 0), &limit("b", 0)], 2, 1), NextStep::Submit);
}

#[test]
fn a_foreign_result_cannot_select_the_programs_to_start() {
    let case = Case::new(&[]);
    let store = Jobs::new(&case.cluster.folder);
    let folder = &case.cluster.folder.path;
    let touched = folder.join("touched");
    let evil = folder.join("evil.toml");
    let text =
        TEMPLATES[0].1.replace("\"squeue\"", &format!("\"touch\", {touched:?}")).replace("\"scancel\"", "\"touch\"");
    std::fs::write(&evil, text).expect("a file");
    let options = JobOptions { system: evil.to_str().expect("a path").into(), ..options(1) };
    store.append(&Line::Options { options: Box::new(options), command: Vec::new() }).expect("a line");
    for (job, id) in [("am-1", "--me"), ("am-2", "7")] {
        let line = Line::Submitting { job: job.into(), part: "all".into(), seconds: 60.0, after: None, samples: 0 };
        store.append(&line).expect("a line");
        store.append(&Line::Submitted { job: job.into(), id: id.into() }).expect("a line");
    }
    let jobs = store.read().expect("the record").1;
    assert_eq!(jobs.iter().map(|job| job.id.as_deref()).collect::<Vec<_>>(), [None, Some("7")]);
    for command in ["status", "cancel"] {
        let output = apexmap(&[command, folder.to_str().expect("a path")]);
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(messages.contains("apexmap runs only its built-in templates for a result"), "{command}: {messages}");
    }
    assert!(!touched.exists());
}

#[test]
fn a_job_with_a_set_up_fault_ends_its_part() {
    // A chain: its other jobs would fail in the same way.
    let mut case = Case::new(&[End::SetUp]);
    (case.measuring, case.limit) = (2000.0, Some(600.0));
    let stopped = case.follow().expect("an end");
    assert_eq!(stopped.len(), 1);
    let why = stopped.values().next().expect("a reason");
    assert!(why.contains("the set-up is at fault") && why.contains("fix this first"), "{why}");
    let store = Jobs::new(&case.cluster.folder);
    let job = store.read().expect("the record").1.remove(0);
    assert_eq!(log::advice(&store, &job).expect("files").as_deref(), Some("set it up"));
    let submitted = case.cluster.jobs.len();
    assert!(submitted > 1, "it was a chain");
    assert_eq!(case.cluster.cancelled.len(), submitted - 1);
    // The next command tries again, because the cause may be fixed.
    assert!(case.follow().expect("an end").is_empty());
    case.assert_whole();
}

#[test]
fn an_impossible_job_request_is_cancelled_and_ends_its_part() {
    let mut case = Case::new(&[End::Never(JobState::Unsatisfiable)]);
    (case.measuring, case.limit) = (2000.0, Some(600.0));
    let stopped = case.follow().expect("an end");
    assert_eq!(
        stopped["all"],
        "a job can never start: it requests more than the batch system allows (Priority); no further job is submitted"
    );
    let submitted = case.cluster.jobs.len();
    assert!(submitted > 1, "it was a chain");
    assert_eq!(case.cluster.cancelled.len(), submitted, "no job stays in the queue");
    assert_eq!(case.end_states()[0], JobState::Unsatisfiable);
    // The next command tries again.
    assert!(case.follow().expect("an end").is_empty());
    case.assert_whole();
}

/// The batch system reports at most that the job failed; the job's log says more.
#[test]
fn the_log_of_a_job_gives_the_reason_for_its_end() {
    for (log_line, state, expected, expected_advice) in [
        (
            "slurmstepd: error: Exceeded job memory limit\n",
            JobState::Ended,
            "Slurm killed a step that ran out of memory",
            "lower M",
        ),
        (
            "slurmstepd-n1: error: Step 5.batch exceeded memory limit (1 > 0), being killed\n",
            JobState::Failed,
            "that ran out of memory",
            "lower M",
        ),
        (
            "am-001.sh: line 9: /w/apexmap: error while loading shared libraries: libx.so\n",
            JobState::Failed,
            "a shared library",
            "load the modules",
        ),
        ("all is well\n", JobState::Failed, "Priority", ""),
        ("slurmstepd: error: Exceeded job memory limit\n", JobState::Preempted, "Priority", ""),
    ] {
        let mut case = Case::new(&[End::Killed(2, state)]);
        let folder = case.cluster.folder.clone();
        case.cluster.log_text = Some(format!("{}{log_line}", "noise\n".repeat(9000)));
        case.follow().expect("an end");
        let store = Jobs::new(&folder);
        let job = store.read().expect("the record").1.remove(0);
        assert!(job.end.as_ref().is_some_and(|(_, reason, _)| reason.contains(expected)), "{job:?}");
        let advice = log::advice(&store, &job).expect("files").unwrap_or_default();
        assert!(advice.starts_with(expected_advice) && advice.is_empty() == expected_advice.is_empty(), "{advice}");
    }
}

/// Names distinguish samples: login nodes and compute nodes have their own host names.
#[test]
fn a_machine_has_the_name_of_its_cluster_or_its_recorded_one() {
    let scratch = Scratch::new();
    let sweep = "[fixed]\nkernel = \"apex_map.sequential\"\nM = 4096\nI = 16\nN = 1\nL = 1\n[launch]\npreflight = 0\n[repeat]\nmin = 2\n";
    std::fs::write(scratch.join("s.toml"), sweep).expect("a file");
    let run = |arguments: &[&str], inside: bool| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
        command.current_dir(&*scratch).args(arguments).args(["s.toml", "--out", "result"]);
        command.env_remove("SLURM_JOB_ID");
        if inside {
            command.env("SLURM_JOB_ID", "1").env("SLURM_JOB_NUM_NODES", "1").env("SLURM_CLUSTER_NAME", "summit");
        }
        let output = output(&mut command);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    run(&["run", "--no-report"], true);
    let folder = Folder { path: scratch.join("result") };
    assert_eq!(Manifest::read(&folder).expect("a manifest").machine, "summit");
    assert!(run(&["plan"], true).contains("1 done") && run(&["plan"], false).contains("2 stale samples"));
    assert!(run(&["plan", "--machine", "summit"], false).contains("1 done"));

    let store = Jobs::new(&folder);
    store.create().expect("a folder");
    let job = "am-001-abc".to_owned();
    store
        .append(&Line::Submitting { job: job.clone(), part: "all".into(), seconds: 60.0, after: None, samples: 0 })
        .expect("a line");
    store
        .append(&Line::Ended { job, state: JobState::Completed, why: String::new(), samples: 2, unix_seconds: None })
        .expect("a line");
    assert!(run(&["plan"], false).contains("1 done"), "whatever the name of this host is");
    assert!(run(&["plan", "--machine", "other"], false).contains("2 stale samples"), "the user's word comes first");
}

/// A login node whose batch system is a set of scripts.
pub struct LoginNode {
    pub scratch: Scratch,
}

impl LoginNode {
    /// Creates a login node. The shell command `answer` prints the answer of the program `$0`, which is Slurm's.
    pub fn new(answer: &str) -> Self {
        let scratch = Scratch::new();
        std::fs::create_dir(scratch.join("bin")).expect("a folder");
        let script = format!("#!/bin/sh\necho \"$0 $*\" >> {}\n{answer}\n", scratch.join("called").display());
        for program in ["sbatch", "squeue", "sacct", "scancel", "sinfo", "scontrol"] {
            let path = scratch.join("bin").join(program);
            std::fs::write(&path, &script).expect("a file");
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("rights");
        }
        Self { scratch }
    }

    /// Runs apexmap, and returns its exit code and its output.
    pub fn apexmap(&self, arguments: &[&str]) -> (Option<i32>, String) {
        self.apexmap_with(arguments, &[])
    }

    /// Runs apexmap with further environment variables.
    pub fn apexmap_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> (Option<i32>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
        let path = format!("{}:{}", self.scratch.join("bin").display(), std::env::var("PATH").unwrap_or_default());
        command.args(arguments).env("PATH", path).env_remove("SLURM_JOB_ID").current_dir(&*self.scratch);
        command.envs(environment.iter().copied());
        let output = output(&mut command);
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    }
}

#[test]
fn no_job_is_submitted_beyond_the_node_hours() {
    let mut case = Case::new(&[End::InOrder(9); 9]);
    // Each job takes 4 nodes for 600 s, which are 0.67 node hours.
    (case.measuring, case.limit, case.max_node_hours) = (1000.0, Some(600.0), Some(1.5));
    let stopped = case.follow().expect("an end");
    assert_eq!((case.cluster.jobs.len(), case.cluster.most_queued), (2, 2));
    assert!(stopped["all"].contains("more than max_node_hours = 1.5"), "{stopped:?}");
    let mut case = Case::new(&[]);
    case.max_node_hours = Some(0.1);
    let stopped = case.follow().expect("an end");
    assert!(stopped["all"].contains("0.33 node hours, more than max_node_hours = 0.1"), "{stopped:?}");
    assert!(case.cluster.jobs.is_empty());
}

#[test]
fn a_result_that_continues_in_another_partition_says_so() {
    let site = LoginNode::new("case $0 in *sbatch) echo 7;; *squeue) echo \"7|PENDING|am|Priority|N/A\";; esac");
    std::fs::write(site.scratch.join("tiny.toml"), TINY_SWEEP).expect("a file");
    let run = |partition: &str| {
        let arguments = ["run", "tiny.toml", "--submit=slurm", "--detach", "--out", "result", "--partition", partition];
        let (code, messages) = site.apexmap(&arguments);
        assert_eq!(code, Some(0), "{messages}");
        messages
    };
    let sentence =
        "earlier jobs of this result were in batch, these are in fast; samples of unlike nodes are kept apart";
    assert!(!run("batch").contains("earlier jobs"));
    assert!(run("fast").contains(sentence));
    assert!(!run("fast").contains("earlier jobs"));
}

#[test]
fn a_sweep_that_may_take_too_many_node_hours_is_refused() {
    let site = LoginNode::new("");
    let sweep = "[fixed]\nkernel = \"apex_map.sequential\"\nM = 4096\nL = 1\n[launch]\nmax_node_hours = 0.05\n";
    std::fs::write(site.scratch.join("s.toml"), sweep).expect("a file");
    let (code, messages) = site.apexmap(&["run", "s.toml", "--submit=slurm", "--dry-run"]);
    assert_eq!(code, Some(2), "{messages}");
    assert!(messages.contains("at most 0.083 node hours by the time limits"), "{messages}");
    assert!(
        messages.contains("the jobs may take 0.083 node hours")
            && messages.contains("max_node_hours in [launch] allows 0.05"),
        "{messages}"
    );
    let run = ["run", "s.toml", "--submit=slurm", "--dry-run", "--max-node-hours", "1"];
    let (code, messages) = site.apexmap(&run);
    assert_eq!(code, Some(0), "a flag comes before the sweep: {messages}");
}

#[test]
fn the_state_of_a_result_is_printed_as_json_with_its_exit_code() {
    let site = LoginNode::new("case $0 in *squeue) echo \"7|$STATE|am-1|Priority|N/A\";; esac");
    std::fs::write(site.scratch.join("tiny.toml"), TINY_SWEEP).expect("a file");
    let folder = Folder::create(&site.scratch.join("results/r")).expect("a folder");
    let state = |word: &str| {
        // Let it ask again.
        let _ = std::fs::remove_file(Jobs::new(&folder).asked_file());
        let arguments = ["status", "results/r", "--json", "--exit-code"];
        let (code, text) = site.apexmap_with(&arguments, &[("STATE", word)]);
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["exit_code"].as_i64(), code.map(i64::from), "{text}");
        (code, value)
    };
    let store = Jobs::new(&folder);
    store.create().expect("a folder");
    let submitting =
        Line::Submitting { job: "am-1".into(), part: "all".into(), seconds: 60.0, after: None, samples: 0 };
    let submitted = Line::Submitted { job: "am-1".into(), id: "7".into() };
    let options = Line::Options { options: Box::new(options(1)), command: Vec::new() };
    [options, submitting, submitted].iter().try_for_each(|line| store.append(line)).expect("lines");
    let (code, value) = state("PENDING");
    assert_eq!((code, value["state"].as_str()), (Some(10), Some("queued")));
    assert_eq!(
        (value["jobs"][0]["state"].as_str(), value["jobs"][0]["reason"].as_str()),
        (Some("waiting"), Some("Priority"))
    );
    let (code, value) = state("RUNNING");
    assert_eq!((code, value["state"].as_str()), (Some(11), Some("running")));
    let list = site.apexmap_with(&["status", "--all"], &[("STATE", "RUNNING")]).1;
    assert!(list.contains("results/r") && list.contains("1 open job"), "{list}");
    // A set-up fault.
    let help = "set it up".to_owned();
    let started = DriverLine::Started { id: None, host: "n1".into(), unix_seconds: 1.0 };
    let ended = DriverLine::Ended { code: 6, message: "wrong MPI".into(), help, ran_seconds: Some(5.0) };
    [started, ended].iter().try_for_each(|line| store.append_driver_line("am-1", line)).expect("lines");
    let (job, why) = ("am-1".to_owned(), "wrong MPI".to_owned());
    store.append(&Line::Ended { job, state: JobState::Failed, why, samples: 0, unix_seconds: None }).expect("a line");
    std::fs::write(folder.points(), "{\"key\":\"k\",\"kernel\":\"apex_map.sequential\",\"ranks\":1,\"params\":{}}\n")
        .expect("a plan");
    let (code, value) = state("PENDING");
    assert_eq!((code, value["state"].as_str()), (Some(6), Some("set-up-fault")), "{value}");
    assert_eq!(value["jobs"][0]["help"].as_str(), Some("set it up"));
    // A complete result, measured here.
    let (code, messages) = site.apexmap(&["run", "tiny.toml", "--no-report", "--out", "results/s"]);
    assert_eq!(code, Some(0), "{messages}");
    let (code, text) = site.apexmap(&["status", "results/s", "--json", "--exit-code"]);
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((code, value["state"].as_str(), value["points"]["done"].as_u64()), (Some(0), Some("done"), Some(2)));
    let list: serde_json::Value = serde_json::from_str(&site.apexmap(&["status", "--all", "--json"]).1).expect("JSON");
    assert_eq!(list.as_array().map(Vec::len), Some(2));
}

/// A login node whose Slurm accepts job 7, and answers with the files `squeue` and `sacct`.
fn submit_detached(sweep: &str) -> (LoginNode, Folder) {
    let answer = "case $0 in *sbatch) echo 7;; *squeue) cat q;; *sacct) cat a;; esac";
    let site = LoginNode::new(answer);
    for file in ["q", "a"] {
        std::fs::write(site.scratch.join(file), "").expect("a file");
    }
    // The programs run in the result folder.
    let path = site.scratch.join("bin/squeue");
    let script = std::fs::read_to_string(&path).expect("the script");
    let script = script.replace("cat q", &format!("cat {}", site.scratch.join("q").display()));
    let script = script.replace("cat a", &format!("cat {}", site.scratch.join("a").display()));
    for program in ["squeue", "sacct"] {
        std::fs::write(site.scratch.join("bin").join(program), &script).expect("a file");
    }
    std::fs::write(site.scratch.join("s.toml"), sweep).expect("a file");
    let (code, messages) = site.apexmap(&["run", "s.toml", "--submit=slurm", "--detach", "--no-report", "--out", "r"]);
    assert_eq!(code, Some(0), "{messages}");
    let folder = Folder { path: site.scratch.join("r") };
    (site, folder)
}

fn exit_code(site: &LoginNode) -> (Option<i32>, serde_json::Value) {
    let (code, text) = site.apexmap(&["status", "r", "--json", "--exit-code"]);
    (
        code,
        serde_json::from_str(text.lines().filter(|line| !line.starts_with("note")).collect::<String>().as_str())
            .expect("JSON"),
    )
}

#[test]
fn the_state_of_a_detached_sweep_ends_without_a_follower() {
    let let_ask = |folder: &Folder| std::fs::remove_file(Jobs::new(folder).asked_file());
    // The batch system forgets the job, or reports how it ended.
    for (word, state) in [
        ("", "ended"),
        ("FAILED", "failed"),
        ("TIMEOUT", "time-limit"),
        ("OUT_OF_MEMORY", "out-of-memory"),
        ("OUT_OF_ME+", "out-of-memory"),
        (&format!("CANCELLED by {}", nix::unistd::Uid::effective()), "cancelled"),
        ("NODE_FAIL", "node-failure"),
    ] {
        let (site, folder) = submit_detached(TINY_SWEEP);
        std::fs::write(site.scratch.join("q"), "7|PENDING||Priority|N/A\n").expect("a file");
        let name = Jobs::new(&folder).read().expect("the record").1[0].name.clone();
        std::fs::write(site.scratch.join("q"), format!("7|PENDING|{name}|Priority|N/A\n")).expect("a file");
        let (code, value) = exit_code(&site);
        assert_eq!((code, value["jobs"][0]["reason"].as_str()), (Some(10), Some("Priority")), "{word}");
        // The last answer counts until the next question.
        assert_eq!(exit_code(&site), (code, value), "{word}");
        std::fs::write(site.scratch.join("q"), "").expect("a file");
        std::fs::write(site.scratch.join("a"), if word.is_empty() { String::new() } else { format!("7|{word}\n") })
            .expect("a file");
        let_ask(&folder).expect("a file");
        for _ in 0..2 {
            let (code, value) = exit_code(&site);
            assert_eq!((code, value["jobs"][0]["state"].as_str()), (Some(4), Some(state)), "{word}");
        }
        assert!(Jobs::new(&folder).read().expect("the record").1[0].end.is_some(), "it is recorded");
        let_ask(&folder).expect("a file");
        std::fs::write(site.scratch.join("a"), "").expect("a file");
        assert_eq!(exit_code(&site).0, Some(4), "{word}: also if the batch system forgets it");
    }
}

#[test]
fn a_detached_sweep_whose_job_has_measured_all_points_is_done() {
    let (site, folder) = submit_detached(TINY_SWEEP);
    let store = Jobs::new(&folder);
    let job = store.read().expect("the record").1[0].name.clone();
    std::fs::write(site.scratch.join("q"), format!("7|RUNNING|{job}|None|N/A\n")).expect("a file");
    assert_eq!(exit_code(&site).0, Some(11));
    let ran = output(
        Command::new("bash")
            .arg(store.script(&job))
            .current_dir(&folder.path)
            .env("SLURM_JOB_ID", "7")
            .env("SLURM_JOB_NUM_NODES", "1"),
    );
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let (code, value) = exit_code(&site);
    assert_eq!((code, value["jobs"][0]["state"].as_str()), (Some(0), Some("completed")), "{value}");
    assert_eq!(store.read().expect("the record").1[0].end, Some((JobState::Completed, String::new(), 8)));
}

#[test]
fn a_held_job_is_queued_with_help_and_an_impossible_one_is_not() {
    let (site, folder) = submit_detached(TINY_SWEEP);
    let store = Jobs::new(&folder);
    let job = store.read().expect("the record").1[0].name.clone();
    for (reason, code, state, help) in [
        ("launch failed requeued held", 10, "held", "scontrol release 7"),
        ("PartitionTimeLimit", 4, "unsatisfiable", "--time-limit"),
    ] {
        std::fs::write(site.scratch.join("q"), format!("7|PENDING|{job}|{reason}|N/A\n")).expect("a file");
        let _ = std::fs::remove_file(store.asked_file());
        for _ in 0..2 {
            let (exit, value) = exit_code(&site);
            assert_eq!((exit, value["jobs"][0]["state"].as_str()), (Some(code), Some(state)), "{reason}");
            assert!(value["jobs"][0]["help"].as_str().is_some_and(|text| text.contains(help)), "{value}");
        }
        assert!(store.read().expect("the record").1[0].end.is_none(), "it is still in the queue");
    }
}

#[test]
fn a_job_that_was_never_submitted_is_no_longer_queued() {
    let (site, folder) = submit_detached(TINY_SWEEP);
    let store = Jobs::new(&folder);
    let (job, part) = ("am-002-abc".to_owned(), "all".to_owned());
    let (first, after) = (store.read().expect("the record").1[0].name.clone(), None);
    store.append(&Line::Submitting { job, part, seconds: 60.0, after, samples: 0 }).expect("a line");
    std::fs::write(site.scratch.join("a"), "7|FAILED\n").expect("a file");
    let (code, value) = exit_code(&site);
    assert_eq!((code, value["jobs"][1]["state"].as_str()), (Some(4), Some("ended")), "{first}: {value}");
    assert!(value["jobs"][1]["reason"].as_str().is_some_and(|text| text.contains("never submitted")), "{value}");
}

#[test]
fn the_first_samples_of_a_kernel_scale_the_time_of_its_other_points() {
    let plan = plan();
    let (first, other) = (&plan.entries[0], &plan.entries[1]);
    assert_eq!(first.point.kernel, other.point.kernel);
    let unmeasured = SampleCosts::from_measured(&plan, HashMap::new());
    let measured = HashMap::from([(first.key.clone(), 10.0 * unmeasured.cost(first))]);
    let learned = SampleCosts::from_measured(&plan, measured);
    for entry in [first, other] {
        assert!((learned.cost(entry) / unmeasured.cost(entry) - 10.0).abs() < 1e-9, "{}", entry.point.label());
    }
}

#[test]
fn a_constraint_selects_the_nodes_that_a_sweep_is_sized_for() {
    let nodes = "main* 1 2 1 1000 10:00 1-4 intel,ib\nmain* 1 2 1 1000 10:00 1-4 amd,ib\nmain* 1 4 1 64000 10:00 1-4 amd,bigmem";
    let site = LoginNode::new(&format!("case $0 in *sinfo) printf '{nodes}\n';; esac"));
    let sweep = "[fixed]\nkernel = \"apex_map.two_sided\"\nranks = \"cores\"\nM = \"1 GiB per rank\"\nL = 1\n";
    std::fs::write(site.scratch.join("s.toml"), sweep).expect("a file");
    let dry_run = |constraint: &[&str]| site.apexmap(&[&["run", "s.toml", "--dry-run"], constraint].concat());
    let (code, messages) = dry_run(&[]);
    assert_eq!(code, Some(2), "the smallest node has 1000 MiB: {messages}");
    assert!(messages.contains("(--constraint)"), "{messages}");
    for constraint in ["bigmem", "amd&bigmem", "bigmem|huge", "[bigmem]"] {
        let (code, messages) = dry_run(&["--constraint", constraint]);
        assert_eq!(code, Some(0), "{constraint}: {messages}");
        assert!(messages.contains(&format!("the default partition with {constraint} has 4 cores")), "{messages}");
    }
    let (code, messages) = dry_run(&["--constraint", "intel"]);
    assert!(code == Some(2) && messages.contains("the default partition with intel has 2 cores"), "{messages}");
    let (code, messages) = dry_run(&["--constraint", "power"]);
    assert!(
        code == Some(2) && messages.contains("no node of the default partition has the features power"),
        "{messages}"
    );
    assert!(messages.contains("amd, bigmem, ib, intel"), "{messages}");
}
