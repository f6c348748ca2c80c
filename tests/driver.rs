//! Tests of the driver: the launches and their order, and the points of launches that did not end well.

use super::common::{Scratch, small_point};
use super::mock::{LIMITS, Mock, Recorder, Script};
use apexmap_base::error::{ErrorKind, Result};
use apexmap_base::point::{LaunchSize, Point};
use apexmap_base::sample::{Phase, Sample, Status};
use apexmap_measure::comm::TransportKind;
use apexmap_measure::hardware::PlacementOrder;
use apexmap_measure::kernels;
use apexmap_measure::worker::{Job, Repeat};
use apexmap_results::disk::Folder;
use apexmap_results::disk::journal::Record;
use apexmap_results::table::quietness::Quietness;
use apexmap_run::drive::budget;
use apexmap_run::drive::cost;
use apexmap_run::drive::driver::{DriverInputs, drive};
use apexmap_run::drive::plan::{Context, Entry, Plan, Progress, State};
use apexmap_run::launch::{self, CommandLine};
use apexmap_run::sweep::parse_budget;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

/// A plan, its result folder, and records of the last drive.
struct Case {
    _scratch: Scratch,
    folder: Folder,
    plan: Plan,
    recorder: Recorder,
    jobs: Vec<Job>,
    ends_if_noisy: bool,
    /// Number of times that the cause of a failed launch is remedied.
    remedies: Cell<usize>,
    limits_grow: bool,
    /// Time limits of a sample in the launches of the last drive.
    limits: Vec<Duration>,
}

fn times(min: u32) -> Repeat {
    Repeat { min, max: min, width: None, budget_seconds: None }
}

impl Case {
    /// Creates a plan with three points for each of these rank counts.
    fn new(ranks: &[usize], blocks: u32, repeat: Repeat) -> Self {
        let scratch = Scratch::new();
        let folder = Folder::create(&scratch.join("result")).expect("a folder");
        let point = |ranks, block: u64| small_point("apex_map.two_sided", ranks).with_parameter("L", block);
        let points: Vec<Point> = ranks.iter().flat_map(|&p| [1, 2, 4].map(|block| point(p, block))).collect();
        let context = Context {
            transport: TransportKind::Threads,
            launcher: launch::find("local").expect("a launcher"),
            ranks_per_node: None,
            place: None,
            machine: "m".into(),
            build: "b1".into(),
            builds: Default::default(),
            simulation: None,
            library: "threads".into(),
        };
        let plan = Plan::new(context, points, blocks, repeat, 5).expect("a plan");
        let (recorder, jobs, limits, remedies) = (Recorder::default(), Vec::new(), Vec::new(), Cell::new(0));
        let (ends_if_noisy, limits_grow) = (false, false);
        Self { _scratch: scratch, folder, plan, recorder, jobs, ends_if_noisy, remedies, limits_grow, limits }
    }

    fn drive_with(&mut self, scripts: &[Script], retry_failed: bool) -> Result<()> {
        let mut mock = Mock::new(scripts);
        self.recorder = Recorder::default();
        let command = |job: &Path, size: LaunchSize| CommandLine {
            argv: vec![job.to_string_lossy().into_owned(), size.ranks.to_string()],
            env: Vec::new(),
        };
        let mut setting = DriverInputs {
            folder: &self.folder,
            executor: &mut mock,
            command: &command,
            limits: LIMITS,
            limits_grow: self.limits_grow,
            retry_failed,
            preflight_seconds: 1.0,
            ends_if_noisy: self.ends_if_noisy,
            remedy: &|ending| {
                let asked = self.remedies.get();
                self.remedies.set(asked.saturating_sub(1));
                Ok((asked > 0 && ending.cause.is_some()).then(|| "note: remedied".to_owned()))
            },
            explain: &|_, error| error,
            watcher: &mut self.recorder,
            node_types: Default::default(),
            failed: None,
            interrupted: &|| Ok(()),
        };
        let result = drive(&self.plan, &mut setting);
        (self.jobs, self.limits) = (mock.jobs, mock.sample_limits);
        result
    }

    fn drive(&mut self, scripts: &[Script]) {
        self.drive_with(scripts, false).expect("the sweep comes to its end");
    }

    fn samples(&self) -> Vec<Sample> {
        self.folder.records().expect("journals").into_iter().flat_map(|record| record.samples).collect()
    }

    fn states(&self, block: u32) -> Vec<State> {
        let progress = Progress::new(&self.plan, &self.folder.records().expect("journals"));
        self.plan.entries.iter().map(|entry| progress.state(&entry.key, block)).collect()
    }

    /// Returns the repetitions of the good samples of an entry, in the order of the journals.
    fn repetitions(&self, entry: usize) -> Vec<u32> {
        let good = |s: &&Sample| s.key == self.plan.entries[entry].key && s.status == Status::Ok;
        self.samples().iter().filter(good).map(|sample| sample.repetition).collect()
    }

    /// Returns status and message of the samples that are not good.
    fn failures(&self) -> Vec<(Status, String)> {
        let bad = self.samples().into_iter().filter(|sample| sample.status != Status::Ok);
        bad.map(|sample| (sample.status, sample.message)).collect()
    }

    /// Returns the number of points without all their samples.
    fn count_waiting(&self) -> usize {
        let progress = Progress::new(&self.plan, &self.folder.records().expect("journals"));
        let [_, partial, missing, _] = progress.counts();
        partial + missing
    }

    /// Returns the status at the end of each launch.
    fn endings(&self) -> Vec<Status> {
        let records = self.folder.records().expect("journals");
        records.iter().filter_map(|record| record.ended.as_ref().map(|(status, _)| *status)).collect()
    }

    fn assert_no_duplicates(&self) {
        let mut counts: HashMap<(String, u32, u32), u32> = HashMap::new();
        for sample in self.samples() {
            let count = counts.entry((sample.key, sample.block, sample.repetition)).or_default();
            *count += 1;
            assert_eq!(*count, 1, "a sample was repeated");
        }
    }
}

#[test]
fn an_oom_kill_reports_the_plan_and_fails_no_point() {
    let mut case = Case::new(&[2], 1, times(2));
    let error =
        case.drive_with(&[Script::LacksMemoryAfter(1), Script::LacksMemoryAfter(2)], false).expect_err("no memory");
    assert!(error.message.contains("twice: out of memory; the plan estimated"), "{error}");
    assert!(error.message.contains("the node has") && error.help.contains("lower M"), "{error}");
    assert_eq!(case.jobs.len(), 2);
    assert_eq!(case.failures(), []);
    assert_eq!(case.samples().len(), 3);
    // After a single kill, another program may be the cause.
    case.drive(&[Script::LacksMemoryAfter(1)]);
    assert_eq!(case.states(0), [State::Done; 3]);
    assert_eq!(case.failures(), []);
}

#[test]
fn each_rank_count_and_block_has_one_launch_in_ascending_order() {
    let mut case = Case::new(&[4, 1, 2], 2, times(2));
    case.drive(&[]);
    let launched: Vec<_> = case.jobs.iter().map(|job| (job.block, job.ranks, job.tasks.len())).collect();
    assert_eq!(launched, [(0, 1, 3), (0, 2, 3), (0, 4, 3), (1, 1, 3), (1, 2, 3), (1, 4, 3)]);
    let names: Vec<_> = case.recorder.launched.iter().map(|launch| launch.0.as_str()).collect();
    assert_eq!(names, ["0001", "0002", "0003", "0004", "0005", "0006"]);
    assert_eq!((case.recorder.points, case.recorder.finished, case.samples().len()), (18, 18, 36));
    assert_eq!(case.states(0), [State::Done; 9]);
    assert_eq!(case.states(1), [State::Done; 9]);
    case.assert_no_duplicates();
    case.drive(&[]);
    assert!(case.jobs.is_empty(), "nothing is left to do");
}

#[test]
fn a_job_contains_the_launch_the_seed_and_the_keyed_points() {
    let mut case = Case::new(&[2], 1, times(1));
    case.drive(&[]);
    let job = &case.jobs[0];
    assert_eq!(
        (job.launch.as_str(), job.seed, job.transport.as_str(), job.launcher.as_str()),
        ("0001", 5, "threads", "local")
    );
    for (task, entry) in job.tasks.iter().zip(&case.plan.entries) {
        assert_eq!((&task.key, &task.point), (&entry.key, &entry.point));
    }
    assert_eq!(job.repeat, times(1));
}

#[test]
fn a_point_that_dies_once_is_retried() {
    let mut case = Case::new(&[2], 1, times(1));
    case.drive(&[Script::DiesAfter { samples: 1, in_a_run: true }]);
    assert_eq!(case.jobs.iter().map(|job| job.tasks.len()).collect::<Vec<_>>(), [3, 2]);
    assert_eq!(case.states(0), [State::Done; 3]);
    assert_eq!(case.recorder.endings, [Status::Failed, Status::Ok]);
    case.assert_no_duplicates();
}

#[test]
fn a_point_that_dies_twice_fails_and_the_others_continue() {
    let mut case = Case::new(&[2], 1, times(1));
    let dies = |samples| Script::DiesAfter { samples, in_a_run: true };
    case.drive(&[dies(1), dies(0)]);
    assert_eq!(case.jobs.iter().map(|job| job.tasks.len()).collect::<Vec<_>>(), [3, 2, 1]);
    assert_eq!(case.states(0), [State::Done, State::Failed, State::Done]);
    assert_eq!(case.failures(), [(Status::Failed, "killed by signal 9".to_owned())]);
}

#[test]
fn a_timed_out_point_gets_a_status_and_the_others_continue() {
    let mut case = Case::new(&[2], 1, times(2));
    case.drive(&[Script::TimesOutAfter(4)]);
    assert_eq!(case.states(0), [State::Done, State::Failed, State::Done]);
    assert_eq!(case.failures(), [(Status::TimedOut, "no sign of life".to_owned())]);
    assert_eq!((case.jobs.len(), case.jobs[1].tasks.len()), (2, 1));
    assert_eq!(case.repetitions(1), [0], "earlier samples are kept");
    assert_eq!(case.recorder.finished, 3);
}

#[test]
fn a_point_with_a_fatal_message_is_not_retried() {
    let mut case = Case::new(&[2], 1, times(1));
    case.drive(&[Script::FatalAfter(0)]);
    assert_eq!(case.states(0), [State::Failed, State::Done, State::Done]);
    assert_eq!(case.failures(), [(Status::Failed, "rank 1 failed: out of luck".to_owned())]);
}

#[test]
fn a_wrong_result_gives_a_status_without_a_rate() {
    let mut case = Case::new(&[2], 1, times(3));
    case.drive(&[Script::Wrong(1)]);
    assert_eq!(case.states(0), [State::Done, State::Failed, State::Done]);
    assert_eq!((case.jobs.len(), case.failures()[0].0), (1, Status::Wrong));
}

#[test]
fn a_launch_that_exits_during_a_run_is_reported() {
    let mut case = Case::new(&[2], 1, times(1));
    case.drive(&[Script::LeavesEarly]);
    assert_eq!(case.states(0), [State::Failed, State::Done, State::Done]);
    assert!(case.failures()[0].1.contains("ended"), "{:?}", case.failures());
}

#[test]
fn a_launch_that_hangs_after_its_last_sample_is_complete() {
    let mut case = Case::new(&[2], 1, times(1));
    case.drive(&[Script::Hangs]);
    assert_eq!((case.jobs.len(), case.states(0)), (1, vec![State::Done; 3]));
    assert_eq!(case.folder.records().expect("journals")[0].ended, Some((Status::Hung, "it stays".to_owned())));
}

#[test]
fn resuming_repeats_no_finished_sample() {
    let mut case = Case::new(&[2], 1, times(3));
    let scripts = [Script::DiesAfter { samples: 4, in_a_run: false }, Script::NeverStarts, Script::NeverStarts];
    let error = case.drive_with(&scripts, false).expect_err("it did not start");
    assert!(error.message.contains("launch 0003 on 2 ranks did not start: no such launcher"), "{error}");
    assert_eq!(case.states(0), [State::Partial; 3]);
    case.drive(&[]);
    let tasks: Vec<_> = case.jobs[0].tasks.iter().map(|t| (t.seconds_so_far.len(), t.next_repetition)).collect();
    assert_eq!(tasks, [(2, 2), (1, 1), (1, 1)]);
    assert_eq!(case.jobs[0].launch, "0004");
    (0..3).for_each(|entry| assert_eq!(case.repetitions(entry), [0, 1, 2]));
}

#[test]
fn failed_points_are_retried_only_on_request() {
    let mut case = Case::new(&[2], 1, times(2));
    case.drive(&[Script::TimesOutAfter(2)]);
    assert_eq!(case.states(0), [State::Done, State::Done, State::Failed]);
    case.drive(&[]);
    assert!(case.jobs.is_empty(), "not without being asked");
    case.drive_with(&[], true).expect("the sweep comes to its end");
    assert_eq!((case.jobs.len(), case.jobs[0].tasks.len()), (1, 1));
    assert_eq!(case.states(0), [State::Done; 3], "the last attempt counts");
    case.drive_with(&[], true).expect("nothing to do");
    assert!(case.jobs.is_empty());
}

#[test]
fn samples_of_another_plan_are_stale_and_repeated() {
    let mut case = Case::new(&[2], 1, times(1));
    case.drive(&[]);
    let points = case.plan.entries.iter().map(|entry| entry.point.clone()).collect();
    let context = Context { machine: "other".into(), ..case.plan.context.clone() };
    case.plan = Plan::new(context, points, 1, times(1), 5).expect("a plan");
    assert_eq!(case.states(0), [State::Missing; 3]);
    let progress = Progress::new(&case.plan, &case.folder.records().expect("journals"));
    assert_eq!(progress.stale, 3);
    case.drive(&[]);
    assert_eq!(case.states(0), [State::Done; 3]);
}

/// Returns the number of samples of each entry on nodes with this processor.
fn counts_on(case: &Case, cpu_model: &str) -> Vec<usize> {
    let records = case.folder.records().expect("journals");
    let is_there = |record: &&Record| record.launch.as_ref().is_some_and(|launch| launch.host.cpu_model == cpu_model);
    let samples: Vec<&Sample> = records.iter().filter(is_there).flat_map(|record| &record.samples).collect();
    case.plan.entries.iter().map(|entry| samples.iter().filter(|sample| sample.key == entry.key).count()).collect()
}

#[test]
fn a_launch_on_unlike_nodes_begins_each_unfinished_point_again() {
    let mut case = Case::new(&[2], 1, times(3));
    let died = Script::DiesAfter { samples: 7, in_a_run: false };
    case.drive_with(&[Script::On("Old CPU", died.into()), Script::NeverStarts, Script::NeverStarts], false)
        .expect_err("it did not start");
    assert_eq!(
        (counts_on(&case, "Old CPU"), case.states(0)),
        (vec![3, 2, 2], vec![State::Done, State::Partial, State::Partial])
    );
    case.drive(&[]);
    assert_eq!(counts_on(&case, "Example CPU"), [0, 3, 3], "three of one type, not one more");
    assert_eq!(case.states(0), [State::Done; 3]);
    assert_eq!(case.repetitions(1), [0, 1, 2, 3, 4], "no repetition occurs twice");
    let lines = case.recorder.lines.join("\n");
    assert!(lines.contains("launch 0004 runs on other nodes (Example CPU") && lines.contains("(Old CPU"), "{lines}");
    case.drive(&[]);
    assert!(case.jobs.is_empty(), "nothing is left");
}

#[test]
fn a_launch_on_the_same_nodes_says_nothing_about_them() {
    let mut case = Case::new(&[2], 2, times(2));
    case.drive(&[Script::DiesAfter { samples: 1, in_a_run: false }]);
    assert_eq!(case.recorder.lines, Vec::<String>::new());
    assert_eq!(counts_on(&case, "Example CPU"), [4; 3]);
}

#[test]
fn ranks_with_another_placement_are_measured_separately() {
    let case = Case::new(&[2], 1, times(1));
    let points = || vec![case.plan.entries[0].point.clone()];
    let key = |place: Option<PlacementOrder>| {
        let context = Context { place, ..case.plan.context.clone() };
        Plan::new(context, points(), 1, times(1), 5).expect("a plan").entries[0].key.clone()
    };
    assert_eq!(key(None), case.plan.entries[0].key);
    let keys: HashSet<String> = PlacementOrder::ALL.map(Some).into_iter().chain([None]).map(key).collect();
    assert_eq!(keys.len(), 4);
}

#[test]
fn launches_differ_in_ranks_nodes_and_ranks_per_node() {
    let mut case = Case::new(&[1], 1, times(1));
    let spread = |nodes: u64, each: u64| {
        small_point("apex_map.two_sided", 4).with_parameter("nodes", nodes).with_parameter("ranks_per_node", each)
    };
    let points = vec![spread(4, 1), small_point("apex_map.two_sided", 4), spread(1, 4), spread(2, 2)];
    case.plan = Plan::new(case.plan.context.clone(), points, 1, times(1), 5).expect("a plan");
    let keys: HashSet<&str> = case.plan.entries.iter().map(|entry| entry.key.as_str()).collect();
    assert_eq!(keys.len(), 4, "each is a separate measurement");
    // All ranks of the mock are on one node.
    let error = case.drive_with(&[], false).expect_err("on one node");
    assert!(error.message.contains("needs 4 ranks on 2 nodes, but its ranks are on 1 node"), "{error}");
    let sizes: Vec<_> = case.jobs.iter().map(|job| job.tasks[0].point.launch_size()).collect();
    assert_eq!(sizes.iter().map(|size| size.nodes).collect::<Vec<_>>(), [None, Some(1), Some(2)]);
    assert_eq!(case.states(0), [State::Missing, State::Done, State::Done, State::Missing]);
    let table = case.folder.table().expect("a table");
    let column = |name: &str| (0..2).map(|row| table.number(name, row)).collect::<Vec<_>>();
    assert!(column("nodes")[0].is_nan() && column("nodes")[1] == 1.0 && column("ranks_per_node")[1] == 4.0);
}

#[test]
fn an_interrupted_sweep_ends_with_an_interruption_error() {
    let mut case = Case::new(&[1, 2], 1, times(1));
    let (mut mock, calls) = (Mock::new(&[]), std::cell::Cell::new(0));
    let interrupted = || {
        calls.set(calls.get() + 1);
        if calls.get() > 5 { Err(apexmap_base::error::Error::internal("interrupted")) } else { Ok(()) }
    };
    let command = |job: &Path, size: LaunchSize| CommandLine {
        argv: vec![job.to_string_lossy().into_owned(), size.ranks.to_string()],
        env: Vec::new(),
    };
    let mut setting = DriverInputs {
        folder: &case.folder,
        executor: &mut mock,
        command: &command,
        limits: LIMITS,
        limits_grow: false,
        retry_failed: false,
        preflight_seconds: 0.0,
        ends_if_noisy: false,
        remedy: &|_| Ok(None),
        explain: &|_, error| error,
        watcher: &mut case.recorder,
        node_types: Default::default(),
        failed: None,
        interrupted: &interrupted,
    };
    assert_eq!(drive(&case.plan, &mut setting).expect_err("interrupted").message, "interrupted");
    assert_eq!((mock.jobs.len(), case.samples().len()), (1, 1), "earlier samples are kept");
    assert_eq!((case.recorder.waits, case.recorder.started.as_slice()), (1, &[0][..]));
}

#[test]
fn progress_is_shown_but_not_stored() {
    let mut case = Case::new(&[1], 1, times(2));
    case.drive(&[Script::Slow]);
    let events = [(Phase::Filling, Some(0.5)), (Phase::Measuring, None)];
    assert_eq!(case.recorder.progress, events.repeat(6));
    let text = std::fs::read_to_string(case.folder.journal("0001")).expect("a journal");
    assert!(text.contains("\"sample\"") && !text.contains("progress"), "{text}");
    assert_eq!(case.folder.records().expect("journals")[0].damage(), None);
}

#[test]
fn the_sample_time_limit_is_fixed_or_follows_the_largest_point() {
    let mut case = Case::new(&[1], 1, times(1));
    case.drive(&[]);
    assert_eq!(case.limits, [LIMITS.sample], "the sweep's own");
    let mut case = Case::new(&[1], 1, times(1));
    case.limits_grow = true;
    case.drive(&[]);
    let longest = |entry: &Entry| cost::longest_silence(&case.plan.context, &entry.point);
    let largest = case.plan.entries.iter().map(longest).fold(0.0, f64::max);
    assert_eq!(case.limits, [Duration::from_secs_f64(largest)]);
}

#[test]
fn memory_work_and_time_bound_extend_the_sample_time_limit() {
    let case = Case::new(&[1], 1, times(1));
    let longest_silence = |bits: u32, updates: f64, bound: u64| {
        let point = Point::new("random_access.sequential", 1).with_parameter("N_words", 1u64 << bits);
        let point = point.with_parameter("updates", updates).with_parameter("time_bound", bound);
        cost::longest_silence(&case.plan.context, &kernels::complete(point).expect("a point"))
    };
    assert!((60.0..61.0).contains(&longest_silence(10, 4.0, 0)), "a small point has the smallest limit");
    // 8 GiB at 0.1 GB/s, and five times twice the time bound.
    assert!((240.0..260.0).contains(&longest_silence(30, 4.0, 10)), "{}", longest_silence(30, 4.0, 10));
    assert!(longest_silence(30, 4.0, 100) > longest_silence(30, 4.0, 10) + 100.0);
    assert!(longest_silence(30, 4.0, 0) > longest_silence(30, 1.0, 0) + 100.0);
    assert!(longest_silence(31, 4.0, 10) > longest_silence(30, 4.0, 10) + 50.0);
}

#[test]
fn a_plan_with_a_duplicate_point_is_refused() {
    let case = Case::new(&[1], 1, times(1));
    let twice = vec![case.plan.entries[0].point.clone(); 2];
    let error = Plan::new(case.plan.context.clone(), twice, 1, times(1), 1).expect_err("twice");
    assert!(error.message.contains("is in the plan twice"), "{error}");
}

#[test]
fn the_budget_is_divided_among_the_points_of_all_launches() {
    let repeat = Repeat { budget_seconds: Some(1000.0), max: 5, ..times(1) };
    let mut case = Case::new(&[1, 2, 4], 1, Repeat { width: Some(0.0), ..repeat });
    case.drive(&[Script::OutOfBudgetAfter(3), Script::OutOfBudgetAfter(3), Script::OutOfBudgetAfter(1)]);
    let budgets: Vec<f64> = case.jobs.iter().map(|job| job.repeat.budget_seconds.expect("a budget")).collect();
    // The mock takes no time, so one launch leaves its budget to the others. The first one also has the second before it measures.
    for (budget, share) in budgets.iter().zip([334.3, 500.0, 1000.0]) {
        assert!((budget - share).abs() < 20.0, "{budgets:?}");
    }
    assert_eq!(case.states(0), [State::Done; 9]);
}

#[test]
fn the_rest_of_a_budget_goes_to_points_without_a_sample() {
    let repeat = Repeat { budget_seconds: Some(1000.0), max: 5, width: Some(0.0), ..times(1) };
    let mut case = Case::new(&[1, 2, 4], 1, repeat);
    case.drive(&[Script::OutOfBudgetAfter(0), Script::OutOfBudgetAfter(3), Script::OutOfBudgetAfter(1)]);
    let launched: Vec<_> = case.jobs.iter().map(|job| (job.ranks, job.tasks.len())).collect();
    // The points of two ranks have one sample each, and one point of four ranks has it.
    assert_eq!(launched, [(1, 3), (2, 3), (4, 3), (1, 3), (4, 2)]);
    let counts: Vec<usize> = (0..9).map(|entry| case.repetitions(entry).len()).collect();
    assert_eq!(counts, [5, 5, 5, 1, 1, 1, 1, 5, 5]);
}

#[test]
fn advised_budgets_are_round_times_with_a_margin() {
    let advice = [0.5, 10.0, 20.0, 26.0, 140.0, 1400.0, 1600.0, 90000.0].map(budget::advise);
    let times = ["1s", "20s", "30s", "1min", "3min", "30min", "1h", "30h"];
    assert_eq!(advice, times.map(|time| format!("--budget {time}")));
    assert!(times.iter().all(|time| parse_budget(time).is_ok()), "the flag accepts them");
}

#[test]
fn three_launches_without_a_sample_end_the_run() {
    let mut case = Case::new(&[2], 1, times(1));
    let nothing = Script::DiesAfter { samples: 0, in_a_run: false };
    let error = case.drive_with(&vec![nothing; 9], false).expect_err("given up");
    assert!(
        error.message.contains("3 consecutive launches on 2 ranks ended without a sample: killed by signal 9"),
        "{error}"
    );
    assert_eq!(case.jobs.len(), 3);
}

#[test]
fn launches_with_new_samples_are_repeated_until_all_points_are_complete() {
    let mut case = Case::new(&[2], 1, times(4));
    case.drive(&vec![Script::DiesAfter { samples: 1, in_a_run: false }; 12]);
    assert_eq!(case.states(0), [State::Done; 3]);
    let mut case = Case::new(&[2], 1, times(1));
    let some = Script::DiesAfter { samples: 1, in_a_run: false };
    let none = Script::DiesAfter { samples: 0, in_a_run: false };
    case.drive(&[none.clone(), none.clone(), some.clone(), none.clone(), none, some]);
    assert_eq!(case.states(0), [State::Done; 3]);
}

#[test]
fn a_worker_of_another_build_is_refused() {
    let mut case = Case::new(&[2], 1, times(1));
    let error = case.drive_with(&[Script::OtherBuild], false).expect_err("another build");
    assert!(error.message.contains("the worker was rebuilt"), "{error}");
    assert!(case.samples().is_empty());
}

#[test]
fn a_launch_killed_before_its_greeting_is_retried_once() {
    let mut case = Case::new(&[2], 1, times(2));
    case.drive(&[Script::NeverStarts]);
    assert_eq!((case.jobs.len(), case.states(0)), (2, vec![State::Done; 3]));
}

#[test]
fn a_rank_count_that_cannot_start_does_not_stop_the_others() {
    let mut case = Case::new(&[1, 2, 3], 1, times(2));
    let error = case.drive_with(&[Script::Well, Script::NeverStarts, Script::NeverStarts], false);
    assert!(error.expect_err("two ranks did not start").message.contains("on 2 ranks did not start"));
    let ranks: Vec<usize> = case.jobs.iter().map(|job| job.ranks).collect();
    assert_eq!(ranks, [1, 2, 2, 3]);
}

#[test]
fn the_first_launch_of_a_run_watches_the_machine_before_measuring() {
    let mut case = Case::new(&[1, 2], 1, times(2));
    case.drive(&[]);
    assert_eq!(case.jobs.iter().map(|job| job.preflight_seconds).collect::<Vec<_>>(), [1.0, 0.0]);
}

#[test]
fn a_disturbed_machine_is_reported_and_ends_a_quiet_only_run() {
    let mut case = Case::new(&[1], 1, times(2));
    case.ends_if_noisy = true;
    let error = case.drive_with(&[Script::Noisy], false).expect_err("the machine is disturbed");
    assert!(error.message.contains("another thread had the core of a rank for 50 % of the time"), "{}", error.message);
    assert!(case.samples().is_empty(), "nothing was measured");
    case.ends_if_noisy = false;
    case.drive(&[Script::Noisy]);
    assert_eq!(case.recorder.preflights[0].0, Quietness::Disturbed);
    assert_eq!(case.samples().len(), 6, "otherwise it is measured and reported");
    let records = case.folder.records().expect("journals");
    assert_eq!(records.last().map(|record| record.preflight.len()), Some(8), "the journal keeps it");
}

/// Message of Open MPI when it cannot create a window.
const NO_WINDOW: &str = "[n1:65] *** An error occurred in MPI_Win_create";

#[test]
fn a_fault_of_three_launches_belongs_to_the_set_up() {
    for samples in [0, 3] {
        let mut case = Case::new(&[2, 4], 2, times(2));
        let error =
            case.drive_with(&vec![Script::DiesWithMessageAfter(samples, NO_WINDOW); 99], false).expect_err("a set-up");
        assert_eq!((error.kind, error.exit_code(), case.jobs.len()), (ErrorKind::Setup, 6, 3), "{error}");
        assert!(
            error.message.starts_with("3 consecutive launches failed for the same reason, so the set-up is at fault"),
            "{error}"
        );
        assert!(error.message.contains(NO_WINDOW) && error.help.starts_with("set OMPI_MCA_osc=pt2pt"), "{error}");
        assert!(error.help.contains(&format!("{} points wait for the fix", case.count_waiting())), "{error}");
        assert!(case.failures().is_empty(), "no point is at fault");
        assert_eq!(case.endings(), [Status::Failed; 3], "each launch has its end");
        // The same command continues when the cause is fixed.
        case.drive(&[]);
        assert_eq!((case.states(0), case.states(1)), (vec![State::Done; 6], vec![State::Done; 6]));
        case.assert_no_duplicates();
    }
}

#[test]
fn a_fault_fixed_after_one_launch_marks_no_point() {
    for samples in [0, 3, 5] {
        let mut case = Case::new(&[2], 1, times(2));
        case.remedies.set(1);
        case.drive(&[Script::DiesWithMessageAfter(samples, NO_WINDOW)]);
        assert_eq!(case.states(0), vec![State::Done; 3], "after {samples} samples");
        assert_eq!((case.jobs.len(), case.endings()), (2, vec![Status::Failed, Status::Ok]));
        assert!(case.failures().is_empty());
        case.assert_no_duplicates();
    }
}

#[test]
fn a_set_up_fault_is_retried_with_different_points() {
    let mut case = Case::new(&[2], 1, times(1));
    case.drive_with(&vec![Script::DiesWithMessageAfter(0, NO_WINDOW); 9], false).expect_err("a set-up");
    let first: HashSet<&str> = case.jobs.iter().map(|job| job.tasks[0].key.as_str()).collect();
    assert_eq!(first.len(), 3);
}

#[test]
fn an_unknown_fault_before_any_success_is_a_set_up_fault() {
    let mut case = Case::new(&[2], 1, times(1));
    let died = "killed by pixies, process 1";
    let error = case.drive_with(&vec![Script::DiesWithMessageAfter(0, died); 9], false).expect_err("a set-up");
    assert_eq!((error.kind, case.jobs.len()), (ErrorKind::Setup, 3), "{error}");
    assert!(case.failures().is_empty());
    // After a success, points may be the cause.
    let mut case = Case::new(&[2], 1, times(2));
    let worked = Script::DiesAfter { samples: 3, in_a_run: false };
    case.drive(&[vec![worked], vec![Script::DiesWithMessageAfter(0, died); 6]].concat());
    assert_eq!((case.failures().len(), case.states(0)), (3, vec![State::Failed; 3]));
}

#[test]
fn a_fault_that_other_launches_do_not_share_belongs_to_its_points() {
    let mut case = Case::new(&[2], 1, times(1));
    let bad = Script::FatalAfter(0);
    case.drive(&[bad.clone(), bad, Script::Well]);
    assert_eq!(case.states(0), [State::Failed, State::Failed, State::Done]);
    assert_eq!(case.failures().len(), 2);
    // A single point with a known fault waits until it is fixed.
    let mut case = Case::new(&[2], 1, times(1));
    case.plan.entries.truncate(1);
    let error = case.drive_with(&vec![Script::DiesWithMessageAfter(0, NO_WINDOW); 9], false).expect_err("a set-up");
    assert!(error.kind == ErrorKind::Setup && error.help.contains("1 point waits"), "{error}");
    assert_eq!((case.jobs.len(), case.failures().len()), (2, 0));
}

#[test]
fn the_end_of_a_job_is_not_a_fault_of_its_launch() {
    let mut case = Case::new(&[2, 4], 1, times(2));
    let over = "srun: error: Unable to create step for job 9: Job/step already completing or completed";
    let error = case.drive_with(&[Script::Well, Script::DiesWithMessageAfter(1, over)], false).expect_err("the end");
    assert!(error.help.contains("in another job"), "{error}");
    assert_eq!((case.jobs.len(), case.failures().len()), (2, 0));
}

#[test]
fn an_oom_kill_reported_only_by_the_launcher_marks_no_point() {
    let mut case = Case::new(&[2], 1, times(1));
    let oom = "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=3.0.";
    let error = case.drive_with(&vec![Script::DiesWithMessageAfter(1, oom); 9], false).expect_err("no memory");
    assert!(error.message.contains("twice: out of memory"), "{error}");
    assert_eq!((case.jobs.len(), case.failures().len()), (2, 0));
}

#[test]
fn ranks_that_exceed_node_memory_are_refused_before_measuring() {
    let mut case = Case::new(&[2], 1, times(1));
    case.plan.context.launcher = launch::find("custom").expect("a launcher");
    case.drive(&[]);
    let mut case = Case::new(&[2], 1, times(1));
    case.plan.context.launcher = launch::find("custom").expect("a launcher");
    // The machine of these launches has 8 GiB.
    case.plan.entries[0].point.params.insert("M".into(), (4u64 << 30).into());
    let error = case.drive_with(&[], false).expect_err("a refusal");
    assert_eq!((error.kind, case.jobs.len()), (ErrorKind::Input, 1), "{error}");
    assert!(error.message.contains("on node") && error.message.contains("the node has 8 GiB"), "{error}");
    assert!(case.samples().is_empty());
}
