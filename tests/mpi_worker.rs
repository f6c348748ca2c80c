//! MPI worker programs and their launches, for tests and benchmarks. Builds one slim program per MPI library.

use apexmap_base::point::Point;
use apexmap_base::sample::Event;
use apexmap_measure::worker::{Job, Repeat, Task};
use apexmap_run::launch::{CommandLine, LaunchJob, Launcher, LocalMachine, check, find};
use apexmap_run::sweep::execute::{Ending, Executor, LaunchLimits, Processes};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Packages of Debian and its derivatives, which the Makefile installs.
const PACKAGES: &str = "openmpi-bin libopenmpi-dev mpich libmpich-dev libclang-dev";

/// An MPI library: its compiler, its launcher and its name.
pub struct Mpi {
    pub compiler: &'static str,
    pub launcher: &'static str,
    pub name: &'static str,
    worker: OnceLock<PathBuf>,
}

pub static OPEN_MPI: Mpi =
    Mpi { compiler: "mpicc.openmpi", launcher: "openmpi", name: "Open MPI", worker: OnceLock::new() };
pub static MPICH: Mpi = Mpi { compiler: "mpicc.mpich", launcher: "mpich", name: "MPICH", worker: OnceLock::new() };

/// Admits one build or launch at a time, because ranks of different launches would wait for each other's processors.
pub fn lock_launches() -> MutexGuard<'static, ()> {
    static LAUNCH_LOCK: Mutex<()> = Mutex::new(());
    LAUNCH_LOCK.lock().unwrap_or_else(PoisonError::into_inner)
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

impl Mpi {
    pub fn launcher(&self) -> Box<dyn Launcher> {
        (find(self.launcher).expect("a launcher").make)(&[]).expect("a launcher")
    }

    /// Returns the slim program, which is built once.
    pub fn worker(&self) -> &Path {
        self.worker.get_or_init(|| self.build(&["--bin", "apexmap-worker"]).join("apexmap-worker"))
    }

    /// Builds a target in a separate folder and returns the folder. mpi-sys does not notice changes of MPICC.
    fn build(&self, target: &[&str]) -> PathBuf {
        let _alone = lock_launches();
        let built = build_worker(
            &format!("worker-{}", self.launcher),
            &[target, &["--features", "mpi"]].concat(),
            ("MPICC", self.compiler),
        );
        let refuse = |errors| {
            panic!("no worker for {}; `make install-deps` installs the packages {PACKAGES}\n{errors}", self.name)
        };
        built.unwrap_or_else(refuse).join("release")
    }

    /// Runs a check of the program in `tests/mpi_checks` on three ranks, with these settings of the MPI library in the
    /// environment. The ranks leave files in the folder, which must be empty.
    pub fn check(&self, name: &str, folder: &Path, settings: &[(&str, &str)]) -> Output {
        let program = self.build(&["--example", "mpi_checks"]).join("examples/mpi_checks");
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
        Processes.execute(&command, &file.with_extension("stderr"), limits, &mut on_event).unwrap()
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
        tasks: points.into_iter().enumerate().map(task).collect(),
    }
}
