//! `cargo bench --bench verdict`: the verdicts of `apexmap locate` on twenty programs in C, and its predicted gains against repaired programs.
//!
//! `cc -O2` compiles `verdict/programs.c`, and `apexmap run codes` measures the costs of memory; with `-- FOLDER`, they are those of this
//! result. For each program, `apexmap locate` gives its verdict. Then `apexmap ab` measures the repaired program and pages of 2 MiB,
//! independently. The expected classes are those that follow from the code, written down before the first run.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

/// Name, expected class, and the change that the repaired program makes; it changes nothing that matters in programs that compute.
const PROGRAMS: [(&str, &str, &str); 20] = [
    ("product", "memory", "unit-stride"),
    ("columns", "memory", "unit-stride"),
    ("records", "memory", "unit-stride"),
    ("stencil", "memory", "unit-stride"),
    ("transpose", "memory", "unit-stride"),
    ("objects", "memory", "unit-stride"),
    ("list", "chain", "unit-stride"),
    ("tree", "chain", "independent"),
    ("gather", "memory", "in-cache"),
    ("update", "memory", "in-cache"),
    ("join", "memory", "in-cache"),
    ("spmv", "memory", "in-cache"),
    ("histogram", "memory", "in-cache"),
    ("sums", "memory", "in-cache"),
    ("triad", "memory", "in-cache"),
    ("search", "between", "in-cache"),
    ("mergesort", "compute", "none"),
    ("polynomial", "compute", "none"),
    ("ring", "compute", "none"),
    ("checksum", "compute", "none"),
];
/// A gain is right within this factor; one of "at least" if the measured one is not below by more.
const NEAR: f64 = 1.5;

struct Row {
    name: &'static str,
    is_right: bool,
    predicted: f64,
    /// The low end of a gain that has no high one.
    least: Option<f64>,
    measured: f64,
    pages: Option<[f64; 4]>,
    fits: bool,
    seconds_per_1e8: f64,
}

fn main() {
    let folder = std::env::temp_dir().join(format!("apexmap-verdict-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("results")).expect("a new folder");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/verdict/programs.c");
    let built = Command::new("cc").args(["-O2", "-g", "-w", "-o"]).arg(folder.join("programs")).arg(source).status();
    assert!(built.is_ok_and(|status| status.success()), "a C compiler named cc is needed to build {source}");
    let own = std::env::args().skip(1).map(PathBuf::from).find(|path| path.is_dir());
    match own.and_then(|path| path.canonicalize().ok()) {
        Some(path) => std::os::unix::fs::symlink(path, folder.join("results/codes")).expect("a link"),
        None => drop(apexmap(&folder, &["run", "codes", "--budget", "60s", "--no-report"])),
    }
    println!(
        "{:<11} {:<8} {:<8} {:>6} {:>9} {:>20} {:>8} {:>25} {:>8} {:>8}",
        "program", "expected", "verdict", "I / T", "T ms", "predicted", "measured", "2 MiB pages", "again", "s / 1e8"
    );
    let rows: Vec<Row> = PROGRAMS.iter().filter_map(|program| measure(&folder, *program)).collect();
    conclude(&rows);
    let _ = std::fs::remove_dir_all(folder);
}

fn apexmap(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    command.args(arguments).current_dir(folder).output().expect("apexmap runs")
}

/// Prints a row. Without a verdict, it has the reason.
fn measure(folder: &Path, (name, expected, change): (&'static str, &str, &str)) -> Option<Row> {
    let file = folder.join("locate.json");
    let started = Instant::now();
    let located = apexmap(folder, &["locate", "--json", "locate.json", "--", "./programs", name]);
    let elapsed = started.elapsed().as_secs_f64();
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let document: Value = serde_json::from_str(&text).unwrap_or_default();
    let verdict = &document["verdict"];
    let Some(class) = verdict["class"].as_str() else {
        println!("{name:<11} {expected:<8} none: {} {}", document["notes"], String::from_utf8_lossy(&located.stderr));
        return Some(Row {
            name,
            is_right: false,
            predicted: f64::NAN,
            least: None,
            measured: f64::NAN,
            pages: None,
            fits: true,
            seconds_per_1e8: 0.0,
        });
    };
    let gains = verdict["gains"].as_array().cloned().unwrap_or_default();
    let gain = gains.iter().find(|gain| gain["change"] == change);
    let number = |value: &Value| value.as_f64();
    let predicted = gain.and_then(|gain| number(&gain["factor"])).unwrap_or(1.0);
    let least = gain.filter(|gain| gain["high"].is_null()).and_then(|gain| number(&gain["low"]));
    let [plain, repaired] = ["", " repaired"].map(|way| format!("./programs {name}{way}"));
    let huge = format!("env GLIBC_TUNABLES=glibc.malloc.hugetlb=1 {plain}");
    let compared = apexmap(folder, &["ab", &plain, &repaired, &huge, "--runs", "5", "--json"]);
    let compared: Value = serde_json::from_slice(&compared.stdout).unwrap_or_default();
    let ratio = |side: usize| number(&compared["sides"][side]["ratio"]["value"]).unwrap_or(f64::NAN);
    let pages =
        verdict["huge_pages"].as_array().map(|ends| [0, 1, 2].map(|end| number(&ends[end]).unwrap_or(f64::NAN)));
    let pages = pages.map(|[value, low, high]| [value, low, high, ratio(2)]);
    let (seconds, accesses) = (number(&verdict["seconds"])?, number(&document["accesses"])?);
    let screen = String::from_utf8_lossy(&located.stderr).into_owned();
    let row = Row {
        name,
        is_right: class == expected,
        predicted,
        least,
        measured: ratio(1),
        pages,
        fits: screen.lines().all(|line| line.chars().count() <= 80),
        seconds_per_1e8: (elapsed - 10.0 * seconds) / accesses * 1e8,
    };
    let range = gain.map_or("none".into(), |gain| match number(&gain["high"]) {
        Some(high) => format!("{predicted:.2} ({:.2}-{high:.2})", number(&gain["low"]).unwrap_or(f64::NAN)),
        None => format!("{predicted:.2} (>{:.2})", number(&gain["low"]).unwrap_or(f64::NAN)),
    });
    let pages = pages.map_or(String::new(), |[value, low, high, _]| format!("{value:.3} ({low:.3}-{high:.3})"));
    println!(
        "{name:<11} {expected:<8} {class:<8} {:>6.2} {:>9.1} {range:>20} {:>8.2} {pages:>25} {:>8.3} {:>8.1}",
        number(&verdict["memory_share"]).unwrap_or(f64::NAN),
        1e3 * seconds,
        row.measured,
        ratio(2),
        row.seconds_per_1e8
    );
    document["sentences"].as_array().into_iter().flatten().for_each(|sentence| println!("    {sentence}"));
    Some(row)
}

fn conclude(rows: &[Row]) {
    let count = |is: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| is(row)).count();
    let is_near = |row: &Row| row.measured / row.predicted < NEAR && row.predicted / row.measured < NEAR;
    println!("1. verdict right: {} of 20 (bar 18)", count(&|row| row.is_right));
    println!(
        "2. gain within {NEAR}: {} of 20 (bar 16), with \"at least\" {}; rank correlation {:.2} (bar 0.9)",
        count(&is_near),
        count(&|row| is_near(row) || row.least.is_some_and(|least| row.measured > least / NEAR)),
        rank_correlation(rows)
    );
    let holds = |row: &Row| row.pages.is_some_and(|[_, low, high, again]| low <= again && again <= high);
    println!("3. 2 MiB pages again within the interval: {} of 20 (bar 18)", count(&holds));
    let slowest = rows.iter().map(|row| row.seconds_per_1e8).fold(0.0, f64::max);
    println!(
        "4. screens within 80 columns: {}; slowest: {slowest:.1} s for 1e8 accesses (bar 15)",
        count(&|row| row.fits)
    );
    let wrong: Vec<&str> = rows.iter().filter(|row| !is_near(row)).map(|row| row.name).collect();
    println!("gains that are not near: {}", wrong.join(", "));
}

/// Spearman's, of the rows with both gains.
fn rank_correlation(rows: &[Row]) -> f64 {
    let pairs: Vec<[f64; 2]> = rows
        .iter()
        .map(|row| [row.predicted, row.measured])
        .filter(|pair| pair.iter().all(|gain| gain.is_finite()))
        .collect();
    let rank = |side: usize, value: f64| {
        let below = pairs.iter().filter(|pair| pair[side] < value).count() as f64;
        let equal = pairs.iter().filter(|pair| pair[side] == value).count() as f64;
        below + (equal - 1.0) / 2.0
    };
    let mean = (pairs.len() as f64 - 1.0) / 2.0;
    let moment = |a: usize, b: usize| -> f64 {
        pairs.iter().map(|pair| (rank(a, pair[a]) - mean) * (rank(b, pair[b]) - mean)).sum()
    };
    moment(0, 1) / (moment(0, 0) * moment(1, 1)).sqrt()
}
