//! Tests that launches use the memory that plans predict, and tests of launches that the system kills for their memory.

use super::common::{Scratch, job_of_points};
use super::mpi_worker::{MPICH, OPEN_MPI, lock_launches};
use apexmap_base::point::Point;
use apexmap_base::sample::{Event, Status};
use apexmap_measure::comm::TransportKind;
use apexmap_measure::kernels::{self, Kernel, Ranks};
use apexmap_results::disk::Folder;
use apexmap_run::sweep::memory::launch_bytes;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns a small point of a kernel, if the kernel runs on this number of ranks.
fn small_point_of(kernel: &Kernel, ranks: usize) -> Option<Point> {
    let mut point = Point::new(kernel.id, ranks);
    let has = |name: &str| kernel.parameters.iter().any(|parameter| parameter.name == name);
    let sizes = [("M", ranks << 15), ("N_words", ranks << 15), ("I", 64), ("N", 4), ("message_bytes", 1 << 12)];
    for (name, value) in sizes.into_iter().filter(|(name, _)| has(name)) {
        point = point.with_parameter(name, value as u64);
    }
    kernels::complete(point).ok()
}

/// Returns the peak memory of all ranks that measure these points in one launch.
fn peak_memory(points: &[Point], ranks: usize) -> u64 {
    let job = job_of_points(ranks, points.to_vec());
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
        // The process may have exited after its last line.
        let status = std::fs::read_to_string(format!("/proc/{}/status", worker.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
        most = line.trim().trim_end_matches(" kB").parse::<u64>().unwrap().max(most);
    }
    assert!(worker.wait().unwrap().success());
    assert_eq!(samples, points.len());
    most << 10
}

fn assert_as_planned(name: &str, points: &[Point], ranks: usize) {
    let planned = launch_bytes(points, TransportKind::Threads, ranks) as f64;
    let peak = peak_memory(points, ranks) as f64;
    let ratio = peak / planned;
    println!(
        "{name}, {} kernels on {ranks} ranks: {:.1} MiB of {:.1} planned, {ratio:.2}",
        points.len(),
        peak / 1048576.0,
        planned / 1048576.0
    );

    assert!((0.8..1.2).contains(&ratio), "{name} on {ranks} ranks took {peak} bytes of {planned} planned");
}

fn points(family: &str, ranks: usize) -> Vec<Point> {
    let kernels_of_family = kernels::ALL.iter().filter(|kernel| kernels::family(kernel.id) == family);
    let several = kernels_of_family.filter(|kernel| kernel.ranks == Ranks::Any);
    let points = several.filter_map(|kernel| small_point_of(kernel, ranks));
    // Kernels of a single core use the same memory on every rank, so they are left out.
    let of_messages =
        |point: &Point| family != "calibrate" || kernels::find(&point.kernel).unwrap().arena_words(point) == 0;
    points.filter(of_messages).collect()
}

#[test]
fn the_kernels_of_a_family_use_the_planned_memory_in_one_launch() {
    for ranks in [16, 64] {
        for family in ["apex_map", "random_access", "message_rate", "calibrate"] {
            let points = points(family, ranks);
            assert!(points.len() >= 3, "{family}: {points:?}");
            assert_as_planned(family, &points, ranks);
        }
    }
}

#[test]
fn twelve_kernels_use_the_planned_memory_in_one_launch() {
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
    let point = |id: &&str| small_point_of(kernels::find(id).unwrap(), 64).unwrap();
    assert_as_planned("twelve", &ids.iter().map(point).collect::<Vec<_>>(), 64);
}

/// A control group with a common memory limit for its processes.
struct MemoryGroup(PathBuf);

impl MemoryGroup {
    fn new(name: &str, bytes: u64) -> std::io::Result<Self> {
        let (first, second) = (Path::new("/sys/fs/cgroup/memory"), Path::new("/sys/fs/cgroup"));
        let (root, limit) = if first.join("memory.limit_in_bytes").is_file() {
            (first, "memory.limit_in_bytes")
        } else {
            fs::write(second.join("cgroup.subtree_control"), "+memory")?;
            (second, "memory.max")
        };
        let group = Self(root.join(format!("apexmap-test-{name}-{}", std::process::id())));
        fs::create_dir_all(&group.0)?;
        fs::write(group.0.join(limit), bytes.to_string())?;
        Ok(group)
    }

    /// Returns a command that starts in the group.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", r#"echo $$ > "$0"/cgroup.procs && exec "$@""#]).arg(&self.0).arg(program);
        command
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // Processes that are ending still count for a moment.
        let gone = |_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            fs::remove_dir(&self.0).is_ok()
        };
        (0..100).any(gone);
    }
}

/// Returns the requirement that is missing for such groups.
pub fn missing_requirement() -> Option<String> {
    let error = MemoryGroup::new("rights", 1 << 30).err()?;
    Some(format!("the right to make control groups of memory ({error})"))
}

/// Runs a sweep that takes 280 MiB in a group of 600 MiB, with a file of 350 MiB in memory. Then runs it again without
/// the file.
fn assert_killed_then_measured(name: &str, launch: &str, reason: &str) {
    let (scratch, group) = (Scratch::new(), MemoryGroup::new(name, 600 << 20).expect("a group"));
    let sweep = format!(
        "[fixed]\nkernel = \"apex_map.two_sided\"\nranks = 2\npages = \"base\"\nM = \"32 Mwords\"\nI = 256\nN = 4\n\
         [repeat]\nmin = 3\n{launch}"
    );
    fs::write(scratch.join("s.toml"), sweep).expect("a file");
    let run = || {
        let mut command = group.command(env!("CARGO_BIN_EXE_apexmap"));
        command.current_dir(&*scratch).args(["run", "s.toml", "--no-report", "--out", "r"]).stdin(Stdio::null());
        let output = command.output().expect("a run");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let hog = format!("/dev/shm/apexmap-test-{name}-{}", std::process::id());
    let mut fill = group.command("dd");
    let filled = fill.args(["if=/dev/zero", &format!("of={hog}"), "bs=1M", "count=350"]).output().expect("dd").status;
    let (code, messages) = run();
    fs::remove_file(&hog).expect("the file in memory");
    assert!(filled.success(), "{name}: room in /dev/shm");
    assert_eq!(code, Some(3), "{name}: {messages}");
    assert!(messages.contains(reason) && messages.contains("end other programs, and rerun"), "{name}: {messages}");
    let (code, messages) = run();
    assert_eq!(code, Some(0), "{name}: {messages}");
    let records = Folder::open(&scratch.join("r")).expect("a result").records().expect("samples");
    let samples: Vec<Status> =
        records.into_iter().flat_map(|record| record.samples).map(|sample| sample.status).collect();
    assert_eq!(samples, [Status::Ok; 3], "{name}");
}

#[test]
fn an_oom_kill_is_reported_and_a_rerun_with_more_memory_succeeds() {
    needs!(MemoryLimits);
    let twice = "was killed by the system twice: out of memory; the plan estimated";
    assert_killed_then_measured("threads", "", twice);
    needs!(Mpi);
    for (mpi, launcher) in [(&OPEN_MPI, "openmpi"), (&MPICH, "mpich")] {
        let worker = mpi.worker().display().to_string();
        let _alone = lock_launches();
        let launch = format!("[launch]\ntransport = \"mpi\"\nlauncher = \"{launcher}\"\nworker = \"{worker}\"\n");
        assert_killed_then_measured(launcher, &launch, twice);
    }
}
