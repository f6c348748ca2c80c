//! Passes the commit to the program. Only this package, on top of all others, builds again after a commit.

use std::path::Path;
use std::process::Command;

/// Paths that decide what the program does. A change in any of them since the commit marks it as dirty.
const PROGRAM: &[&str] = &["src", "models", "sweeps", "Cargo.lock"];

fn main() {
    PROGRAM.iter().for_each(|path| println!("cargo::rerun-if-changed={path}"));
    println!("cargo::rustc-env=APEXMAP_COMMIT={}", commit().unwrap_or("unknown".into()));
}

/// Returns the commit of this source code if it has its own repository. A surrounding repository, such as a user's home folder,
/// is ignored.
fn commit() -> Option<String> {
    let root = std::fs::canonicalize(output("git", &["rev-parse", "--show-toplevel"])).ok()?;
    if root != std::fs::canonicalize(".").ok()? {
        return None;
    }
    // In a worktree this file has another path. Cargo would rerun the script on every build if the file did not exist.
    let log = output("git", &["rev-parse", "--git-path", "logs/HEAD"]);
    if Path::new(&log).is_file() {
        println!("cargo::rerun-if-changed={log}");
    }
    let mut commit = output("git", &["rev-parse", "--short=12", "HEAD"]);
    let status = ["status", "--porcelain", "--untracked-files=no", "--"];
    if !output("git", &[&status[..], PROGRAM].concat()).is_empty() {
        commit.push_str("-dirty");
    }
    Some(commit).filter(|commit| !commit.is_empty())
}

fn output(program: &str, arguments: &[&str]) -> String {
    match Command::new(program).args(arguments).output() {
        Ok(done) if done.status.success() => String::from_utf8_lossy(&done.stdout).trim().to_owned(),
        _ => String::new(),
    }
}
