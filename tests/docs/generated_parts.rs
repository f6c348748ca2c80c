//! Checks the parts of the guide that are generated from the program: kernels, models, machine numbers, ready sweeps,
//! sweep keys, examples.
//!
//! In a page, they are between `<!-- generated: NAME -->` and `<!-- end -->`. To write them again:
//! `APEXMAP_WRITE_DOCS=1 cargo test --release docs::generated`

use apexmap_base::disturbance::Fact;
use apexmap_base::error::EXIT_CODES;
use apexmap_base::units::{Unit, si_number, suffix_names};
use apexmap_measure::kernels::{self, Domain, Kernel, Output, Parameter, Ranks, family};
use apexmap_results::table::quietness::Cause;
use apexmap_run::sweep;
use apexmap_theory::codes;
use apexmap_theory::machine::CATALOGUE;
use apexmap_theory::models::{self, Model};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

const REWRITE: &str = "APEXMAP_WRITE_DOCS=1 cargo test --release docs::generated";

/// Compares a part of a page with the current text. Rewrites it if the environment variable is set.
pub fn check(page: &str, name: &str, generated: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let text = std::fs::read_to_string(&path).expect("a page");
    let begin = format!("<!-- generated: {name} -->\n");
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{page} has no {begin}"));
    let (present, after) = rest.split_once("<!-- end -->").unwrap_or_else(|| panic!("{page}: {name} has no end"));
    let wanted = format!("\n{}\n\n", generated.trim());
    if std::env::var_os("APEXMAP_WRITE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{begin}{wanted}<!-- end -->{after}")).expect("written");
    } else {
        assert!(present == wanted, "{page}: {name} is out of date; write it again: {REWRITE}");
    }
}

/// Formats a text for a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn table(head: &[&str]) -> String {
    format!("\n| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len()))
}

fn row(text: &mut String, cells: &[impl AsRef<str>]) {
    let cells: Vec<String> = cells.iter().map(|text| cell(text.as_ref())).collect();
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

/// Returns the values and the default of a kernel's parameter.
fn values(parameter: &Parameter) -> (String, String) {
    let unit = parameter.unit.symbol();
    let (range, default) = match parameter.domain {
        Domain::Integer { min: least, max: u64::MAX, default } => (format!("{least} or more"), default.to_string()),
        Domain::Integer { min: least, max: most, default } => {
            (format!("{least} to {}", power(most)), default.to_string())
        }
        Domain::Chosen { min: least, max: most, depends_on: from, .. } => {
            (format!("{least} to {}", power(most)), format!("chosen from {from}"))
        }
        Domain::Global { min: least, max: most, .. } => (format!("{least} to {}", power(most)), "beyond caches".into()),
        Domain::Size { min: least, max: most, .. } => (format!("{least} to {}", power(most)), "1/2 of memory".into()),
        Domain::Real { exclusive_min: above, max: most, default } => {
            (format!("above {above}, up to {}", si_number(most)), default.to_string())
        }
        Domain::Choice(words) => (words.join(", "), words[0].into()),
    };
    (format!("{range} {unit}").trim().to_owned(), default)
}

/// Formats a power of two above 4096 as `2^13`, other numbers in full.
fn power(value: u64) -> String {
    let exact = value.is_power_of_two() && value > 1 << 12;
    if exact { format!("2^{}", value.ilog2()) } else { value.to_string() }
}

/// Merges rows that kernels of a family share. Each row gets the list of its kernels; the order is that of the first
/// occurrence.
fn merge_rows<'a>(family: &[&'a Kernel], rows: impl Fn(&'a Kernel) -> Vec<Vec<String>>) -> Vec<Vec<String>> {
    let mut merged: Vec<(Vec<String>, Vec<&str>)> = Vec::new();
    for kernel in family {
        let name = kernel.id.split_once('.').map_or(kernel.id, |(_, name)| name);
        for row in rows(kernel) {
            match merged.iter_mut().find(|(merged_row, _)| *merged_row == row) {
                Some((_, kernels)) => kernels.push(name),
                None => merged.push((row, vec![name])),
            }
        }
    }
    let kernels = |names: Vec<&str>| if names.len() == family.len() { "all".into() } else { names.join(", ") };
    merged.into_iter().map(|(row, names)| [row, vec![kernels(names)]].concat()).collect()
}

fn describe(name: &str, family: &[&Kernel]) -> String {
    let mut text = format!("\n## Family {name}\n");
    for kernel in family {
        let ranks = if kernel.ranks == Ranks::One { "one rank" } else { "any number of ranks" };
        let _ = writeln!(text, "\n### {}\n\n{}. Runs on {ranks}.\n", kernel.id, kernel.summary);
        // Kernels of a family may share a method; it is printed once.
        let first = family.iter().find(|other| other.method == kernel.method);
        match first.filter(|first| first.id != kernel.id) {
            Some(first) => {
                let _ = writeln!(text, "Method: that of [`{}`](#{}).\n", first.id, first.id.replace('.', ""));
            }
            None => {
                let _ = writeln!(text, "{}\n", kernel.method);
            }
        }
        let _ = writeln!(text, "Source: {}, {}.", kernel.source.short, kernel.place);
    }
    let _ = writeln!(text, "\n### Parameters of {name}");
    text += &table(&["parameter", "meaning", "values", "default", "column", "kernels"]);
    let parameters = |kernel: &Kernel| {
        let describe_parameter = |parameter: &Parameter| {
            let (values, default) = values(parameter);
            let (name, column) = (format!("`{}`", parameter.name), format!("`{}`", parameter.column));
            vec![name, parameter.meaning.to_owned(), values, default, column]
        };
        kernel.parameters.iter().map(describe_parameter).collect()
    };
    for cells in merge_rows(family, parameters) {
        row(&mut text, &cells);
    }
    let _ = writeln!(text, "\n### Outputs of {name}\n\nEach kernel also reports time and rates. Headline columns:\n");
    for kernel in family {
        let _ = writeln!(text, "* `{}`: `{}`", kernel.id, kernel.headline);
    }
    text += &table(&["output", "unit", "meaning", "kernels"]);
    let outputs = |kernel: &Kernel| {
        let describe_output = |output: &Output| {
            vec![format!("`{}`", output.column), output.unit.symbol().to_owned(), output.meaning.to_owned()]
        };
        kernel.outputs.iter().map(describe_output).collect()
    };
    for cells in merge_rows(family, outputs) {
        row(&mut text, &cells);
    }
    text
}

#[test]
fn kernels_page_lists_every_kernel_with_its_parameters_and_outputs() {
    let mut text = table(&["kernel", "what it measures", "ranks"]);
    for kernel in kernels::ALL {
        let ranks = if kernel.ranks == Ranks::One { "one" } else { "any" };
        let anchor = kernel.id.replace('.', "");
        row(&mut text, &[format!("[`{}`](#{anchor})", kernel.id).as_str(), kernel.summary, ranks]);
    }
    for family in kernels::ALL.chunk_by(|kernel, next| family(kernel.id) == family(next.id)) {
        text += &describe(self::family(family[0].id), family);
    }
    check("docs/kernels.md", "kernels", &text);
}

fn ready_sweeps() -> String {
    let mut text = table(&["question", "sweep", "needs"]);
    for ready in sweep::ready::READY_SWEEPS {
        row(&mut text, &[ready.question(), format!("`{}`", ready.name), ready.needs()]);
    }
    text
}

fn describe_model(model: &dyn Model) -> String {
    let about = model.about();
    let mut text = format!("\n### {}\n\n{}.\n\n", about.id, about.summary);
    let _ = writeln!(text, "* Source: {}, {}.", about.source.short, about.place);
    let explains: Vec<_> = about.explains.iter().map(|id| format!("`{id}`")).collect();
    let explains = if explains.is_empty() { "no kernel yet".into() } else { explains.join(", ") };
    let _ = writeln!(text, "* Predicts: `{}` of {explains}.", about.column);
    let _ = writeln!(text, "* Assumes: {}.", about.assumes);
    let machines = models::published_machines(model);
    let machines = if machines.is_empty() { "none has all numbers".to_owned() } else { machines.join(", ") };
    let _ = writeln!(text, "* Published machines: {machines}.");
    if !about.parameters.is_empty() {
        let _ = writeln!(text, "* To fit it, measure {}.", about.design);
    }
    text += &table(&["name", "kind", "unit", "meaning"]);
    for variable in about.variables {
        let meaning = match variable.default {
            Some(value) => format!("{}; default {}", variable.meaning, default(variable.words, value)),
            None => variable.meaning.to_owned(),
        };
        row(&mut text, &[format!("`{}`", variable.name).as_str(), "variable", variable.unit.symbol(), &meaning]);
    }
    for parameter in about.parameters {
        let kind = if parameter.is_given { "parameter, given" } else { "parameter, fitted" };
        let meaning = parameter.meaning();
        let meaning = meaning.strip_suffix(&format!(" ({})", parameter.symbol)).unwrap_or(&meaning);
        let meaning = format!("{}: {meaning}", parameter.symbol);
        row(&mut text, &[format!("`{}`", parameter.number).as_str(), kind, parameter.unit().symbol(), &meaning]);
    }
    text
}

fn default(words: &[&str], value: f64) -> String {
    words.get(value as usize).map_or(value.to_string(), |word| (*word).to_owned())
}

#[test]
fn models_page_lists_every_model_with_its_variables_and_parameters() {
    let mut text = table(&["model", "predicts", "source"]);
    for about in models::ALL.iter().map(|model| model.about()) {
        let anchor = about.id.replace('.', "");
        row(&mut text, &[format!("[`{}`](#{anchor})", about.id).as_str(), about.summary, about.source.short]);
    }
    text.extend(models::ALL.iter().map(|model| describe_model(*model)));
    check("docs/models.md", "models", &text);
}

#[test]
fn codes_page_lists_every_known_code() {
    let mut text = table(&["code", "alpha", "L", "estimated from", "source"]);
    for code in codes::list_known() {
        let numbers = [code.alpha, code.block_words].map(|number| number.to_string());
        row(&mut text, &[&code.name, &numbers[0], &numbers[1], &code.how, &code.source]);
    }
    check("docs/codes.md", "codes", &text);
}

#[test]
fn cards_page_lists_every_number_of_machine_cards() {
    let mut text = table(&["number", "unit", "meaning"]);
    for entry in CATALOGUE {
        row(&mut text, &[format!("`{}`", entry.name).as_str(), entry.unit.symbol(), entry.meaning]);
    }
    check("docs/cards.md", "numbers", &text);
}

/// Returns the type of a key of a sweep, from its schema.
fn type_of_key(schema: &Value, definitions: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        let definition = &definitions[name];
        // Words without and with a description.
        let described = definition["oneOf"].as_array().into_iter().flatten().map(|variant| &variant["const"]);
        let words = definition["enum"].as_array().into_iter().flatten().chain(described);
        let words: Vec<String> = words.filter_map(Value::as_str).map(|word| format!("`\"{word}\"`")).collect();
        return match (words.is_empty(), name) {
            (false, _) => words.join(", "),
            (true, "Scalar") => "number or text".into(),
            (true, _) => "table".into(),
        };
    }
    if let Some(any) = schema["anyOf"].as_array() {
        return any
            .iter()
            .find(|alternative| alternative["type"] != "null")
            .map_or(String::new(), |schema| type_of_key(schema, definitions));
    }
    let word = schema["type"].as_str().or_else(|| schema["type"][0].as_str()).unwrap_or_default();
    match word {
        "string" => "text".into(),
        "integer" => "whole number".into(),
        "array" if schema["items"]["type"] == "object" => "list of tables".into(),
        "array" => "list of texts".into(),
        "object" => "table".into(),
        other => other.to_owned(),
    }
}

fn keys(schema: &Value, definitions: &Value) -> String {
    let mut text = table(&["key", "takes", "meaning"]);
    for (name, key) in schema["properties"].as_object().expect("properties") {
        let described = key["description"].as_str().or_else(|| definitions[capitalize(name)]["description"].as_str());
        row(&mut text, &[format!("`{name}`").as_str(), &type_of_key(key, definitions), described.unwrap_or_default()]);
    }
    text
}

/// Converts `launch` to `Launch`.
fn capitalize(name: &str) -> String {
    name[..1].to_uppercase() + &name[1..]
}

#[test]
fn sweeps_page_lists_every_ready_sweep_and_every_key() {
    check("docs/sweeps.md", "ready sweeps", &ready_sweeps());
    let schema: Value = serde_json::from_str(&sweep::schema()).expect("JSON");
    let definitions = &schema["$defs"];
    let mut text = format!("\n### Top level and tables\n{}", keys(&schema, definitions));
    for (name, heading) in
        [("Launch", "[launch]"), ("Repeat", "[repeat]"), ("FigureSpec", "[[figure]]"), ("Range", "Ranges of values")]
    {
        let _ = write!(text, "\n### {heading}\n{}", keys(&definitions[name], definitions));
    }
    text += "\n### Units\n";
    text += &table(&["quantity", "units", "base unit"]);
    for (quantity, unit) in [("memory in words", Unit::Words), ("bytes", Unit::Bytes), ("time", Unit::Seconds)] {
        row(&mut text, &[quantity, suffix_names(unit).join(", ").as_str(), unit.symbol()]);
    }
    check("docs/sweeps.md", "keys", &text);
}

#[test]
fn guide_lists_every_exit_code() {
    let mut text = table(&["exit code", "meaning"]);
    EXIT_CODES.iter().for_each(|(code, meaning)| row(&mut text, &[code, meaning]));
    check("docs/README.md", "exit codes", &text);
}

#[test]
fn extending_page_shows_the_files_that_are_compiled_here() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in ["kernel", "model", "figure"].map(|name| format!("tests/worked/{name}.rs")) {
        let source = std::fs::read_to_string(root.join(&file)).expect("an example");
        check("docs/extending.md", &file, &format!("`{file}`:\n\n```rust\n{source}```"));
    }
}

#[test]
fn disturbance_page_lists_every_cause_and_every_fact() {
    let mut text = table(&["cause", "quantity", "limit"]);
    for cause in Cause::ALL {
        row(&mut text, &[format!("`{cause}`"), cause.meaning().into(), si_number(cause.limit())]);
    }
    check("docs/disturbance.md", "causes", &text);
    let mut text = table(&["column", "unit", "meaning", "over ranks"]);
    for about in Fact::ALL.iter().map(|fact| fact.info()) {
        let over = format!("{:?}", about.reduction).to_lowercase();
        row(&mut text, &[format!("`{}`", about.column), about.unit.symbol().into(), about.meaning.into(), over]);
    }
    check("docs/disturbance.md", "facts", &text);
}
