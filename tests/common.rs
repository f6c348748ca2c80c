//! Shared functions: temporary folders, example records, programs with a time limit.

pub mod forwarding;

use apexmap_base::disturbance::Facts;
use apexmap_base::point::{Point, Value};
use apexmap_base::provenance::{Cache, Granularity, Host, Placement, Processors};
use apexmap_base::sample::{Launch, SCHEMA_VERSION, Sample, Status};
use apexmap_measure::hardware::PlacementOrder;
use apexmap_measure::worker::{Job, Repeat, Task};
use apexmap_pages::compare::Comparison;
use apexmap_pages::compare::regression::{RegressionCheck, SlowdownLimit, check_each};
use apexmap_pages::report::Additions;
use apexmap_results::disk::Folder;
use apexmap_results::disk::journal::Record;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::disk::parquet;
use apexmap_results::disk::tabulate::tabulate;
use apexmap_results::table::Table;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, kill, sigaction};
use nix::unistd::Pid;
use std::io::Write;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

/// A temporary folder of one test. It is removed at the end of the test, which must come within [`MAX_TEST_TIME`].
pub struct Scratch(PathBuf);

/// Time limit of a test. Most of it may be spent waiting for other tests on the same processors.
const MAX_TEST_TIME: Duration = Duration::from_secs(3600);
/// Time limit of a program that a test starts.
const MAX_PROGRAM_TIME: Duration = Duration::from_secs(900);

/// Folders of running tests, with the names of the tests and their start times.
static RUNNING: Mutex<Vec<(PathBuf, String, Instant)>> = Mutex::new(Vec::new());

/// Ensures that programs which tests start can receive signals. `nohup` and `&` in scripts ignore some signals, and
/// child processes inherit this. A handler, in contrast, is reset when a program starts. This process itself still
/// ignores the signals.
pub fn pass_on_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        extern "C" fn nothing(_: nix::libc::c_int) {}
        let ignore = SigAction::new(SigHandler::Handler(nothing), SaFlags::SA_RESTART, SigSet::empty());
        for signal in [Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGTERM] {
            // SAFETY: the handler does nothing, and a signal that was not ignored gets its old handler back.
            unsafe {
                let before = sigaction(signal, &ignore).expect("a handler");
                if !matches!(before.handler(), SigHandler::SigIgn) {
                    sigaction(signal, &before).expect("the previous handler");
                }
            }
        }
        std::thread::spawn(end_hanging_tests);
    });
}

/// Ends all tests and their programs when one test takes too long; otherwise a test that hangs would go unreported.
fn end_hanging_tests() {
    loop {
        std::thread::sleep(Duration::from_secs(5));
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((_, test, _)) = running.iter().find(|(_, _, begun)| begun.elapsed() > MAX_TEST_TIME) else { continue };
        let _ = writeln!(std::io::stderr(), "the test {test} does not end within {} s", MAX_TEST_TIME.as_secs());
        let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let children = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
        for pid in
            children.flat_map(|text| text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>())
        {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        std::process::exit(101);
    }
}

impl Scratch {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("apexmap-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a temporary folder");
        pass_on_signals();
        let test = std::thread::current().name().unwrap_or("without a name").to_owned();
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).push((path.clone(), test, Instant::now()));
        Self(path)
    }
}

impl Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).retain(|(path, ..)| *path != self.0);
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs a function that may hang, and fails after a time limit.
pub fn with_time_limit<R: Send + 'static>(body: impl FnOnce() -> R + Send + 'static) -> R {
    let (sender, receiver) = channel();
    let thread = std::thread::spawn(move || sender.send(body()));
    match receiver.recv_timeout(Duration::from_secs(600)) {
        Ok(result) => result,
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("it hangs"),
        Err(_) => std::panic::resume_unwind(thread.join().expect_err("no result came")),
    }
}

/// The additions of a report with fits of models.
pub const WITH_FITS: Additions = Additions { redrawn: None, models: &[], fits: Some(&|_| ()) };

pub fn host() -> Host {
    Host {
        name: "node1".into(),
        cpu_model: "Example CPU".into(),
        processors: Processors {
            cores: Some(2),
            hardware_threads: Some(2),
            machine_cores: Some(2),
            machine_hardware_threads: Some(2),
            ..Processors::default()
        },
        memory_bytes: 8 << 30,
        caches: vec![Cache { level: 1, bytes: 32 << 10, shared_by: 1 }],
        last_cache_seen_bytes: None,
        granularity: Granularity::default(),
        tlb_entries_4k: Some(1536),
        tlb_entries_2m: None,
        memory_side_cache_bytes: None,
        cycle_hertz: Some(2e9),
        cycle_source: "time-stamp counter".into(),
        kernel: "6.1".into(),
        governor: None,
        huge_pages: Some("madvise".into()),
        load: Some(0.5),
    }
}

pub fn launch(name: &str, ranks: usize, build: &str) -> Launch {
    Launch {
        schema: SCHEMA_VERSION,
        launch: name.into(),
        block: 0,
        transport: "threads".into(),
        library: "threads of one process".into(),
        launcher: "local".into(),
        ranks,
        host: host(),
        place: Some(PlacementOrder::default()),
        placement: (0..ranks)
            .map(|rank| Placement {
                rank,
                node: "node1".into(),
                machine: None,
                hardware_thread: Some(0),
                physical_core: Some(0),
                package: Some(0),
                numa_node: Some(0),
                node_memory_bytes: Some(8 << 30),
                pinned: true,
                memory: None,
            })
            .collect(),
        node_types: Default::default(),
        environment: Default::default(),
        oversubscribed: false,
        build: build.into(),
        unix_seconds: 1.7e9,
    }
}

/// Returns the manifest of a result without launches.
pub fn manifest() -> Manifest {
    Manifest {
        schema: SCHEMA_VERSION,
        name: "result".into(),
        title: "result".into(),
        sweep: String::new(),
        seed: 1,
        machine: "m".into(),
        hosts: Vec::new(),
        points: 1,
        blocks: 1,
        budget_seconds: None,
        command: Vec::new(),
        driver: apexmap_measure::provenance::build(),
        driver_host: host(),
        imported: None,
        worker: apexmap_measure::provenance::build(),
        unix_seconds: 1.7e9,
        samples: Default::default(),
        launches: Vec::new(),
        sized_for: None,
        compaction: None,
        simulated: None,
    }
}

/// Returns the job of a launch of two ranks: points with blocks of one word and of two, two samples of each.
pub fn two_rank_job(launch: &str, point: impl Fn(u64) -> Point) -> Job {
    let mut job = job_of_points(2, [1, 2].map(point).to_vec());
    for (task, block) in job.tasks.iter_mut().zip([1, 2]) {
        task.key = format!("L{block}");
    }
    Job { launch: launch.into(), repeat: Repeat { min: 2, max: 2, width: None, budget_seconds: None }, ..job }
}

/// Returns the job of a launch that measures each point once, on threads.
pub fn job_of_points(ranks: usize, points: Vec<Point>) -> Job {
    let task = |point: Point| Task {
        key: point.label(),
        point,
        seconds_so_far: Vec::new(),
        next_repetition: 0,
        costs: None,
        resampled_costs: Vec::new(),
    };
    Job {
        launch: "0001".into(),
        block: 0,
        launcher: "local".into(),
        transport: "threads".into(),
        ranks,
        seed: 1,
        repeat: Repeat { min: 1, max: 1, width: None, budget_seconds: None },
        preflight_seconds: 0.0,
        node_type: None,
        environment: Default::default(),
        machine: None,
        resampled: Vec::new(),
        first_round_seconds: None,
        eager_bytes: None,
        on_request: false,
        tasks: points.into_iter().map(task).collect(),
    }
}

/// Returns a complete point of a kernel that takes almost no time.
pub fn small_point(kernel: &str, ranks: usize) -> Point {
    let mut point = Point::new(kernel, ranks)
        .with_parameter("M", 4096 * ranks as u64)
        .with_parameter("I", 64u64)
        .with_parameter("N", 2u64)
        .with_parameter("L", 8u64);
    for (name, value) in [("B", 4u64), ("SMSG", 3), ("NSER", 2)] {
        let parameters = apexmap_measure::kernels::find(kernel).expect("a kernel").parameters;
        if parameters.iter().any(|parameter| parameter.name == name) {
            point = point.with_parameter(name, value);
        }
    }
    apexmap_measure::kernels::complete(point).expect("a valid point")
}

pub fn sample(point: &Point, key: &str, repetition: u32, seconds: f64) -> Sample {
    Sample {
        point: point.clone(),
        key: key.into(),
        block: 0,
        repetition,
        status: Status::Ok,
        message: String::new(),
        unix_seconds: 1.7e9 + f64::from(repetition),
        load: Some(0.25),
        pages_elsewhere: Some(0.0),
        disturbance: Facts::default(),
        seconds: Some(seconds),
        outputs: [("remote_share".to_owned(), Value::Real(0.5))].into(),
    }
}

/// Runs apexmap.
pub fn apexmap(arguments: &[&str]) -> Output {
    output(Command::new(env!("CARGO_BIN_EXE_apexmap")).args(arguments))
}

/// Runs a program to its end, within [`MAX_PROGRAM_TIME`].
pub fn output(command: &mut Command) -> Output {
    pass_on_signals();
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn();
    wait_for_output(child.unwrap_or_else(|error| panic!("{command:?}: {error}")))
}

/// Waits for a program to end, within [`MAX_PROGRAM_TIME`]. Returns its output and status.
pub fn wait_for_output(child: Child) -> Output {
    let pid = Pid::from_raw(child.id() as i32);
    let (sender, receiver) = channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    match receiver.recv_timeout(MAX_PROGRAM_TIME) {
        Ok(output) => output.expect("an end"),
        Err(_) => {
            let _ = kill(pid, Signal::SIGKILL);
            panic!("process {pid} does not end within {} s", MAX_PROGRAM_TIME.as_secs());
        }
    }
}

pub fn successful_stdout(arguments: &[&str]) -> String {
    let output = apexmap(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

pub fn refusal_message(arguments: &[&str]) -> String {
    let output = apexmap(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    String::from_utf8(output.stderr).expect("text")
}

/// Returns nine samples of 1 to 9 s for L = 1, and five samples and a failure for L = 2. I = 64 / L follows from L.
pub fn samples() -> Vec<Sample> {
    let point =
        |block: u64| small_point("apex_map.two_sided", 2).with_parameter("L", block).with_parameter("I", 64 / block);
    let sample_of = |block: u64, seconds: f64| sample(&point(block), &format!("L{block}"), seconds as u32, seconds);
    let mut result: Vec<Sample> = [5, 1, 9, 3, 7, 2, 8, 4, 6].iter().map(|&s| sample_of(1, f64::from(s))).collect();
    result.extend([1.0, 2.0, 3.0, 4.0, 10.0].map(|seconds| sample_of(2, seconds)));
    result.push(Sample {
        status: Status::TimedOut,
        seconds: None,
        message: "too, \"long\"\n".into(),
        ..sample_of(2, 1.0)
    });
    result
}

pub fn table(samples: Vec<Sample>) -> Table {
    tabulate(&[Record { launch: Some(launch("0001", 2, "b1")), samples, ..Record::default() }], |_| true)
}

/// Writes these samples to a Parquet file and returns its path.
pub fn file(scratch: &Scratch, samples: Vec<Sample>) -> PathBuf {
    let folder = Folder::create(&scratch.join("result")).expect("a folder");
    write(&folder, &table(samples));
    folder.samples()
}

/// Writes a table as the samples of a folder.
pub fn write(folder: &Folder, table: &Table) {
    let path = folder.samples();
    folder.replace(&path, |file| parquet::write(file, &path, table)).expect("written");
}

/// The check of the second machine against the first.
pub fn check(comparison: &Comparison, limit: SlowdownLimit) -> apexmap_base::error::Result<RegressionCheck> {
    check_each(comparison, limit).map(|mut checks| checks.remove(0))
}
