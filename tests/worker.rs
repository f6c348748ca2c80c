//! Tests of the worker as launchers start it: it reads a job and writes lines. Also tests its schedule.

use super::common::{Scratch, small_point, with_time_limit};
use apexmap_base::point::Point;
use apexmap_base::sample::{Event, Sample, Status};
use apexmap_measure::hardware::{self as place, Hardware, PlacementOrder};
use apexmap_measure::worker::{Job, Repeat, Schedule, Task};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

fn task(point: Point) -> Task {
    Task {
        key: point.label(),
        point,
        seconds_so_far: Vec::new(),
        next_repetition: 0,
        costs: None,
        resampled_costs: Vec::new(),
    }
}

/// Returns a job of five points that differ in L.
fn job(ranks: usize, repeat: Repeat) -> Job {
    let kernel = if ranks == 1 { "apex_map.sequential" } else { "apex_map.two_sided" };
    let tasks = [1u64, 2, 4, 8, 16].map(|block| task(small_point(kernel, ranks).with_parameter("L", block)));
    Job {
        launch: "0007".into(),
        block: 2,
        launcher: "local".into(),
        transport: "threads".into(),
        ranks,
        seed: 11,
        repeat,
        preflight_seconds: 0.0,
        node_type: None,
        environment: Default::default(),
        machine: None,
        resampled: Vec::new(),
        first_round_seconds: None,
        eager_bytes: None,
        on_request: false,
        tasks: tasks.into(),
    }
}

fn times(min: u32, max: u32) -> Repeat {
    Repeat { min, max, width: None, budget_seconds: None }
}

fn worker_on(job_file: &Path, ranks: usize) -> Command {
    let mut worker = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    worker.arg("worker").arg("--job").arg(job_file).args(["--transport", "threads", "--ranks", &ranks.to_string()]);
    worker
}

fn start(job_file: &Path, ranks: usize) -> Output {
    worker_on(job_file, ranks).output().expect("the program runs")
}

fn work_with(job: &Job, ranks: usize) -> (Vec<Event>, Output) {
    let folder = Scratch::new();
    let file = folder.join("job.json");
    std::fs::write(&file, serde_json::to_string(job).expect("a job")).expect("written");
    let output = start(&file, ranks);
    let lines = String::from_utf8(output.stdout.clone()).expect("text");
    (lines.lines().map(|line| serde_json::from_str(line).expect("every line is an event")).collect(), output)
}

/// Returns the events of a job that ends well.
fn work(job: &Job) -> Vec<Event> {
    let (events, output) = work_with(job, job.ranks);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    events
}

fn samples(events: &[Event]) -> Vec<&Sample> {
    events.iter().filter_map(|event| if let Event::Sample(sample) = event { Some(&**sample) } else { None }).collect()
}

fn order(events: &[Event]) -> Vec<usize> {
    events.iter().filter_map(|event| if let Event::Start { index, .. } = event { Some(*index) } else { None }).collect()
}

#[test]
fn a_job_gives_a_greeting_samples_and_a_farewell() {
    for ranks in [1, 2, 3] {
        let job = job(ranks, times(3, 5));
        let events = work(&job);
        let Event::Hello(hello) = &events[0] else { panic!("the first line greets: {:?}", events[0]) };
        assert_eq!((hello.launch.as_str(), hello.block, hello.ranks), ("0007", 2, ranks));
        assert_eq!(hello.build, apexmap_measure::provenance::build().fingerprint);
        assert_eq!(hello.placement.iter().map(|place| place.rank).collect::<Vec<_>>(), (0..ranks).collect::<Vec<_>>());
        assert_eq!(events.last(), Some(&Event::Done { budget_spent: false }));
        let mut repetitions = [0; 5];
        let is_of_run = |event: &&Event| !matches!(event, Event::Memory { .. } | Event::Progress { .. });
        let runs: Vec<&Event> = events[1..events.len() - 1].iter().filter(is_of_run).collect();
        for pair in runs.chunks(2) {
            let [Event::Start { index, repetition }, Event::Sample(sample)] = pair else { panic!("{pair:?}") };
            let task = &job.tasks[*index];
            assert_eq!((&sample.point, &sample.key), (&task.point, &task.key));
            assert_eq!((sample.block, sample.repetition, *repetition), (2, repetitions[*index], repetitions[*index]));
            assert_eq!((sample.status, sample.message.as_str()), (Status::Ok, ""));
            assert!(sample.seconds.is_some_and(|seconds| seconds > 0.0));
            let outputs = apexmap_measure::kernels::find(&sample.point.kernel).expect("a kernel").outputs;
            assert!(sample.outputs.keys().all(|name| outputs.iter().any(|output| output.column == name)));
            repetitions[*index] += 1;
        }
        assert_eq!(repetitions, [3; 5], "without a width, the minimum is enough");
    }
}

/// The worker reports each rank's hardware thread, core and NUMA node and, from the first sample on, the node of its
/// memory.
#[test]
fn the_placement_of_ranks_and_memory_is_reported() {
    let hardware = Hardware::this_machine();
    let ranks = hardware.cores_or_threads().min(2);
    let events = work(&job(ranks, times(2, 2)));
    let Event::Hello(hello) = &events[0] else { panic!("no greeting") };
    assert_eq!(hello.place, Some(PlacementOrder::Spread));
    let expected = place::place_ranks(&hardware.threads, &hardware.allowed, PlacementOrder::Spread);
    for (place, number) in hello.placement.iter().zip(expected) {
        let thread = hardware.thread(number).expect("one of this machine");
        assert_eq!(place.hardware_thread, Some(number as u32));
        assert_eq!(place.physical_core, thread.core.map(|core| core as u32));
        assert_eq!(place.numa_node, thread.numa_node.map(|node| node as u32));
        assert!(place.pinned);
    }
    let memory_lines: Vec<usize> =
        (0..events.len()).filter(|&index| matches!(events[index], Event::Memory { .. })).collect();
    let node_count = hardware.count_distinct(|thread| thread.numa_node);
    assert_eq!(memory_lines.first(), node_count.map(|_| &2), "between the first start and its sample");
    for sample in samples(&events) {
        assert_eq!(sample.pages_elsewhere.is_some(), node_count.is_some());
        assert!(node_count != Some(1) || sample.pages_elsewhere == Some(0.0), "there is no other node");
    }
}

#[test]
fn the_placement_is_reported_for_any_length_of_node_name() {
    let name = "\"".repeat(700);
    let (folder, mut job) = (Scratch::new(), job(2, times(1, 1)));
    job.launcher = "srun".into();
    let file = folder.join("job.json");
    std::fs::write(&file, serde_json::to_string(&job).expect("a job")).expect("written");
    let output = worker_on(&file, 2).env("SLURMD_NODENAME", &name).output().expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).expect("text");
    let first = serde_json::from_str(lines.lines().next().expect("a line")).expect("an event");
    let Event::Hello(hello) = first else { panic!("no greeting") };
    assert_eq!(hello.placement.iter().map(|place| place.node == name).collect::<Vec<_>>(), [true, true]);
}

#[test]
fn an_unreachable_width_ends_at_the_maximum_repetitions() {
    let repeat = Repeat { width: Some(0.0), ..times(2, 9) };
    let events = work(&job(1, repeat));
    // The clock's resolution can make two medians in a row equal, so only bounds are certain.
    for index in 0..5 {
        let n = order(&events).iter().filter(|&&started| started == index).count();
        assert!((6..=9).contains(&n), "point {index}: {n} repetitions");
    }
}

#[test]
fn the_order_is_shuffled_in_each_round_and_depends_on_the_seed() {
    let order = |job: Job| {
        let mut schedule = Schedule::new(&job, "");
        let next = || {
            let index = schedule.next_point(true)?;
            schedule.record(index, Some(1.0));
            Some(index)
        };
        std::iter::from_fn(next).collect::<Vec<_>>()
    };
    let job = job(1, times(8, 8));
    let first = order(job.clone());
    assert_eq!(first, order(job.clone()), "the same seed gives the same order");
    for round in first.chunks(10) {
        let mut visits: Vec<_> = round.chunks(2).map(<[_]>::to_vec).collect();
        visits.sort_unstable();
        assert_eq!(visits, [0, 1, 2, 3, 4].map(|point| [point; 2]), "a round visits every point for two runs");
    }
    assert!(first.chunks(10).any(|round| round != &first[..10]), "rounds differ: {first:?}");
    assert_ne!(first, order(Job { seed: 12, ..job.clone() }));
    assert_ne!(first, order(Job { block: 3, ..job }), "so do blocks");
}

#[test]
fn the_budget_ends_a_job_with_unfinished_points() {
    let repeat = Repeat { budget_seconds: Some(0.2), ..times(u32::MAX, u32::MAX) };
    let events = work(&job(1, repeat));
    assert_eq!(events.last(), Some(&Event::Done { budget_spent: true }));
    assert!(!samples(&events).is_empty());
}

#[test]
fn every_point_is_measured_once_before_the_budget_ends_a_job() {
    let repeat = Repeat { budget_seconds: Some(0.0), ..times(5, 5) };
    let events = work(&Job { first_round_seconds: Some(100.0), ..job(1, repeat) });
    assert_eq!(events.last(), Some(&Event::Done { budget_spent: true }));
    let keys: BTreeSet<&str> = samples(&events).iter().map(|sample| sample.key.as_str()).collect();
    assert_eq!((keys.len(), samples(&events).len()), (5, 5), "once each");
}

#[test]
fn earlier_samples_count_and_numbering_continues() {
    let mut job = job(1, times(3, 3));
    job.tasks[0] = Task { seconds_so_far: vec![1.0; 3], next_repetition: 3, ..job.tasks[0].clone() };
    job.tasks[1] = Task { seconds_so_far: vec![1.0], next_repetition: 4, ..job.tasks[1].clone() };
    let events = work(&job);
    let repetitions = |index: usize| -> Vec<u32> {
        samples(&events).iter().filter(|s| s.key == job.tasks[index].key).map(|s| s.repetition).collect()
    };
    assert_eq!((repetitions(0), repetitions(1), repetitions(2)), (vec![], vec![4, 5], vec![0, 1, 2]));
}

#[test]
fn earlier_samples_count_only_on_their_type_of_nodes() {
    let own = apexmap_measure::provenance::node_type();
    for (node_type, counted) in [(own, 1), ("Other CPU, 64 cores", 0)] {
        let mut job = Job { node_type: Some(node_type.into()), ..job(1, times(2, 2)) };
        job.tasks.truncate(1);
        job.tasks[0] = Task { seconds_so_far: vec![1.0], next_repetition: 4, ..job.tasks[0].clone() };
        let events = work(&job);
        let repetitions: Vec<u32> = samples(&events).iter().map(|sample| sample.repetition).collect();
        assert_eq!(repetitions, (4..6 - counted).collect::<Vec<_>>(), "{node_type}");
        let Some(Event::Hello(launch)) = events.first() else { panic!("no greeting") };
        assert_eq!(launch.node_types.keys().collect::<Vec<_>>(), [own]);
        assert_eq!(launch.node_type(), own);
    }
}

/// A run that takes minutes.
#[test]
fn a_worker_ends_during_a_run_when_its_pipe_is_closed() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;
    let folder = Scratch::new();
    let file = folder.join("job.json");
    let point =
        Point::new("calibrate.mailbox", 2).with_parameter("message_bytes", 8u64).with_parameter("messages", 1u64 << 32);
    let point = apexmap_measure::kernels::complete(point).expect("a valid point");
    let job = Job { tasks: vec![task(point)], ..job(2, times(1, 1)) };
    std::fs::write(&file, serde_json::to_string(&job).expect("a job")).expect("written");
    let mut worker = worker_on(&file, 2).stdout(Stdio::piped()).spawn().expect("the program runs");
    let mut lines = BufReader::new(worker.stdout.take().expect("a pipe")).lines();
    let started = |line: &str| matches!(serde_json::from_str(line), Ok(Event::Start { .. }));
    assert!(lines.any(|line| started(&line.expect("a line"))));
    drop(lines);
    let ended = with_time_limit(move || worker.wait().expect("an end"));
    assert_eq!(ended.code(), Some(3));
}

fn refusal(job: &Job, ranks: usize) -> String {
    let (events, output) = work_with(job, ranks);
    assert!(!output.status.success());
    assert!(samples(&events).is_empty());
    let Some(Event::Fatal { message }) = events.last() else { panic!("no fatal line: {events:?}") };
    message.clone()
}

#[test]
fn an_unexpected_number_of_ranks_is_refused() {
    for ranks in [0, 1, 3] {
        let message = refusal(&job(2, times(1, 1)), ranks);
        assert!(message.contains(&format!("the job is for 2 ranks, but {ranks} were started")), "{message}");
    }
}

/// With stacks of 32 TiB, the address space has room for only a few threads.
#[test]
fn ranks_without_a_thread_are_refused_immediately() {
    let folder = Scratch::new();
    let file = folder.join("job.json");
    let job = Job { tasks: Vec::new(), ranks: 20, ..job(2, times(1, 1)) };
    std::fs::write(&file, serde_json::to_string(&job).expect("a job")).expect("written");
    let mut worker = worker_on(&file, 20);
    worker.env("RUST_MIN_STACK", (1u64 << 45).to_string());
    let output = with_time_limit(move || worker.output().expect("the program runs"));
    assert_eq!(output.status.code(), Some(4), "{}", String::from_utf8_lossy(&output.stderr));
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("the system refuses a thread for this rank"), "{stdout}");
}

#[test]
fn more_ranks_than_hardware_threads_are_oversubscribed() {
    let folder = Scratch::new();
    let file = folder.join("job.json");
    std::fs::write(&file, serde_json::to_string(&job(2, times(1, 1))).expect("a job")).expect("written");
    let mut worker = worker_on(&file, 2);
    let mut single_cpu = CpuSet::new();
    let allowed = sched_getaffinity(Pid::from_raw(0)).expect("the processors of this process");
    let first = (0..CpuSet::count()).find(|&cpu| allowed.is_set(cpu) == Ok(true)).expect("at least one");
    single_cpu.set(first).expect("within the set");
    // SAFETY: sched_setaffinity is async-signal-safe.
    unsafe { worker.pre_exec(move || Ok(sched_setaffinity(Pid::from_raw(0), &single_cpu)?)) };
    let output = worker.output().expect("the program runs");
    let line = output.stdout.split(|&byte| byte == b'\n').next().expect("a line");
    let Ok(Event::Hello(hello)) = serde_json::from_slice(line) else { panic!("no greeting") };
    assert!(hello.oversubscribed && hello.host.processors.cores == Some(1), "{hello:?}");
}

#[test]
fn invalid_points_are_refused_before_the_first_run() {
    let refused = |point: Point| {
        let mut job = job(2, times(1, 1));
        job.tasks[3].point = point;
        refusal(&job, 2)
    };
    let point = small_point("apex_map.two_sided", 2);
    let message = refused(point.clone().with_parameter("L", 3u64));
    assert!(message.contains("not a multiple of L = 3"), "{message}");
    let message = refused(Point { kernel: "apex_map.three_sided".into(), ..point.clone() });
    assert!(message.contains("there is no kernel \"apex_map.three_sided\""), "{message}");
    let message = refused(Point { ranks: 4, ..point });
    assert!(message.contains("it is for 4 ranks in a job for 2"), "{message}");
}

#[test]
fn a_file_that_is_not_a_job_is_refused_by_name() {
    let folder = Scratch::new();
    let file = folder.join("none.json");
    assert!(String::from_utf8_lossy(&start(&file, 1).stdout).contains("none.json"));
    std::fs::write(&file, "{\"launch\": 3}").expect("written");
    let output = start(&file, 1);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("none.json is not a job"));
}

#[test]
fn the_width_decides_the_repetitions_between_minimum_and_maximum() {
    let repeat = Repeat { width: Some(0.1), ..times(7, 9) };
    let narrow = [1.0, 1.01, 0.99, 1.0, 1.02, 1.0, 1.0];
    let wide = [1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0];
    assert!(!repeat.is_satisfied(&narrow[..6]), "fewer than the minimum");
    assert!(repeat.is_satisfied(&narrow));
    assert!(!repeat.is_satisfied(&wide), "not precise yet");
    assert!(repeat.is_satisfied(&[&wide[..], &[1.0]].concat()), "the maximum");
    assert!(!Repeat { min: 1, ..repeat }.is_satisfied(&narrow[..5]), "no interval below six");
    assert!(Repeat { width: None, min: 1, ..repeat }.is_satisfied(&[5.0]));
    assert!(!Repeat { width: None, min: 1, ..repeat }.is_satisfied(&[]));
}

#[test]
fn a_failed_point_is_not_repeated() {
    let mut schedule = Schedule::new(&job(1, times(3, 3)), "");
    let mut runs = [0; 5];
    while let Some(index) = schedule.next_point(false) {
        runs[index] += 1;
        schedule.record(index, (index != 2).then_some(1.0));
    }
    assert_eq!(runs, [3, 3, 1, 3, 3]);
}

#[test]
fn a_run_that_continues_begins_with_the_points_without_a_sample() {
    let mut job = job(1, times(3, 3));
    for index in [0, 2, 3] {
        job.tasks[index].seconds_so_far = vec![1.0; 2];
    }
    let mut schedule = Schedule::new(&job, "");
    let order: Vec<usize> = std::iter::from_fn(|| {
        let index = schedule.next_point(false)?;
        schedule.record(index, Some(1.0));
        Some(index)
    })
    .collect();
    let first: BTreeSet<usize> = order[..2].iter().copied().collect();
    assert_eq!((first, order.len()), (BTreeSet::from([1, 4]), 9), "{order:?}");
}

#[test]
fn a_visit_has_two_runs_of_its_point_where_the_first_round_is_in_time() {
    let mut schedule = Schedule::new(&job(1, times(5, 5)), "");
    let mut order = Vec::new();
    // The first round is late until each point has a run.
    while let Some(index) = schedule.next_point(schedule.first_round_share() == 1.0) {
        order.push(index);
        schedule.record(index, Some(1.0));
    }
    let (single, rest) = order.split_at(5);
    assert_eq!(single.iter().collect::<BTreeSet<_>>().len(), 5, "each point once: {single:?}");
    assert_eq!((rest.len(), rest[0]), (20, single[4]), "the last visit of the first round has a second run");
    assert!(rest[1..19].chunks(2).all(|visit| visit[0] == visit[1]), "{rest:?}");
}

#[test]
fn a_visit_ends_with_a_run_beside_another_program() {
    let mut schedule = Schedule::new(&job(1, times(3, 3)), "");
    let mut rounds = Vec::new();
    while let Some(index) = schedule.next_point(true) {
        rounds.push(index);
        schedule.end_visit();
        schedule.record(index, Some(1.0));
    }
    assert!(rounds.chunks(5).all(|round| round.iter().collect::<BTreeSet<_>>().len() == 5), "{rounds:?}");
}

proptest! {
    #[test]
    fn every_point_runs_until_it_is_complete(
        so_far in prop::collection::vec(0usize..6, 0..20), min in 1u32..5, seed in any::<u64>(), twice in any::<bool>(),
    ) {
        let mut job = Job { seed, ..job(1, times(min, min + 2)) };
        let first = job.tasks[0].clone();
        job.tasks = so_far.iter().map(|&n| Task { seconds_so_far: vec![1.0; n], ..first.clone() }).collect();
        let mut schedule = Schedule::new(&job, "");
        let mut runs = vec![0; so_far.len()];
        while let Some(index) = schedule.next_point(twice) {
            runs[index] += 1;
            schedule.record(index, Some(1.0));
            let due = (0..runs.len()).filter(|&other| so_far[other] + runs[other] < min as usize);
            let (most, least) = (runs[index], due.map(|other| runs[other]).min().unwrap_or(usize::MAX));
            // Points without a sample have a round before the others.
            let visits = 1 + usize::from(so_far.contains(&0));
            let ahead = visits * (1 + usize::from(twice));
            prop_assert!(most <= least.saturating_add(ahead), "interleaved: no point runs ahead by a visit");
        }
        let missing: Vec<_> = so_far.iter().map(|&n| (min as usize).saturating_sub(n)).collect();
        prop_assert_eq!(runs, missing);
    }
}
