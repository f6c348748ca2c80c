//! `APEX_MAP_3=apex-map-v3.0.tar cargo bench --bench apex_map_3`: compares apex_map.sequential with the program of Apex-Map's authors.
//!
//! Apex-Map 3.0 is a generator of C programs. Its archive is not part of this repository. It is unpacked and built outside of
//! the repository, by `cc -O3 -march=native`. Both programs run in turn, on 4 KiB pages, and read the same number of words per
//! draw. The output is the bandwidth of both, medians over the rounds, and their ratio.

use apexmap_measure::numerics::statistics::median;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const WORDS: u64 = 64 << 20;
const ROUNDS: usize = 5;
const ALPHAS: [&str; 5] = ["1", "0.25", "0.1", "0.01", "0.001"];
const BLOCKS: [&str; 4] = ["1", "16", "256", "4096"];

/// Bandwidths in B/s by alpha and L.
type Rates = BTreeMap<(String, String), f64>;

fn main() {
    let Some(archive) = std::env::var_os("APEX_MAP_3") else {
        println!("not run: set APEX_MAP_3 to the archive apex-map-v3.0.tar of Apex-Map's authors");
        return;
    };
    let folder = std::env::temp_dir().join(format!("apexmap-bench-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary folder");
    build_original(&folder, &fs::canonicalize(archive).expect("the archive of Apex-Map 3.0"));
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        for turn in 0..2 {
            if turn == round % 2 { theirs.push(original(&folder)) } else { ours.push(apexmap(&folder, round)) }
        }
    }
    println!("M = {WORDS} words, I = 1024, 4 KiB pages, {ROUNDS} rounds in turn; MB/s, medians\n");
    println!("{:>6} {:>6} {:>10} {:>13} {:>6}", "alpha", "L", "apexmap", "Apex-Map 3.0", "ratio");
    let mut logarithms = Vec::new();
    for (alpha, block) in ALPHAS.iter().flat_map(|alpha| BLOCKS.iter().map(move |block| (*alpha, *block))) {
        let [ours, theirs] = [&ours, &theirs].map(|rounds| typical(rounds, alpha, block));
        println!("{alpha:>6} {block:>6} {:>10.0} {:>13.0} {:>6.2}", ours / 1e6, theirs / 1e6, ours / theirs);
        logarithms.push((ours / theirs).ln());
    }
    let mean = (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp();
    println!("\ngeometric mean of the ratios of {} cells: {mean:.2}", logarithms.len());
    let _ = fs::remove_dir_all(&folder);
}

fn typical(rounds: &[Rates], alpha: &str, block: &str) -> f64 {
    let cell = (alpha.to_owned(), block.to_owned());
    let rates: Vec<f64> = rounds.iter().map(|rates| rates[&cell]).collect();
    median(&rates).expect("rounds")
}

/// Runs a program to its end. The exit codes of the original are arbitrary: its `main` returns nothing.
fn start(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().expect("the program starts")
}

/// Runs a program that must succeed, and returns its output.
fn output(command: &mut Command) -> String {
    let output = start(command);
    assert!(output.status.success(), "{command:?} failed");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Unpacks the generator, generates the program for the cells, and builds it as `original`.
fn build_original(folder: &Path, archive: &Path) {
    output(Command::new("tar").arg("xf").arg(archive).current_dir(folder));
    let input = format!(
        "MODE: SEQUENTIAL\nACCESS PATTERN: RANDOM\nSPATIAL LOCALITY: {}\nTEMPORAL LOCALITY: {}\nMEMORY SIZE: {WORDS}\n\
         ALGORITHM: NESTED\nREGISTER PRESSURE: 1\nCOMPUTATIONAL INTENSITY: 1\nREPEAT TIMES: 100\nWARMUP TIMES: 10\n\
         CPU MHZ: 1000\nPLATFORM: bench\nVERSION: 3.0\nINDEX SIZE: 1024\nSTORE METHOD: SCALAR\n",
        BLOCKS.join(" "),
        ALPHAS.join(" ")
    );
    fs::write(folder.join("input"), input).expect("written");
    let compile = |flags: &[&str]| {
        output(Command::new("cc").args(["-w", "-std=gnu89"]).args(flags).arg("-lm").current_dir(folder));
    };
    compile(&["-O1", "gen.pub.c", "-o", "generate"]);
    start(Command::new("./generate").current_dir(folder));
    compile(&["-O3", "-march=native", "Apex.c", "-o", "original"]);
}

/// Runs the original. It prints a line with alpha, as K, and L for each cell, and later one with the bandwidth in MB/s.
fn original(folder: &Path) -> Rates {
    let run = start(Command::new("./original").env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=0").current_dir(folder));
    let text = String::from_utf8_lossy(&run.stdout);
    let after = |line: &str, name: &str, end: char| -> Option<f64> {
        line.split_once(name)?.1.trim().split(end).next()?.trim().parse().ok()
    };
    let (mut rates, mut cell) = (Rates::new(), None);
    for line in text.lines() {
        if let Some((alpha, block)) = after(line, "K=", ',').zip(after(line, "L=", ',')) {
            cell = Some((alpha.to_string(), block.to_string()));
        } else if let Some(rate) = after(line, "average bandwidth is", '(') {
            rates.extend(cell.take().map(|cell| (cell, rate * 1e6)));
        }
    }
    assert_eq!(rates.len(), ALPHAS.len() * BLOCKS.len(), "cells of the original\n{text}");
    rates
}

/// Measures the same cells with this program.
fn apexmap(folder: &Path, round: usize) -> Rates {
    let (sweep, result) = (folder.join("bench.toml"), folder.join(format!("result-{round}")));
    let text = format!(
        "seed = {round}\n[fixed]\nkernel = \"apex_map.sequential\"\nM = {WORDS}\nI = 1024\nN = 100\npages = \"base\"\n\
         [axes]\nalpha = [{}]\nL = [{}]\n[launch]\ntransport = \"threads\"\nlaunches = 1\n[repeat]\nmin = 3\n",
        ALPHAS.join(", "),
        BLOCKS.join(", ")
    );
    fs::write(&sweep, text).expect("written");
    let program = || Command::new(env!("CARGO_BIN_EXE_apexmap"));
    output(program().args(["run", "--no-report", "--out"]).arg(&result).arg(&sweep));
    let query = ["--group-by", "alpha,L", "--select", "bytes_per_second", "--format", "csv"];
    let table = output(program().arg("query").arg(&result).args(query));
    let mut lines = table.lines();
    let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
    let column = |name: &str| head.iter().position(|field| *field == name).expect("a column of the query");
    let [alpha, block, rate] = ["alpha", "block_words", "bytes_per_second_median"].map(column);
    let cell = |line: &str| {
        let number = |column: usize| -> f64 {
            line.split(',').nth(column).and_then(|field| field.parse().ok()).expect("a number")
        };
        ((number(alpha).to_string(), number(block).to_string()), number(rate))
    };
    lines.map(cell).collect()
}
