//! The fingerprint of the measuring code: what makes samples stale, and what does not. The build script runs as cargo runs it,
//! over a copy of the sources that stands in no repository.

use super::common::Scratch;
use apexmap::measure::kernels;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What the build script told the compiler, by the variables' names, and whether the program was built again.
struct Built {
    told: BTreeMap<String, String>,
    fresh: bool,
}

impl Built {
    /// Fingerprints by family.
    fn families(&self) -> BTreeMap<&str, &str> {
        self.told["APEXMAP_BUILDS"].split(' ').filter_map(|one| one.split_once('=')).collect()
    }
}

fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        fs::copy(from, to).expect("a copy of a file");
        return;
    }
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder of the repository").flatten() {
        if entry.file_name() != OsStr::new("target") {
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    }
}

/// The measuring wing in a folder, checked by cargo.
fn build(folder: &Path, more: &[&str]) -> Built {
    let mut cargo = Command::new(env!("CARGO"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("identity");
    cargo.current_dir(folder).args(["check", "--lib", "--locked", "--no-default-features", "--message-format=json"]);
    cargo.args(more).arg("--target-dir").arg(target);
    // What this test's own cargo has set is not meant for another build.
    let inherited = std::env::vars().map(|(name, _)| name);
    inherited.filter(|name| name.starts_with("CARGO_") && name != "CARGO_HOME").for_each(|name| {
        cargo.env_remove(name);
    });
    let done = cargo.output().expect("cargo can be started");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let (mut told, mut fresh) = (BTreeMap::new(), true);
    for line in String::from_utf8_lossy(&done.stdout).lines() {
        let message: serde_json::Value = serde_json::from_str(line).expect("a message of cargo");
        if !message["package_id"].as_str().is_some_and(|id| id.contains("apexmap") || id.contains("the-copy")) {
            continue;
        }
        if message["reason"] == "build-script-executed" {
            let pairs: Vec<(String, String)> = serde_json::from_value(message["env"].clone()).expect("variables");
            told.extend(pairs);
        } else if message["reason"] == "compiler-artifact" {
            fresh &= message["fresh"] == true;
        }
    }
    Built { told, fresh }
}

#[test]
fn samples_are_stale_when_their_own_code_or_its_build_changes_and_only_then() {
    let scratch = Scratch::new();
    let copied = scratch.join("the-copy");
    fs::create_dir_all(&copied).expect("a folder");
    for name in ["Cargo.toml", "Cargo.lock", "build.rs", "src", "tests", "benches", "examples"] {
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join(name), &copied.join(name));
    }
    let first = build(&copied, &["--release"]);
    let families: Vec<&str> = kernels::ALL.iter().map(|kernel| kernels::family(kernel.id())).collect();
    assert!(families.iter().all(|family| first.families().contains_key(family)), "{:?}", first.told);
    assert_eq!(first.told["APEXMAP_COMMIT"], "unknown", "the copy is in no repository");
    assert!(build(&copied, &["--release"]).fresh, "nothing has changed");

    let debug = build(&copied, &[]);
    for (family, fingerprint) in first.families() {
        assert_ne!(
            debug.families()[family],
            fingerprint,
            "{family}: code that is not optimised measures something else"
        );
    }

    // A kernel more: a file in its family's folder and a line in the list.
    let change = |file: &str, text: &str| {
        let file = copied.join("src/measure").join(file);
        fs::write(&file, fs::read_to_string(&file).unwrap_or_default() + text).expect("a changed file");
        build(&copied, &["--release"])
    };
    change("kernels/mod.rs", "\n// A line.\n");
    let stale = |then: &Built, now: &Built| -> Vec<String> {
        let (then, now) = (then.families(), now.families());
        then.iter().filter(|(family, is)| now[*family] != **is).map(|(family, _)| family.to_string()).collect()
    };
    let more = change("kernels/random_access/more.rs", "//! A kernel.\n");
    assert_eq!(stale(&first, &more), ["random_access"]);
    // The streams of RandomAccess are part of calibrations, too.
    let stream = change("kernels/random_access/random_stream.rs", "\n// A comment.\n");
    assert_eq!(stale(&more, &stream), ["calibrate", "random_access"]);
    let common = change("numerics/mix.rs", "\n// A comment.\n");
    assert_eq!(stale(&stream, &common).len(), first.families().len(), "all kernels draw from it");
}
