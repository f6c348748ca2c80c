//! The worker for 64-bit ARM, interpreted by qemu: kernels of each family on the vectors, atomics and clocks of that processor.

use super::common::{Scratch, job_of_points, with_time_limit};
use super::mpi_worker::{build_worker, lock_launches};
use apexmap_base::point::Point;
use apexmap_base::sample::{Event, Status};
use apexmap_measure::kernels::{self, Kernel};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const TARGET: &str = "aarch64-unknown-linux-gnu";
/// Small sizes, for the kernels that have these parameters.
const SIZES: [(&str, u64); 14] = [
    ("M", 1 << 14),
    ("I", 64),
    ("N", 2),
    ("L", 32),
    ("N_words", 1 << 11),
    ("Q", 24),
    ("messages", 8),
    ("window", 4),
    ("bytes", 1 << 21),
    ("stride", 3),
    ("steps", 1 << 10),
    ("reads", 1 << 14),
    ("barriers", 8),
    ("rounds", 8),
];

/// Builds the worker for ARM, once per run of the tests.
fn worker() -> PathBuf {
    let _alone = lock_launches();
    let linker = ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc");
    build_worker("worker-aarch64", &["--bin", "apexmap-worker", "--target", TARGET], linker)
        .unwrap_or_else(|errors| {
            panic!("no worker for ARM; `make install-deps` installs what its build needs\n{errors}")
        })
        .join(TARGET)
        .join("release/apexmap-worker")
}

/// Returns a small point of each kernel that runs on this number of ranks without further choices.
fn points(ranks: usize) -> Vec<Point> {
    let point = |kernel: &&'static Kernel| {
        let has = |name: &str| kernel.parameters.iter().any(|parameter| parameter.name == name);
        let sizes = SIZES.iter().filter(|(name, _)| has(name));
        let point = sizes.fold(Point::new(kernel.id, ranks), |point, &(name, size)| point.with_parameter(name, size));
        kernels::complete(point).ok()
    };
    // There is no OpenCL for that processor here.
    let without_device = kernels::ALL.iter().filter(|kernel| kernels::family(kernel.id) != "gpu");
    without_device.filter_map(point).collect()
}

/// Runs points on threads and returns the events.
fn run(worker: &Path, ranks: usize, points: Vec<Point>) -> Vec<Event> {
    let job = job_of_points(ranks, points);
    let folder = Scratch::new();
    let file = folder.join("job.json");
    std::fs::write(&file, serde_json::to_string(&job).expect("a job")).expect("written");
    let mut qemu = Command::new("qemu-aarch64");
    qemu.args(["-L", "/usr/aarch64-linux-gnu"]).arg(worker).arg("worker").arg("--job").arg(&file);
    qemu.args(["--transport", "threads", "--ranks", &ranks.to_string()]);
    let output = qemu.stdin(Stdio::null()).output().expect("qemu can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).expect("text");
    lines.lines().map(|line| serde_json::from_str(line).expect("every line is an event")).collect()
}

#[test]
fn kernels_of_each_family_verify_on_arm_on_one_and_two_ranks() {
    needs!(Arm);
    let worker = worker();
    for (ranks, least) in [(1, [2, 3, 0, 6]), (2, [2, 5, 5, 6])] {
        let points = points(ranks);
        let count = |family: &str| points.iter().filter(|point| kernels::family(&point.kernel) == family).count();
        let counts = ["apex_map", "random_access", "message_rate", "calibrate"].map(count);
        assert!(counts.iter().zip(least).all(|(count, least)| *count >= least), "{ranks} ranks: {counts:?}");
        let number = points.len();
        let events = with_time_limit({
            let worker = worker.clone();
            move || run(&worker, ranks, points)
        });
        let samples =
            events.iter().filter_map(|event| if let Event::Sample(sample) = event { Some(sample) } else { None });
        let samples: Vec<_> = samples.collect();
        assert_eq!(samples.len(), number, "{ranks} ranks");
        for sample in samples {
            assert_eq!((sample.status, sample.message.as_str()), (Status::Ok, ""), "{}", sample.point.label());
            assert!(sample.seconds.is_some_and(|seconds| seconds > 0.0), "{}", sample.point.label());
        }
    }
}
