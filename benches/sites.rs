//! `cargo bench --bench sites`: compares C loops of 16 KiB to 512 MiB with the rates of their sites, as `apexmap codes` reads them.
//!
//! `cc -O2` compiles the loops of `sites.c`. `apexmap locate` finds their sites, and `apexmap run codes` measures the maps; the loops run
//! before and after it. With `-- FOLDER`, the maps are those of this result. C counts 8 bytes for each word that a loop reads. Programs
//! have base pages unless they ask for others, so the rates are those on base pages. The output is the ratio of medians, C / map.

use apexmap::results::{Folder, Samples};
use apexmap_locate::analysis::Analysis;
use apexmap_locate::code;
use apexmap_locate::located::Located;
use apexmap_locate::tracer::{TraceOptions, trace};
use apexmap_measure::numerics::statistics::median;
use apexmap_results::samples::code_rates::{CodeRate, CodeRates};
use apexmap_theory::codes::parse;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Name of the loop, its data in KiB, and its stride in words.
const LOOPS: [(&str, u64, u64); 15] = [
    ("gather", 16, 1),
    ("gather", 256, 1),
    ("gather", 4 << 10, 1),
    ("gather", 64 << 10, 1),
    ("gather", 512 << 10, 1),
    ("sweep", 16, 1),
    ("sweep", 4 << 10, 1),
    ("sweep", 512 << 10, 1),
    ("strided", 256, 8),
    ("strided", 16 << 10, 72),
    ("strided", 512 << 10, 520),
    ("walk", 16, 1),
    ("walk", 256, 1),
    ("walk", 16 << 10, 1),
    ("walk", 512 << 10, 1),
];
/// Two passes of the largest loop.
const MAX_ACCESSES: u64 = 140_000_000;
/// Seconds of a run of a loop, and while it is traced.
const SECONDS: &str = "0.5";
const TRACED_SECONDS: &str = "0.001";

fn main() {
    let folder = std::env::temp_dir().join(format!("apexmap-sites-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a new folder");
    let program = build(&folder);
    let own = std::env::args().skip(1).map(PathBuf::from).find(|path| path.is_dir());
    let before = LOOPS.map(|body| run(&program, body));
    let result = own.unwrap_or_else(|| measure_maps(&folder.join("codes")));
    let after = LOOPS.map(|body| run(&program, body));
    let table = Folder::open(&result).and_then(|folder| folder.table()).expect("a result");
    let rates = CodeRates::new(&Samples::from(table).current()).expect("maps");
    println!("{:<8} {:>7} {:>6} {:>9} {:>28} {:>8}", "loop", "KiB", "stride", "C GB/s", "map, base pages", "C / map");
    for ((body, before), after) in LOOPS.iter().zip(before).zip(after) {
        let c = median(&[before, after].concat()).unwrap_or(f64::NAN);
        let read = locate(&program, *body, &rates);
        let rate = read.rate.map_or_else(|| format!("{:?}", read.missing), |rate| rate.words());
        let ratio =
            read.rate.filter(|rate| !rate.is_bound).map_or(String::new(), |rate| format!("{:.2}", c / rate.value));
        println!("{:<8} {:>7} {:>6} {:>9.3} {rate:>28} {ratio:>8}", body.0, body.1, body.2, c / 1e9);
    }
    let _ = std::fs::remove_dir_all(folder);
}

fn build(folder: &Path) -> PathBuf {
    let (program, source) = (folder.join("sites"), concat!(env!("CARGO_MANIFEST_DIR"), "/benches/sites.c"));
    let built = Command::new("cc").args(["-O2", "-g", "-o"]).arg(&program).arg(source).status();
    assert!(built.is_ok_and(|status| status.success()), "a C compiler named cc is needed to build {source}");
    program
}

fn measure_maps(folder: &Path) -> PathBuf {
    let run =
        Command::new(env!("CARGO_BIN_EXE_apexmap")).args(["run", "codes", "--no-report", "--out"]).arg(folder).status();
    assert!(run.is_ok(), "{run:?}");
    folder.to_owned()
}

/// Returns the rates of the parts of a run.
fn run(program: &Path, (name, kib, stride): (&str, u64, u64)) -> Vec<f64> {
    let output = Command::new(program).args([name, &kib.to_string(), SECONDS, &stride.to_string()]).output();
    let text = String::from_utf8(output.expect("the loops run").stdout).expect("numbers");
    text.lines().map(|line| line.parse().expect("a rate")).collect()
}

/// Returns the rate of the sites of a loop on base pages.
fn locate(program: &Path, (name, kib, stride): (&str, u64, u64), rates: &CodeRates) -> CodeRate {
    let options = TraceOptions { from: Some(name.into()), accesses: Some(MAX_ACCESSES), ..TraceOptions::default() };
    let mut analysis = Analysis::default();
    let arguments = [name.to_owned(), kib.to_string(), TRACED_SECONDS.into(), stride.to_string()];
    let command: Vec<_> = std::iter::once(program.into()).chain(arguments.map(Into::into)).collect();
    let traced = trace(&command, &options, &mut analysis).expect("valgrind traces the loops");
    let located = Located::new(&traced.sites, analysis, [("second-level cache", 1 << 20), ("last cache", 32 << 20)]);
    let text = code::toml(&located, name).expect("a code");
    let code = &parse(&text, Path::new("sites.toml")).expect("a code")[0];
    let columns = rates.columns();
    let on_base = columns.iter().find(|column| column.group().samples.first_word("pages") == "base");
    rates.code(*on_base.expect("maps on base pages"), code)
}
