//! Tests of archives: tar and sha256sum read them, commands take them as results, and links out of a result are refused.

use super::common::{Scratch, apexmap, output};
use super::terminal::TINY_SWEEP;
use apexmap_results::disk::{Folder, archive};
use std::fs;
use std::io::{Cursor, Read};
use std::os::unix::ffi::OsStrExt;
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
    for name in ["r.zip", "r.tar", "r"] {
        let refused = apexmap(&["archive", result, "--out", scratch.join(name).to_str().expect("a path")]);
        let message = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && message.contains("/r.tar.gz"), "{name}: {message}");
    }
    fs::remove_dir_all(scratch.join("r/figures")).expect("a folder");
    let drawn = apexmap(&["plot", result, "curves", "--x", "L", "--y", ""]);
    assert!(drawn.status.success(), "a result without figures: {}", String::from_utf8_lossy(&drawn.stderr));
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

/// A colleague sends an archive or a report: all commands that read a result take it.
#[test]
fn commands_take_an_archive_and_a_report_as_a_result() {
    let scratch = Scratch::new();
    let path = |name: &str| scratch.join(name).to_str().expect("a path").to_owned();
    fs::write(scratch.join("tiny.toml"), TINY_SWEEP).expect("a file");
    let (sweep, result, file) = (path("tiny.toml"), path("r"), path("r.tar.gz"));
    let page = path("r/report.html");
    let run = |arguments: &[&str]| {
        let output = apexmap(arguments);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{arguments:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
        text
    };
    run(&["run", &sweep, "--out", &result]);
    run(&["archive", &result, "--out", &file]);
    for arguments in [&["query", "--select", "seconds"][..], &["export"], &["status", "--columns"], &["show"]] {
        let result_of = |named: &str| run(&[&arguments[..1], &[named], &arguments[1..]].concat());
        let expected = result_of(&result);
        assert_eq!(result_of(&file), expected, "{arguments:?} of an archive");
        assert_eq!(result_of(&page), expected, "{arguments:?} of a report");
    }
    assert!(run(&["status", &file]).contains("2 planned, 2 done"));
    assert!(run(&["status", &file, "--json"]).contains(&format!("\"result\": \"{file}\"")));
    run(&["plot", &file, "curves", "--x", "L", "--y", "", "--out", &path("curves.svg")]);
    run(&["report", &file]);
    assert!(scratch.join("r.html").is_file(), "the page of an archive is next to it");
    run(&["compare", &file, &page, "--out", &path("compared")]);
    // The folder itself is needed only where something is written or ended.
    let refused = apexmap(&["archive", &file]);
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && message.contains("the folder of a result is needed"), "{message}");
    // A cut archive is named, and no folder is left.
    let bytes = fs::read(&file).expect("an archive");
    fs::write(&file, &bytes[..bytes.len() - 20]).expect("written");
    let refused = apexmap(&["query", &file]);
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && message.contains("r.tar.gz cannot be unpacked"), "{message}");
}

/// Names that would break a line of the checksums are escaped as sha256sum does; names that it cannot hold are refused.
#[test]
fn odd_names_in_an_archive_are_checked_by_sha256sum() {
    let scratch = Scratch::new();
    let result = scratch.join("r");
    fs::create_dir_all(result.join("journals")).expect("folders");
    for name in ["a\nb", "c\\d", "e f"] {
        fs::write(result.join(name), "inside").expect("a file");
    }
    let archive = |name: &str| {
        let out = scratch.join(name);
        apexmap(&["archive", result.to_str().expect("a path"), "--out", out.to_str().expect("a path")])
    };
    assert!(archive("a.tar.gz").status.success());
    let unpacked = output(Command::new("tar").args(["-xzf", "a.tar.gz"]).current_dir(scratch.join("")));
    assert!(unpacked.status.success());
    let checked = output(Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(&result));
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    assert_eq!(String::from_utf8_lossy(&checked.stdout).matches(": OK").count(), 4, "three files and the origin");
    fs::write(result.join(std::ffi::OsStr::from_bytes(b"\xff")), "inside").expect("a file");
    let refused = archive("b.tar.gz");
    assert!(refused.status.code() == Some(2) && String::from_utf8_lossy(&refused.stderr).contains("is not UTF-8"));
}

/// An archive may come from anyone: no file of it is written outside of its folder.
#[test]
fn an_archive_with_paths_that_lead_out_is_refused() {
    let scratch = Scratch::new();
    let mut header = [0; 512];
    for (start, field) in
        [(0, &b"r/../../evil"[..]), (100, b"0000644\0"), (124, b"00000000000\0"), (156, b"0"), (257, b"ustar\x0000")]
    {
        header[start..start + field.len()].copy_from_slice(field);
    }
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    fs::write(scratch.join("evil.tar"), [&header[..], &[0; 1024]].concat()).expect("written");
    assert!(output(Command::new("gzip").arg(scratch.join("evil.tar"))).status.success());
    let file = scratch.join("evil.tar.gz");
    let refused = apexmap(&["query", file.to_str().expect("a path")]);
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && message.contains("leads out of its folder"), "{message}");
}

/// A member with a name of 4 GiB is 4 MB when it is compressed.
#[test]
fn the_headers_members_and_bytes_of_an_archive_have_limits() {
    let header = |name: &str, size: u64, kind: tar::EntryType| {
        let mut header = tar::Header::new_gnu();
        header.set_path(name).expect("a name");
        header.set_size(size);
        header.set_entry_type(kind);
        header.set_cksum();
        header.as_bytes().to_vec()
    };
    let refused = |tar: &mut dyn Read| {
        let folder = Scratch::new();
        let damaged = |cause: &dyn std::fmt::Display| apexmap_base::error::Error::input(cause.to_string(), "");
        archive::unpack_tar(tar, &folder, &damaged).expect_err("a limit").message
    };
    use tar::EntryType::{GNULongLink, GNULongName, Regular, XGlobalHeader, XHeader};
    for kind in [GNULongName, GNULongLink, XHeader, XGlobalHeader] {
        let mut bomb = Cursor::new(header("r/x", 4 << 30, kind)).chain(std::io::repeat(b'a'));
        assert!(refused(&mut bomb).contains("more than 64 KiB"), "{kind:?}");
    }
    let mut deep = Cursor::new([header(&"d/".repeat(20), 0, Regular), vec![0; 1024]].concat());
    assert!(refused(&mut deep).contains("more than 16 folders"));
    let empty = header("r/x", 0, Regular);
    let mut many = Cursor::new(header("r/", 0, tar::EntryType::Directory).repeat(100_001));
    assert!(refused(&mut many).contains("more than 100,000 members"));
    for start in [header("r/figures/x", 4 << 30, Regular), [empty, vec![0; 1024]].concat()] {
        let mut long = Cursor::new(start).chain(std::io::repeat(0));
        assert!(refused(&mut long).contains("more than 1 GiB"));
    }
}

/// A manifest of 30 MiB with 10 million words takes more than 1 GiB when it is read.
#[test]
fn a_result_that_needs_more_memory_than_there_is_ends_with_a_message_and_leaves_nothing() {
    let scratch = Scratch::new();
    let (result, file, temporary) = (scratch.join("r"), scratch.join("r.tar.gz"), scratch.join("tmp"));
    fs::create_dir_all(result.join("journals")).expect("folders");
    fs::create_dir(&temporary).expect("a folder");
    fs::write(result.join("journals/0001.jsonl"), "").expect("a file");
    let words = "\"a\",".repeat(10 << 20);
    fs::write(result.join("manifest.json"), format!("{{\"schema\":1,\"command\":[{words}\"a\"]}}")).expect("a file");
    assert!(output(Command::new("tar").arg("-czf").arg(&file).arg("-C").arg(&*scratch).arg("r")).status.success());
    let mut status = Command::new("prlimit");
    status.args(["--as=734003200", env!("CARGO_BIN_EXE_apexmap"), "status"]).arg(&file).env("TMPDIR", &temporary);
    let refused = output(&mut status);
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(3) && message.contains("memory allocation of"), "{message}");
    assert!(message.contains("help: raise the limit"), "{message}");
    let begun = std::time::Instant::now();
    while fs::read_dir(&temporary).expect("a folder").count() > 0 {
        assert!(begun.elapsed().as_secs() < 60, "the folder of the archive is left");
    }
}

#[test]
fn equal_lines_of_a_plan_are_one_point_and_a_line_has_a_limit() {
    let scratch = Scratch::new();
    let folder = Folder { path: scratch.to_path_buf() };
    let line = "{\"key\":\"a\",\"kernel\":\"x\",\"ranks\":1,\"params\":{}}\n";
    fs::write(folder.points(), line.repeat(1000)).expect("a file");
    assert_eq!(folder.planned_points().expect("points").map(|points| points.len()), Some(1));
    fs::write(folder.points(), line.replace("\"a\"", &format!("\"{}\"", "a".repeat(1 << 20)))).expect("a file");
    let message = folder.planned_keys().expect_err("a line of more than 1 MiB").message;
    assert!(message.contains("line 1 is not a planned point"), "{message}");
}
