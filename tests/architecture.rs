//! What holds for the code itself: imports go downwards, no cycles, nothing too long to read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The floors of the house, from the ground up; a module imports from its own floor and those below.
const FLOORS: [&[&str]; 10] = [
    &["affinity", "error", "nearest", "point", "provenance", "sample", "source", "terminal", "toml_file", "units"],
    &["condition", "numerics"],
    &["comm"],
    &["kernels", "machine", "models", "fit", "published"],
    &["bounds", "worker"],
    &["store"],
    &["calibrate", "export", "figure", "html", "launch", "model_fit", "query", "sweep"],
    &["report", "compare", "validate"],
    &["commands"],
    &["cli"],
];

const LONGEST_FILE: usize = 400;
const LONGEST_FUNCTION: usize = 70;

fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut found, mut folders) = (Vec::new(), vec![root.join(folder)]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the crate").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source file");
                found.push((path.strip_prefix(root).expect("within the crate").to_owned(), text));
            }
        }
    }
    found.sort();
    found
}

/// The top-level module that a file belongs to; `None` for the crate's root.
fn module(file: &Path) -> Option<String> {
    let mut names = file.iter().skip(1).filter(|name| *name != "explore" && *name != "measure");
    let name = Path::new(names.next()?).file_stem()?.to_str()?.to_owned();
    (!["lib", "main", "mod"].contains(&name.as_str())).then_some(name)
}

fn identifier(text: &str) -> &str {
    &text[..text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len())]
}

/// The text without comments, and without the names of the wings.
fn code(text: &str) -> String {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    code.replace("crate::explore::", "crate::").replace("crate::measure::", "crate::")
}

/// First names after every `crate::`, those in braces too.
fn imports(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let Some(group) = rest.strip_prefix('{') else {
            found.push(identifier(rest).to_owned());
            continue;
        };
        let (mut depth, mut first) = (0, true);
        for (at, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => first = true,
                c if first && depth == 0 && (c.is_alphanumeric() || c == '_') => {
                    found.push(identifier(&group[at..]).to_owned());
                    first = false;
                }
                _ => {}
            }
        }
    }
    found
}

/// Which top-level modules each one imports from.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let files: Vec<(String, String)> =
        sources("src").iter().filter_map(|(file, text)| Some((module(file)?, code(text)))).collect();
    // An exported macro is called by the crate's name, but lives in a module.
    let mut macros = BTreeMap::new();
    for (module, code) in &files {
        for (at, _) in code.match_indices("#[macro_export]") {
            let definition = code[at..].split_once("macro_rules!").expect("a macro follows").1;
            macros.insert(identifier(definition.trim_start()).to_owned(), module.clone());
        }
    }
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, code) in &files {
        let names = imports(code).into_iter().map(|name| macros.get(&name).cloned().unwrap_or(name));
        found.entry(module.clone()).or_default().extend(names.filter(|name| name != module));
    }
    found
}

fn floor(module: &str) -> usize {
    FLOORS
        .iter()
        .position(|floor| floor.contains(&module))
        .unwrap_or_else(|| panic!("module {module} has no floor: add it to FLOORS in tests/architecture.rs"))
}

#[test]
fn imports_go_downwards() {
    let mut wrong = Vec::new();
    for (module, imports) in dependencies() {
        let upwards = imports.iter().filter(|import| floor(import) > floor(&module));
        wrong.extend(upwards.map(|import| format!("{module} imports {import} from above")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn modules_do_not_import_each_other_in_circles() {
    let mut left = dependencies();
    // Take away whatever imports nothing that is left; a circle stays.
    loop {
        let names: BTreeSet<String> = left.keys().cloned().collect();
        left.retain(|_, imports| imports.iter().any(|import| names.contains(import)));
        if left.len() == names.len() {
            break;
        }
    }
    assert!(left.is_empty(), "in or above a circle: {left:#?}");
}

#[test]
fn imports_are_found_however_they_are_written() {
    let code = "use crate::error::Result;\nuse crate::{point::{Point, Value}, store, units as u};\n$crate::measure::comm::X; crate::measure::worker::f()";
    assert_eq!(imports(code), ["error", "point", "store", "units", "comm", "worker"]);
}

#[test]
fn files_can_be_read_in_one_sitting() {
    let files = sources("src").into_iter();
    let long: Vec<_> =
        files.map(|(file, text)| (file, text.lines().count())).filter(|(_, lines)| *lines > LONGEST_FILE).collect();
    assert!(long.is_empty(), "more than {LONGEST_FILE} lines: {long:#?}");
}

/// Functions with their lengths: from the line of `fn` to the closing brace of the same indentation, as rustfmt sets it.
fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let qualifiers = ["pub", "pub(crate)", "pub(super)", "const", "unsafe", "async", "extern", "\"C\""];
        let Some(at) = words.iter().position(|word| !qualifiers.contains(word)) else { continue };
        if words[at] != "fn" || line.trim_end().ends_with([';', '}']) {
            continue;
        }
        let indentation = &line[..line.len() - line.trim_start().len()];
        let end = lines[start..].iter().position(|l| {
            *l == format!("{indentation}}}") || l.ends_with(");") && l.starts_with(&format!("{indentation})"))
        });
        found.push((words.get(at + 1).unwrap_or(&"").to_string(), end.unwrap_or(lines.len() - start) + 1));
    }
    found
}

#[test]
fn functions_fit_on_a_screen() {
    let mut long = Vec::new();
    for (file, text) in sources("src") {
        let too_long = functions(&text).into_iter().filter(|(_, lines)| *lines > LONGEST_FUNCTION);
        long.extend(too_long.map(|(name, lines)| format!("{}: {name} has {lines} lines", file.display())));
    }
    assert!(long.is_empty(), "more than {LONGEST_FUNCTION} lines: {long:#?}");
}

#[test]
fn lengths_of_functions_are_counted_right() {
    let text = "fn a() {\n    x();\n}\n\nimpl B {\n    pub fn c(\n        d: u8,\n    ) -> u8 {\n        if d {\n        }\n    }\n    fn e();\n}\n";
    assert_eq!(functions(text), [("a()".to_owned(), 3), ("c(".to_owned(), 6)]);
}

#[test]
fn the_readme_names_every_kernel_model_and_sweep() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).expect("a README");
    let named = |word: &str| readme.contains(&format!("`{word}`"));
    // The second and further of a family stand as `.name`.
    let id = |id: &str| named(id) || id.split_once('.').is_some_and(|(_, name)| named(&format!(".{name}")));
    let kernels = apexmap::measure::kernels::ALL.iter().map(|kernel| kernel.id());
    let ids = kernels.chain(apexmap::explore::models::ALL.iter().map(|model| model.about().id));
    let mut missing: Vec<String> = ids.filter(|known| !id(known)).map(str::to_owned).collect();
    for sweep in std::fs::read_dir(root.join("sweeps")).expect("a folder of sweeps").flatten() {
        let name = sweep.file_name().into_string().expect("a plain name");
        if !named(&name) {
            missing.push(name);
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}
