//! Tells the program what it was built from: commit, compiler, and a fingerprint of the measuring source code.
//!
//! Two builds with the same fingerprint measure alike; a result made by another fingerprint is stale.

use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Everything that can change what a measurement means.
const MEASURING: &[&str] = &["src/measure"];

fn main() {
    let mut files = Vec::new();
    for place in MEASURING {
        println!("cargo::rerun-if-changed={place}");
        collect(Path::new(place), &mut files);
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in &files {
        hash.update(file.to_string_lossy().as_bytes());
        hash.update(std::fs::read(file).unwrap_or_default());
    }
    let compiler = output(&std::env::var("RUSTC").unwrap_or("rustc".into()), &["--version"]);
    hash.update(&compiler);
    let build: String = hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();

    set("APEXMAP_BUILD", &build);
    set("APEXMAP_COMMIT", &commit().unwrap_or("unknown".into()));
    set("APEXMAP_COMPILER", &compiler);
    set("APEXMAP_TARGET", &std::env::var("TARGET").unwrap_or_default());
    set("APEXMAP_PROFILE", &std::env::var("OPT_LEVEL").unwrap_or_default());
    set("APEXMAP_FLAGS", &std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default().replace('\u{1f}', " "));
}

/// The commit of this source code, if it stands in a repository of its own: one around it, such as a user's home folder,
/// says nothing about it.
fn commit() -> Option<String> {
    let root = std::fs::canonicalize(output("git", &["rev-parse", "--show-toplevel"])).ok()?;
    if root != std::fs::canonicalize(".").ok()? {
        return None;
    }
    // Elsewhere in a worktree. Cargo would run this script each time for a file that does not exist.
    let log = output("git", &["rev-parse", "--git-path", "logs/HEAD"]);
    if Path::new(&log).is_file() {
        println!("cargo::rerun-if-changed={log}");
    }
    let mut commit = output("git", &["rev-parse", "--short=12", "HEAD"]);
    if !output("git", &["status", "--porcelain", "--untracked-files=no"]).is_empty() {
        commit.push_str("-dirty");
    }
    Some(commit).filter(|commit| !commit.is_empty())
}

fn collect(place: &Path, files: &mut Vec<PathBuf>) {
    match std::fs::read_dir(place) {
        Ok(entries) => entries.flatten().for_each(|entry| collect(&entry.path(), files)),
        Err(_) if place.is_file() => files.push(place.to_owned()),
        Err(_) => {}
    }
}

fn output(program: &str, arguments: &[&str]) -> String {
    match Command::new(program).args(arguments).output() {
        Ok(done) if done.status.success() => String::from_utf8_lossy(&done.stdout).trim().to_owned(),
        _ => String::new(),
    }
}

fn set(name: &str, value: &str) {
    println!("cargo::rustc-env={name}={value}");
}
