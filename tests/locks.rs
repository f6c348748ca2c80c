//! Locks of results: who holds them, and file systems whose locks are missing or do not exclude.

use super::common::{Scratch, output};
use super::faults::shim;
use super::terminal::TINY_SWEEP;
use apexmap_measure::provenance::host_name;
use apexmap_results::disk::Folder;
use apexmap_results::disk::lock::{Lock, Sharing, is_held};
use nix::libc::{ENOLCK, ENOSYS, EOPNOTSUPP};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).filter(|name| name.contains(".by-")).collect()
}

#[test]
fn shared_locks_exclude_exclusive_ones_and_leave_no_file() {
    let scratch = Scratch::new();
    let path = scratch.join(".lock");
    let lock = |sharing| Lock::acquire(&path, sharing).expect("a lock");
    let shared = (lock(Sharing::Shared), lock(Sharing::Shared));
    assert!(shared.0.is_some() && shared.1.is_some() && files(&scratch).len() == 2);
    assert!(lock(Sharing::Exclusive).is_none() && is_held(&path));
    drop(shared);
    let exclusive = lock(Sharing::Exclusive);
    assert!(exclusive.is_some() && lock(Sharing::Shared).is_none() && is_held(&path));
    drop(exclusive);
    assert!(files(&scratch).is_empty() && !is_held(&path));
}

#[test]
fn a_holder_on_another_host_is_seen_while_its_heart_beats() {
    let scratch = Scratch::new();
    let path = scratch.join(".lock");
    let beats = AtomicBool::new(true);
    let place = scratch.join(".lock.by-exclusive.other.host.7.0");
    std::fs::write(&place, ".").expect("a file");
    let file = std::fs::File::options().write(true).open(&place).expect("a file");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for second in 1.. {
                let _ = file.set_modified(SystemTime::now() + Duration::from_secs(second));
                std::thread::sleep(Duration::from_millis(50));
                if !beats.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        assert!(Lock::acquire(&path, Sharing::Shared).expect("a lock").is_none());
        beats.store(false, Ordering::Relaxed);
    });
    assert_eq!(files(&scratch).len(), 1, "its file remains");
}

/// Without the system's locks, processes may look for each other at the same time.
#[test]
fn of_several_processes_that_begin_at_once_one_takes_the_lock() {
    let scratch = Scratch::new();
    let path = scratch.join(".lock");
    let begin_with = |other: &str| {
        let file = scratch.join(format!(".lock.by-exclusive.{other}.{}.0", std::process::id()));
        std::fs::write(&file, "").expect("a file");
        let lock = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| Lock::acquire(&path, Sharing::Exclusive).expect("a lock"));
            std::thread::sleep(Duration::from_millis(300));
            // The other one has found the file of this one, and gives up.
            let _ = std::fs::remove_file(&file);
            waiting.join().expect("an end")
        });
        lock.is_some()
    };
    assert!(begin_with("~"), "its name comes after those of all hosts");
    assert!(!begin_with("-"), "its name comes before them");
}

#[test]
fn a_dead_holder_of_this_host_is_forgotten_at_once() {
    let scratch = Scratch::new();
    let mut child = Command::new("true").spawn().expect("a program");
    child.wait().expect("its end");
    std::fs::write(scratch.join(format!(".lock.by-exclusive.{}.{}.0", host_name(), child.id())), "").expect("a file");
    let begun = SystemTime::now();
    let lock = Lock::acquire(&scratch.join(".lock"), Sharing::Exclusive).expect("a lock");
    assert!(lock.is_some() && files(&scratch).len() == 1, "only its own file");
    assert!(begun.elapsed().expect("a time") < Duration::from_secs(60));
}

#[test]
fn a_sweep_is_measured_without_file_locks_and_by_one_program_only() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("s.toml"), TINY_SWEEP).expect("a file");
    let run = |error: i32, out: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
        command.args(["run", "s.toml", "--no-report", "--out", out]).current_dir(&*scratch);
        let output = output(command.env("LD_PRELOAD", shim()).env("FAULT_FLOCK", error.to_string()));
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (number, error) in [ENOSYS, EOPNOTSUPP, ENOLCK].into_iter().enumerate() {
        let (code, messages) = run(error, &format!("r{number}"));
        assert_eq!(code, Some(0), "{messages}");
        assert_eq!(messages.matches("has no file locks").count(), 1, "{messages}");
    }
    let (code, messages) = run(0, "r0");
    assert!(code == Some(0) && !messages.contains("has no file locks"), "{messages}");
    // This process holds the result.
    let folder = Folder { path: scratch.join("r0") };
    let lock = folder.lock().expect("a lock");
    for error in [ENOSYS, 0] {
        let (code, messages) = run(error, "r0");
        assert_eq!(code, Some(3), "{messages}");
        let holder = format!("process {} on {}", std::process::id(), host_name());
        assert!(messages.contains("another apexmap is writing to r0") && messages.contains(&holder), "{messages}");
    }
    drop(lock);
    assert_eq!(run(ENOSYS, "r0").0, Some(0));
}

#[test]
fn temporary_files_of_killed_writers_are_removed_also_if_all_points_are_measured() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("s.toml"), TINY_SWEEP).expect("a file");
    let apexmap = |arguments: &[&str]| {
        let ended = output(Command::new(env!("CARGO_BIN_EXE_apexmap")).args(arguments).current_dir(&*scratch));
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    };
    let run = ["run", "s.toml", "--no-report", "--out", "r"];
    apexmap(&run);
    let left = scratch.join("r/.apexmap-1-0.tmp");
    for command in [&run[..], &["report", "r"]] {
        std::fs::write(&left, "half").expect("a file");
        apexmap(command);
        assert!(!left.exists(), "{command:?}");
    }
}

#[test]
fn launches_that_ran_at_the_same_time_on_one_host_are_named() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("s.toml"), TINY_SWEEP).expect("a file");
    let apexmap = |arguments: &[&str]| {
        let ended = output(Command::new(env!("CARGO_BIN_EXE_apexmap")).args(arguments).current_dir(&*scratch));
        String::from_utf8_lossy(&ended.stdout).into_owned()
    };
    apexmap(&["run", "s.toml", "--no-report", "--out", "r"]);
    assert!(!apexmap(&["status", "r"]).contains("at the same time"));
    let journal = |number: u32| scratch.join(format!("r/journals/000{number}.jsonl"));
    let lines = |number: u32| -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(journal(number)).expect("a journal");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let time = |line: &serde_json::Value| line["unix_seconds"].as_f64().filter(|_| line["event"] == "sample");
    let begin = lines(1).iter().find_map(time).expect("a sample");
    let mut moved = lines(2);
    for line in moved.iter_mut().filter(|line| line["event"] == "sample") {
        line["unix_seconds"] = (begin + 1e-6).into();
    }
    let text: String = moved.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(journal(2), text).expect("a file");
    let status = apexmap(&["status", "r"]);
    assert!(status.contains("launches 0001 and 0002 ran on"), "{status}");
}
