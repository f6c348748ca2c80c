//! `apexmap locate`: how each line of a program walks through memory.

use super::opened::Opened;
use super::pretty;
use apexmap_base::error::{Error, Result};
use apexmap_base::guarded::TemporaryFolder;
use apexmap_base::interrupt::signal_name;
use apexmap_base::terminal::{error_width, note, note_raw, print, print_data, terminal_width, wrap_lines};
use apexmap_base::units::bytes;
use apexmap_base::{new_file, regular_file};
use apexmap_locate::analysis::Analysis;
use apexmap_locate::located::{Located, Machine};
use apexmap_locate::sets::Sets;
use apexmap_locate::site::{PAGE_BYTES, Site};
use apexmap_locate::tracer::{self, TraceOptions};
use apexmap_locate::verdict::Verdict;
use apexmap_locate::{code, demo, screen, text_trace};
use apexmap_measure::hardware::{Hardware, base_page_bytes};
use apexmap_measure::provenance::host;
use apexmap_pages::locate;
use apexmap_study::verdict::{self, judge};
use std::ffi::OsString;
use std::io::BufReader;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap locate -- ./app ARGS                          trace a program
  apexmap locate --from solve -- ./app                  begin at the first call of a function
  apexmap locate trace.txt                              read a trace of lackey, or lines R|W ADDRESS [SIZE]
  apexmap locate --map results/quickstart --out page -- ./app      also dots on the measured map
  apexmap locate --demo                                 locate six small codes
  apexmap locate --codes app.toml -- ./app              then: apexmap codes results/codes --codes app.toml

A row has the accesses of one line and kind. Misses are the row's shares of those of caches as large as this machine's second and last \
one. Data is the memory that it reaches, reused is the memory that the program reaches between two visits, alpha and L are the place \
on the map. With costs in results/codes or results/calibrate/card.toml, the plain program is timed, and the screen begins with a \
verdict. The screen of a traced program goes to standard error, and its exit code is kept. docs/locate.md explains kinds and limits.")]
pub struct Arguments {
    /// A trace as text, or - for standard input [default: none, trace a program]
    #[arg(value_name = "TRACE", conflicts_with = "program")]
    trace: Option<PathBuf>,
    /// Draw the lines as dots on the map of this result; needs --out
    #[arg(long, value_name = "RESULT", requires = "out")]
    map: Option<PathBuf>,
    /// Begin at the first call of this function
    #[arg(long, value_name = "FUNCTION", requires = "program")]
    from: Option<String>,
    /// End the trace after this many seconds; the program runs on
    #[arg(long, value_name = "SECONDS", requires = "program", value_parser = clap::value_parser!(u32).range(1..))]
    seconds: Option<u32>,
    /// End the trace after this many accesses; a program runs on
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    accesses: Option<u64>,
    /// Do not run the plain program for the verdict
    #[arg(long, requires = "program")]
    no_time: bool,
    /// Write the program as a code with its sites, for `codes` and `plot`
    #[arg(long, value_name = "FILE")]
    codes: Option<PathBuf>,
    /// Write all parts as JSON; - prints them instead of the screen, if no program is traced
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Folder for an HTML page with all lines [default: none]
    #[arg(short, long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Compile and locate six small codes in C that ship with the program
    #[arg(long, conflicts_with_all = ["trace", "program", "map", "out", "json"])]
    demo: bool,
    /// The program to trace, with its arguments
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Second-level TLBs hold at least, and usually, this number of pages.
const LEAST_TLB_ENTRIES: u32 = 512;
const USUAL_TLB_ENTRIES: u32 = 2048;

struct Trace {
    name: String,
    sites: Vec<Site>,
    accesses: u64,
    /// The share of the program's accesses; `None` if the trace ended before the program.
    share: Option<f64>,
    untraced: Option<String>,
    notes: Vec<String>,
    exit: Option<ExitStatus>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    if arguments.demo {
        return demonstrate(arguments.codes.as_deref());
    }
    if !arguments.program.is_empty() && arguments.json.as_deref() == Some(Path::new("-")) {
        return Err(Error::input(
            "standard output belongs to the traced program",
            "name a file: apexmap locate --json app.json -- ./app",
        ));
    }
    let mut analysis = Analysis::default();
    let trace = read_trace(arguments, &mut analysis)?;
    let (machine, [no_caches, no_sets, no_tlb]) = machine(Hardware::this_machine());
    let located = Located::new(&trace.sites, analysis, machine);
    let no_tlb = no_tlb.filter(|_| located.program.pages.bytes > machine.tlb_reach());
    let machine_notes = [no_caches, no_sets, no_tlb].into_iter().flatten();
    let timed = trace.exit.filter(|_| !arguments.no_time);
    let judged = timed.map(|exit| judge(&arguments.program, exit, trace.share, &located)).transpose();
    let (verdict, failure) = judged.map_or_else(|error| (None, Some(error)), |verdict| (verdict, None));
    let sentences = verdict.as_ref().map_or_else(|| vec![screen::sentence(&located)], Verdict::sentences);
    let reason = failure.iter().map(|error| format!("No verdict: {}. {}", error.message, error.help));
    let notes = trace.untraced.iter().chain(&trace.notes).cloned().chain(verdict.iter().flat_map(Verdict::notes));
    let notes = notes.chain(reason).chain(screen::notes(&located));
    let notes: Vec<String> = notes.chain(machine_notes).chain(sampling_note(&located)).collect();
    if let Some(file) = &arguments.codes {
        new_file::write_user_file_contents(file, code::toml(&located, &trace.name)?)?;
        note(&format!("note: the code is in {}", file.display()));
    }
    if let Some(folder) = &arguments.out {
        let map = arguments.map.as_deref().map(Opened::open).transpose()?;
        let samples = map.as_ref().map(|opened| Ok(opened.samples()?.current())).transpose()?;
        let page = locate::write(&located, &trace.name, [&sentences, &notes], samples.as_ref(), folder)?;
        note(&format!("note: the page is {}", page.display()));
    }
    if let Some(file) = &arguments.json {
        let text = pretty(&json(&trace, &located, [&sentences, &notes], verdict.as_ref()))?;
        if file == Path::new("-") {
            return print_data(&text);
        }
        new_file::write_user_file_contents(file, text)?;
    }
    print_screen(&located, trace.untraced.is_some(), [&sentences, &notes], trace.exit.is_some())?;
    failure.filter(|error| signal_name(error.kind).is_some()).map_or(Ok(()), Err)?;
    match trace.exit {
        Some(status) if !status.success() => std::process::exit(exit_code(status)),
        _ => Ok(()),
    }
}

fn demonstrate(codes: Option<&Path>) -> Result<()> {
    let folder = TemporaryFolder::create("locate")?;
    let program = demo::build(&folder.path)?;
    let (machine, _) = machine(Hardware::this_machine());
    let (mut programs, mut text) = (Vec::new(), String::new());
    for (name, function) in demo::CODES {
        note(&format!("{name} ..."));
        let options = TraceOptions { from: Some(function.into()), ..TraceOptions::default() };
        let mut analysis = Analysis::default();
        let traced = tracer::trace(&[program.clone().into(), function.into()], &options, &mut analysis)?;
        let located = Located::new(&traced.sites, analysis, machine);
        text += &code::toml(&located, name)?;
        programs.push((name, located));
    }
    if let Some(file) = codes {
        new_file::write_user_file_contents(file, &text)?;
    }
    print(&screen::programs(&programs))
}

/// Standard output belongs to a traced program. The first note may be about programs that were not traced: then it is first.
fn print_screen(located: &Located, begins_with_note: bool, texts: [&[String]; 2], is_traced: bool) -> Result<()> {
    let [sentences, notes] = texts;
    let width = if is_traced { error_width() } else { terminal_width() }.unwrap_or(80);
    let table = screen::text(located, sentences, width);
    let (first, notes) = notes.split_at(usize::from(begins_with_note));
    let text = [first.concat(), table, notes.join("\n")].join("\n");
    let text = text.trim_start();
    let text = format!("{}\n", wrap_lines(text.trim_end(), Some(width)));
    if is_traced {
        note_raw(&text);
        return Ok(());
    }
    print(&text)
}

/// As a shell gives it: 128 plus the number of a signal that ended the program.
fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

fn read_trace(arguments: &Arguments, analysis: &mut Analysis) -> Result<Trace> {
    if !arguments.program.is_empty() {
        return trace_program(arguments, analysis);
    }
    let Some(path) = &arguments.trace else {
        return Err(Error::input(
            "there is nothing to locate",
            "name a trace: apexmap locate trace.txt, or a program after --: apexmap locate -- ./app",
        ));
    };
    let name = path.display().to_string();
    let text = if path == Path::new("-") {
        text_trace::read(&mut std::io::stdin().lock(), "standard input", arguments.accesses, analysis)?
    } else {
        let file = regular_file::open(path).map_err(|e| new_file::access_error("read", path, e))?;
        text_trace::read(&mut BufReader::with_capacity(1 << 16, file), &name, arguments.accesses, analysis)?
    };
    let stem = path.file_stem().map_or(name.clone(), |stem| stem.to_string_lossy().into_owned());
    let text_trace::TextTrace { sites, accesses, notes } = text;
    Ok(Trace { name: stem, sites, accesses, share: None, untraced: None, notes, exit: None })
}

fn trace_program(arguments: &Arguments, analysis: &mut Analysis) -> Result<Trace> {
    let Arguments { from, accesses, seconds, program, .. } = arguments;
    let options =
        TraceOptions { from: from.clone(), accesses: *accesses, seconds: *seconds, ..TraceOptions::default() };
    let traced = tracer::trace(program, &options, analysis)?;
    let name = program.first().and_then(|name| Path::new(name).file_name()).unwrap_or_default();
    let name = name.to_string_lossy().into_owned();
    let tracer::Traced { sites, exit, accesses, skipped, untraced, notes } = traced;
    let share = skipped.map(|skipped| accesses as f64 / (accesses + skipped).max(1) as f64);
    Ok(Trace { name, sites, accesses, share, untraced, notes, exit: Some(exit) })
}

/// The second cache and the last one of this machine with their sets and the TLB, and notes if they are unknown.
fn machine(machine: &Hardware) -> (Machine, [Option<String>; 3]) {
    let reported = machine.usable().next().map(|thread| thread.caches.as_slice()).unwrap_or_default();
    let second_cache = reported.iter().find(|cache| cache.level == 2);
    let second = second_cache.map(|cache| cache.bytes);
    let last = reported.iter().filter(|cache| cache.level > 2).map(|cache| cache.bytes).max();
    let sizes = [second.unwrap_or(1 << 20), last.unwrap_or(32 << 20)];
    let note = (second.is_none() || last.is_none()).then(|| {
        let [second, last] = sizes.map(|size| bytes(size as f64));
        format!("This machine does not report its caches: misses are those of caches of {second} and {last}.")
    });
    let sets = second_cache.and_then(|cache| cache.sets_and_ways).map(|[sets, ways]| Sets { sets, ways });
    let no_sets = sets.is_none().then(|| {
        "This machine does not report sets and ways of its caches: conflicts of strided walks are not seen.".into()
    });
    let host = host();
    // Virtual machines report smaller ones than processors have.
    let reported = || host.tlb_entries_4k.filter(|entries| *entries >= LEAST_TLB_ENTRIES);
    let entries = verdict::tlb_entries(&host).or_else(reported);
    let tlb_entries = Some(entries.unwrap_or(USUAL_TLB_ENTRIES)).filter(|_| base_page_bytes() == PAGE_BYTES);
    let no_tlb = (entries.is_none() && tlb_entries.is_some()).then(|| {
        format!("This machine does not report its second-level TLB: misses of pages are those of {USUAL_TLB_ENTRIES} entries.")
    });
    let caches = [("second-level cache", sizes[0]), ("last cache", sizes[1])];
    (Machine { caches, sets, tlb_entries }, [note, no_sets, no_tlb])
}

fn sampling_note(located: &Located) -> Option<String> {
    let level = located.level;
    (level > 0).then(|| format!("Reuse and misses are estimated from one of {} lines.", 1u64 << level))
}

/// One of 2^`level` lines was sampled at last.
fn json(trace: &Trace, located: &Located, texts: [&[String]; 2], verdict: Option<&Verdict>) -> serde_json::Value {
    let [sentences, notes] = texts;
    serde_json::json!({
        "name": trace.name,
        "accesses": trace.accesses,
        "sentences": sentences,
        "verdict": verdict,
        "cache_bytes": located.machine.caches.map(|(_, bytes)| bytes),
        "sets": located.machine.sets,
        "tlb_entries": located.machine.tlb_entries,
        "miss_ratios": located.miss_ratios,
        "level": located.level,
        "program": located.program,
        "lines": located.lines,
        "functions": located.functions,
        "notes": notes,
    })
}
