//! MPI worker programs and their launches, for tests and benchmarks. Builds one slim program per MPI library.

use apexmap_base::point::Point;
use apexmap_base::sample::Event;
use apexmap_measure::hardware::FilesBelow;
use apexmap_measure::worker::{Job, Repeat, Task};
use apexmap_run::drive::execute::{Ending, Executor, LaunchLimits, Processes};
use apexmap_run::launch::{CommandLine, LaunchJob, Launcher, LocalMachine, check, find};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

/// Packages of Debian and its derivatives, which the Makefile installs.
const PACKAGES: &str = "openmpi-bin libopenmpi-dev mpich libmpich-dev libclang-dev";

/// An MPI library: its compiler, its launcher and its name.
pub struct Mpi {
    pub compiler: &'static str,
    pub launcher: &'static str,
    pub name: &'static str,
    /// Its programs, built once.
    built: OnceLock<[PathBuf; 2]>,
}

pub static OPEN_MPI: Mpi =
    Mpi { compiler: "mpicc.openmpi", launcher: "openmpi", name: "Open MPI", built: OnceLock::new() };
pub static MPICH: Mpi = Mpi { compiler: "mpicc.mpich", launcher: "mpich", name: "MPICH", built: OnceLock::new() };

/// The programs for an MPI: the worker, and the checks of the transport.
const PROGRAMS: [&str; 2] = ["apexmap-worker", "mpi_checks"];
/// What they are built from.
const SOURCES: [&str; 5] = ["src/base", "src/measure", "tests/mpi_checks", "Cargo.toml", "Cargo.lock"];

/// Admits one build or launch at a time, because ranks of different launches would wait for each other's processors. It is a lock
/// on a file, because nextest runs each test in a process of its own.
pub fn lock_launches() -> File {
    let file = File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join("launches.lock")).expect("a file");
    file.lock().expect("a lock");
    file
}

/// Builds a target of the measuring crate in a separate folder, with a variable in the environment. Returns the folder, or the
/// errors of the build.
pub fn build_worker(folder: &str, target: &[&str], variable: (&str, &str)) -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name(folder);
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR")).arg("build").args(target).arg("--target-dir").arg(&folder);
    cargo.args(["--release", "--locked", "--quiet", "--package", "apexmap-measure"]);
    // Variables that cargo has set for this test do not apply to another build.
    let inherited = std::env::vars().map(|(name, _)| name);
    inherited.filter(|name| name.starts_with("CARGO_") && name != "CARGO_HOME").for_each(|name| {
        cargo.env_remove(name);
    });
    let built = cargo.env(variable.0, variable.1).stdin(Stdio::null()).output().expect("cargo can be started");
    if built.status.success() { Ok(folder) } else { Err(String::from_utf8_lossy(&built.stderr).into_owned()) }
}

/// Returns when a file, or the newest file in a folder, was changed.
fn newest(path: &Path) -> Option<SystemTime> {
    let in_folder = fs::read_dir(path).into_iter().flatten().flatten().filter_map(|entry| newest(&entry.path()));
    in_folder.chain(fs::metadata(path).and_then(|file| file.modified())).max()
}

impl Mpi {
    pub fn launcher(&self) -> Box<dyn Launcher> {
        (find(self.launcher).expect("a launcher").make)(&[]).expect("a launcher")
    }

    /// Returns the slim program.
    pub fn worker(&self) -> &Path {
        &self.programs()[0]
    }

    fn programs(&self) -> &[PathBuf; 2] {
        self.built.get_or_init(|| self.build())
    }

    /// Builds the programs for this MPI if a source is newer. Both MPIs share a build folder, because only mpi-sys and its users
    /// differ.
    fn build(&self) -> [PathBuf; 2] {
        let _alone = lock_launches();
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name(format!("worker-{}", self.launcher));
        let programs = PROGRAMS.map(|program| kept.join(program));
        let changed =
            SOURCES.iter().filter_map(|source| newest(&Path::new(env!("CARGO_MANIFEST_DIR")).join(source))).max();
        let built = programs.iter().map(|program| newest(program)).min();
        if built.flatten() > changed {
            return programs;
        }
        // mpi-sys does not notice changes of MPICC.
        let folder = kept.with_file_name("workers");
        for part in ["build", ".fingerprint"].map(|part| folder.join("release").join(part)) {
            let parts = fs::read_dir(part).into_iter().flatten().flatten();
            let of_mpi = parts.filter(|part| part.file_name().to_string_lossy().starts_with("mpi-sys-"));
            of_mpi.for_each(|part| fs::remove_dir_all(part.path()).expect("a folder of an earlier build"));
        }
        let target = ["--bin", "apexmap-worker", "--example", "mpi_checks", "--features", "mpi"];
        if let Err(errors) = build_worker("workers", &target, ("MPICC", self.compiler)) {
            panic!("no worker for {}; `make install-deps` installs the packages {PACKAGES}\n{errors}", self.name)
        }
        fs::create_dir_all(&kept).expect("a folder");
        for (program, place) in programs.iter().zip(["apexmap-worker", "examples/mpi_checks"]) {
            fs::copy(folder.join("release").join(place), program).expect("a program");
        }
        programs
    }

    /// Runs a check of the program in `tests/mpi_checks` on three ranks, with these settings of the MPI library in the
    /// environment. The ranks leave files in the folder, which must be empty.
    pub fn check(&self, name: &str, folder: &Path, settings: &[(&str, &str)]) -> Output {
        let program = self.programs()[1].clone();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let starter = check(&*self.launcher(), &program, &path).unwrap_or_else(|error| panic!("{error}"));
        let arguments = vec![name.to_owned(), folder.to_str().unwrap().to_owned()];
        let (ranks, machine) = (3, LocalMachine::detect());
        let launch = LaunchJob {
            program: starter,
            worker: program,
            arguments,
            ranks,
            nodes: None,
            ranks_per_node: None,
            hosts: Vec::new(),
            place: None,
            variables: Vec::new(),
            machine,
        };
        let command = self.launcher().command(&launch);
        let (program, arguments) = command.argv.split_first().unwrap();
        let _alone = lock_launches();
        let mut start = Command::new(program);
        start.args(arguments).envs(command.env).envs(settings.iter().copied());
        start.stdin(Stdio::null()).output().unwrap()
    }

    /// Returns the command that starts `worker` on `started` ranks. The worker expects the number of ranks in the job.
    fn command(&self, worker: &Path, job: &Job, started: usize) -> (CommandLine, PathBuf) {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{}.job", job.launch, self.launcher));
        std::fs::write(&file, serde_json::to_string(job).unwrap()).unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let program = check(&*self.launcher(), worker, &path)
            .unwrap_or_else(|error| panic!("{error}; `make install-deps` installs {PACKAGES}"));
        let expected = job.ranks.to_string();
        let arguments = ["worker", "--transport", "mpi", "--ranks", &expected, "--job", file.to_str().unwrap()];
        let (worker, arguments) = (worker.to_owned(), arguments.map(String::from).to_vec());
        let launch = LaunchJob {
            program,
            worker,
            arguments,
            ranks: started,
            nodes: None,
            ranks_per_node: None,
            hosts: Vec::new(),
            place: None,
            variables: Vec::new(),
            machine: LocalMachine::detect(),
        };
        (self.launcher().command(&launch), file)
    }

    /// Runs a job as the driver does.
    pub fn run(&self, job: &Job, on_event: &mut dyn FnMut(&Event)) -> Ending {
        let (command, file) = self.command(self.worker(), job, job.ranks);
        let _alone = lock_launches();
        let minutes = Duration::from_secs(300);
        let limits = LaunchLimits { start: minutes, sample: minutes, end: minutes, line: 1 << 20 };
        let mut on_event = |event: Option<Event>| {
            event.iter().for_each(&mut *on_event);
            Ok(())
        };
        Processes(&FilesBelow(Path::new("/")))
            .execute(&command, &file.with_extension("stderr"), limits, &mut on_event)
            .unwrap()
    }

    /// Starts a worker without the driver and returns its output and exit code.
    pub fn start(&self, worker: &Path, job: &Job, started: usize) -> Output {
        let (command, _) = self.command(worker, job, started);
        let _alone = lock_launches();
        let (program, arguments) = command.argv.split_first().unwrap();
        Command::new(program).args(arguments).envs(command.env).stdin(Stdio::null()).output().unwrap()
    }
}

pub fn job(name: &str, ranks: usize, repetitions: u32, points: Vec<Point>) -> Job {
    let task = |(index, point)| Task {
        key: format!("{index}"),
        point,
        seconds_so_far: Vec::new(),
        next_repetition: 0,
        costs: None,
        resampled_costs: Vec::new(),
    };
    Job {
        launch: format!("{name}-{ranks}"),
        block: 0,
        launcher: "test".into(),
        transport: "mpi".into(),
        ranks,
        seed: 1,
        repeat: Repeat { min: repetitions, max: repetitions, width: None, budget_seconds: None },
        preflight_seconds: 0.0,
        node_type: None,
        environment: Default::default(),
        machine: None,
        resampled: Vec::new(),
        first_round_seconds: None,
        eager_bytes: None,
        on_request: false,
        tasks: points.into_iter().enumerate().map(task).collect(),
    }
}
