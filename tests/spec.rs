//! Tests of sweep files: how they expand, and the messages about wrong ones.

use super::common::Scratch;
use apexmap::commands::diagnostics::render;
use apexmap_base::error::Error;
use apexmap_base::point::{Point, Value};
use apexmap_draw::plot::FigureKind;
use apexmap_measure::comm::TransportKind;
use apexmap_measure::hardware::PlacementOrder;
use apexmap_measure::kernels;
use apexmap_measure::kernels::keys::{ALPHA, B, I, L, M, N, N_WORDS, SEED};
use apexmap_run::launch;
use apexmap_run::sweep::{Machine, Sweep, figures, parse, read, ready, schema};
use proptest::prelude::*;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;

const CORES: usize = 4;
const MEMORY: u64 = 3 << 30;

fn machine(cores: usize) -> Machine {
    Machine::with_cores(cores, MEMORY)
}

fn sweep(text: &str) -> Result<Sweep, Error> {
    parse(text, Path::new("folder/probe.toml"), machine(CORES))
}

fn points(text: &str) -> Vec<Point> {
    sweep(text).unwrap_or_else(|e| panic!("{}", render(&e, false, 120))).points
}

/// Returns a sweep of one kernel with these further lines in [fixed] and below.
fn sequential(rest: &str) -> String {
    format!("[fixed]\nkernel = \"apex_map.sequential\"\n{rest}")
}

fn two_sided(rest: &str) -> String {
    format!("[fixed]\nkernel = \"apex_map.two_sided\"\n{rest}")
}

/// Checks the error of a wrong sweep file. `marked` is its text, with » and « around the part that the error must
/// underline. The message must contain `expected_message`, the advice `expected_advice`.
fn check_wrong(marked: &str, expected_message: &str, expected_advice: &str) {
    let (start, end) = (marked.find('»').expect("a mark"), marked.find('«').expect("a mark") - '»'.len_utf8());
    let text = marked.replace(['»', '«'], "");
    let error = sweep(&text).expect_err(&text);
    let shown = render(&error, false, 200);
    if std::env::var_os("SHOW").is_some() {
        println!("{shown}");
    }
    let place = error.location.as_ref().unwrap_or_else(|| panic!("no place: {error}"));
    assert_eq!(&text[place.span.clone()], &text[start..end], "{shown}");
    assert_eq!(place.span, start..end, "{shown}");
    assert!(error.message.contains(expected_message), "what: {}\nshould contain: {expected_message}", error.message);
    assert!(error.help.contains(expected_advice), "next: {}\nshould contain: {expected_advice}", error.help);
    assert_eq!(error.exit_code(), 2);
    let (line, column) =
        (text[..start].matches('\n').count() + 1, start - text[..start].rfind('\n').map_or(0, |n| n + 1) + 1);
    assert!(shown.contains(&format!("folder/probe.toml:{line}:{column}")), "{line}:{column} not in\n{shown}");
}

#[test]
fn unknown_keys_and_words_get_the_nearest_suggestion() {
    check_wrong(&sequential("[»lanch«]"), "no key \"lanch\"", "did you mean \"launch\"?");
    check_wrong(&sequential("[launch]\n»transprt« = \"mpi\""), "no key \"transprt\"", "did you mean \"transport\"?");
    check_wrong(
        &sequential("[axes]\nL = { from = 1, »too« = 8, factor = 2 }"),
        "no key \"too\"",
        "did you mean \"to\"?",
    );
    check_wrong(&sequential("»aplha« = 1"), "no parameter \"aplha\"", "did you mean \"alpha\"?");
    check_wrong(&sequential("[[include]]\n»l« = 1"), "no parameter \"l\"", "did you mean \"L\"?");
    check_wrong(
        "[fixed]\nkernel = »\"apex_map.twosided\"«",
        "no kernel \"apex_map.twosided\"",
        "did you mean \"apex_map.two_sided\"?",
    );
    check_wrong("[axes]\nkernel = [»\"hpl\"«]", "no kernel \"hpl\"", "apex_map.sequential");
    check_wrong(&sequential("[launch]\ntransport = »\"thread\"«"), "\"thread\"", "did you mean \"threads\"?");
    check_wrong(
        &sequential("[launch]\ntransport = \"mpi\"\nlauncher = »\"slurm\"«"),
        "\"slurm\"",
        "openmpi, mpich, srun, pals, flux, custom",
    );
    check_wrong(
        &sequential("[launch]\ntransport = \"mpi\"\nlauncher = »\"jsrun\"«"),
        "no longer has the launcher \"jsrun\"",
        "use launcher = \"custom\" with command = [\"jsrun\", \"--nrs={ranks}\"",
    );
    check_wrong(&sequential("[axes]\nL = { from = 1, to = 8, scale = »\"log\"« }"), "\"log\"", "\"log2\"");
    check_wrong(&sequential("[axes]\n»where« = [\"L > 1\"]"), "not a parameter", "above the first [table]");
    check_wrong(&sequential("»B« = 4"), "apex_map.sequential has no parameter \"B\"", "apex_map.two_sided");
}

#[test]
fn values_of_the_wrong_type_or_size_are_underlined() {
    check_wrong(&sequential("M = »\"64 Mword\"«"), "unit \"Mword\" is not one of", "did you mean \"Mwords\"?");
    check_wrong(&sequential("I = »\"4 words\"«"), "takes no unit", "I");
    check_wrong(&sequential("[axes]\nalpha = [0.1, »1.5«]"), "at most 1, found 1.5", "alpha");
    check_wrong(&sequential("alpha = »0«"), "greater than 0", "alpha");
    check_wrong(&sequential("alpha = »nan«"), "greater than 0", "alpha");
    check_wrong(&sequential("L = »2.5«"), "whole number", "L");
    check_wrong(&sequential("L = »-4«"), "L must", "L");
    check_wrong(&sequential("L = »true«"), "boolean", "");
    check_wrong(&sequential("L = »[1, 2]«"), "sequence", "[axes]");
    check_wrong(&sequential("pages = »\"small\"«"), "huge, base", "pages");
    check_wrong(&two_sided("ranks = »0«"), "ranks must lie between 1", "\"cores\"");
    check_wrong(&two_sided("[axes]\nranks = [1, »\"core\"«]"), "\"core\"", "\"cores\"");
    check_wrong(&two_sided("ranks = »\"2 per rank\"«"), "cannot be counted per rank", "");
    check_wrong(&sequential("[repeat]\nmin = »\"six\"«"), "string \"six\"", "");
    check_wrong(&sequential("[launch]\ntimeout = »\"60 parsec\"«"), "unit \"parsec\"", "timeout = \"90 s\"");
    check_wrong(&sequential("M = \"64 Mwords»«\nL = 1"), "invalid basic string", "sweeps/");
}

#[test]
fn words_for_rank_counts_are_resolved_on_the_machine() {
    let machine = Machine { hardware_threads: 16, cores_of_numa_node: Some(4), ..Machine::with_cores(8, MEMORY) };
    let ranks = |axis: &str, machine: Machine| {
        let text = two_sided(&format!("[axes]\nranks = {axis}"));
        let sweep = parse(&text, Path::new("sweep.toml"), machine)?;
        Ok::<Vec<usize>, Error>(sweep.points.iter().map(|point| point.ranks).collect())
    };
    assert_eq!(ranks("[\"node\", \"cores\", \"hardware threads\"]", machine.clone()).expect("a sweep"), [4, 8, 16]);
    let range = "{ from = \"node\", to = \"hardware threads\", factor = 2 }";
    assert_eq!(ranks(range, machine.clone()).expect("a sweep"), [4, 8, 16]);
    let unknown = Machine { cores_of_numa_node: None, ..machine };
    let error = ranks("\"node\"", unknown).expect_err("not known");
    assert!(error.message.contains("does not report the cores of its NUMA nodes"), "{error}");
}

#[test]
fn ranks_are_spread_unless_the_sweep_requests_another_placement() {
    let place = |text: &str| {
        let text = sequential(&format!("[launch]\n{text}"));
        parse(&text, Path::new("sweep.toml"), machine(2)).expect("a sweep").launch.place
    };
    assert_eq!(["", "place = \"spread\""].map(place), [None; 2]);
    assert_eq!(
        ["place = \"compact\"", "place = \"smt\""].map(place),
        [Some(PlacementOrder::Compact), Some(PlacementOrder::Smt)]
    );
    let of_mpi = |order: &str| place(&format!("transport = \"mpi\"\nlauncher = \"openmpi\"\nplace = \"{order}\""));
    assert_eq!(["spread", "smt"].map(of_mpi), [Some(PlacementOrder::Spread), Some(PlacementOrder::Smt)]);
}

#[test]
fn invalid_ranges_are_refused() {
    check_wrong(&sequential("[axes]\nL = »[]«"), "L has no values", "");
    check_wrong(&sequential("[axes]\nL = »{ from = 8, to = 1, factor = 2 }«"), "begins at 8 but ends at 1", "swap");
    check_wrong(&sequential("[axes]\nL = { from = 1, to = 8, factor = »1« }"), "factor must be greater than 1", "");
    check_wrong(&sequential("[axes]\nL = { from = 1, to = 8, step = »0« }"), "step must be greater than 0", "");
    check_wrong(&sequential("[axes]\nL = { from = 1, to = 8, points = »1« }"), "at least 2", "");
    check_wrong(&sequential("[axes]\nL = »{ from = 1, to = 8 }«"), "exactly one way", "factor = 2");
    check_wrong(
        &sequential("[axes]\nL = »{ from = 1, to = 8, factor = 2, points = 3 }«"),
        "exactly one way",
        "factor = 2",
    );
    check_wrong(&sequential("[axes]\nL = »{ from = 1, factor = 2 }«"), "\"to\" is missing", "add to");
    check_wrong(&sequential("[axes]\npages = { from = »\"base\"«, to = \"huge\", step = 1 }"), "word", "list");
    check_wrong(&sequential("[axes]\nseed = { from = »0«, to = 8, factor = 2 }"), "cannot begin at 0", "");
    check_wrong(
        &sequential("[axes]\nseed = »{ from = 1, to = 1_000_000_000_000, step = 1 }«"),
        "more than 1000000",
        "larger",
    );
    check_wrong(
        &two_sided("ranks=2\n[axes]\nM = »{ from = \"1 Mwords per rank\", to = \"4 Mwords\", factor = 2 }«"),
        "per rank",
        "",
    );
}

#[test]
fn contradictory_tables_are_refused() {
    let text = "alpha = 1\n[axes]\nL = [1, 2]\n»alpha« = [0.1, 1]";
    check_wrong(&sequential(text), "alpha is set twice, here and in line 3", "keep one");
    check_wrong(
        &sequential("[axes]\nL = [1, 2]\n[[together]]\n»L« = [1]\nN = [1]"),
        "L is set twice, here and in line 4",
        "",
    );
    check_wrong(&two_sided("ranks = 2\n»P« = 4"), "ranks is set twice", "keep one");
    check_wrong(
        &sequential("[[together]]\nL = [1, 2, 4]\n»N« = [1, 2]"),
        "N has 2 values, but L, which varies together with it, has 3",
        "one length",
    );
    let text = "[axes]\nranks = [1, 2]\n»[[include]]«\nL = 4\nalpha = 0.5";
    check_wrong(&two_sided(text), "the grid varies ranks", "add ranks = ...");
    check_wrong("»«[axes]\nL = [1, 2]", "names no kernel", "apex_map.sequential");
    check_wrong(&sequential("»[together]«\nL = [1]"), "expected a sequence", "[[name]]");
}

#[test]
fn invalid_launch_and_repetition_settings_are_refused() {
    let launch = |text: &str| sequential(&format!("[launch]\n{text}"));
    check_wrong(&launch("launcher = »\"srun\"«"), "does not support transport \"threads\"", "transport \"mpi\"");
    check_wrong(&launch("transport = \"mpi\"\nlauncher = »\"local\"«"), "does not support", "\"local\"");
    check_wrong(&launch("transport = »\"mpi\"«"), "needs a launcher", "openmpi");
    check_wrong(&launch("ranks_per_node = »2«"), "no meaning", "mpi");
    check_wrong(&launch("launches = »0«"), "at least 1", "");
    check_wrong(&launch("place = »\"spred\"«"), "\"spred\"", "did you mean \"spread\"?");
    let placed = "transport = \"mpi\"\nlauncher = \"srun\"\nplace = »\"smt\"«";
    check_wrong(&launch(placed), "launcher \"srun\" does not support place = \"smt\"", "\"spread\" or \"compact\"");
    let placed = "transport = \"mpi\"\nlauncher = \"pals\"\nplace = »\"spread\"«";
    check_wrong(&launch(placed), "does not support place", "remove place: the result records where each rank ran");
    check_wrong(&launch("timeout = »\"0 s\"«"), "longer than 0 s", "");
    check_wrong(&launch("start_timeout = »\"0 s\"«"), "longer than 0 s", "start_timeout = \"90 s\"");
    check_wrong(&launch("start_timeout = »\"1 s\"«"), "longer than preflight, which is 1 s", "preflight = \"0 s\"");
    let custom = |command: &str| launch(&format!("transport = \"mpi\"\nlauncher = \"custom\"\ncommand = {command}"));
    check_wrong(&custom("[\"run\", »\"{rank}\"«, \"{worker}\", \"{arguments}\"]"), "{rank}", "did you mean \"ranks\"?");
    check_wrong(&custom("[»\"{ranks_per_node}\"«, \"{worker}\", \"{arguments}\"]"), "not set", "ranks_per_node = 1");
    check_wrong(&custom("»[\"run\", \"{worker}\"]«"), "the command has no \"{arguments}\"", "");
    check_wrong(&launch("transport = \"mpi\"\nlauncher = »\"custom\"«"), "needs a command", "command = [");
    check_wrong(
        &launch("transport = \"mpi\"\nlauncher = \"srun\"\ncommand = »[\"x\"]«"),
        "has its own command",
        "custom",
    );
    let repeat = |text: &str| sequential(&format!("[repeat]\n{text}"));
    check_wrong(&repeat("min = »5«\nwidth = 0.05"), "too few for a 95 % interval", "min = 6");
    check_wrong(&repeat("min = 8\nmax = »7«\nwidth = 0.05"), "less than min = 8", "");
    check_wrong(&repeat("max = »7«"), "without width", "");
    check_wrong(&repeat("width = »0«"), "greater than 0", "0.05");
    check_wrong(&repeat("min = »0«"), "at least 1", "");
    check_wrong(&format!("name = »\"a/b\"«\n{}", sequential("")), "name of a folder", "");
}

#[test]
fn impossible_figures_are_refused() {
    let figure = |lines: &str| sequential(&format!("[[figure]]\n{lines}"));
    check_wrong(
        &figure("kind = »\"pie\"«\nx = \"L\""),
        "unknown kind of figure \"pie\"",
        "surface, contour, heat, curves",
    );
    check_wrong(&figure("kind = »\"heat\"«\nx = \"L\""), "a heat has two axes", "one in y");
    check_wrong(&figure("kind = \"heat\"\nx = \"L\"\ny = »\"alpha, M\"«"), "two axes", "one in y");
    check_wrong(
        &figure("kind = \"curves\"\nx = »\"aplha\"«"),
        "no result has a column \"aplha\"",
        "did you mean \"alpha\"",
    );
    check_wrong(&figure("kind = \"curves\"\nx = \"L\"\nz = »\"secnds\"«"), "\"secnds\"", "did you mean \"seconds\"");
    check_wrong(&figure("kind = \"curves\"\nx = \"L\"\nwhere = \"»Q« == 2\""), "Q", "");
    check_wrong(&figure("kind = \"curves\"\nx = \"L\"\n»colour« = 1"), "no key \"colour\"", "known are");
    check_wrong(&figure("kind = \"curves\"\nx = \"L\"\nideal = »true«"), "curves over ranks", "remove ideal");
    let right = figure("kind = \"curves\"\nx = \"L\"\ny = \"alpha, M\"\nz = \"seconds\"\nwhere = \"P == 1\"");
    let figures = figures::parse_figures(&sweep(&right).expect("a sweep").text);
    let [parsed_figure] = &figures[..] else { panic!("{figures:?}") };
    assert_eq!((parsed_figure.kind, parsed_figure.z.as_deref()), (FigureKind::Curves, Some("seconds")));
    assert_eq!(parsed_figure.axes, ["block_words", "alpha", "memory_words"]);
    assert_eq!(figures::parse_figures("[[figure]]\nkind = \"of another version\"\nx = \"L\""), []);
}

#[test]
fn undecidable_conditions_are_refused() {
    let condition = |text: &str| format!("where = [{text}]\n{}", sequential("[axes]\nL = [1, 2]"));
    check_wrong(&condition("\"L * »ranls« <= M\""), "names \"ranls\"", "did you mean \"ranks\"?");
    check_wrong(&condition("\"L »<=« \""), "the right side of \"<=\" is missing", "L * P <= M");
    check_wrong(&condition("\"L »=« 1\""), "\"==\"", "");
    check_wrong(&condition("\"»L + 1«\""), "neither true nor false", "");
    check_wrong(&condition("\"»(«L > 1\""), "parenthesis is not closed", "");
    check_wrong(&condition("\"»max«(L, 2) > 1\""), "no functions", "");
    check_wrong(&condition("'»L == \"one\"«'"), "compares a number with a word", "");
    check_wrong(
        &condition("'kernel == »\"apex_map.two\"«'"),
        "never \"apex_map.two\"",
        "did you mean \"apex_map.two_sided\"?",
    );
    check_wrong(&condition("\"L > 1»;« L < 2\""), "joined by &&", "");
    check_wrong(&condition("»\"L > 2\"«"), "none of the 2 points", "relax");
}

#[test]
fn impossible_points_are_refused_with_a_reason_and_a_condition() {
    let text = two_sided("M = 1024\nranks = 4\n[axes]\nalpha = [0.1, 1]\n»L« = [1, 256, 512, 1024]");
    check_wrong(&text, "4 of 8 points of this sweep cannot be run", "exclude = ['L == 512']");
    let error = sweep(&text.replace(['»', '«'], "")).unwrap_err();
    assert!(error.message.contains("L = 512 words is more than the memory per rank"), "{error}");
    let advised = format!("exclude = ['L > M / P']\n{}", text.replace(['»', '«'], ""));
    assert_eq!(points(&advised).len(), 4);
    check_wrong(&sequential("[axes]\n»ranks« = [1, 2]"), "runs on one rank, not on 2", "P == 2");
    let two_sorts = two_sided("[axes]\nM = [1024, 1023]\nranks = [1, 4]\nL = [1, 512]");
    let message = sweep(&two_sorts).unwrap_err().message;
    assert!(message.contains("cannot be divided evenly") && message.contains("is not a multiple of L"), "{message}");
    // The units of the sizes differ, not the fault.
    let one_sort = sequential("[axes]\nM = [1024, \"1 Mwords\"]\nL = [\"2 Mwords\"]");
    let message = sweep(&one_sort).unwrap_err().message;
    assert_eq!(message.matches("is more than the memory per rank").count(), 1, "{message}");
    // A refusal that names its kernel is one of each kernel.
    let kernels = "[fixed]\nM = 1024\nranks = 2\n[axes]\nkernel = [\"apex_map.sequential\", \"apex_map.chains\"]";
    let message = sweep(kernels).unwrap_err().message;
    assert_eq!(message.matches("runs on one rank, not on 2").count(), 2, "{message}");
}

/// A name that no kernel has would never be in the condition that an error suggests.
#[test]
fn refusals_name_parameters_of_kernels() {
    let parameters = kernels::ALL.iter().flat_map(|kernel| kernel.parameters).chain(&kernels::LAUNCH_PARAMETERS);
    let valid: BTreeSet<&str> = parameters.map(|parameter| parameter.name).chain(["ranks", "kernel"]).collect();
    let sources = crate::architecture::sources("src/measure/kernels");
    let lists = sources.iter().flat_map(|(_, text)| text.split("refusal!(").skip(1));
    let names: Vec<&str> =
        lists.flat_map(|rest| rest.split(']').next().unwrap_or_default().split('"').skip(1).step_by(2)).collect();
    assert!(names.len() > 40, "{names:?}");
    let unknown: Vec<_> = names.iter().filter(|name| !valid.contains(**name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn a_sweep_too_large_to_measure_is_refused_immediately() {
    let range = "{ from = 1, to = 1000, step = 1 }";
    let text = sequential(&format!("[axes]\n»seed« = {range}\nN = {range}\nI = {range}"));
    check_wrong(&text, "1.00e9 points, more than 1000000", "seed (1000)");
}

#[test]
fn a_missing_or_binary_file_is_named() {
    let error = read(Path::new("sweeps/no-such.toml"), machine(CORES)).unwrap_err();
    assert!(error.message.contains("sweeps/no-such.toml") && error.help.contains("apexmap sweeps"), "{error}");
    assert_eq!(error.exit_code(), 3);
    let path = std::env::temp_dir().join(format!("apexmap-bytes-{}.toml", std::process::id()));
    std::fs::write(&path, b"title = \"\xff\"").unwrap();
    let error = read(&path, machine(CORES)).unwrap_err();
    std::fs::remove_file(&path).unwrap();
    assert!(error.message.contains("UTF-8 text (byte 9)"), "{error}");
}

#[test]
fn an_error_shows_file_line_and_column_and_underlines_the_text() {
    let shown = render(&sweep(&sequential("aplha = 1")).unwrap_err(), false, 100);
    for part in ["folder/probe.toml:3:1", "aplha = 1", "^^^^^", "did you mean \"alpha\"?"] {
        assert!(shown.contains(part), "{part} is not in\n{shown}");
    }
    let plain = render(&Error::input("the flag is wrong", "try another"), false, 100);
    assert_eq!(plain, "error: the flag is wrong\n  help: try another\n");
}

#[test]
fn every_ready_sweep_is_readable_on_1_to_6_cores() {
    let mut count = 0;
    for entry in std::fs::read_dir("sweeps").unwrap() {
        let path = entry.unwrap().path();
        for cores in 1..=6 {
            let sweep = read(&path, machine(cores)).unwrap_or_else(|e| panic!("{}", render(&e, false, 120)));
            assert!(!sweep.points.is_empty() && sweep.title != sweep.name, "{}", path.display());
            // Equal runs of a simulation give equal times.
            let is_simulated = sweep.launch.transport == TransportKind::Simulated;
            let has_interval = is_simulated || sweep.launch.launches >= 2 || sweep.repeat.min >= 6;
            assert!(has_interval, "{}: an interval needs two launches or six samples", path.display());
        }
        count += 1;
    }
    assert!(count >= 5);
}

#[test]
fn every_file_in_sweeps_is_built_in_and_states_its_question() {
    let files = std::fs::read_dir("sweeps").unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = files.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    let mut ready: Vec<&str> = ready::READY_SWEEPS.iter().map(|sweep| sweep.name).collect();
    names.sort();
    ready.sort();
    assert_eq!(ready, names);
    for sweep in ready::READY_SWEEPS {
        assert!(sweep.question().contains('?') && sweep.question().len() <= 90, "{}", sweep.name);
        for given in [sweep.name.to_owned(), format!("{}.toml", sweep.name), format!("sweeps/{}.toml", sweep.name)] {
            assert_eq!(ready::find_by_name(Path::new(&given)).map(|ready_sweep| ready_sweep.name), Some(sweep.name));
        }
        let parsed_sweep = parse(sweep.text, Path::new(sweep.name), machine(CORES)).unwrap();
        assert_eq!(parsed_sweep.name, sweep.name);
    }
    assert!(ready::find_by_name(Path::new("other/quickstart.toml")).is_none());
}

#[test]
fn a_file_overrides_a_ready_sweep_and_misspelt_names_get_a_suggestion() {
    let scratch = Scratch::new();
    let open = |given: &Path| ready::open(given, machine(CORES));
    assert!(open(Path::new("memory-sizes")).unwrap().points.len() > 100);
    let folder_of_sweep = scratch.join("memory-sizes");
    std::fs::write(&folder_of_sweep, sequential("L = 2")).unwrap();
    assert_eq!(open(&folder_of_sweep).unwrap().points.len(), 1);
    std::fs::remove_file(&folder_of_sweep).unwrap();
    let error = open(Path::new("memory-size")).unwrap_err();
    assert!(error.help.contains("did you mean \"memory-sizes\"?"), "{error}");
    assert_eq!(error.exit_code(), 2);
}

#[test]
fn sweeps_and_the_schema_support_every_launcher() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    let schema_launchers = schema.pointer("/$defs/Launcher/oneOf").unwrap().as_array().unwrap();
    let ids: Vec<_> =
        schema_launchers.iter().map(|schema_launcher| schema_launcher["const"].as_str().unwrap()).collect();
    assert_eq!(ids, launch::registry::LAUNCHERS.iter().map(|entry| entry.id).collect::<Vec<_>>());
    for entry in launch::registry::LAUNCHERS.iter() {
        let command = match entry.id {
            _ if entry.takes_command => "command = [\"{worker}\", \"{arguments}\", \"{ranks}\"]",
            "simulated" => "simulate = \"red-storm\"",
            _ => "",
        };
        let text = format!("[launch]\ntransport = \"{}\"\nlauncher = \"{}\"\n{command}", entry.transport, entry.id);
        assert_eq!(sweep(&sequential(&text)).unwrap().launch.launcher, entry);
    }
}

#[test]
fn simulated_ranks_need_a_machine_and_no_launcher() {
    let launch = |text: &str| sweep(&sequential(&format!("[launch]\n{text}")));
    let simulated = launch("simulate = \"red-storm\"\nlaunches = 3").unwrap();
    assert_eq!((simulated.launch.transport, simulated.launch.launches), (TransportKind::Simulated, 1));
    assert_eq!((simulated.repeat.min, simulated.repeat.max), (1, 1), "equal runs give equal times");
    let error = launch("transport = \"simulated\"").unwrap_err();
    assert!(error.message.contains("needs a machine") && error.help.contains("simulate ="), "{error}");
    let error = launch("transport = \"mpi\"\nsimulate = \"red-storm\"").unwrap_err();
    assert!(error.message.contains("contradicts transport = \"mpi\""), "{error}");
    let mapped = launch("simulate = \"red-storm\"\nmapping = \"gray-code\"").unwrap();
    assert_eq!(mapped.launch.mapping.name(), "gray-code");
    let error = launch("simulate = \"red-storm\"\nmapping = \"grey-code\"").unwrap_err();
    assert!(error.message.contains("grey-code") && error.to_string().contains("gray-code"), "{error}");
    let error = launch("mapping = \"random\"").unwrap_err();
    assert!(error.message.contains("no machine is simulated") && error.help.contains("remove mapping"), "{error}");
    // The machine that a sweep is read for may be simulated, whatever launcher the sweep names.
    let machine = Machine { is_simulated: true, ..machine(CORES) };
    let text = sequential("[launch]\ntransport = \"mpi\"\nlauncher = \"srun\"");
    let parsed = apexmap_run::sweep::parse(&text, Path::new("a.toml"), machine).unwrap();
    assert_eq!(parsed.launch.transport, TransportKind::Simulated);
}

#[test]
fn the_quickstart_covers_the_papers_ranges_on_one_and_on_all_cores() {
    let sweep = read(Path::new("sweeps/quickstart.toml"), machine(CORES)).unwrap();
    assert_eq!((sweep.name.as_str(), sweep.points.len()), ("quickstart", 7 * (8 + 1) * 2));
    assert_eq!((sweep.launch.transport, sweep.launch.launcher.id), (TransportKind::Threads, "local"));
    let ends = |name: &str| {
        let values: Vec<f64> = sweep.points.iter().filter_map(|p| p.params[name].as_f64()).collect();
        (values.iter().copied().fold(f64::MAX, f64::min), values.iter().copied().fold(0.0, f64::max))
    };
    assert_eq!((ends("alpha"), ends("L")), ((0.001, 1.0), (1.0, 16384.0)));
    let ranks: HashSet<_> = sweep.points.iter().map(|p| (p.kernel.as_str(), p.ranks)).collect();
    assert_eq!(ranks, HashSet::from([("apex_map.sequential", 1), ("apex_map.two_sided", CORES)]));
}

#[test]
fn the_paper_surface_has_64_mwords_on_each_of_256_ranks() {
    let sweep = read(Path::new("sweeps/paper-figures-3-to-7.toml"), machine(CORES)).unwrap();
    assert!(sweep.points.iter().all(|p| p.ranks == 256 && M.of(p) == 256 << 26));
    assert_eq!(sweep.points.iter().map(|p| L.of(p)).max(), Some(65536));
    assert_eq!((sweep.launch.launches, sweep.launch.launcher.id), (5, "srun"));
}

fn column(text: &str, name: &str) -> Vec<Value> {
    let mut values: Vec<Value> = points(text).iter().map(|point| point.params[name].clone()).collect();
    values.dedup();
    values
}

fn integers(values: &[u64]) -> Vec<Value> {
    values.iter().map(|&v| Value::from(v)).collect()
}

#[test]
fn ranges_accept_factors_steps_point_counts_and_scales() {
    let axis = |name: &str, range: &str| column(&sequential(&format!("[axes]\n{name} = {range}")), name);
    assert_eq!(axis("L", "{ from = 1, to = 16384, factor = 4 }"), integers(&[1, 4, 16, 64, 256, 1024, 4096, 16384]));
    assert_eq!(axis("N", "{ from = 2, to = 11, step = 3 }"), integers(&[2, 5, 8, 11]));
    assert_eq!(axis("N", "{ from = 1, to = 5, points = 3 }"), integers(&[1, 3, 5]));
    assert_eq!(axis("N", "{ from = 3, to = 30, scale = \"log2\" }"), integers(&[3, 6, 12, 24]));
    assert_eq!(axis("N", "{ from = 1, to = 1000, scale = \"log10\" }"), integers(&[1, 10, 100, 1000]));
    // Rounded values that coincide are merged: 1, 1.4, 2, 2.8, 4.
    assert_eq!(axis("N", "{ from = 1, to = 4, points = 5, scale = \"log2\" }"), integers(&[1, 2, 3, 4]));
    let reals = |values: &[f64]| values.iter().map(|&v| Value::from(v)).collect::<Vec<_>>();
    assert_eq!(axis("alpha", "{ from = 0.1, to = 0.5, step = 0.1 }"), reals(&[0.1, 0.2, 0.3, 0.4, 0.5]));
    assert_eq!(axis("alpha", "{ from = 0.001, to = 1, scale = \"log10\" }"), reals(&[0.001, 0.01, 0.1, 1.0]));
    assert_eq!(
        axis("alpha", "{ from = 0.01, to = 1, points = 5, scale = \"log10\" }"),
        reals(&[0.01, 0.0316227766017, 0.1, 0.316227766017, 1.0])
    );
    let memory = axis("M", "{ from = \"2 kwords\", to = \"1 MiB\", factor = 8 }");
    assert_eq!(memory, integers(&[2048, 16384, 131072]));
}

#[test]
fn the_default_memory_of_apex_map_exceeds_the_caches() {
    const MIB: u64 = 1 << 20;
    let words = |text: &str, memory: u64, last_cache: u64| -> Vec<u64> {
        let machine = Machine { last_cache, ..Machine::with_cores(CORES, memory) };
        let sweep = parse(text, Path::new("probe.toml"), machine).unwrap_or_else(|error| panic!("{error}"));
        sweep.points.iter().map(|point| M.of(point) / point.ranks as u64).collect()
    };
    let sweep_of_two = "[fixed]\nkernel = \"apex_map.two_sided\"\nranks = 2\nL = 1";
    // 64 Mwords are 512 MiB; 4 x 480 MiB are less than 2 GiB.
    assert_eq!(words(sweep_of_two, 64 << 30, 32 * MIB), [64 << 20]);
    assert_eq!(words(sweep_of_two, 64 << 30, 129 * MIB), [128 << 20]);
    assert_eq!(words(sweep_of_two, 23 << 30, 480 * MIB), [256 << 20]);
    // 8 GiB minus 2 GiB for other programs leaves 6 GiB, a quarter of them for M: for two ranks, for three, and for two
    // on each of many nodes.
    assert_eq!(words(sweep_of_two, 8 << 30, 480 * MIB), [64 << 20]);
    assert_eq!(words(&sweep_of_two.replace("ranks = 2", "ranks = 3"), 8 << 30, 480 * MIB), [64 << 20]);
    let cluster = "[launch]\ntransport = \"mpi\"\nlauncher = \"srun\"\nranks_per_node = 2";
    assert_eq!(
        words(&format!("{sweep_of_two}6\n{cluster}").replace("L = 16", "L = 1"), 8 << 30, 480 * MIB),
        [64 << 20]
    );
    // The size of memory is unknown. Then: the word in a list with other values.
    assert_eq!(words(sweep_of_two, 0, 480 * MIB), [256 << 20]);
    let list = sweep_of_two.to_owned() + "\n[axes]\nM = [\"beyond caches\", \"1 Mwords per rank\"]";
    assert_eq!(words(&list, 64 << 30, 0), [64 << 20, 1 << 20]);
    check_wrong(&sequential("M = »\"beyond cache\"«"), "beyond cache", "did you mean \"beyond caches\"?");
}

#[test]
fn the_default_table_is_half_of_memory() {
    let words = |text: &str| -> Vec<u64> {
        points(&format!("[fixed]\nupdates = 1\n{text}")).iter().map(|point| N_WORDS.of(point)).collect()
    };
    // Half of 3 GiB is 1.5 GiB. The largest table that fits has 1 GiB, 2^27 words.
    assert_eq!(words("kernel = \"random_access.sequential\""), [1 << 27]);
    assert_eq!(words("kernel = \"random_access.base\"\nranks = 4"), [1 << 27]);
    assert_eq!(words("kernel = \"random_access.star\"\nranks = 4"), [1 << 25], "a table each");
    let part = |share: &str| words(&format!("kernel = \"random_access.base\"\nN_words = \"{share}\"\nranks = 2"));
    assert_eq!(part("1/4 of memory"), [1 << 26]);
    assert_eq!(part("1/3 of memory"), [1 << 27]);
    assert_eq!(part("20 % of memory"), [1 << 26]);
    let cluster = "kernel = \"random_access.base\"\nranks = 16\n[launch]\ntransport = \"mpi\"\nlauncher = \"srun\"\n\
                   ranks_per_node = 2";
    assert_eq!(words(cluster), [1 << 30], "eight nodes");
    let wrong = "[fixed]\nkernel = \"random_access.star\"\nN_words = »\"3/2 of memory\"«";
    check_wrong(wrong, "not a fraction of memory", "apexmap kernels");
}

#[test]
fn ranks_are_nodes_times_ranks_per_node() {
    const MPI: &str = "[launch]\ntransport = \"mpi\"\nlauncher = \"srun\"\n";
    let sizes = |tables: &str, launch: &str| -> Vec<(usize, Option<usize>, Option<usize>)> {
        let text = two_sided(&format!("M = \"1 kwords per rank\"\n{tables}{MPI}{launch}"));
        points(&text).iter().map(|point| point.launch_size()).map(|s| (s.ranks, s.nodes, s.ranks_per_node)).collect()
    };
    let size = |ranks, nodes, each| (ranks, Some(nodes), Some(each));
    assert_eq!(
        sizes("[axes]\nnodes = [1, 2, 4]\nranks_per_node = [\"cores\", 1]\n", ""),
        [size(4, 1, 4), size(1, 1, 1), size(8, 2, 4), size(2, 2, 1), size(16, 4, 4), size(4, 4, 1)]
    );
    assert_eq!(sizes("[axes]\nnodes = [1, 2]\n", "ranks_per_node = 3\n"), [size(3, 1, 3), size(6, 2, 3)]);
    assert_eq!(sizes("ranks = 4\n[axes]\nranks_per_node = [1, 2]\n", ""), [size(4, 4, 1), size(4, 2, 2)]);
    assert_eq!(sizes("ranks_per_node = 2\n", ""), [size(2, 1, 2)]);
    assert_eq!(sizes("ranks = 4\n", "ranks_per_node = 2\n"), [(4, None, None)], "keys of old sweeps stay");
    let only = "[axes]\nnodes = [1, 2, 4]\nranks_per_node = [1, 2]\n";
    let text = two_sided(&format!("M = \"1 kwords per rank\"\n{only}{MPI}"));
    let text = format!("where = [\"nodes * ranks_per_node == 4\"]\n{text}");
    assert_eq!(points(&text).iter().map(|point| point.ranks).collect::<Vec<_>>(), [4, 4]);
    // A single node may use threads.
    let text = two_sided("M = \"1 kwords per rank\"\nnodes = 1\nranks_per_node = \"cores\"\n");
    assert_eq!(points(&text)[0].launch_size().ranks, CORES);
}

#[test]
fn contradictory_ranks_nodes_and_ranks_per_node_are_refused() {
    const MPI: &str = "[launch]\ntransport = \"mpi\"\nlauncher = \"srun\"\n";
    let mpi = |tables: &str| two_sided(&format!("M = \"1 kwords per rank\"\n{tables}{MPI}"));
    check_wrong(&mpi("»ranks« = 4\nnodes = 2\nranks_per_node = 2\n"), "ranks follows from nodes", "remove ranks");
    check_wrong(&mpi("[axes]\n»nodes« = [1, 2]\n"), "nodes alone does not determine", "ranks_per_node = \"cores\"");
    let twice = mpi("[axes]\nnodes = [1, 2]\n»ranks_per_node« = [1, 2]\n") + "ranks_per_node = 2\n";
    check_wrong(&twice, "here and in [launch]", "keep one");
    check_wrong(&mpi("ranks = 3\n[axes]\n»ranks_per_node« = [1, 2]\n"), "ranks = 3 is not nodes = 2 times", "exclude");
    check_wrong(&mpi("nodes = »\"cores\"«\nranks_per_node = 1\n"), "not a number", "a whole number of nodes");
    let threads = two_sided("M = \"1 kwords per rank\"\nranks_per_node = 1\n[axes]\n»nodes« = [1, 2]\n");
    check_wrong(&threads, "nodes = 2, but threads of one process", "exclude = ['nodes == 2']");
    let command = "[launch]\ntransport = \"mpi\"\nlauncher = \"custom\"\ncommand = ";
    let custom = |argument: &str| {
        two_sided(&format!("{command}[\"x\", \"{{ranks}}\", {argument}, \"{{worker}}\", \"{{arguments}}\"]\n"))
    };
    check_wrong(&custom("»\"{nodes}\"«"), "{nodes}, which is not set", "ranks_per_node = 1");
}

#[test]
fn ranks_may_be_powers_of_two_or_the_number_of_cores() {
    let ranks = |values: &str, cores: usize| -> Vec<usize> {
        let text = two_sided(&format!("M = \"1 kwords per rank\"\n[axes]\nranks = {values}"));
        parse(&text, Path::new("x.toml"), machine(cores)).unwrap().points.iter().map(|p| p.ranks).collect()
    };
    assert_eq!(ranks("{ from = 1, to = \"cores\", factor = 2 }", 8), [1, 2, 4, 8]);
    assert_eq!(ranks("{ from = 1, to = \"cores\", factor = 2 }", 6), [1, 2, 4]);
    assert_eq!(ranks("[1, \"cores\"]", 6), [1, 6]);
    assert_eq!(ranks("[1, \"cores\"]", 1), [1]);
}

#[test]
fn memory_per_rank_grows_with_the_ranks() {
    let text = two_sided("M = \"8 MiB per rank\"\n[axes]\nranks = [1, 3]");
    let memory: Vec<u64> = points(&text).iter().map(|p| M.of(p)).collect();
    assert_eq!(memory, [1 << 20, 3 << 20]);
}

#[test]
fn includes_inherit_missing_keys_from_fixed_and_defaults() {
    let text =
        two_sided("ranks = 2\nI = 512\nalpha = 0.5\n[axes]\nL = [1, 2]\n[[include]]\nalpha = [0.1, 1]\nL = 4096");
    let points = points(&text);
    assert_eq!(points.len(), 4);
    let extra = &points[3];
    assert_eq!((ALPHA.of(extra), L.of(extra), I.of(extra), extra.ranks), (1.0, 4096, 512, 2));
    assert_eq!(B.of(extra), 16);
    let only_included = two_sided("ranks = 2\n[[include]]\nL = 4");
    assert_eq!(self::points(&only_included).len(), 1);
}

#[test]
fn a_parameter_of_some_kernels_multiplies_only_their_points() {
    let text = "[axes]\nkernel = [\"apex_map.sequential\", \"apex_map.two_sided\"]\nB = [1, 2, 4]";
    let points = points(text);
    assert_eq!(points.iter().filter(|p| p.kernel == "apex_map.sequential").count(), 1);
    assert_eq!(points.iter().filter(|p| p.kernel == "apex_map.two_sided").count(), 3);
}

#[test]
fn conditions_skip_points_without_the_named_parameter() {
    let text = "where = [\"B > 1\"]\nexclude = ['kernel == \"apex_map.two_sided\" && B == 4']\n[axes]\n\
                kernel = [\"apex_map.sequential\", \"apex_map.two_sided\"]\nB = [1, 2, 4]";
    let points = points(text);
    assert_eq!(points.len(), 2);
    assert_eq!((points[0].kernel.as_str(), B.of(&points[1])), ("apex_map.sequential", 2));
}

#[test]
fn conditions_may_name_the_transport_so_that_a_way_of_mpi_is_measured_only_there() {
    let text = "exclude = ['transport != \"mpi\" && within_node == \"messages\"']\n[fixed]\nkernel = \"random_access.hypercube\"\n\
                ranks = 2\n[axes]\nwithin_node = [\"auto\", \"messages\"]\n";
    assert_eq!(points(text).len(), 1);
    assert_eq!(points(&format!("{text}[launch]\ntransport = \"mpi\"\nlauncher = \"openmpi\"")).len(), 2);
    let own = "where = ['transport == \"tcp\"']\n[fixed]\nkernel = \"command\"\nranks = 1\ncommand = [\"true\", \"{transport}\"]\n\
               [axes]\ntransport = [\"tcp\", \"udp\"]";
    assert_eq!(points(own).len(), 1, "a command's parameter of this name comes first");
    check_wrong(&text.replace("\"mpi\"", "»\"pvm\"«"), "transport is never \"pvm\"", "threads");
}

#[test]
fn defaults_of_launch_and_repetitions_match_the_documentation() {
    let sweep = sweep(&sequential("")).unwrap();
    assert_eq!((sweep.name.as_str(), sweep.title.as_str(), sweep.points.len()), ("probe", "probe", 1));
    assert_eq!((sweep.launch.launches, sweep.launch.timeout_seconds), (1, None));
    assert_eq!(sweep.launch.start_limit(false), 300.0);
    let watched = self::sweep(&sequential("[launch]\npreflight = \"200 s\"")).unwrap();
    assert_eq!(watched.launch.start_limit(false), 400.0, "the ranks watch the machine in that time");
    assert_eq!(
        (sweep.repeat.min, sweep.repeat.max, sweep.repeat.width, sweep.repeat.budget_seconds),
        (6, 6, None, None)
    );
    let precise = self::sweep(&sequential("[repeat]\nwidth = 0.05\nbudget = \"2 min\"")).unwrap().repeat;
    assert_eq!((precise.min, precise.max, precise.width, precise.budget_seconds), (6, 30, Some(0.05), Some(120.0)));
}

#[test]
fn the_schema_describes_every_key_and_kernel_parameter() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    for table in ["", "/$defs/Launch", "/$defs/Repeat", "/$defs/Range"] {
        let properties = schema.pointer(&format!("{table}/properties")).unwrap().as_object().unwrap();
        for (key, property) in properties {
            assert!(property["description"].is_string(), "{table} {key} has no description");
        }
    }
    for place in ["fixed", "axes"] {
        let names = &schema["properties"][place]["properties"];
        for name in ["kernel", "ranks", "M", "alpha", "NSER"] {
            assert!(names[name]["description"].is_string(), "{place} has no {name}");
        }
    }
}

#[test]
fn a_hundred_thousand_points_expand() {
    let text = "where = [\"L * P <= M\"]\nexclude = [\"alpha < 0\"]\n".to_owned()
        + &two_sided(
            "[axes]\nalpha = { from = 0.001, to = 1, points = 100 }\nseed = { from = 1, to = 100, step = 1 }\nN = { from = 1, to = 10, step = 1 }",
        );
    assert_eq!(points(&text).len(), 100_000);
}

/// Generates distinct values in random order.
fn distinct_values(max: u64) -> impl Strategy<Value = Vec<u64>> {
    proptest::collection::hash_set(1..=max, 1..6).prop_map(|set| set.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_grid_is_the_product_of_its_axes(l in distinct_values(64), n in distinct_values(9), b in distinct_values(99)) {
        let text = two_sided(&format!("M = \"1 GiB\"\nI = 1\n[axes]\nN = {n:?}\nB = {b:?}\nseed = {l:?}"));
        let points = points(&text);
        prop_assert_eq!(points.len(), l.len() * n.len() * b.len());
        let tuples: HashSet<_> = points.iter().map(|p| (N.of(p), B.of(p), SEED.of(p))).collect();
        prop_assert_eq!(tuples.len(), points.len());
    }

    #[test]
    fn values_in_together_are_paired_in_order(pairs in proptest::collection::vec((1u64..1000, 1u64..1000), 1..9), b in distinct_values(9)) {
        let (n, seed): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
        let points = points(&two_sided(&format!("[[together]]\nN = {n:?}\nseed = {seed:?}\n[axes]\nB = {b:?}")));
        let distinct_pairs: HashSet<_> = points.iter().map(|p| (N.of(p), SEED.of(p))).collect();
        prop_assert_eq!(points.len(), distinct_pairs.len() * b.len());
        prop_assert_eq!(distinct_pairs, pairs.into_iter().collect::<HashSet<_>>());
    }

    #[test]
    fn no_point_violates_a_condition(limit in 1u64..2000, ban in 1u64..6, n in distinct_values(50), b in distinct_values(50)) {
        let rest = two_sided(&format!("[axes]\nN = {n:?}\nB = {b:?}\nranks = [1, 2, 4]"));
        let text = format!("where = [\"N * B * P <= {limit}\"]\nexclude = [\"B % 5 == {ban} - 1\"]\n{rest}");
        let allowed = |n: u64, b: u64, p: u64| n * b * p <= limit && b % 5 != ban - 1;
        let mut expected = HashSet::new();
        for (&n, &b) in n.iter().flat_map(|n| b.iter().map(move |b| (n, b))) {
            expected.extend([1, 2, 4].into_iter().filter(|&p| allowed(n, b, p)).map(|p| (n, b, p)));
        }
        match sweep(&text) {
            Ok(sweep) => {
                let tuples: HashSet<_> =
                    sweep.points.iter().map(|p| (N.of(p), B.of(p), p.ranks as u64)).collect();
                prop_assert_eq!(tuples, expected);
            }
            Err(error) => prop_assert!(expected.is_empty() && error.message.contains("none of"), "{}", error),
        }
    }

    #[test]
    fn expansion_is_reproducible(n in distinct_values(50), b in distinct_values(50)) {
        let text = two_sided(&format!("[axes]\nN = {n:?}\nB = {b:?}\n[[include]]\nN = 51"));
        let expanded = points(&text);
        prop_assert_eq!(&expanded, &points(&text));
        let in_file: Vec<_> = n.iter().flat_map(|&n| b.iter().map(move |&b| (n, b))).chain([(51, 16)]).collect();
        prop_assert_eq!(expanded.iter().map(|p| (N.of(p), B.of(p))).collect::<Vec<_>>(), in_file);
    }

    #[test]
    fn equal_points_occur_once(values in proptest::collection::vec(1u64..5, 1..20)) {
        let points = points(&sequential(&format!("[axes]\nN = {values:?}")));
        prop_assert_eq!(points.len(), values.iter().collect::<HashSet<_>>().len());
    }

    #[test]
    fn a_range_with_a_point_count_has_the_given_ends(
        from in 1u64..1000, more in 1u64..1_000_000, count in 2u32..50, scale in prop::sample::select(vec!["linear", "log2", "log10"]),
    ) {
        let to = from + more;
        let range = format!("{{ from = {from}, to = {to}, points = {count}, scale = \"{scale}\" }}");
        let values: Vec<u64> = points(&sequential(&format!("[axes]\nN = {range}"))).iter().map(|p| N.of(p)).collect();
        prop_assert_eq!((values[0], values[values.len() - 1]), (from, to));
        prop_assert!(values.windows(2).all(|pair| pair[0] < pair[1]) && values.len() <= count as usize);
        let (low, high) = (from as f64 / 1.1e6, to as f64 / 1.1e6);
        let range = format!("{{ from = {low:?}, to = {high:?}, points = {count}, scale = \"{scale}\" }}");
        let values: Vec<f64> = points(&sequential(&format!("[axes]\nalpha = {range}"))).iter().map(|p| ALPHA.of(p)).collect();
        prop_assert_eq!((values[0], values[values.len() - 1], values.len()), (low, high, count as usize));
    }

    #[test]
    fn a_range_by_factor_includes_a_reachable_end(from in 1u64..30, factor in 2u64..9, steps in 0u32..7) {
        let to = from * factor.pow(steps);
        let range = format!("{{ from = {from}, to = {to}, factor = {factor} }}");
        let values: Vec<u64> = points(&sequential(&format!("[axes]\nN = {range}"))).iter().map(|p| N.of(p)).collect();
        prop_assert_eq!(values, (0..=steps).map(|k| from * factor.pow(k)).collect::<Vec<_>>());
    }

    #[test]
    fn no_text_makes_the_sweep_reader_panic(text in "(\\[(axes|fixed|launch|repeat)\\]\n|[a-zA-Z]{1,6} = |\"[a-z ]{0,4}\"\n|[0-9.]{1,4}\n|[\\[\\]{},]){0,12}") {
        let _ = sweep(&text);
        let _ = sweep(&sequential(&text));
        let _ = sweep(&format!("where = ['{}']\n{}", text.replace(['\n', '\''], " "), sequential("")));
    }
}

#[test]
fn a_wrong_answer_is_refused_at_its_place() {
    let answer = |rest: &str| sequential(&format!("[answer]\n{rest}"));
    check_wrong(&answer("text = »\"{rate}\"«"), "the answer has no value \"rate\"", "");
    check_wrong(&answer("text = »\"{rate\"«"), "no partner }", "names of values in braces");
    let value = |value: &str| answer(&format!("text = \"{{rate}}\"\n[answer.values]\n{value}"));
    check_wrong(&value("rate = { median = »\"bytes_per_secnd\"« }"), "no result has a column", "bytes_per_second");
    check_wrong(
        &value("»rate« = { median = \"seconds\", max = \"seconds\" }"),
        "one statistic of one column",
        "median, max, min",
    );
    check_wrong(&value("»rate« = { at = \"L\" }"), "one statistic of one column", "largest or smallest");
    check_wrong(&value("rate = { max = \"seconds\", reaches = »0.9« }"), "reaches needs max and at", "at =");
    check_wrong(
        &value("rate = { max = \"seconds\", at = \"L\", reaches = »1.5« }"),
        "fraction of the largest",
        "up to 1",
    );
    check_wrong(&value("rate = { max = \"seconds\", where = '»Q« == 1' }"), "unknown", "");
    check_wrong(&value("rate = »\"2 * fast\"«"), "fast", "");
}

#[test]
fn ranks_of_a_command_line_replace_those_of_a_sweep_and_kernels_of_one_rank_keep_it() {
    let with_ranks = |name: &str, ranks: &str| {
        let sweep = ready::open(Path::new(name), machine(CORES)).expect("a sweep");
        let other = sweep.with_ranks(ranks, machine(CORES)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((&other.text, &other.name, other.repeat), (&sweep.text, &sweep.name, sweep.repeat));
        other.points
    };
    let kinds = |points: &[Point]| -> BTreeSet<(String, usize)> {
        points.iter().map(|point| (point.kernel.to_string(), point.ranks)).collect()
    };
    let quickstart = with_ranks("quickstart", "2,8");
    let expected = [("apex_map.sequential", 1), ("apex_map.two_sided", 2), ("apex_map.two_sided", 8)];
    assert_eq!(kinds(&quickstart), expected.map(|(kernel, ranks)| (kernel.to_owned(), ranks)).into());
    assert_eq!(quickstart.len(), 3 * 63);
    let ranks_of = |points: &[Point]| points.iter().map(|point| point.ranks).collect::<BTreeSet<usize>>();
    assert_eq!(ranks_of(&with_ranks("stream", "1,2, 8")), [1, 2, 8].into());
    assert_eq!(ranks_of(&with_ranks("stream", "cores")), [CORES].into());
    // Words per rank follow the ranks.
    let table = |ranks: &str| {
        with_ranks("random-access-ranks", ranks)[0].params[N_WORDS.parameter.name].as_f64().expect("a number")
    };
    assert_eq!(table("4"), 4.0 * table("1"));
    let stream = ready::open(Path::new("stream"), machine(CORES)).expect("a sweep");
    for wrong in ["0", "four", "1-4", "", "1,,2", "2.5"] {
        let error = stream.with_ranks(wrong, machine(CORES)).expect_err(wrong);
        assert!(error.message.starts_with(&format!("--ranks {wrong}: ")) && !error.help.is_empty(), "{error}");
        assert_eq!((error.exit_code(), &error.location), (2, &None), "{error}");
    }
    let single = ready::open(Path::new("memory-sizes"), machine(CORES)).expect("a sweep");
    let error = single.with_ranks("3", machine(CORES)).expect_err("a flag without an effect");
    assert!(error.message.contains("runs on one rank"), "{error}");
    let nodes = "[fixed]\nkernel = \"apex_map.two_sided\"\nnodes = 1\nranks_per_node = 2\n";
    let error = sweep(nodes).expect("a sweep").with_ranks("4", machine(CORES)).expect_err("nodes");
    assert!(error.message.contains("ranks follows from nodes and ranks_per_node"), "{error}");
}
