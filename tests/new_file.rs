//! Tests that files are written completely or not at all, under unpredictable names, and that no link is followed.

use super::common::{Scratch, apexmap, samples, successful_stdout, table, write};
use super::terminal::TINY_SWEEP;
use apexmap_base::error::Error;
use apexmap_base::new_file::{remove_abandoned, replace, replace_contents, write_user_file_contents};
use apexmap_pages::html::remove_unmade;
use apexmap_results::disk::Folder;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
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
fn a_file_that_cannot_be_completed_stays_unchanged() {
    let scratch = Scratch::new();
    let path = scratch.join("a");
    replace_contents(&path, "old").unwrap();
    let failed = replace(&path, |file| {
        file.write_all(b"half").unwrap();
        assert_eq!(names(&scratch).len(), 2);
        Err(Error::environment("no more room", ""))
    });
    assert_eq!(failed.unwrap_err().message, "no more room");
    assert_eq!((std::fs::read_to_string(&path).unwrap().as_str(), names(&scratch).len()), ("old", 1));
}

#[test]
fn concurrent_writers_of_a_file_leave_one_complete_version() {
    let scratch = Scratch::new();
    let path = scratch.join("a");
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let path = &path;
            scope
                .spawn(move || (0..200).for_each(|_| replace_contents(path, writer.to_string().repeat(5000)).unwrap()));
        }
    });
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.len() == 5000 && text.bytes().all(|byte| byte == text.as_bytes()[0]));
    assert_eq!(names(&scratch), ["a"]);
}

#[test]
fn files_of_killed_writers_are_removed_and_files_being_written_stay() {
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
fn a_path_from_the_user_may_be_a_link_or_device() {
    let scratch = Scratch::new();
    let (file, link) = (scratch.join("file"), scratch.join("link"));
    std::fs::write(&file, "old").unwrap();
    symlink(&file, &link).unwrap();
    write_user_file_contents(&link, "new").unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
    assert!(link.is_symlink());
    write_user_file_contents(Path::new("/dev/null"), "nothing").unwrap();
    assert!(!Path::new("/dev/null").is_file());
}

#[test]
fn links_in_a_shared_result_folder_are_not_followed() {
    let scratch = Scratch::new();
    let (sweep, result, precious) = (scratch.join("tiny.toml"), scratch.join("r"), scratch.join("precious"));
    std::fs::write(&sweep, TINY_SWEEP).unwrap();
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
    // An invalid plan is neither treated as another sweep's plan nor overwritten.
    let refused = run();
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(3) && text.contains("points.jsonl: line 1 is not a planned point"), "{text}");
    std::fs::remove_file(result.join("points.jsonl")).unwrap();
    assert!(run().status.success());
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
    assert_eq!(std::fs::read_to_string(result.join(".lock")).unwrap(), "kept", "a lock is not emptied");
    assert!(result.join("samples.parquet").symlink_metadata().unwrap().is_file());
}

#[test]
fn a_report_removes_only_files_inside_its_own_folders() {
    let scratch = Scratch::new();
    // The digest of "x", computed by sha256sum.
    let digest = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
    let (figures, foreign_folder) = (scratch.join("figures"), scratch.join("mine"));
    let list =
        ["v.svg", "paper/v.svg", "paper/../v.svg", "../mine/v.svg", ".made.svg", "notes.txt", "link.svg", "pipe.svg"];
    let list: String = list.iter().map(|name| format!("{digest}  {name}\n")).collect();
    let fill = |folder: &Path| {
        std::fs::create_dir_all(folder).unwrap();
        ["v.svg", ".made.svg", "notes.txt"].iter().for_each(|name| std::fs::write(folder.join(name), "x").unwrap());
    };
    fill(&figures);
    fill(&foreign_folder);
    symlink(&foreign_folder, figures.join("paper")).unwrap();
    symlink(foreign_folder.join("v.svg"), figures.join("link.svg")).unwrap();
    nix::unistd::mkfifo(&figures.join("pipe.svg"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    std::fs::write(figures.join(".made"), &list).unwrap();
    remove_unmade(&figures, "").unwrap();
    assert_eq!(names(&figures), [".made", ".made.svg", "link.svg", "notes.txt", "paper", "pipe.svg"]);
    assert_eq!(names(&foreign_folder), [".made.svg", "notes.txt", "v.svg"]);
    // The folder of figures is a link: no file in its target is removed.
    let link = scratch.join("link");
    symlink(&foreign_folder, &link).unwrap();
    std::fs::write(foreign_folder.join(".made"), &list).unwrap();
    remove_unmade(&link, "").unwrap();
    assert_eq!(names(&foreign_folder), [".made", ".made.svg", "notes.txt", "v.svg"]);
    // The result's own files are removed.
    std::fs::remove_file(figures.join("paper")).unwrap();
    fill(&figures.join("paper"));
    std::fs::write(figures.join(".made"), &list).unwrap();
    remove_unmade(&figures, "").unwrap();
    assert_eq!(names(&figures.join("paper")), [".made.svg", "notes.txt"]);
}

/// Runs a command as another user; needs root.
fn run_as_other(arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_apexmap"));
    let output = command.args(arguments).uid(65534).gid(65534).current_dir("/").output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn two_users_share_a_result_if_their_permissions_allow_it() {
    if !nix::unistd::Uid::effective().is_root() {
        return;
    }
    let scratch = Scratch::new();
    let (sweep, result) = (scratch.join("tiny.toml"), scratch.join("r"));
    std::fs::write(&sweep, TINY_SWEEP).unwrap();
    let (sweep, out) = (sweep.to_str().unwrap(), result.to_str().unwrap());
    let run = ["run", "--no-report", "--out", out, sweep];
    successful_stdout(&run);
    let mode = |path: &Path, mode: u32| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    for folder in [&result, &result.join("journals"), &result.join("figures")] {
        mode(folder, 0o777);
    }
    mode(&result.join(".lock"), 0o644);
    let (code, stderr_text) = run_as_other(&run);
    assert_eq!(code, Some(0), "the lock needs no permission to write: {stderr_text}");
    // In a sticky folder, only the owner of a file may replace it.
    successful_stdout(&run);
    mode(&result, 0o1777);
    let (code, stderr_text) = run_as_other(&run);
    assert_eq!(code, Some(3), "{stderr_text}");
    assert!(stderr_text.contains(" belongs to root (mode 0") && stderr_text.contains("(mode 1777)"), "{stderr_text}");
    mode(&result.join(".lock"), 0o600);
    let (code, stderr_text) = run_as_other(&run);
    assert!(code == Some(3) && stderr_text.contains("r/.lock belongs to root (mode 0600)"), "{stderr_text}");
}

#[test]
fn concurrent_reports_of_a_result_do_not_disturb_each_other() {
    let scratch = Scratch::new();
    let (sweep, result) = (scratch.join("tiny.toml"), scratch.join("r"));
    std::fs::write(&sweep, TINY_SWEEP).unwrap();
    let result = result.to_str().unwrap();
    successful_stdout(&["run", "--no-report", "--out", result, sweep.to_str().unwrap()]);
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
fn figures_are_written_to_links_and_pipes_given_by_the_user() {
    let scratch = Scratch::new();
    let folder = Folder::create(&scratch.join("r")).unwrap();
    write(&folder, &table(samples()));
    let (real, link) = (scratch.join("real.svg"), scratch.join("link.svg"));
    std::fs::write(&real, "old").unwrap();
    symlink(&real, &link).unwrap();
    let result = folder.path.to_str().unwrap();
    successful_stdout(&["plot", result, "curves", "--x", "L", "--out", link.to_str().unwrap()]);
    assert!(std::fs::read_to_string(&real).unwrap().contains("<svg"));
    let exported = apexmap(&["export", result, "--format", "jsonl", "--out", "/dev/stdout"]);
    assert_eq!(String::from_utf8(exported.stdout).unwrap().lines().count(), samples().len());
}

#[test]
fn writes_beyond_the_limit_of_file_sizes_name_the_file() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("s.toml"), TINY_SWEEP).unwrap();
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "ulimit -f 1; exec \"$0\" run s.toml --no-report --out r", env!("CARGO_BIN_EXE_apexmap")]);
    let output = super::common::output(command.current_dir(&*scratch));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert!(errors.contains("r/") && errors.contains("File too large"), "{errors}");
}
