//! What launches take of memory is what plans say.

use super::common::Scratch;
use apexmap::explore::sweep::memory::of_launch;
use apexmap::measure::comm::TransportKind;
use apexmap::measure::kernels::{self, Kernel, Ranks};
use apexmap::measure::worker::{Job, Repeat, Task};
use apexmap::point::Point;
use apexmap::sample::{Event, Status};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// A small point of a kernel, if it runs on so many ranks.
fn small(kernel: &dyn Kernel, ranks: usize) -> Option<Point> {
    let mut point = Point::new(kernel.id(), ranks);
    let has = |name: &str| kernel.parameters().iter().any(|parameter| parameter.name == name);
    let sizes = [("M", ranks << 15), ("N_words", ranks << 15), ("I", 64), ("N", 4), ("message_bytes", 1 << 12)];
    for (name, value) in sizes.into_iter().filter(|(name, _)| has(name)) {
        point = point.with(name, value as u64);
    }
    kernels::complete(point).ok()
}

/// The most that the ranks of these points took of memory, in one launch.
fn taken(points: &[Point], ranks: usize) -> u64 {
    let task = |point: &Point| Task {
        key: point.label(),
        point: point.clone(),
        seconds_so_far: Vec::new(),
        next_repetition: 0,
    };
    let job = Job {
        launch: "0001".into(),
        block: 0,
        launcher: "local".into(),
        transport: "threads".into(),
        ranks,
        seed: 5,
        repeat: Repeat { min: 1, max: 1, width: None, budget_seconds: None },
        preflight_seconds: 0.0,
        tasks: points.iter().map(task).collect(),
    };
    let folder = Scratch::new();
    let file = folder.join("job.json");
    std::fs::write(&file, serde_json::to_string(&job).unwrap()).unwrap();
    let mut worker = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    worker.arg("worker").arg("--job").arg(&file).args(["--transport", "threads", "--ranks", &ranks.to_string()]);
    let mut worker = worker.stdout(Stdio::piped()).spawn().unwrap();
    let (mut most, mut samples) = (0, 0);
    for line in BufReader::new(worker.stdout.take().unwrap()).lines() {
        match serde_json::from_str(&line.unwrap()).unwrap() {
            Event::Sample(sample) => {
                assert_eq!(sample.status, Status::Ok, "{}: {}", sample.point.label(), sample.message);
                samples += 1;
            }
            Event::Fatal { message } => panic!("{message}"),
            _ => {}
        }
        // After the last line the process may be gone.
        let status = std::fs::read_to_string(format!("/proc/{}/status", worker.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
        most = line.trim().trim_end_matches(" kB").parse::<u64>().unwrap().max(most);
    }
    assert!(worker.wait().unwrap().success());
    assert_eq!(samples, points.len());
    most << 10
}

fn is_as_planned(name: &str, points: &[Point], ranks: usize) {
    let planned = of_launch(points, TransportKind::Threads, ranks) as f64;
    let taken = taken(points, ranks) as f64;
    let ratio = taken / planned;
    println!(
        "{name}, {} kernels on {ranks} ranks: {:.1} MiB of {:.1} planned, {ratio:.2}",
        points.len(),
        taken / 1048576.0,
        planned / 1048576.0
    );

    assert!((0.8..1.2).contains(&ratio), "{name} on {ranks} ranks took {taken} bytes of {planned} planned");
}

fn points(family: &str, ranks: usize) -> Vec<Point> {
    let all = kernels::ALL.iter().filter(|kernel| kernels::family(kernel.id()) == family);
    let several = all.filter(|kernel| kernel.about().ranks == Ranks::Any);
    let points = several.filter_map(|kernel| small(*kernel, ranks));
    // Costs of a core alone are the same on every rank.
    let of_messages =
        |point: &Point| family != "calibrate" || kernels::find(&point.kernel).unwrap().arena_words(point) == 0;
    points.filter(of_messages).collect()
}

#[test]
fn the_kernels_of_a_family_take_as_much_memory_in_one_launch_as_is_planned() {
    for ranks in [16, 64] {
        for family in ["apex_map", "random_access", "message_rate", "calibrate"] {
            let points = points(family, ranks);
            assert!(points.len() >= 3, "{family}: {points:?}");
            is_as_planned(family, &points, ranks);
        }
    }
}

#[test]
fn twelve_kernels_take_as_much_memory_in_one_launch_as_is_planned() {
    let ids = [
        "apex_map.two_sided",
        "apex_map.one_sided",
        "random_access.base",
        "random_access.alltoallv",
        "random_access.exchange",
        "random_access.hypercube",
        "random_access.routed",
        "random_access.one_sided",
        "message_rate.streaming",
        "message_rate.random",
        "calibrate.bisection",
        "calibrate.get",
    ];
    let point = |id: &&str| small(kernels::find(id).unwrap(), 64).unwrap();
    is_as_planned("twelve", &ids.iter().map(point).collect::<Vec<_>>(), 64);
}
