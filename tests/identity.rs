//! Tests of the fingerprint of the measuring code: which changes make samples stale, and which do not. Cargo runs the
//! build script on a copy of the sources outside of any repository. A second test calls the module of the script and
//! checks the files of each key.

#[path = "../src/measure/fingerprint.rs"]
mod fingerprint;

use super::architecture::{imports, sources};
use super::common::Scratch;
use apexmap_measure::kernels;
use fingerprint::{IN_NO_KEY, Sources, digest, fingerprints};
use sha2::Sha256;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const MEASURING_FOLDER: &str = "src/measure";

/// Output of a build: the variables that the build script set for the compiler, and whether the program was already up
/// to date.
struct BuildOutput {
    variables: BTreeMap<String, String>,
    fresh: bool,
}

impl BuildOutput {
    /// Returns the fingerprints by family.
    fn families(&self) -> BTreeMap<&str, &str> {
        self.variables["APEXMAP_BUILDS"].split(' ').filter_map(|pair| pair.split_once('=')).collect()
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

/// Checks the measuring crate in a folder with cargo.
fn build(folder: &Path, more: &[&str]) -> BuildOutput {
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
    // Variables that cargo has set for this test do not apply to another build.
    let inherited = std::env::vars().map(|(name, _)| name);
    inherited.filter(|name| name.starts_with("CARGO_") && name != "CARGO_HOME").for_each(|name| {
        cargo.env_remove(name);
    });
    let done = cargo.output().expect("cargo can be started");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let (mut variables, mut fresh) = (BTreeMap::new(), true);
    for line in String::from_utf8_lossy(&done.stdout).lines() {
        let message: serde_json::Value = serde_json::from_str(line).expect("a message of cargo");
        if !message["package_id"].as_str().is_some_and(|id| id.contains("apexmap") || id.contains("the-copy")) {
            continue;
        }
        if message["reason"] == "build-script-executed" {
            let pairs: Vec<(String, String)> = serde_json::from_value(message["env"].clone()).expect("variables");
            variables.extend(pairs);
        } else if message["reason"] == "compiler-artifact" {
            fresh &= message["fresh"] == true;
        }
    }
    BuildOutput { variables, fresh }
}

#[test]
fn samples_are_stale_only_when_their_code_or_build_changes() {
    let scratch = Scratch::new();
    let copied = scratch.join("the-copy");
    fs::create_dir_all(&copied).expect("a folder");
    for name in ["Cargo.toml", "Cargo.lock", "models", "sweeps", "src", "tests", "benches", "examples"] {
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join(name), &copied.join(name));
    }
    let first = build(&copied, &["--release"]);
    let families: Vec<&str> = kernels::ALL.iter().map(|kernel| kernels::family(kernel.id)).collect();
    assert!(families.iter().all(|family| first.families().contains_key(family)), "{:?}", first.variables);
    assert_eq!(first.variables["APEXMAP_COMMIT"], "unknown", "the copy is in no repository");
    assert!(build(&copied, &["--release"]).fresh, "nothing has changed");

    let debug = build(&copied, &[]);
    for (family, fingerprint) in first.families() {
        assert_ne!(
            debug.families()[family],
            fingerprint,
            "{family}: code that is not optimised measures something else"
        );
    }

    let file = copied.join("src/measure/kernels/node_binding.rs");
    let text = fs::read_to_string(&file).expect("a file");
    fs::write(&file, format!("//! A sentence.\n{text}\n// A line.\n")).expect("a changed file");
    assert_eq!(build(&copied, &["--release"]).families(), first.families(), "a comment measures nothing");
    fs::write(&file, format!("{text}\nconst A: u8 = 0;\n")).expect("a changed file");
    let changed = build(&copied, &["--release"]);
    for (family, fingerprint) in first.families() {
        assert_ne!(changed.families()[family], fingerprint, "{family}: the file decides on which core a rank runs");
    }
}

/// The family of the simulated transport, which measurements do not use.
const SIMULATED: &str = "simulated";

fn families() -> BTreeSet<&'static str> {
    kernels::ALL.iter().map(|kernel| kernels::family(kernel.id)).chain([SIMULATED]).collect()
}

/// Returns the family whose folder contains a file of `src/measure`, if any.
fn owner(file: &str) -> Option<&str> {
    if file.starts_with("comm/simulated/") || file == "worker/simulated.rs" {
        return Some(SIMULATED);
    }
    let (folder, _) = file.strip_prefix("kernels/")?.split_once('/')?;
    (folder != "shared").then_some(folder)
}

/// Returns the families with a file of `src/measure` in their keys, by the rules in the documentation of
/// `src/measure/fingerprint.rs`.
fn families_with<'a>(file: &str, families: &BTreeSet<&'a str>) -> BTreeSet<&'a str> {
    if IN_NO_KEY.contains(&file) {
        return BTreeSet::new();
    }
    families.iter().copied().filter(|family| owner(file).is_none_or(|own_family| own_family == *family)).collect()
}

fn keys(sources: &Sources) -> BTreeMap<String, String> {
    let keys_of_sources = fingerprints(sources, &Sha256::default());
    keys_of_sources.families.into_iter().chain([("whole".to_owned(), keys_of_sources.whole)]).collect()
}

/// Returns the families whose keys differ.
fn stale_families<'a>(then: &'a BTreeMap<String, String>, now: &BTreeMap<String, String>) -> BTreeSet<&'a str> {
    then.iter().filter(|(family, is)| now[*family] != **is).map(|(family, _)| family.as_str()).collect()
}

#[test]
fn each_measuring_file_is_in_the_keys_of_its_families() {
    let measuring = Path::new(env!("CARGO_MANIFEST_DIR")).join(MEASURING_FOLDER);
    let mut digests = fingerprint::sources(&measuring).expect("sources that can be read");
    let first = keys(&digests);
    let families = families();
    assert_eq!(first.keys().map(String::as_str).collect::<BTreeSet<_>>(), &families | &BTreeSet::from(["whole"]));

    let files = sources(MEASURING_FOLDER);
    assert!(files.len() > 100, "{} files", files.len());
    for (file, text) in &files {
        let name = file.strip_prefix(MEASURING_FOLDER).expect("a file of the folder").to_str().expect("a name");
        let changed = digest(&format!("{text}\nconst A: u8 = 0;\n")).expect("tokens");
        let was = digests.insert(PathBuf::from(name), changed).expect("a source");
        let mut expected = families_with(name, &families);
        if !IN_NO_KEY.contains(&name) {
            expected.insert("whole");
        }
        assert_eq!(stale_families(&first, &keys(&digests)), expected, "{name}");
        digests.insert(PathBuf::from(name), was);
    }
    assert_eq!(keys(&digests), first);

    // Adds a file.
    digests.insert("kernels/random_access/more.rs".into(), digest("//! A kernel.\n").expect("tokens"));
    assert_eq!(stale_families(&first, &keys(&digests)), BTreeSet::from(["random_access", "whole"]));
}

#[test]
fn what_changes_no_machine_code_changes_no_key() {
    let digest = |text: &str| digest(text).expect("tokens");
    let text = "#[inline]\nfn f(a: &[u64]) -> u64 { g(a, 1, \"text\") }\nconst A: About = About { id: \"a\", summary: \"b\" };\n";
    let same = "//! A module.\n\n/// A function.\n#[inline]\nfn f(\n    a: &[u64], // A slice.\n) -> u64 {\n    /* g */\n    g(a, 1, \
                \"text\",)\n}\n#[doc = \"An object.\"]\nconst A: About = About { id: \"a\", summary: \"c\", };\n";
    assert_eq!(digest(text), digest(same));
    for (from, to) in [
        ("1", "2"),
        ("&", "& &"),
        ("u64 {", "u32 {"),
        ("\"text\"", "\"texts\""),
        ("id: \"a\"", "id: \"b\""),
        ("inline", "cold"),
    ] {
        assert_ne!(digest(text), digest(&text.replacen(from, to, 1)), "{from}");
    }
    assert_ne!(digest("a && b;"), digest("a & & b;"));
    assert_ne!(digest("ab c;"), digest("a bc;"));
}

#[test]
fn the_key_of_a_family_contains_no_code_of_another_family() {
    let mut seen = BTreeSet::new();
    for (file, imported) in imports("measure").into_iter().filter(|(file, _)| !IN_NO_KEY.contains(&file.as_str())) {
        let own_family = owner(&file);
        let is_foreign = |other: &&String| ![None, Some(SIMULATED), own_family].contains(&owner(other));
        let others: Vec<_> = imported.iter().filter(is_foreign).collect();
        assert!(others.is_empty(), "{file} imports {others:?}, which is not in all keys that {file} is in");
        seen.extend(imported.iter().filter_map(|other| owner(other).map(str::to_owned)));
    }
    assert_eq!(
        seen.iter().map(String::as_str).collect::<BTreeSet<_>>(),
        families(),
        "imports within families are seen"
    );
}
