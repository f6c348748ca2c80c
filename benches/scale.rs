//! Large results: compares, fits and reports a million samples, and plans a sweep of 100,000 points. Prints times and
//! peak memory.
//!
//! The samples are synthetic, and so their build is "synthetic": 2,000 points of Apex-Map with 10 launches of 50
//! samples each. Rates follow a simple formula with log-normal noise of launches and of samples. They are in a
//! temporary folder.

use apexmap_base::disturbance::Facts;
use apexmap_base::point::{Point, Value};
use apexmap_base::sample::{Event, Launch, SCHEMA_VERSION, Sample, Status};
use apexmap_measure::kernels::keys::{ALPHA, I, L, N};
use apexmap_results::disk::Folder;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, LogNormal};
use rand_pcg::Pcg64Mcg;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const ALPHAS: u32 = 100;
const BLOCKS: u32 = 20;
const LAUNCHES: u32 = 10;
const SAMPLES: u32 = 50;

/// 100,000 points.
const SWEEP: &str = r#"
title = "100,000 points"
[fixed]
kernel = "apex_map.sequential"
M = "1 kwords"
[axes]
alpha = { from = 0.001, to = 1, points = 100, scale = "log10" }
I = { from = 1, to = 100, step = 1 }
N = { from = 1, to = 10, step = 1 }
"#;

fn main() {
    let folder = std::env::temp_dir().join(format!("apexmap-scale-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let (base, new) = (folder.join("base"), folder.join("new"));
    let start = Instant::now();
    let samples = store(&base, 1, 1.0) + store(&new, 2, 0.97);
    println!("two stores of {} synthetic samples each, made in {:.1} s", samples / 2, start.elapsed().as_secs_f64());
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let (base, new, out) = (path(&base), path(&new), path(&folder.join("out")));
    let card = path(&folder.join("card.toml"));
    std::fs::write(&card, CARD).expect("a card");
    measure("report", &["report", &base]);
    measure("compare", &["compare", &base, &new, "--out", &out]);
    measure("compare --fail-if", &["compare", &base, &new, "--fail-if", "slower=10%", "--no-page"]);
    measure("fit", &["fit", &base, "--model", "apex_map.surface", "--machine", &card]);
    let sweep = folder.join("large.toml");
    std::fs::write(&sweep, SWEEP).expect("the sweep");
    let (sweep, planned) = (path(&sweep), folder.join("planned"));
    let result = path(&planned);
    measure("plan of 100,000 points", &["plan", &sweep, "--out", &result]);
    plan(&planned, &sweep);
    measure("plan of them, 100,000 samples done", &["plan", &sweep, "--out", &result]);
    measure("status of them", &["status", &result]);
    let _ = std::fs::remove_dir_all(&folder);
}

/// Cache sizes, which a synthetic host does not report.
const CARD: &str = r#"
name = "synthetic"
summary = "synthetic numbers of a benchmark"
source = "benches/scale.rs"
[numbers.l1_bytes]
value = 32
unit = "KiB"
how = "made up"
[numbers.l2_bytes]
value = 1
unit = "MiB"
how = "made up"
[numbers.l3_bytes]
value = 32
unit = "MiB"
how = "made up"
[numbers.tlb_entries]
value = 1536
how = "made up"
"#;

/// Runs a command and prints its time and peak memory.
fn measure(name: &str, arguments: &[&str]) {
    let start = Instant::now();
    let child = Command::new(env!("CARGO_BIN_EXE_apexmap"))
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("apexmap starts");
    let (status, peak) = wait(child);
    println!("{name:<36} {:>6.2} s  {peak:>5} MiB", start.elapsed().as_secs_f64());
    assert!(status.is_empty(), "{name} fails: {status}");
}

/// Waits for a child. Returns its status and its peak resident set, sampled every few milliseconds.
fn wait(mut child: std::process::Child) -> (String, u64) {
    let file = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok()).unwrap_or(0);
        peak = peak.max(kib);
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return (String::new(), peak / 1024),
            Ok(Some(status)) => return (format!("({status})"), peak / 1024),
            _ => std::thread::sleep(std::time::Duration::from_millis(5)),
        }
    }
}

/// Writes a result as `apexmap run` would. Returns its number of samples.
fn store(path: &Path, seed: u64, speed: f64) -> usize {
    let folder = Folder::create(path).expect("a folder");
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let (launch_noise, sample_noise) =
        (LogNormal::new(0.0, 0.02).expect("a spread"), LogNormal::new(0.0, 0.05).expect("one"));
    let points: Vec<Point> = (0..ALPHAS).flat_map(|a| (0..BLOCKS).map(move |b| (a, b))).map(point).collect();
    let mut made = 0;
    let mut records = Vec::new();
    for block in 0..LAUNCHES {
        let name = format!("{:04}", block + 1);
        let shift = launch_noise.sample(&mut random);
        let mut lines = line(&Event::Hello(Box::new(launch(&name, block))));
        for (index, point) in points.iter().enumerate() {
            for repetition in 0..SAMPLES {
                let seconds = seconds(point) / speed * shift * sample_noise.sample(&mut random);
                let sample = Sample {
                    point: point.clone(),
                    key: format!("{index:020x}"),
                    block,
                    repetition,
                    status: Status::Ok,
                    message: String::new(),
                    unix_seconds: 1.7e9 + made as f64,
                    load: Some(random.random_range(0.0..1.0)),
                    pages_elsewhere: None,
                    disturbance: Facts::default(),
                    seconds: Some(seconds),
                    outputs: [("page_bytes".to_owned(), Value::Real(4096.0))].into(),
                };
                lines += &line(&Event::Sample(Box::new(sample)));
                made += 1;
            }
        }
        lines += &line(&Event::Ended {
            status: Status::Ok,
            message: String::new(),
            doubtful: false,
            output: Default::default(),
        });
        std::fs::write(folder.journal(&name), lines).expect("a journal");
        records.push(name);
    }
    let manifest = manifest(path, points.len()).with_records(&folder.records().expect("journals"));
    manifest.write(&folder).expect("a manifest");
    folder.compact().expect("a table");
    made
}

fn line(event: &Event) -> String {
    serde_json::to_string(event).expect("an event") + "\n"
}

fn point((a, b): (u32, u32)) -> Point {
    let point = Point::new("apex_map.sequential", 1)
        .with_parameter("alpha", 10f64.powf(-3.0 * f64::from(a) / f64::from(ALPHAS - 1)))
        .with_parameter("L", 1u64 << b)
        .with_parameter("M", 64u64 << 20);
    apexmap_measure::kernels::complete(point).expect("a valid point")
}

/// Model of the time: misses of 100 ns in a cache of 1 Mword, and 0.5 ns per word.
fn seconds(point: &Point) -> f64 {
    let (alpha, block) = (ALPHA.of(point), L.of(point) as f64);
    let misses = 1.0 - (1.0 / 64.0f64).powf(alpha);
    let accesses = (I.of(point) * N.of(point)) as f64;
    accesses * (2e-9 + misses * 1e-7 + block * 5e-10)
}

fn launch(name: &str, block: u32) -> Launch {
    Launch {
        schema: SCHEMA_VERSION,
        launch: name.into(),
        block,
        transport: "threads".into(),
        library: "synthetic".into(),
        launcher: "local".into(),
        ranks: 1,
        host: apexmap_measure::provenance::host(),
        place: None,
        placement: vec![apexmap_measure::provenance::placement(0)],
        node_types: Default::default(),
        environment: Default::default(),
        oversubscribed: false,
        build: "synthetic".into(),
        unix_seconds: 1.7e9,
    }
}

fn manifest(path: &Path, points: usize) -> apexmap_results::disk::manifest::Manifest {
    apexmap_results::disk::manifest::Manifest {
        schema: SCHEMA_VERSION,
        name: "scale".into(),
        title: "Synthetic samples of a benchmark".into(),
        sweep: String::new(),
        seed: 1,
        machine: path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        points,
        blocks: LAUNCHES,
        budget_seconds: None,
        command: vec!["benches/scale.rs".into()],
        driver: apexmap_measure::provenance::build(),
        driver_host: apexmap_measure::provenance::host(),
        worker: apexmap_measure::provenance::build(),
        unix_seconds: 1.7e9,
        samples: Default::default(),
        launches: Vec::new(),
        hosts: Vec::new(),
        sized_for: None,
        compaction: None,
        simulated: None,
        imported: None,
    }
}

/// Writes a result of the large sweep with one sample per point. Their keys are those of the plan.
fn plan(path: &Path, sweep: &str) {
    let folder = Folder::create(path).expect("a folder");
    let listed = Command::new(env!("CARGO_BIN_EXE_apexmap"))
        .args(["plan", sweep, "--points", "--out", &path.to_string_lossy()])
        .output()
        .expect("apexmap plans");
    let point = apexmap_measure::kernels::complete(Point::new("apex_map.sequential", 1)).expect("a valid point");
    let (mut lines, mut keys) = (line(&Event::Hello(Box::new(launch("0001", 0)))), String::new());
    for text in String::from_utf8_lossy(&listed.stdout).lines().filter(|text| text.contains("  missing  ")) {
        let key = text.split_whitespace().next().unwrap_or_default().to_owned();
        keys += &format!(
            "{}\n",
            serde_json::json!({"key": key, "kernel": "apex_map.sequential", "ranks": 1, "params": {}})
        );
        let sample = Sample {
            point: point.clone(),
            key,
            block: 0,
            repetition: 0,
            status: Status::Ok,
            message: String::new(),
            unix_seconds: 1.7e9,
            load: None,
            pages_elsewhere: None,
            disturbance: Facts::default(),
            seconds: Some(1e-3),
            outputs: Default::default(),
        };
        lines += &line(&Event::Sample(Box::new(sample)));
    }
    std::fs::write(folder.journal("0001"), lines).expect("a journal");
    std::fs::write(folder.points(), keys).expect("the points");
}
