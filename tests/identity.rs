//! The fingerprint of the measuring code: what makes samples stale, and what does not. The build script runs as cargo runs it,
//! over a copy of the sources that stands in no repository; which files are in which key is asked of its module directly.

#[path = "../src/measure/fingerprint.rs"]
mod fingerprint;

use super::architecture::sources;
use super::common::Scratch;
use apexmap_measure::kernels;
use fingerprint::{IN_NO_KEY, OF_ALL_FAMILIES, fingerprints};
use sha2::Sha256;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

const MEASURING: &str = "src/measure";

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
    cargo.current_dir(folder).args([
        "check",
        "--lib",
        "--locked",
        "--package",
        "apexmap-measure",
        "--message-format=json",
    ]);
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
    for name in ["Cargo.toml", "Cargo.lock", "models", "sweeps", "src", "tests", "benches", "examples"] {
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

    let file = copied.join("src/measure/kernels/on_node.rs");
    fs::write(&file, fs::read_to_string(&file).expect("a file") + "\n// A line.\n").expect("a changed file");
    let changed = build(&copied, &["--release"]);
    for (family, fingerprint) in first.families() {
        assert_ne!(changed.families()[family], fingerprint, "{family}: the file decides on which core a rank runs");
    }
}

/// Families whose keys have a file of `src/measure`, as the documentation of `src/measure/fingerprint.rs` says it.
fn concerned<'a>(file: &str, families: &BTreeSet<&'a str>) -> BTreeSet<&'a str> {
    if IN_NO_KEY.contains(&file) {
        return BTreeSet::new();
    }
    let folder = file.strip_prefix("kernels/").and_then(|below| Some(below.split_once('/')?.0));
    families
        .iter()
        .copied()
        .filter(|family| folder.is_none_or(|own| own == *family || *family == OF_ALL_FAMILIES))
        .collect()
}

fn keys(measuring: &Path) -> BTreeMap<String, String> {
    let made = fingerprints(measuring, &Sha256::default()).expect("sources that can be read");
    made.families.into_iter().chain([("whole".to_owned(), made.whole)]).collect()
}

/// Families whose keys differ.
fn stale<'a>(then: &'a BTreeMap<String, String>, now: &BTreeMap<String, String>) -> BTreeSet<&'a str> {
    then.iter().filter(|(family, is)| now[*family] != **is).map(|(family, _)| family.as_str()).collect()
}

#[test]
fn each_file_of_the_measuring_code_is_in_the_keys_of_the_families_that_run_it() {
    let scratch = Scratch::new();
    let measuring = scratch.join(MEASURING);
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join(MEASURING), &measuring);
    let first = keys(&measuring);
    let families: BTreeSet<&str> = kernels::ALL.iter().map(|kernel| kernels::family(kernel.id())).collect();
    assert_eq!(first.keys().map(String::as_str).collect::<BTreeSet<_>>(), &families | &BTreeSet::from(["whole"]));

    let files = sources(MEASURING);
    assert!(files.len() > 100, "{} files", files.len());
    for (file, text) in &files {
        let name = file.strip_prefix(MEASURING).expect("a file of the folder").to_str().expect("a name");
        fs::write(measuring.join(name), format!("{text}\n// A comment.\n")).expect("a changed file");
        let mut expected = concerned(name, &families);
        if !IN_NO_KEY.contains(&name) {
            expected.insert("whole");
        }
        assert_eq!(stale(&first, &keys(&measuring)), expected, "{name}");
        fs::write(measuring.join(name), text).expect("the file as it was");
    }
    assert_eq!(keys(&measuring), first);

    // A file more.
    fs::write(measuring.join("kernels/random_access/more.rs"), "//! A kernel.\n").expect("a file");
    assert_eq!(stale(&first, &keys(&measuring)), BTreeSet::from(["calibrate", "random_access", "whole"]));
}

#[test]
fn only_calibrations_run_the_code_of_another_family_whose_key_has_all() {
    let families: BTreeSet<&str> = kernels::ALL.iter().map(|kernel| kernels::family(kernel.id())).collect();
    let mut of_others = 0;
    for (file, text) in sources("src/measure/kernels") {
        let name = file.strip_prefix("src/measure/kernels").expect("a file of the folder");
        let Some(own) = name.components().next().filter(|_| name.components().count() > 1) else { continue };
        let own = own.as_os_str().to_str().expect("a name");
        let names = |family: &&&str| **family != own && text.contains(&format!("{family}::"));
        if let Some(other) = families.iter().find(names) {
            assert_eq!(own, OF_ALL_FAMILIES, "{} names {other}, whose files are not in its key", name.display());
            of_others += 1;
        }
    }
    assert!(of_others > 5, "{of_others} files of calibrations that name another family");
}
