//! Requirements of some tests in addition to Rust. If one is missing, its tests are skipped, and a line on the terminal
//! reports it once per group. With APEXMAP_REQUIRE_ALL=1, which `make test` sets, they fail instead, unless the
//! requirement cannot be installed.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Programs and rights that tests share.
#[derive(Clone, Copy)]
pub enum Group {
    /// Open MPI and MPICH, and the requirements of rsmpi's build.
    Mpi,
    Browser,
    /// Node, for the modules of the explorer.
    Node,
    /// A program that renders PDF files.
    Poppler,
    /// Python with DuckDB and the packages of the notebooks.
    Python,
    /// EasyBuild, ReFrame and maturin, of packaging/requirements.txt.
    PackageTools,
    /// Slurm's controller and node daemons, and the right to start them.
    Slurm,
    /// Hosts of namespaces with a switch between them; needs root, see `network::missing_requirement`.
    Network,
    /// SimGrid with SMPI, of Debian's package libsimgrid-dev.
    SimGrid,
    /// A linker for 64-bit ARM and qemu, which interprets its programs.
    Arm,
    /// Valgrind and a C compiler.
    Valgrind,
    /// GNU's Fortran compiler.
    Fortran,
    /// A device of OpenCL; Debian's pocl makes one of the processor.
    OpenCl,
    /// A clang that compiles OpenCL for NVIDIA's GPUs.
    Clang,
    /// Control groups that limit memory, and the right to create them.
    MemoryLimits,
}

/// Returns from a test, or from a function that checks, if a group is missing.
macro_rules! needs {
    ($group:ident) => {
        if !crate::needs::Group::$group.is_available() {
            return;
        }
    };
}

impl Group {
    /// Returns whether the group is available. The first call reports a missing group.
    pub fn is_available(self) -> bool {
        static AVAILABLE: [OnceLock<bool>; 16] = [const { OnceLock::new() }; 16];
        *AVAILABLE[self as usize].get_or_init(|| {
            let (name, missing) = match self {
                Self::Mpi => ("MPI", missing_for_mpi()),
                Self::Browser => ("a browser", browser().is_none().then(|| "chromium".into())),
                Self::Node => ("node", find_on_path("node").is_none().then(|| "node".into())),
                Self::Poppler => ("a renderer of PDF", find_on_path("pdftoppm").is_none().then(|| "pdftoppm".into())),
                Self::Slurm => ("Slurm", missing_for_slurm()),
                Self::Network => ("a simulated network", crate::network::missing_requirement()),
                Self::Valgrind => ("valgrind", missing_for_valgrind()),
                Self::Fortran => ("Fortran", find_on_path("gfortran").is_none().then(|| "gfortran".into())),
                Self::OpenCl => ("OpenCL", crate::gpu::missing_requirement()),
                Self::Clang => ("clang", crate::gpu_faults::compiler().is_none().then(|| "clang".into())),
                Self::MemoryLimits => ("limits of memory", crate::memory::missing_requirement()),
                Self::Python => ("Python", (!python().is_file()).then(|| python().display().to_string())),
                Self::PackageTools => ("EasyBuild, ReFrame and maturin", missing_python_program()),
                Self::Arm => ("ARM", missing_for_arm()),
                Self::SimGrid => ("SimGrid", missing_for_simgrid()),
            };
            let Some(missing) = missing else { return true };
            let message = format!("tests that need {name}: {missing} is missing");
            // Rights on a machine cannot be installed.
            let installed = !matches!(self, Self::Network | Self::MemoryLimits);
            assert!(
                !installed || std::env::var_os("APEXMAP_REQUIRE_ALL").is_none(),
                "{message}; `make test` installs it"
            );
            // Written to standard error directly, because the harness hides the output of tests that pass.
            let _ = writeln!(std::io::stderr(), "skipped: {message}");
            false
        })
    }
}

/// Returns the first requirement of MPI workers that is missing.
fn missing_for_mpi() -> Option<String> {
    let programs = ["mpicc.openmpi", "mpirun.openmpi", "mpicc.mpich", "mpiexec.mpich"];
    let missing = programs.into_iter().find(|program| find_on_path(program).is_none());
    missing.or((!has_libclang()).then_some("libclang")).map(str::to_owned)
}

fn missing_for_simgrid() -> Option<String> {
    ["smpicc", "smpirun"].into_iter().find(|program| find_on_path(program).is_none()).map(str::to_owned)
}

fn missing_for_valgrind() -> Option<String> {
    ["valgrind", "cc"].into_iter().find(|program| find_on_path(program).is_none()).map(str::to_owned)
}

fn missing_for_arm() -> Option<String> {
    let programs = ["aarch64-linux-gnu-gcc", "qemu-aarch64"];
    programs.into_iter().find(|program| find_on_path(program).is_none()).map(str::to_owned)
}

fn missing_for_slurm() -> Option<String> {
    // Daemons are in folders outside of a user's PATH.
    let folders = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"].map(Path::new);
    let missing = |program: &&str| folders.iter().all(|folder| !folder.join(program).is_file());
    ["slurmctld", "slurmd", "sbatch", "srun"].into_iter().find(missing).map(str::to_owned)
}

/// Returns whether libclang is installed. bindgen needs it to read MPI's headers.
fn has_libclang() -> bool {
    let within = |folder: &Path| {
        let mut names = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
        names.any(|name| name.to_string_lossy().starts_with("libclang"))
    };
    let llvm = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(|entry| entry.path());
    let llvm = llvm.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("llvm-")));
    let plain = ["/usr/lib", "/usr/lib64", "/usr/local/lib"].map(PathBuf::from);
    std::env::var_os("LIBCLANG_PATH").is_some()
        || plain.into_iter().chain(llvm.map(|path| path.join("lib"))).any(|folder| within(&folder))
}

pub fn browser() -> Option<PathBuf> {
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(find_on_path)
}

/// Returns the Python that `make test` installs, or the one that APEXMAP_PYTHON names.
pub fn python() -> PathBuf {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/python/bin/python");
    std::env::var_os("APEXMAP_PYTHON").map_or(built, PathBuf::from)
}

/// Returns the path of a program that a package of Python has installed.
pub fn python_program(name: &str) -> PathBuf {
    python().with_file_name(name)
}

fn missing_python_program() -> Option<String> {
    let programs = ["eb", "reframe", "maturin"].into_iter().map(python_program);
    programs.into_iter().find(|program| !program.is_file()).map(|program| program.display().to_string())
}

pub fn find_on_path(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}
