//! Checks that the licence of every crate in Cargo.lock, for any platform, permits what apexmap's licences permit, and that
//! libraries of other languages are unchanged and have their licence.

use apexmap_pages::explorer;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::process::Command;

/// Licences that only require their text to be kept.
const PERMISSIVE: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Returns whether these licences satisfy an SPDX expression. In older expressions, `/` means `OR`.
fn permits(expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    parse_alternatives(&mut rest) == Some(true) && rest.is_empty()
}

/// Takes the next word if it is this one.
fn take_word(rest: &mut &[&str], word: &str) -> bool {
    let is_next = rest.first() == Some(&word);
    *rest = &rest[usize::from(is_next)..];
    is_next
}

/// Parses alternatives. Returns whether one is permitted, or nothing if the expression is invalid.
fn parse_alternatives(rest: &mut &[&str]) -> Option<bool> {
    let mut permitted = parse_conjunction(rest)?;
    while take_word(rest, "OR") {
        permitted |= parse_conjunction(rest)?;
    }
    Some(permitted)
}

/// Parses licences that hold together. Returns whether all are permitted.
fn parse_conjunction(rest: &mut &[&str]) -> Option<bool> {
    let mut permitted = parse_licence(rest)?;
    while take_word(rest, "AND") {
        permitted &= parse_licence(rest)?;
    }
    Some(permitted)
}

fn parse_licence(rest: &mut &[&str]) -> Option<bool> {
    if take_word(rest, "(") {
        let permitted = parse_alternatives(rest)?;
        return take_word(rest, ")").then_some(permitted);
    }
    let (licence, after) = rest.split_first()?;
    *rest = after;
    // An exception only grants further permissions.
    if take_word(rest, "WITH") {
        *rest = rest.split_first()?.1;
    }
    Some(PERMISSIVE.contains(licence))
}

#[test]
fn expressions_are_parsed_with_choices_and_conditions() {
    for expression in [
        "MIT",
        "MIT OR AGPL-3.0-only",
        "GPL-3.0/MIT",
        "(MIT OR GPL-2.0-only) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception",
        "MIT AND (LGPL-2.1-or-later OR ISC AND Zlib)",
    ] {
        assert!(permits(expression), "{expression}");
    }
    for expression in
        ["AGPL-3.0-only", "MIT AND GPL-2.0-only", "(MIT OR ISC) AND MPL-2.0", "", "MIT OR", "MIT ISC", "(MIT", "OR"]
    {
        assert!(!permits(expression), "{expression}");
    }
}

#[test]
#[ignore = "needs all crates, also those of other platforms; `make check` runs it"]
fn every_dependency_has_a_permissive_licence() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = cargo.args(["metadata", "--format-version=1", "--locked", "--all-features"]).output().expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let refused = packages.iter().filter(|package| !permits(package["license"].as_str().unwrap_or_default()));
    let refused: Vec<String> =
        refused.map(|package| format!("{} {}: {}", package["name"], package["version"], package["license"])).collect();
    assert!(packages.len() > 100 && refused.is_empty(), "not permissive: {refused:#?}");
}

/// The files of src/pages/explorer/vendor, as `npm pack` gives them, with their SHA-256.
const VENDORED: [(&str, &str, &str); 2] = [
    (
        "d3-array.min.js",
        "https://d3js.org/d3-array/ v3.2.5 ",
        "468f7b9ed38d6322083da4d5ae9fa57d47784f964f16dcff96e413d16cc8f9d9",
    ),
    (
        "d3-contour.min.js",
        "https://d3js.org/d3-contour/ v4.0.3 ",
        "f4304e926df90167962cd9c0725956546c1a5f54222b6786a0cefbec221a8d62",
    ),
];

#[test]
fn vendored_libraries_are_unchanged_and_every_page_has_their_licence() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/pages/explorer/vendor");
    let licence = std::fs::read_to_string(folder.join("LICENSE")).expect("the licences");
    let script = explorer::script();
    for (file, version, checksum) in VENDORED {
        let text = std::fs::read_to_string(folder.join(file)).expect("a library");
        let digest: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(digest == checksum && text.contains(version), "{file} was changed");
        assert!(script.contains(&text), "{file} is in the script");
        let name = version.trim_start_matches("https://d3js.org/").replace("/ v", " ");
        assert!(licence.contains(name.trim()), "{name} in {licence}");
    }
    assert!(script.contains(&licence) && licence.matches("Permission to use, copy, modify").count() == 3);
    let files = std::fs::read_dir(folder).expect("a folder").count();
    assert_eq!(files, VENDORED.len() + 1, "a file without a checksum");
}
