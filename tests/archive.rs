//! Tests of archives: tar and sha256sum read them, and links out of a result are refused.

use super::common::{Scratch, apexmap, output};
use super::terminal::TINY_SWEEP;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

#[test]
fn an_archive_is_unpacked_by_tar_and_verified_by_sha256sum() {
    let scratch = Scratch::new();
    let (sweep, result, file) = (scratch.join("tiny.toml"), scratch.join("r"), scratch.join("r.tar.gz"));
    fs::write(&sweep, TINY_SWEEP).expect("a file");
    let (sweep, result, file) =
        (sweep.to_str().expect("a path"), result.to_str().expect("a path"), file.to_str().expect("a path"));
    let ran = apexmap(&["run", sweep, "--no-report", "--out", result]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let packed = apexmap(&["archive", result, "--out", file]);
    assert!(packed.status.success(), "{}", String::from_utf8_lossy(&packed.stderr));
    let copy = scratch.join("copy");
    fs::create_dir(&copy).expect("a folder");
    let unpacked = output(Command::new("tar").args(["-xzf", file]).current_dir(&copy));
    assert!(unpacked.status.success(), "{}", String::from_utf8_lossy(&unpacked.stderr));
    let checked =
        output(Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(copy.join("r")));
    let text = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success(), "{text}");
    for name in ["journals/0001.jsonl", "manifest.json", "samples.parquet", "sweep.toml", "archive.json"] {
        assert!(text.contains(&format!("{name}: OK")), "{name}: {text}");
    }
    assert!(!text.contains(".lock"), "{text}");
    let status = apexmap(&["status", copy.join("r").to_str().expect("a path")]);
    assert!(String::from_utf8_lossy(&status.stdout).contains("2 planned, 2 done"));
    let again = apexmap(&["archive", result, "--out", file]);
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&again.stderr).contains("exists already"));
}

#[test]
fn a_link_out_of_a_result_is_not_archived() {
    let scratch = Scratch::new();
    let result = scratch.join("r");
    fs::create_dir_all(result.join("journals")).expect("folders");
    fs::write(result.join("sweep.toml"), "inside").expect("a file");
    fs::write(scratch.join("secret"), "outside").expect("a file");
    symlink(result.join("sweep.toml"), result.join("copy.toml")).expect("a link");
    let archive = |name: &str| {
        let out = scratch.join(name);
        apexmap(&["archive", result.to_str().expect("a path"), "--out", out.to_str().expect("a path")])
    };
    let inside = archive("a.tar.gz");
    assert!(inside.status.success(), "{}", String::from_utf8_lossy(&inside.stderr));
    for (link, target) in [("stolen", scratch.join("secret")), ("folder", result.join("journals"))] {
        symlink(target, result.join(link)).expect("a link");
        let refused = archive("b.tar.gz");
        let message = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{message}");
        assert!(message.contains(link) && message.contains("not a file of this result"), "{message}");
        assert!(!scratch.join("b.tar.gz").exists());
        fs::remove_file(result.join(link)).expect("a link");
    }
}
