//! Runs HPCC, the reference implementation of RandomAccess, in two builds.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The section of HPCC's output that is read.
#[derive(Clone, Copy)]
pub enum Section {
    /// All ranks on one table.
    Mpi,
    /// One rank on its own.
    Single,
}

/// Page size of the tables.
#[derive(Clone, Copy, PartialEq)]
pub enum Pages {
    Base,
    Huge,
}

/// A build of HPCC.
pub struct Hpcc {
    program: PathBuf,
    /// Algorithm and compiler flags.
    pub description: String,
}

impl Hpcc {
    /// Debian's package. It does not record its compiler flags. With these flags, Debian's compiler reproduces the
    /// package's verification (verification.c) from the source, instruction for instruction.
    pub fn debian() -> Self {
        let description =
            "Debian's hpcc 1.5.0: base algorithm, gcc -O2 -funroll-loops -fstack-protector-strong, no -march";
        Self { program: "hpcc".into(), description: description.into() }
    }

    /// Builds HPCC with the optimised algorithm of its authors. If that fails, returns Debian's build.
    pub fn build_optimised() -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/build-hpcc");
        let built = Command::new(script).stdin(Stdio::null()).output().expect("a shell");
        let text = String::from_utf8_lossy(if built.status.success() { &built.stdout } else { &built.stderr });
        let mut lines = text.trim().lines();
        match (built.status.success(), lines.next(), lines.next()) {
            (true, Some(program), Some(flags)) => {
                let description = format!("hpcc 1.5.0 built here: optimised algorithm, gcc {flags}");
                Self { program: program.into(), description }
            }
            _ => {
                println!("\ncannot build hpcc with its optimised algorithm; using Debian's instead:\n{text}");
                Self::debian()
            }
        }
    }
}

/// The result of a run.
pub struct Run {
    pub gups: f64,
    /// Smallest share over the ranks of a table on huge pages.
    pub huge_share: f64,
    /// Share of wrong words. The optimised algorithm loses an update if eight consecutive ones meet in one word.
    pub errors: f64,
}

/// Time after which a run counts as hanging.
const LONGEST: Duration = Duration::from_secs(900);

/// Returns Debian's example input with another matrix size, which sets hpcc's table size, and another process grid.
fn settings(order: u64, ranks: usize) -> String {
    let example = "/usr/share/doc/hpcc/examples/_hpccinf.txt";
    let text = std::fs::read_to_string(example).unwrap_or_else(|error| {
        panic!("{example}: {error}; `make bench` installs hpcc; manually: apt-get install hpcc")
    });
    let line = |(number, line): (usize, &str)| match number {
        5 => format!("{order} Ns\n"),
        10 => "1 Ps\n".into(),
        11 => format!("{ranks} Qs\n"),
        _ => format!("{line}\n"),
    };
    text.lines().enumerate().map(line).collect()
}

impl Hpcc {
    /// Runs HPCC on `ranks` ranks bound to cores, on a table of `words` words in total.
    ///
    /// The sections of RandomAccess come first. The run is stopped after them, because the HPL alone would take
    /// minutes.
    pub fn run(&self, folder: &Path, ranks: usize, words: u64, section: Section, pages: Pages) -> Run {
        // The table is the largest power of two of words that fits the matrix, so the matrix has one row more than the
        // root.
        std::fs::write(folder.join("hpccinf.txt"), settings(words.isqrt() + 1, ranks)).expect("hpcc's settings");
        let output = folder.join("hpccoutf.txt");
        let _ = std::fs::remove_file(&output);
        let mut mpirun = Command::new("mpirun.openmpi");
        mpirun.args(["-n", &ranks.to_string(), "--bind-to", "core"]).arg(&self.program).current_dir(folder);
        mpirun.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        // With this setting glibc requests huge pages for malloc's memory, like madvise.
        mpirun.env("GLIBC_TUNABLES", if pages == Pages::Huge { "glibc.malloc.hugetlb=1" } else { "" });
        mpirun.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let (name, size, rate) = match section {
            Section::Mpi => ("MPIRandomAccess", "Total Main table size", "Billion(10^9) Updates    per second"),
            Section::Single => ("SingleRandomAccess", "Main table size", "Single GUP/s"),
        };
        let mut started = mpirun.spawn().expect("Open MPI exists");
        let id = Pid::from_raw(started.id() as i32);
        let (mut on_huge, mut looks) = (0, 0);
        let text = wait(&mut started, || {
            let text = std::fs::read_to_string(&output).unwrap_or_default();
            looks += 1;
            // Looking for pages takes milliseconds of the cores' time, so do it rarely.
            if looks % 5 == 0 && text.contains(&format!("Begin of {name} section")) {
                on_huge = on_huge.max(huge_bytes(id));
            }
            text.contains(&format!("End of {name} section")).then_some(text)
        });
        kill(id, Signal::SIGTERM).expect("hpcc is stopped");
        started.wait().expect("hpcc ends");
        let lines = &text[text.find(&format!("Begin of {name} section")).expect("the section")..];
        assert_eq!(number(lines, size, "= "), words as f64, "hpcc's table");
        let errors = number(lines, "Found ", "Found ") / words as f64;
        assert!(errors <= 0.01, "{errors} of the words of hpcc's table are wrong");
        let huge_share = on_huge as f64 / (words * 8 / ranks as u64) as f64;
        Run { gups: number(lines, rate, ""), huge_share: huge_share.min(1.0), errors }
    }
}

/// Returns the bytes on huge pages of the launch's rank with the fewest.
fn huge_bytes(launcher: Pid) -> u64 {
    let parent = format!("PPid:\t{launcher}\n");
    let processes = std::fs::read_dir("/proc").expect("processes").flatten().map(|entry| entry.path());
    let ranks = processes
        .filter(|path| std::fs::read_to_string(path.join("status")).is_ok_and(|status| status.contains(&parent)));
    let bytes = |path: PathBuf| {
        let text = std::fs::read_to_string(path.join("smaps_rollup")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("AnonHugePages:"))?;
        Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
    };
    ranks.filter_map(bytes).min().unwrap_or(0)
}

/// Returns the number in the first line with `name`: after the last `mark`, or without a mark the first number.
fn number(text: &str, name: &str, mark: &str) -> f64 {
    let line = text.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("hpcc writes no {name}"));
    let rest = if mark.is_empty() { line } else { line.rsplit(mark).next().unwrap_or(line) };
    let word = rest.split_whitespace().find_map(|word| word.parse().ok());
    word.unwrap_or_else(|| panic!("no number in \"{line}\""))
}

fn wait(child: &mut Child, mut look: impl FnMut() -> Option<String>) -> String {
    let start = Instant::now();
    loop {
        if let Some(text) = look() {
            return text;
        }
        let ended = child.try_wait().expect("hpcc can be waited for");
        assert!(ended.is_none(), "hpcc ended early: {ended:?}; is it installed? (`make bench`)");
        assert!(start.elapsed() < LONGEST, "hpcc takes too long");
        std::thread::sleep(Duration::from_millis(100));
    }
}
