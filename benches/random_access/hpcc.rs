//! Debian's `hpcc`, the reference implementation of RandomAccess: started, read and stopped.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What of its output counts.
#[derive(Clone, Copy)]
pub enum Section {
    /// All ranks on one table.
    Mpi,
    /// One rank on its own.
    Single,
}

/// No run takes so long, unless it hangs.
const LONGEST: Duration = Duration::from_secs(900);

/// Debian's example, but for the size of the matrix, from which hpcc takes the size of the table, and the grid.
fn settings(order: u64, ranks: usize) -> String {
    let example = "/usr/share/doc/hpcc/examples/_hpccinf.txt";
    let text = std::fs::read_to_string(example).unwrap_or_else(|error| {
        panic!("{example}: {error}; `make bench` installs hpcc, by hand: apt-get install hpcc")
    });
    let line = |(number, line): (usize, &str)| match number {
        5 => format!("{order} Ns\n"),
        10 => "1 Ps\n".into(),
        11 => format!("{ranks} Qs\n"),
        _ => format!("{line}\n"),
    };
    text.lines().enumerate().map(line).collect()
}

/// Runs it on `ranks` ranks bound to cores, on a table of `words` words in all; GUPS.
///
/// The sections of RandomAccess come first: what follows is not waited for, as the HPL alone would take minutes.
pub fn run(folder: &Path, ranks: usize, words: u64, section: Section) -> f64 {
    // The table is the largest power of two of words that the matrix has: one row more than its root.
    std::fs::write(folder.join("hpccinf.txt"), settings(words.isqrt() + 1, ranks)).expect("hpcc's settings");
    let output = folder.join("hpccoutf.txt");
    let _ = std::fs::remove_file(&output);
    let mut mpirun = Command::new("mpirun.openmpi");
    mpirun.args(["-n", &ranks.to_string(), "--bind-to", "core", "hpcc"]).current_dir(folder);
    mpirun.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    mpirun.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let (name, size, rate) = match section {
        Section::Mpi => ("MPIRandomAccess", "Total Main table size", "Billion(10^9) Updates    per second"),
        Section::Single => ("SingleRandomAccess", "Main table size", "Single GUP/s"),
    };
    let mut started = mpirun.spawn().expect("Open MPI is there");
    let text = wait(&mut started, || {
        let text = std::fs::read_to_string(&output).unwrap_or_default();
        text.contains(&format!("End of {name} section")).then_some(text)
    });
    let id = Pid::from_raw(started.id() as i32);
    kill(id, Signal::SIGTERM).expect("hpcc is stopped");
    started.wait().expect("hpcc ends");
    let lines = &text[text.find(&format!("Begin of {name} section")).expect("the section")..];
    assert_eq!(number(lines, size, "= "), words as f64, "hpcc's table");
    assert!(lines.contains("Found 0 errors"), "hpcc made errors");
    number(lines, rate, "")
}

/// The number of the first line with `name`: after the last `mark`, or else before or after the name.
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
