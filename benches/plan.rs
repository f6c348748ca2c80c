//! `cargo bench --bench plan`: measures `apexmap plan` and `apexmap status` of a sweep of 100,000 points, before and
//! after its run.
//!
//! The points do almost no work. The run takes two samples of each, so the journal has 200,000 lines.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const RUNS: usize = 5;

/// Two shapes of a sweep: a grid, and one long axis.
const SWEEPS: [(&str, &str); 2] = [
    (
        "grid",
        "alpha = { from = 0.001, to = 1, points = 10, scale = \"log10\" }\nL = { from = 1, to = 512, factor = 2 }\n\
         seed = { from = 1, to = 1000, step = 1 }",
    ),
    ("axis", "seed = { from = 1, to = 100000, step = 1 }"),
];

fn main() {
    let folder = std::env::temp_dir().join(format!("apexmap-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    for (name, axes) in SWEEPS {
        let (sweep, out) = (folder.join(name).with_extension("toml"), folder.join(name));
        let text = format!(
            "where = [\"L <= M\"]\n[fixed]\nkernel = \"apex_map.sequential\"\nM = \"1 kwords\"\nI = 1\nN = 1\n\
             [axes]\n{axes}\n[repeat]\nmin = 2\n"
        );
        std::fs::write(&sweep, text).expect("the sweep");
        let (sweep, out) = (sweep.to_string_lossy(), out.to_string_lossy());
        println!("100,000 points ({name}), medians of {RUNS} runs");
        println!("  plan, nothing measured: {:.2} s", median_seconds(&["plan", "--out", &out, &sweep]));
        println!("  run: {:.1} s", time_run(&["run", "--no-report", "--out", &out, &sweep]));
        println!("  plan, all measured: {:.2} s", median_seconds(&["plan", "--out", &out, &sweep]));
        println!("  status: {:.2} s", median_seconds(&["status", &out]));
        let journal = Path::new(&*out).join("journals/0001.jsonl");
        println!("  journal: {} MB", std::fs::metadata(journal).map_or(0, |meta| meta.len() / 1_000_000));
    }
    let _ = std::fs::remove_dir_all(&folder);
}

fn median_seconds(arguments: &[&str]) -> f64 {
    let mut times: Vec<f64> = (0..RUNS).map(|_| time_run(arguments)).collect();
    times.sort_by(f64::total_cmp);
    times[RUNS / 2]
}

fn time_run(arguments: &[&str]) -> f64 {
    let start = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    let status = command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()), "apexmap {arguments:?} failed");
    start.elapsed().as_secs_f64()
}
