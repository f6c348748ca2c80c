//! Checks of the code itself: imports go downwards, there are no cycles, and no file or function is too long.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

mod imports;
mod kernels;

use imports::{Crate, File, cycles};

/// The crates, each depending only on earlier ones, which the compiler checks. The last is the root package.
const CRATES: [&str; 12] =
    ["base", "measure", "theory", "simulate", "locate", "results", "draw", "run", "cluster", "study", "pages", ""];

/// The layers within a crate, from the ground up. A module imports from its own layer and those below.
const LAYERS: [(&str, &[&[&str]]); 11] = [
    (
        "base",
        &[
            &["units", "source", "words"],
            &["place", "regular_file", "parallel", "provenance", "reservation"],
            &["error", "disturbance", "name_lookup", "point"],
            &["text_table", "terminal"],
            &[
                "new_file",
                "toml_file",
                "other_output",
                "sample",
                "crash",
                "fatal_signal",
                "shell",
                "guarded",
                "interrupt",
                "process",
            ],
            &["condition"],
        ],
    ),
    (
        "measure",
        &[
            &["affinity", "choice", "hardware", "prefetch", "progress", "numerics"],
            &["core_clock", "crew"],
            &["provenance"],
            &["comm", "observer"],
            &["kernels"],
            &["seen_cache", "worker"],
            &["cli"],
        ],
    ),
    (
        "theory",
        &[&["statistics", "trade", "places"], &["codes", "machine", "models", "fit", "paper_tables"], &["bounds"]],
    ),
    ("simulate", &[&["numbers", "places"], &["interface", "paths"], &["computation", "envelope"]]),
    (
        "locate",
        &[
            &["reuse"],
            &["site"],
            &["tracer", "runs", "walk", "sketch"],
            &["analysis", "place", "sets", "costs"],
            &["text_trace", "located", "demo"],
            &["screen", "code", "change"],
            &["verdict"],
        ],
    ),
    ("results", &[&["table"], &["disk", "samples"], &["query", "export", "import", "maps"]]),
    ("draw", &[&["figure"], &["plot"], &["selection"]]),
    ("run", &[&["placeholder"], &["launch", "sweep"], &["drive"], &["campaign"]]),
    ("cluster", &[&["batch"], &["site"], &["cluster"], &["jobs"], &["find_nodes", "site_check"]]),
    ("study", &[&["model_fit", "calibrate", "nodes", "paired"], &["answers", "validate", "verdict"]]),
    ("pages", &[&["html", "explorer"], &["report", "compare", "validation", "locate"]]),
];

const MAX_FILE_LINES: usize = 400;
const MAX_FUNCTION_LINES: usize = 70;
/// Closures that a function binds by `let`; more are private functions with a line of documentation.
const MAX_CLOSURES: usize = 3;
/// The budget of all sources: lines, and characters without indents and ends of lines. It only falls: a new feature names what it
/// replaces.
const MAX_LINES: usize = 96_000;
const MAX_CHARACTERS: usize = 3_680_000;

/// Returns the source files in a folder of the repository: paths relative to the repository, and texts.
pub fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut files, mut folders) = (Vec::new(), vec![root.join(folder)]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the crate").flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source file");
                files.push((path.strip_prefix(root).expect("within the crate").to_owned(), text));
            }
        }
    }
    files.sort();
    files
}

/// Returns the imports of each file of a crate.
pub fn imports(name: &str) -> BTreeMap<File, BTreeSet<File>> {
    let folder = Path::new("src").join(name);
    let plain = |file: &Path| {
        let parts: Vec<_> = file.strip_prefix(&folder).ok()?.iter().map(|part| part.to_string_lossy()).collect();
        let of_root = !CRATES.contains(&&*parts[0]) && parts[0] != "main.rs";
        (!name.is_empty() || of_root).then(|| parts.join("/"))
    };
    let sources = sources(folder.to_str().expect("a name")).into_iter();
    Crate::new(sources.filter_map(|(file, text)| Some((plain(&file)?, text)))).imports()
}

/// Returns the top-level module of a file, or `None` for the root of a crate.
fn module(file: &str) -> Option<&str> {
    let name = file.split('/').next()?.trim_end_matches(".rs");
    (!["lib", "main", "build", "fingerprint"].contains(&name)).then_some(name)
}

/// Returns the imports that lead to a higher layer, or between the pages.
fn wrong_imports(layers: &[&[&str]], imports: &BTreeMap<File, BTreeSet<File>>) -> Vec<String> {
    let layer_of = |module: &str| {
        let number = layers.iter().position(|layer| layer.contains(&module));
        number.unwrap_or_else(|| panic!("module {module} has no layer: add it to LAYERS in tests/architecture.rs"))
    };
    let mut wrong = Vec::new();
    for (file, imported) in imports {
        let Some(from) = module(file) else { continue };
        for other in imported {
            let Some(to) = module(other) else { continue };
            if layer_of(to) > layer_of(from) {
                wrong.push(format!("{file} imports {other} from above"));
            } else if [("report", "compare"), ("compare", "report")].contains(&(from, to)) {
                wrong.push(format!("{file} imports {other} of its neighbour: move the common part to a lower layer"));
            }
        }
    }
    wrong
}

#[test]
fn imports_within_a_crate_point_to_lower_layers() {
    for (name, layers) in LAYERS {
        let wrong = wrong_imports(layers, &imports(name));
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
    }
}

/// Returns the top-level modules that each module imports from.
fn modules(imports: &BTreeMap<File, BTreeSet<File>>) -> BTreeMap<File, BTreeSet<File>> {
    let mut modules: BTreeMap<File, BTreeSet<File>> = BTreeMap::new();
    for (file, imported) in imports {
        let Some(from) = module(file) else { continue };
        let others = imported.iter().filter_map(|other| module(other)).filter(|to| *to != from);
        modules.entry(from.to_owned()).or_default().extend(others.map(str::to_owned));
    }
    modules
}

/// Neither files nor top-level modules import each other in cycles. Imports from the root of an enclosing module are
/// allowed, because a root declares and lists the common items of its files; see [`cycles`].
#[test]
fn files_and_modules_have_no_import_cycles() {
    for name in CRATES {
        let imports = imports(name);
        assert!(!imports.is_empty(), "{name}");
        let file_cycles = cycles(&imports);
        assert!(file_cycles.is_empty(), "files of {name} in cycles: {file_cycles:#?}");
        let module_cycles = cycles(&modules(&imports));
        assert!(module_cycles.is_empty(), "modules of {name} in cycles: {module_cycles:#?}");
    }
}

fn imports_of_sources(files: &[(&str, &str)]) -> BTreeMap<File, BTreeSet<File>> {
    let roots = [("lib.rs", ""), ("measure/mod.rs", "")];
    Crate::new(roots.iter().chain(files).map(|(file, text)| (file.to_string(), text.to_string()))).imports()
}

#[test]
fn figures_use_only_plain_data() {
    for (file, text) in sources("src/draw/figure") {
        for name in ["apexmap_theory", "apexmap_results", "apexmap_measure::kernels"] {
            assert!(!text.contains(name), "{} uses {name}", file.display());
        }
    }
}

#[test]
fn imports_are_recognized_in_every_syntax() {
    let common = [
        ("error.rs", "pub struct Error;"),
        ("units.rs", ""),
        (
            "measure/comm/mod.rs",
            "mod inner;\npub use inner::Item as Thing;\n#[macro_export]\nmacro_rules! on { () => {} }",
        ),
        ("measure/comm/inner.rs", "pub struct Item;"),
        ("measure/worker.rs", ""),
    ];
    let imports_of = |text: &str| {
        let files = imports_of_sources(&[&common[..], &[("measure/kernels.rs", text)]].concat());
        files["measure/kernels.rs"].iter().cloned().collect::<Vec<_>>()
    };
    assert_eq!(imports_of("use crate::error::Error;"), ["error.rs"]);
    assert_eq!(
        imports_of("use crate::{error::{self, Error}, units as u};\nfn f() { u::g() }"),
        ["error.rs", "units.rs"]
    );
    assert_eq!(
        imports_of("fn f() -> crate::measure::worker::Job { super::comm::f() }"),
        ["measure/comm/mod.rs", "measure/worker.rs"]
    );
    assert_eq!(
        imports_of("pub(crate) use super::{comm::Thing, worker};"),
        ["measure/comm/inner.rs", "measure/worker.rs"]
    );
    assert_eq!(
        imports_of("use super::comm;\nfn f(_: comm::Thing) {}"),
        ["measure/comm/inner.rs", "measure/comm/mod.rs"]
    );
    assert_eq!(imports_of("use super::comm::*;\nfn f(_: Thing) {}"), ["measure/comm/inner.rs", "measure/comm/mod.rs"]);
    assert_eq!(imports_of("fn f() { crate::on!() }"), ["measure/comm/mod.rs"]);
    assert!(
        imports_of("// use crate::units;\nuse std::fmt; const A: &str = \"crate::units\"; const B: char = '\"';")
            .is_empty()
    );
}

#[test]
fn cycles_between_files_are_detected() {
    let count_cycles = |files: &[(&str, &str)]| cycles(&imports_of_sources(files)).len();
    let (a, b) = ("use super::b::B; pub struct A;", "use super::c::C; pub struct B;");
    let root = ("x/mod.rs", "mod a; mod b; mod c; pub use a::A; pub trait T {}");
    let files = [root, ("x/a.rs", a), ("x/b.rs", b), ("x/c.rs", "pub struct C;")];
    assert_eq!(count_cycles(&files), 0);
    let closed = |text| [&files[..3], &[("x/c.rs", text)]].concat();
    assert_eq!(count_cycles(&closed("use super::a::A; pub struct C;")), 1, "c, a, b");
    assert_eq!(count_cycles(&closed("use super::A; pub struct C;")), 1, "through the re-export of the root");
    assert_eq!(count_cycles(&closed("use super::*; pub struct C(A);")), 1, "through a glob import");
    assert_eq!(count_cycles(&closed("use super::T; pub struct C;")), 0, "a declaration of the root");
    let outside =
        [&closed("use crate::y::Y; pub struct C;")[..], &[("y.rs", "use crate::x::A; pub struct Y;")]].concat();
    assert_eq!(count_cycles(&outside), 1, "through another module");
}

#[test]
fn forbidden_imports_are_detected() {
    let others = ["toml_file.rs", "store/mod.rs", "report/mod.rs", "report/groups.rs", "compare/mod.rs"];
    let layers: &[&[&str]] = &[&["toml_file"], &["store", "query"], &["report", "compare"]];
    let wrong = |file: &str, text: &str| {
        let mut files: Vec<(&str, &str)> = others.iter().map(|file| (*file, "")).collect();
        files.push((file, text));
        wrong_imports(layers, &imports_of_sources(&files)).len()
    };
    assert_eq!(wrong("query/mod.rs", "use crate::store::Table;"), 0);
    assert_eq!(wrong("toml_file.rs", "use crate::{store, toml_file};"), 1, "upwards");
    assert_eq!(wrong("report/mod.rs", "use super::compare::points;"), 1, "report from compare");
    assert_eq!(wrong("compare/mod.rs", "use crate::report::groups::Group;"), 1, "compare from report");
}

#[test]
fn examples_use_only_the_public_interface() {
    // The program of `make papers` is no example for users.
    for (file, text) in sources("examples").into_iter().filter(|(file, _)| !file.starts_with("examples/papers")) {
        for name in ["apexmap_", "apexmap::commands"] {
            assert!(!text.contains(name), "{} uses {name}", file.display());
        }
    }
}

/// Names of texts that the program writes for people, and methods that read facts out of texts.
const TEXTS: [&str; 10] =
    ["message", "help", "how", "banner", "headline()", "sentence", "reason", "remark", "advice", "stamp"];
const READS: [&str; 12] = [
    "strip_prefix",
    "strip_suffix",
    "split_once",
    "rsplit_once",
    "split",
    "contains",
    "starts_with",
    "ends_with",
    "trim_start_matches",
    "replace",
    "replacen",
    "find",
];
/// Files that read such texts, and why.
const READERS: [(&str, &str); 6] = [
    ("src/cli/advice.rs", "messages of clap and of parsers of values, and the examples of help"),
    ("src/base/toml_file.rs", "messages of the crate toml"),
    ("src/run/drive/suspicion.rs", "messages of launchers and workers, without their numbers"),
    ("src/measure/comm/threads.rs", "messages of panics, which are all that is left of a rank"),
    ("src/commands/opened.rs", "names the archive instead of the folder that it was unpacked to"),
    ("src/commands/selection.rs", "writes the user's conditions into the commands that an error suggests"),
];

/// Returns the lines where a text for people is read.
fn read_texts(source: &str) -> Vec<usize> {
    let calls: Vec<String> =
        TEXTS.iter().flat_map(|text| READS.iter().map(move |read| format!("{text}.{read}("))).collect();
    let reads = |line: &str| {
        calls.iter().any(|call| {
            line.match_indices(call.as_str())
                .any(|(place, _)| !line[..place].ends_with(|before: char| before.is_alphanumeric() || before == '_'))
        })
    };
    source
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim_start().starts_with("//") && reads(line))
        .map(|(number, _)| number + 1)
        .collect()
}

#[test]
fn sentences_for_people_are_not_read_back() {
    assert_eq!(read_texts("a\nlet x = error.message.contains(\"b\");\nlet my_message.contains()"), [2]);
    assert_eq!(read_texts("health.headline().split_once(':')"), [1]);
    let wrong: Vec<String> = sources("src")
        .into_iter()
        .filter(|(path, _)| !READERS.iter().any(|(file, _)| path == Path::new(file)))
        .flat_map(|(path, text)| {
            read_texts(&text).into_iter().map(move |line| format!("{}:{line}", path.display())).collect::<Vec<_>>()
        })
        .collect();
    assert!(wrong.is_empty(), "data, not sentences, carry facts: {wrong:?}");
}

#[test]
fn files_stay_within_the_length_limit() {
    let files = sources("src").into_iter();
    let long: Vec<_> =
        files.map(|(file, text)| (file, text.lines().count())).filter(|(_, lines)| *lines > MAX_FILE_LINES).collect();
    assert!(long.is_empty(), "more than {MAX_FILE_LINES} lines: {long:#?}");
}

#[test]
fn all_sources_stay_within_the_budget() {
    let sources = sources("src");
    let lines: usize = sources.iter().map(|(_, text)| text.lines().count()).sum();
    let characters: usize =
        sources.iter().flat_map(|(_, text)| text.lines()).map(|line| line.trim_start_matches(' ').len()).sum();
    println!("{lines} lines, {characters} characters");
    assert!(lines <= MAX_LINES, "src has {lines} lines, {} more than the budget", lines - MAX_LINES);
    assert!(
        characters <= MAX_CHARACTERS,
        "src has {characters} characters, {} more than the budget",
        characters - MAX_CHARACTERS
    );
}

/// Returns functions with their lines: from that of `fn` to the closing brace with the same indentation, as rustfmt formats it.
fn functions(text: &str) -> Vec<(String, Vec<&str>)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut result = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let qualifiers = ["pub", "pub(crate)", "pub(super)", "const", "unsafe", "async", "extern", "\"C\""];
        let Some(index) = words.iter().position(|word| !qualifiers.contains(word)) else { continue };
        if words[index] != "fn" || line.trim_end().ends_with([';', '}']) {
            continue;
        }
        let indentation = &line[..line.len() - line.trim_start().len()];
        let end = lines[start..].iter().position(|l| {
            *l == format!("{indentation}}}") || l.ends_with(';') && l.starts_with(&format!("{indentation})"))
        });
        let body = lines[start..].iter().take(end.unwrap_or(lines.len() - start) + 1).copied().collect();
        result.push((words.get(index + 1).unwrap_or(&"").to_string(), body));
    }
    result
}

#[test]
fn functions_stay_within_the_length_limit() {
    let mut long = Vec::new();
    for (file, text) in sources("src") {
        let too_long = functions(&text).into_iter().filter(|(_, lines)| lines.len() > MAX_FUNCTION_LINES);
        long.extend(too_long.map(|(name, lines)| format!("{}: {name} has {} lines", file.display(), lines.len())));
    }
    assert!(long.is_empty(), "more than {MAX_FUNCTION_LINES} lines: {long:#?}");
}

#[test]
fn function_lengths_are_counted_correctly() {
    let text = "fn a() {\n    x();\n}\n\nimpl B {\n    pub fn c(\n        d: u8,\n    ) -> u8 {\n        if d {\n        }\n    }\n    fn e();\n}\n";
    let lengths: Vec<_> = functions(text).into_iter().map(|(name, lines)| (name, lines.len())).collect();
    assert_eq!(lengths, [("a()".to_owned(), 3), ("c(".to_owned(), 6)]);
}

/// Returns the number of closures among the lines of a function that are bound by `let`.
fn bound_closures(lines: &[&str]) -> usize {
    let is_closure = |line: &&&str| {
        let value = line.trim_start().strip_prefix("let ").and_then(|binding| binding.split_once(" = "));
        value.is_some_and(|(_, value)| value.starts_with('|') || value.starts_with("move |"))
    };
    lines.iter().filter(is_closure).count()
}

#[test]
fn functions_bind_few_closures() {
    let text = ["fn a() {", "    let b = |c| c;", "    let mut d = move || e;", "    let f: G = g(|h| h);", "}"];
    assert_eq!(bound_closures(&text), 2);
    let mut crowded = Vec::new();
    for (file, text) in sources("src") {
        let many = functions(&text).into_iter().filter(|(_, lines)| bound_closures(lines) > MAX_CLOSURES);
        crowded.extend(many.map(|(name, _)| format!("{}: {name}", file.display())));
    }
    assert!(crowded.is_empty(), "more than {MAX_CLOSURES} closures are bound: {crowded:#?}");
}

/// Returns unsafe functions without a section "Safety" in their documentation. For functions in `impl Trait for`, the
/// trait has the section.
fn unsafe_without_section(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let is_head = |line: &str| line.trim_start().starts_with("///") || line.trim_start().starts_with("#[");
    let mut missing = Vec::new();
    for (number, line) in lines.iter().enumerate().filter(|(_, line)| line.contains("unsafe fn ")) {
        let before = || lines[..number].iter().rev();
        let outer = before().find(|other| !other.is_empty() && indentation(other) < indentation(line));
        let of_trait = outer.is_some_and(|outer| {
            outer.trim_start().trim_start_matches("unsafe ").starts_with("impl") && outer.contains(" for ")
        });
        if !of_trait && !before().take_while(|line| is_head(line)).any(|line| line.contains("# Safety")) {
            missing.push(line.trim().to_owned());
        }
    }
    missing
}

#[test]
fn unsafe_functions_document_their_requirements() {
    let files = sources("src").into_iter();
    let missing: Vec<_> = files.map(|(file, text)| (file, unsafe_without_section(&text))).collect();
    let missing: Vec<_> = missing.into_iter().filter(|(_, functions)| !functions.is_empty()).collect();
    assert!(missing.is_empty(), "no section \"Safety\": {missing:#?}");

    let section = "/// # Safety\n/// A.\n#[inline]\nunsafe fn a() {}\nimpl B for C {\n    unsafe fn d() {}\n}\n";
    assert!(unsafe_without_section(section).is_empty());
    assert_eq!(unsafe_without_section("/// A.\nunsafe fn a() {\n}\n"), ["unsafe fn a() {"]);
}
