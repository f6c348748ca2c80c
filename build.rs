//! Tells the program what it was built from: commit, compiler, and a fingerprint of the measuring code per kernel family.
//!
//! Two builds with the same fingerprint measure alike; samples of another fingerprint are stale. It covers what changes machine
//! code: the sources, the compiler, the target with its features, the optimisation level, flags, features and the locked
//! versions of the crates that run inside timed regions.

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const MEASURING: &str = "src/measure";
/// A folder per family. What lies beside the folders lists the kernels, completes points and runs them: a new kernel is one
/// more line there, and changes no other.
const KERNELS: &str = "src/measure/kernels";
/// Crates whose code runs inside timed regions, or decides where memory and threads lie.
const TIMED: &[&str] =
    &["memmap2", "mpi", "mpi-sys", "multiversion", "nix", "rand", "rand_core", "rand_distr", "rand_pcg"];
/// What the compiler was told, as far as cargo tells.
const SETTINGS: &[&str] = &[
    "TARGET",
    "OPT_LEVEL",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_CFG_TARGET_FEATURE",
    "CARGO_CFG_PANIC",
    "CARGO_CFG_DEBUG_ASSERTIONS",
    "CARGO_FEATURE_EXPLORE",
    "CARGO_FEATURE_MPI",
];

fn main() {
    // The commit says whether any file differs from it.
    ["src", "Cargo.toml", "Cargo.lock"].iter().for_each(|place| println!("cargo::rerun-if-changed={place}"));
    let compiler = output(&std::env::var("RUSTC").unwrap_or("rustc".into()), &["--version"]);
    let (families, common) = sources();
    let mut base = Sha256::new();
    base.update(&compiler);
    SETTINGS.iter().for_each(|name| base.update(format!("{name}={:?}\n", std::env::var(name).ok())));
    locked().iter().for_each(|package| base.update(package));
    read_into(&mut base, &common);

    let (mut whole, mut builds) = (base.clone(), Vec::new());
    for (family, files) in &families {
        let mut hash = base.clone();
        read_into(&mut hash, &with_used(files, &families));
        read_into(&mut whole, files);
        builds.push(format!("{family}={}", short(hash)));
    }
    set("APEXMAP_BUILD", &short(whole));
    set("APEXMAP_BUILDS", &builds.join(" "));
    set("APEXMAP_COMMIT", &commit().unwrap_or("unknown".into()));
    set("APEXMAP_COMPILER", &compiler);
    set("APEXMAP_TARGET", &std::env::var("TARGET").unwrap_or_default());
    set("APEXMAP_PROFILE", &std::env::var("OPT_LEVEL").unwrap_or_default());
    set("APEXMAP_FLAGS", &std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default().replace('\u{1f}', " "));
}

/// The files of each family of kernels, and those that all share.
fn sources() -> (BTreeMap<String, Vec<PathBuf>>, Vec<PathBuf>) {
    let mut common = Vec::new();
    collect(Path::new(MEASURING), &mut common);
    common.sort();
    let mut families: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    common.retain(|file| {
        let Ok(below) = file.strip_prefix(KERNELS) else { return true };
        if below.components().count() > 1 {
            let family = below.iter().next().unwrap_or_default().to_string_lossy().into_owned();
            families.entry(family).or_default().push(file.clone());
        }
        false
    });
    (families, common)
}

/// A family's files, and those of other families that they name, directly or through others: `random_access::table`. What a
/// family's root declares for others are parameters, which are in a point's key.
fn with_used(files: &[PathBuf], families: &BTreeMap<String, Vec<PathBuf>>) -> Vec<PathBuf> {
    let mut found = files.to_vec();
    let mut at = 0;
    while let Some(file) = found.get(at) {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let mut named = modules(&text, "super", file.parent().unwrap_or(Path::new(KERNELS)));
        families.keys().for_each(|family| named.extend(modules(&text, family, &Path::new(KERNELS).join(family))));
        for file in named {
            if !found.contains(&file) {
                found.push(file);
            }
        }
        at += 1;
    }
    found.sort();
    found
}

/// The files in `folder` that a text names as `root::module`; all of them after `root::{` and `root::*`.
fn modules(text: &str, root: &str, folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for rest in text.split(&format!("{root}::")).skip(1) {
        let module = rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
        let named = folder.join(module);
        collect(&named.with_extension("rs"), &mut files);
        collect(&named, &mut files);
    }
    files
}

fn read_into(hash: &mut Sha256, files: &[PathBuf]) {
    for file in files {
        hash.update(file.to_string_lossy().as_bytes());
        hash.update(std::fs::read(file).unwrap_or_default());
    }
}

fn short(hash: Sha256) -> String {
    hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// Names and versions of the crates in timed regions, as they are locked.
fn locked() -> Vec<String> {
    let lock = std::fs::read_to_string("Cargo.lock").unwrap_or_default();
    let field = |package: &str, name: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
        line.unwrap_or_default().trim_matches('"').to_owned()
    };
    let named = lock.split("[[package]]").map(|package| (field(package, "name"), field(package, "version")));
    named
        .filter(|(name, _)| TIMED.contains(&name.as_str()))
        .map(|(name, version)| format!("{name} {version}\n"))
        .collect()
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
