//! Files are written whole or not at all, under names that nobody foresees, and no link is followed.

use super::common::{Scratch, apexmap, printed, samples, table, write};
use super::terminal::TINY;
use apexmap::error::Error;
use apexmap::explore::new_file::{remove_abandoned, replace, replace_by, write_named_by};
use apexmap::explore::store::Folder;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_that_cannot_be_completed_stays_as_it_was() {
    let scratch = Scratch::new();
    let path = scratch.join("a");
    replace_by(&path, "old").unwrap();
    let failed = replace(&path, |file| {
        file.write_all(b"half").unwrap();
        assert_eq!(names(&scratch).len(), 2);
        Err(Error::environment("no more room", ""))
    });
    assert_eq!(failed.unwrap_err().what, "no more room");
    assert_eq!((std::fs::read_to_string(&path).unwrap().as_str(), names(&scratch).len()), ("old", 1));
}

#[test]
fn many_writers_of_one_file_leave_one_of_its_versions() {
    let scratch = Scratch::new();
    let path = scratch.join("a");
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let path = &path;
            scope.spawn(move || (0..200).for_each(|_| replace_by(path, writer.to_string().repeat(5000)).unwrap()));
        }
    });
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.len() == 5000 && text.bytes().all(|byte| byte == text.as_bytes()[0]));
    assert_eq!(names(&scratch), ["a"]);
}

#[test]
fn what_killed_writers_left_is_removed_and_what_is_being_written_is_not() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.join("figures")).unwrap();
    for left in [".apexmap-1-0.tmp", "figures/.apexmap-99-3.tmp", "notes.tmp", ".other.tmp"] {
        std::fs::write(scratch.join(left), "").unwrap();
    }
    replace(&scratch.join("a"), |_| {
        remove_abandoned(&scratch);
        Ok(())
    })
    .unwrap();
    assert_eq!(names(&scratch), [".other.tmp", "a", "figures", "notes.tmp"]);
    assert_eq!(names(&scratch.join("figures")).len(), 0);
}

#[test]
fn a_path_that_the_user_named_may_be_a_link_or_a_device() {
    let scratch = Scratch::new();
    let (file, link) = (scratch.join("file"), scratch.join("link"));
    std::fs::write(&file, "old").unwrap();
    symlink(&file, &link).unwrap();
    write_named_by(&link, "new").unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
    assert!(link.is_symlink());
    write_named_by(Path::new("/dev/null"), "nothing").unwrap();
    assert!(!Path::new("/dev/null").is_file());
}

#[test]
fn links_in_a_shared_result_folder_are_not_followed() {
    let scratch = Scratch::new();
    let (sweep, result, precious) = (scratch.join("tiny.toml"), scratch.join("r"), scratch.join("precious"));
    std::fs::write(&sweep, TINY).unwrap();
    std::fs::write(&precious, "precious").unwrap();
    std::fs::create_dir_all(result.join("journals")).unwrap();
    std::fs::create_dir_all(result.join("figures")).unwrap();
    let run = || apexmap(&["run", "--out", result.to_str().unwrap(), sweep.to_str().unwrap()]);
    let planted =
        ["samples.parquet", "manifest.json", "points.jsonl", "sweep.toml", "report.html", "samples.parquet.tmp"];
    let planted = planted.into_iter().chain(["journals/0001.job", "journals/0001.stderr", "figures/.made"]);
    planted.for_each(|name| symlink(&precious, result.join(name)).unwrap());
    symlink(&precious, result.join(".lock")).unwrap();
    let refused = run();
    assert_eq!(refused.status.code(), Some(3), "{}", String::from_utf8_lossy(&refused.stderr));
    std::fs::remove_file(result.join(".lock")).unwrap();
    std::fs::write(result.join(".lock"), "kept").unwrap();
    assert!(run().status.success());
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
    assert_eq!(std::fs::read_to_string(result.join(".lock")).unwrap(), "kept", "a lock is not emptied");
    assert!(result.join("samples.parquet").symlink_metadata().unwrap().is_file());
}

#[test]
fn reports_of_one_result_do_not_disturb_each_other() {
    let scratch = Scratch::new();
    let (sweep, result) = (scratch.join("tiny.toml"), scratch.join("r"));
    std::fs::write(&sweep, TINY).unwrap();
    let result = result.to_str().unwrap();
    printed(&["run", "--no-report", "--out", result, sweep.to_str().unwrap()]);
    for _ in 0..3 {
        std::thread::scope(|scope| {
            let reports: Vec<_> = (0..4).map(|_| scope.spawn(|| apexmap(&["report", result]))).collect();
            for report in reports {
                let output = report.join().unwrap();
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            }
        });
    }
    let left = names(Path::new(result)).into_iter().chain(names(&Path::new(result).join("figures")));
    assert_eq!(left.filter(|name| name.ends_with(".tmp")).count(), 0);
}

#[test]
fn figures_go_to_links_and_pipes_that_the_user_named() {
    let scratch = Scratch::new();
    let folder = Folder::create(&scratch.join("r")).unwrap();
    write(&folder, &table(samples()));
    let (real, link) = (scratch.join("real.svg"), scratch.join("link.svg"));
    std::fs::write(&real, "old").unwrap();
    symlink(&real, &link).unwrap();
    let result = folder.path.to_str().unwrap();
    printed(&["plot", result, "curves", "--x", "L", "--out", link.to_str().unwrap()]);
    assert!(std::fs::read_to_string(&real).unwrap().contains("<svg"));
    let exported = apexmap(&["export", result, "--format", "jsonl", "--out", "/dev/stdout"]);
    assert_eq!(String::from_utf8(exported.stdout).unwrap().lines().count(), samples().len());
}
