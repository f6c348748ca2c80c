//! `cargo bench --bench surface`: measures how well a calibrated card predicts Apex-Map's surfaces on this machine,
//! without a fit.
//!
//! Calibrates, then measures surfaces of one core and of two ranks on huge and on base pages. Prints the tables of
//! docs/appendix/models.md: the errors of the predictions, and those of a fit to the surfaces and of the best curve without a
//! model, with points and with whole rows and columns left out. This takes about 15 minutes. `-- --short` measures few
//! points, `-- --card FILE` uses an earlier card, and `-- --ranks 1` or `2` measures only the surfaces of this number
//! of ranks.

use apexmap_results::disk::Folder;
use apexmap_results::samples::Samples;
use apexmap_results::samples::distance;
use apexmap_results::samples::health::Health;
use apexmap_study::model_fit::{self, card};
use apexmap_theory::fit::{self, Options, baseline};
use apexmap_theory::machine::{Card, DISTURBED};
use apexmap_theory::models::apex_map::Surface;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Words of a rank's memory: 256 KiB to 512 MiB.
const WORDS: [[&[u64]; 2]; 2] = [
    [&[1 << 15, 1 << 18, 1 << 20, 1 << 22, 1 << 26], &[1 << 15, 1 << 20, 1 << 26]],
    [&[1 << 15, 1 << 26], &[1 << 15, 1 << 26]],
];
const SURFACES: [(usize, &[&str]); 2] =
    [(1, &["apex_map.sequential"]), (2, &["apex_map.two_sided", "apex_map.one_sided"])];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| Some(arguments.get(arguments.iter().position(|given| given == name)? + 1)?.clone());
    let short = arguments.iter().any(|given| given == "--short");
    let only = value("--ranks").map(|ranks| ranks.parse::<usize>().expect("a number of ranks"));
    let folder = std::env::temp_dir().join(format!("apexmap-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let file = value("--card").map_or_else(|| calibrate(&folder), PathBuf::from);
    let card = Card::find(&file.to_string_lossy()).expect("a card");
    if let Some(banner) = card.provenance.get(DISTURBED) {
        println!("The card was measured on a machine that was not quiet: {banner}\n");
    }
    println!("| | points | SMAPE, 2 MiB pages | 4 KiB pages | within a factor of 1.25 |\n|---|---|---|---|---|");
    let mut one_rank = None;
    for (index, (ranks, kernels)) in SURFACES.into_iter().enumerate() {
        if only.is_some_and(|only| only != ranks) {
            continue;
        }
        let samples = measure(&folder, &file, ranks, kernels, WORDS[usize::from(short)][index], short);
        let rows: Vec<(String, Vec<String>)> = kernels.iter().map(|kernel| row(&samples, kernel, &card)).collect();
        rows.iter().for_each(|(row, _)| println!("{row}"));
        rows.iter().flat_map(|(_, worst)| worst).for_each(|line| eprintln!("{line}"));
        eprintln!("{ranks} ranks: the machine was {}", Health::from_samples(&samples).sentence());
        distance::card_warning(&samples, &card).into_iter().for_each(|line| println!("{line}"));
        if ranks == 1 {
            one_rank = Some(samples);
        }
    }
    if let Some(samples) = one_rank {
        println!("\nFitted to the surfaces of one core on huge pages:\n");
        let select = |words: Option<f64>| {
            let table = samples.table();
            let wanted = |row: usize| words.is_none_or(|words| table.number("memory_words", row) == words);
            samples.with_word("pages", &["huge"]).filter_rows(wanted)
        };
        println!("one surface of 512 MiB: {}", fit_errors(&select(Some(f64::from(1 << 26))), &card));
        println!("all sizes: {}", fit_errors(&select(None), &card));
    }
    let _ = std::fs::remove_dir_all(&folder);
}

/// Calibrates this machine and returns the path of its card.
fn calibrate(folder: &Path) -> PathBuf {
    let out = folder.join("calibrate");
    apexmap(&["calibrate", "--allow-disturbed", "--out", &out.to_string_lossy()]);
    out.join("card.toml")
}

fn measure(folder: &Path, card: &Path, ranks: usize, kernels: &[&str], words: &[u64], short: bool) -> Samples {
    let (alphas, blocks) = match short {
        true => ("[0.01, 0.1, 1.0]", "[1, 64, 4096]"),
        false => ("[0.01, 0.0316, 0.1, 0.316, 1.0]", "[1, 4, 16, 64, 256, 1024, 4096]"),
    };
    let words: Vec<u64> = words.iter().map(|words| words * ranks as u64).collect();
    let sweep = format!(
        "where = [\"16 * L * P <= M\"]\n[fixed]\nI = 1024\n[axes]\nalpha = {alphas}\nL = {blocks}\npages = [\"huge\", \"base\"]\n\
         M = {words:?}\n[[together]]\nkernel = {kernels:?}\nranks = {:?}\n[launch]\ntransport = \"threads\"\n\
         [repeat]\nmin = 2\nbudget = \"230 s\"\n",
        vec![ranks; kernels.len()]
    );
    let (path, out) = (folder.join(format!("surface-{ranks}.toml")), folder.join(format!("surface-{ranks}")));
    std::fs::write(&path, sweep).expect("the sweep");
    let [path, out, card] = [path.as_path(), out.as_path(), card].map(|path| path.to_string_lossy().into_owned());
    apexmap(&["run", "--no-report", "--card", &card, "--out", &out, &path]);
    Samples::from(Folder::open(Path::new(&out)).and_then(|folder| folder.table()).expect("samples"))
}

/// Returns a row of the table, and the point with the largest error for each page size.
fn row(samples: &Samples, kernel: &str, card: &Card) -> (String, Vec<String>) {
    let (mut cells, mut worst, mut points, mut near) = (Vec::new(), Vec::new(), 0, 0.0);
    for pages in ["huge", "base"] {
        let samples = samples.with_word("kernel", &[kernel]).with_word("pages", &[pages]);
        match card::predict(&samples, &Surface, card) {
            Ok((_, predicted)) => {
                points += predicted.points.len();
                near += predicted.near * predicted.points.len() as f64;
                cells.push(format!("{:.1} %", 100.0 * predicted.smape));
                let farthest = model_fit::farthest(&Surface, &predicted.points, "measurement").unwrap_or_default();
                worst.push(format!("{kernel} on {pages} pages: {farthest}"));
            }
            Err(refusal) => {
                cells.push("-".into());
                worst.push(format!("{kernel} on {pages} pages: {refusal}"));
            }
        }
    }
    let near = 100.0 * near / f64::from(points.max(1) as u32);
    (format!("| {kernel} | {points} | {} | {near:.0} % |", cells.join(" | ")), worst)
}

/// Returns the errors of a fit and of the best curve without a model.
fn fit_errors(samples: &Samples, card: &Card) -> String {
    let data = match model_fit::observations(samples, &Surface, &[]) {
        Ok(data) => data,
        Err(refusal) => return refusal.to_string(),
    };
    let roles = model_fit::roles(&Surface, (samples, None), Some(card), &[], &[]);
    let options = Options { resamples: 0, ..Options::default() };
    let fit = match fit::fit(&Surface, &data.observations, &roles, options) {
        Ok(fit) => fit,
        Err(refusal) => return refusal.to_string(),
    };
    let per_cent = |error: f64| format!("{:.1} %", 100.0 * error);
    let Some(curve) = baseline::interpolate(&data.observations) else {
        return format!("within {}", per_cent(fit.quality.smape));
    };
    let lines = model_fit::lines(&Surface, &fit, &curve);
    format!(
        "within {}; with points left out {}, interpolation {}; with all points of a value left out: {}; held at the card's values: {}",
        per_cent(fit.quality.smape),
        fit.quality.left_out.map_or("-".into(), per_cent),
        per_cent(curve.left_out),
        lines.join("; "),
        fit.not_identified.join(", ")
    )
}

fn apexmap(arguments: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    let status = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()), "apexmap {arguments:?} failed");
}
