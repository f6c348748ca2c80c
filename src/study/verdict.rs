//! The verdict on a traced program: the plain program in time, on pages of 4 KiB and of 2 MiB in turn, and the costs of memory here.

use crate::paired::commands::Commands;
use crate::paired::sides::{Measured, SideRun};
use crate::paired::{Limits, Pairs, Turn};
use apexmap_base::error::{Error, Result};
use apexmap_base::interrupt::Interrupt;
use apexmap_base::point::Value;
use apexmap_base::provenance::Host;
use apexmap_base::terminal::note;
use apexmap_base::units::WORD_BYTES;
use apexmap_locate::costs::{Access, Cost, Costs};
use apexmap_locate::located::Located;
use apexmap_locate::verdict::{Timing, Verdict, explain_short_reach};
use apexmap_measure::kernels::command::{COMMAND, SYSTEM_SECONDS, Specification, USER_SECONDS};
use apexmap_measure::provenance::host;
use apexmap_results::disk::Folder;
use apexmap_results::samples::Samples;
use apexmap_results::samples::code_rates::DISPLACING_STRIDE;
use apexmap_results::samples::estimate::Mean;
use apexmap_results::table::columns::{ALPHA, BLOCK};
use apexmap_theory::machine::{Card, NumberName, Word, catalogue};
use apexmap_theory::statistics::distributions::t_quantile_at;
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitStatus;

/// Where `apexmap run codes` and `apexmap calibrate` leave their results.
const RESULT: &str = "results/codes";
const CARD: &str = "results/calibrate/card.toml";
const NEXT: &str = "To measure them: apexmap run codes --budget 30s";
/// On each size of pages.
const RUNS: usize = 5;
/// As in paired comparisons: the share of Student's t below the upper end of the interval.
const SHARE_BELOW: f64 = 0.9875;
const TUNABLES: &str = "GLIBC_TUNABLES";
/// Asks the C library for pages of 2 MiB, which the system gives if its setting is `madvise`.
const HUGE_PAGES: &str = "glibc.malloc.hugetlb=1";
const COLUMNS: [&str; 8] = ["chains", ALPHA, BLOCK, "memory_words", "stride_words", "region_bytes", "pages", "ranks"];
/// Below these, the size of pages changes little; the maps have no shorter strides on base pages.
const ANY_PAGES_BYTES: f64 = (4 << 20) as f64;
const ANY_PAGES_STRIDE: f64 = 8.0;

/// Times a program that ended so, and whose trace has this share of its accesses, or ended first.
pub fn judge(program: &[OsString], exit: ExitStatus, share: Option<f64>, located: &Located) -> Result<Verdict> {
    let refuse = |reason: &str| Error::measurement(reason, "");
    let share = share.ok_or_else(|| refuse("the trace ended before the program"))?;
    let code = exit.code().ok_or_else(|| refuse("a signal ended the program"))?;
    let host = host();
    // Where the system gives pages of 2 MiB to all programs, or never, there is nothing to compare.
    let setting = host.huge_pages.as_deref().unwrap_or("never");
    let costs = find_costs(if setting == "always" { "huge" } else { "base" }, &host, located)?;
    let interrupt = Interrupt::catch();
    note(&format!("runs the program {} times for its time; --no-time leaves this out", 2 * RUNS));
    let timing = time(program, code, setting == "madvise", &interrupt)?;
    Verdict::new(located, &costs, timing, share)
}

/// Returns the costs of this machine, which must reach the sizes of the program.
fn find_costs(pages: &str, host: &Host, located: &Located) -> Result<Costs> {
    let refuse = |reason: String| Error::environment(reason, NEXT);
    let (model, source, costs) = if Path::new(RESULT).exists() {
        let samples = Samples::from(Folder::open(Path::new(RESULT))?.table()?).current();
        (samples.first_word("cpu_model").to_owned(), RESULT, from_samples(&samples, pages))
    } else if Path::new(CARD).exists() {
        let card = Card::read(Path::new(CARD))?;
        (cpu_model(&card), CARD, from_card(&card, pages))
    } else {
        return Err(refuse("there are no costs of this machine's memory".into()));
    };
    let costs = Costs::new(source.into(), costs);
    let other = (model != host.cpu_model).then(|| format!("{source} was measured on another machine ({model})"));
    other.or_else(|| explain_short_reach(located, &costs)).map_or(Ok(costs), |reason| Err(refuse(reason)))
}

fn cpu_model(card: &Card) -> String {
    card.provenance.get("cpu_model").and_then(|model| model.as_str()).unwrap_or_default().to_owned()
}

/// Returns how many pages of 4 KiB the TLB holds, as measured by `apexmap calibrate` on this machine. The verdict reports a damaged card.
pub fn tlb_entries(host: &Host) -> Option<u32> {
    let card = Card::read(Path::new(CARD)).ok().filter(|card| cpu_model(card) == host.cpu_model)?;
    card.get(catalogue::TLB_ENTRIES.name).map(|entries| entries.round() as u32)
}

/// Reads the costs of one rank on pages of this size, `base` or `huge`.
pub fn from_samples(samples: &Samples, pages: &str) -> Vec<Cost> {
    samples.good().group_by(&COLUMNS).iter().filter_map(|point| cost(point, pages)).collect()
}

fn cost(point: &Samples, pages: &str) -> Option<Cost> {
    let value = |column: &str| point.first_value(column)?.as_f64();
    let is_uniform = value(ALPHA) == Some(1.0) && value(BLOCK) == Some(1.0);
    let stride = value("stride_words");
    let access = match (stride, value("chains")) {
        (Some(1.0), _) => Access::Sweep,
        (Some(stride), _) if stride % DISPLACING_STRIDE == 0.0 => Access::Displaced,
        (Some(_), _) => Access::Strided,
        (None, None) if is_uniform => Access::Independent,
        (None, Some(1.0)) if is_uniform => Access::Dependent,
        _ => return None,
    };
    let region_bytes = value("region_bytes").or_else(|| Some(value("memory_words")? * WORD_BYTES as f64))?;
    let needs_no_pages = region_bytes < ANY_PAGES_BYTES || stride.is_some_and(|stride| stride <= ANY_PAGES_STRIDE);
    let counts = value("ranks") == Some(1.0) && (needs_no_pages || point.first_word("pages") == pages);
    let seconds = WORD_BYTES as f64 / point.median("bytes_per_second_per_rank")?;
    counts.then_some(Cost { access, stride: stride.unwrap_or(1.0), region_bytes, seconds })
}

/// A card has no strided walks.
pub fn from_card(card: &Card, pages: &str) -> Vec<Cost> {
    let cost = |name: NumberName| {
        let value = card.get(&name.to_string())?;
        let (bytes, access, seconds) = match &name.qualifier[..] {
            [Word::Bytes(bytes)] => (bytes, Access::Sweep, WORD_BYTES as f64 / value),
            [Word::Bytes(bytes), own, Word::Independent] if own.to_string() == pages => {
                (bytes, Access::Independent, value)
            }
            [Word::Bytes(bytes), own, Word::Dependent] if own.to_string() == pages => (bytes, Access::Dependent, value),
            _ => return None,
        };
        Some(Cost { access, stride: 1.0, region_bytes: *bytes as f64, seconds })
    };
    let numbers = [catalogue::READ_SECONDS, catalogue::READ_BANDWIDTH_BYTES_PER_SECOND];
    numbers.into_iter().flat_map(|number| card.variants(number.name)).filter_map(cost).collect()
}

/// Runs a program that ended with this exit code.
fn time(program: &[OsString], exit_code: i32, compares_pages: bool, interrupt: &Interrupt) -> Result<Timing> {
    let sides = [specification(program, exit_code, false)?, specification(program, exit_code, compares_pages)?];
    let mut commands = Commands::new(sides.into(), 0)?;
    let (mut measured, mut times) = (Measured::new(Pairs::new(2), vec![Vec::new(); 2]), Vec::new());
    let limits = Limits { width: 0.0, budget: f64::INFINITY, runs: Some(RUNS), seed: 1 };
    let mut keep = |turn: Turn, run: &SideRun| {
        let outputs = run.samples.iter().map(|sample| &sample.outputs).filter(|_| turn.side == 0 || !compares_pages);
        let seconds = |name: &str, outputs: &BTreeMap<String, Value>| outputs.get(name).and_then(Value::as_f64);
        times.extend(outputs.filter_map(|list| Some(seconds(USER_SECONDS, list)? + seconds(SYSTEM_SECONDS, list)?)));
        Ok(())
    };
    measured.measure(&mut commands, &[0, 1], &limits, &mut keep, &|| interrupt.check(), &mut |_| ())?;
    let huge_pages = measured.pairs.logarithms.first().filter(|_| compares_pages).and_then(|list| ratio(list));
    let (disturbed, blocks) = (measured.pairs.disturbed, RUNS.div_ceil(2));
    let sentence = (disturbed > 0).then(|| format!("Other activity disturbed {disturbed} of {blocks} blocks of runs."));
    Timing::new(&times, huge_pages, sentence)
}

/// Times of neighbouring runs are alike and skewed, so that the interval is that of 97.5 %.
fn ratio(logarithms: &[f64]) -> Option<[f64; 3]> {
    let mean = Mean::from_values(logarithms)?;
    let half = t_quantile_at(mean.freedom, SHARE_BELOW) * mean.variance.sqrt();
    Some([mean.value, mean.value - half, mean.value + half].map(f64::exp))
}

/// Keeps the locale, the input and the tunables of this process.
fn specification(program: &[OsString], exit_code: i32, has_huge_pages: bool) -> Result<Specification> {
    let words = program.iter().map(|word| word.to_str()).collect::<Option<Vec<_>>>();
    let words = words.ok_or_else(|| Error::input("the arguments of the program are not UTF-8", ""))?;
    let variables =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let is_kept = |name: &str| name == "LANG" || name == TUNABLES || name.starts_with("LC_");
    let mut variables: BTreeMap<String, String> = variables.filter(|(name, _)| is_kept(name)).collect();
    if has_huge_pages {
        let tunables = variables.entry(TUNABLES.into()).or_default();
        *tunables = format!("{tunables}:{HUGE_PAGES}").trim_start_matches(':').to_owned();
    }
    let mut text = json!({ (COMMAND): words, "env": variables, "success": exit_code, "time_limit": "1000 h" });
    if let Some(input) = input()? {
        text["input"] = input.into();
    }
    Specification::parse(&text.to_string()).map_err(|reason| Error::input(reason, ""))
}

/// Returns the file that is this process's input: each run reads it from its start.
fn input() -> Result<Option<String>> {
    let path = std::fs::read_link("/proc/self/fd/0").unwrap_or_default();
    if path.as_os_str().is_empty() || path == Path::new("/dev/null") || std::io::stdin().is_terminal() {
        return Ok(None);
    }
    let refuse = || Error::input("the program's input is a pipe", "Name a file: apexmap locate -- ./app < FILE");
    path.to_str().filter(|_| path.is_file()).map(|file| Some(file.to_owned())).ok_or_else(refuse)
}
