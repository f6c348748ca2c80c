//! Passes the build's identity to the program. Builds with equal fingerprints measure equally; samples with another fingerprint are
//! stale. The fingerprint covers everything that changes machine code: the tokens of the sources, the compiler, the target with its
//! features, the optimisation level, flags, features and the locked versions of the crates that run inside timed regions.

mod fingerprint;

use fingerprint::{fingerprints, sources};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::process::Command;

/// Their code runs inside timed regions, or decides where memory and threads are placed.
const TIMED_CRATES: &[&str] =
    &["memmap2", "mpi", "mpi-sys", "multiversion", "nix", "rand", "rand_core", "rand_distr", "rand_pcg"];
/// As cargo passes them.
const SETTINGS: &[&str] = &[
    "TARGET",
    "OPT_LEVEL",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_CFG_TARGET_FEATURE",
    "CARGO_CFG_PANIC",
    "CARGO_CFG_DEBUG_ASSERTIONS",
    "CARGO_FEATURE_MPI",
];

/// The commit refers to these. `Cargo.lock` is the workspace's.
const MEASURING_CODE: &[&str] = &[".", "../base", LOCK];
const LOCK: &str = "../../Cargo.lock";

fn main() {
    MEASURING_CODE.iter().for_each(|path| println!("cargo::rerun-if-changed={path}"));
    let compiler = output(&std::env::var("RUSTC").unwrap_or("rustc".into()), &["--version"]);
    let mut base = Sha256::new();
    base.update(&compiler);
    SETTINGS.iter().for_each(|name| base.update(format!("{name}={:?}\n", std::env::var(name).ok())));
    locked_versions().iter().for_each(|package| base.update(package));

    let sources = sources(Path::new(".")).expect("the sources of the measuring code can be read");
    let all_fingerprints = fingerprints(&sources, &base);
    let families: Vec<String> =
        all_fingerprints.families.iter().map(|(family, fingerprint)| format!("{family}={fingerprint}")).collect();
    set("APEXMAP_BUILD", &all_fingerprints.whole);
    set("APEXMAP_BUILDS", &families.join(" "));
    set("APEXMAP_COMMIT", &commit().unwrap_or("unknown".into()));
    set("APEXMAP_COMPILER", &compiler);
    set("APEXMAP_TARGET", &std::env::var("TARGET").unwrap_or_default());
    set("APEXMAP_PROFILE", &std::env::var("OPT_LEVEL").unwrap_or_default());
    set("APEXMAP_FLAGS", &std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default().replace('\u{1f}', " "));
}

fn locked_versions() -> Vec<String> {
    let lock = [LOCK, "Cargo.lock"].iter().find_map(|lock| std::fs::read_to_string(lock).ok()).unwrap_or_default();
    let field = |package: &str, name: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
        line.unwrap_or_default().trim_matches('"').to_owned()
    };
    let packages = lock.split("[[package]]").map(|package| (field(package, "name"), field(package, "version")));
    packages
        .filter(|(name, _)| TIMED_CRATES.contains(&name.as_str()))
        .map(|(name, version)| format!("{name} {version}\n"))
        .collect()
}

/// The commit that last changed the measuring code, with `-dirty` if it has changed since. Commits of other code must not rebuild
/// this crate and all above it. A surrounding repository, such as a user's home folder, is ignored.
fn commit() -> Option<String> {
    let root = std::fs::canonicalize(output("git", &["rev-parse", "--show-toplevel"])).ok()?;
    if root != std::fs::canonicalize("../..").ok()? {
        return None;
    }
    let mut commit = output("git", &[&["log", "-1", "--abbrev=12", "--format=%h", "--"], MEASURING_CODE].concat());
    let status = ["status", "--porcelain", "--untracked-files=no", "--"];
    if !output("git", &[&status[..], MEASURING_CODE].concat()).is_empty() {
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

fn set(name: &str, value: &str) {
    println!("cargo::rustc-env={name}={value}");
}
