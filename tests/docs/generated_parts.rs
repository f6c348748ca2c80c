//! Checks the parts of the guide that are generated from the program: kernels, models, machine numbers, ready sweeps,
//! sweep keys, examples.
//!
//! In a page, they are between `<!-- generated: NAME -->` and `<!-- end -->`. To write them again:
//! `APEXMAP_WRITE_DOCS=1 cargo test --release docs::generated`

use apexmap_base::disturbance::Fact;
use apexmap_base::error::EXIT_CODES;
use apexmap_base::units::{Unit, exact_number, si_number, suffix_names};
use apexmap_measure::comm::simulated::Mapping;
use apexmap_measure::kernels::{self, Domain, Kernel, Output, Parameter, Ranks, family};
use apexmap_results::table::quietness::Cause;
use apexmap_run::drive::simulation::Simulation;
use apexmap_run::sweep::{self, Machine};
use apexmap_theory::codes;
use apexmap_theory::machine::{CATALOGUE, Card, PUBLISHED};
use apexmap_theory::models::tested::TESTS;
use apexmap_theory::models::{self, Model};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

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

/// Returns the default of a kernel's parameter, with its words if the meaning does not name them.
fn default(parameter: &Parameter) -> String {
    match parameter.domain {
        Domain::Integer { default, .. } => power(default),
        Domain::Chosen { depends_on, .. } => format!("chosen from {depends_on}"),
        Domain::Global { .. } => "beyond caches".to_owned(),
        Domain::Size { .. } => "1/2 of memory".to_owned(),
        Domain::Real { default, .. } => default.to_string(),
        Domain::Choice(words) if words.iter().all(|word| parameter.meaning.contains(word)) => words[0].to_owned(),
        Domain::Choice(words) => format!("{} ({})", words[0], words.join(", ")),
    }
}

/// Formats a power of two above 4096 as `2^13`, other numbers in full.
fn power(value: u64) -> String {
    let exact = value.is_power_of_two() && value > 1 << 12;
    if exact { format!("2^{}", value.ilog2()) } else { value.to_string() }
}

/// A row of a family's table, and the kernels that have it.
type Row<'a> = (Vec<String>, Vec<&'a str>);

/// Returns the name of a kernel or model without its family.
fn short(id: &str) -> &str {
    id.split_once('.').map_or(id, |(_, name)| name)
}

fn link(id: &str) -> String {
    format!("[`{id}`](#{})", id.replace('.', ""))
}

fn code(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Merges rows that kernels of a family share. The order is that of the first occurrence.
fn merge_rows<'a>(family: &[&'a Kernel], rows: impl Fn(&'a Kernel) -> Vec<Vec<String>>) -> Vec<Row<'a>> {
    let mut merged: Vec<Row> = Vec::new();
    for kernel in family {
        for row in rows(kernel) {
            match merged.iter_mut().find(|(merged_row, _)| *merged_row == row) {
                Some((_, kernels)) => kernels.push(short(kernel.id)),
                None => merged.push((row, vec![short(kernel.id)])),
            }
        }
    }
    merged
}

/// Joins consecutive rows that differ in their names only: `core0_load_seconds` to `core7_load_seconds`.
fn join_series(rows: Vec<Row>) -> Vec<Row> {
    let mut joined: Vec<Row> = Vec::new();
    for (cells, kernels) in rows {
        match joined.last_mut().filter(|(last, others)| last[1..] == cells[1..] && *others == kernels) {
            Some((last, _)) => {
                let first = last[0].split(" to ").next().unwrap_or_default();
                last[0] = format!("{first} to {}", cells[0]);
            }
            None => joined.push((cells, kernels)),
        }
    }
    joined
}

/// Parts of methods that the page says once, under "How to read the lists".
const SHARED_PARTS: [&str; 4] = [
    " The time is that of the slowest rank.",
    "; the time is that of the slowest rank",
    " The region was traversed once before.",
    " The memory was traversed once before the clock started.",
];

/// Returns the method of a kernel. Those of `calibrate` are without the checks and what else the page says once.
fn method(kernel: &Kernel) -> String {
    if family(kernel.id) != "calibrate" {
        return kernel.method.to_owned();
    }
    let text = SHARED_PARTS.iter().fold(kernel.method.to_owned(), |text, part| text.replace(part, ""));
    let sentences = text.trim_end_matches('.').split(". ").filter(|sentence| !sentence.contains(" compared with "));
    sentences.collect::<Vec<_>>().join(". ") + "."
}

/// Names kernels of a family: all of them, more than half by the others, or each.
fn join_kernels(kernels: &[&str], family: &[&Kernel]) -> String {
    let others: Vec<&str> = family.iter().map(|kernel| short(kernel.id)).filter(|id| !kernels.contains(id)).collect();
    match others.len() {
        0 => "all kernels".to_owned(),
        count if count < kernels.len() => format!("all but {}", others.join(", ")),
        _ => kernels.join(", "),
    }
}

/// The rows of the families before, with the heading of their lists.
type Earlier = Vec<(Vec<String>, String)>;

/// Writes the rows of a family as a list: links to rows of families before, rows of all kernels, and rows of some kernels.
fn list_rows(text: &mut String, heading: &str, rows: Vec<Row>, family: &[&Kernel], earlier: &mut Earlier) {
    let mut links: Vec<(String, Vec<String>)> = Vec::new();
    let mut new_rows: Vec<Row> = Vec::new();
    for (cells, kernels) in rows {
        let Some((_, place)) = earlier.iter().find(|(row, _)| *row == cells) else {
            new_rows.push((cells, kernels));
            continue;
        };
        let link = format!("{}, as in [{place}](#{})", join_kernels(&kernels, family), super::anchor(place));
        let name = cells[0].split(' ').next().unwrap_or_default().to_owned();
        match links.iter_mut().find(|(other, _)| *other == link) {
            Some((_, names)) => names.push(name),
            None => links.push((link, vec![name])),
        }
    }
    for (link, names) in links {
        let _ = writeln!(text, "* {link}: {}", names.join(", "));
    }
    new_rows.sort_by_key(|(_, kernels)| kernels.len() != family.len());
    for (cells, kernels) in &new_rows {
        let of_all = kernels.len() == family.len();
        let kernels = if of_all { String::new() } else { format!(", {}", join_kernels(kernels, family)) };
        let _ = writeln!(text, "* {}{kernels}: {}", cells[0], cells[1..].join("; "));
    }
    earlier.extend(new_rows.into_iter().map(|(cells, _)| (cells, heading.to_owned())));
}

/// Returns the sentence about the headline columns of a family.
fn headlines(family: &[&Kernel]) -> String {
    let mut columns: Vec<(&str, Vec<&str>)> = Vec::new();
    for kernel in family {
        match columns.iter_mut().find(|(column, _)| *column == kernel.headline) {
            Some((_, kernels)) => kernels.push(short(kernel.id)),
            None => columns.push((kernel.headline, vec![short(kernel.id)])),
        }
    }
    columns.sort_by_key(|(_, kernels)| std::cmp::Reverse(kernels.len()));
    let mut text = format!("Headline column: `{}`", columns[0].0);
    for (column, kernels) in &columns[1..] {
        let _ = write!(text, "; of {}: `{column}`", code(kernels));
    }
    text + "."
}

fn describe(name: &str, family: &[&Kernel], parameters_before: &mut Earlier, outputs_before: &mut Earlier) -> String {
    let mut text = format!("\n## Family {name}\n");
    // Kernels of a family may share a method; it is printed once.
    let first_with_method =
        |kernel: &Kernel| family.iter().find(|other| other.method == kernel.method).map(|first| first.id);
    let repeated = family.iter().find(|kernel| first_with_method(kernel) != Some(kernel.id));
    if let Some(first) = repeated.and_then(|kernel| first_with_method(kernel)) {
        let _ = writeln!(text, "\nKernels without a method of their own have that of {}.", link(first));
    }
    for kernel in family {
        let ranks = if kernel.ranks == Ranks::One { " One rank." } else { "" };
        let _ = writeln!(
            text,
            "\n### {}\n\n{}.{ranks} Source: {}, {}.",
            kernel.id, kernel.summary, kernel.source.short, kernel.place
        );
        if first_with_method(kernel) == Some(kernel.id) {
            let _ = writeln!(text, "\n{}", method(kernel));
        }
    }
    let heading = format!("Parameters of {name}");
    let _ = writeln!(text, "\n### {heading}\n");
    let parameters = |kernel: &Kernel| {
        let describe_parameter = |parameter: &Parameter| {
            let column =
                if parameter.column == parameter.name { String::new() } else { format!(" (`{}`)", parameter.column) };
            // Some meanings begin with the name.
            let label = format!("{}: ", parameter.name);
            vec![
                format!("`{}`{column}", parameter.name),
                parameter.meaning.strip_prefix(&label).unwrap_or(parameter.meaning).to_owned(),
                format!("default {}", default(parameter)),
            ]
        };
        kernel.parameters.iter().map(describe_parameter).collect()
    };
    list_rows(&mut text, &heading, merge_rows(family, parameters), family, parameters_before);
    let heading = format!("Outputs of {name}");
    let _ = writeln!(text, "\n### {heading}\n\n{}\n", headlines(family));
    let outputs = |kernel: &Kernel| {
        let describe_output = |output: &Output| vec![format!("`{}`", output.column), output.meaning.to_owned()];
        kernel.outputs.iter().map(describe_output).collect()
    };
    let rows = join_series(merge_rows(family, outputs));
    list_rows(&mut text, &heading, rows, family, outputs_before);
    text
}

/// Returns a table of contents: the headings of a page, those of the third level on the line of the second. Lists of parameters and
/// outputs, which end each family, are left out.
fn contents(page: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let text = std::fs::read_to_string(path).expect("a page");
    let mut sections: Vec<(String, Vec<String>)> = Vec::new();
    // Parts between fences are code.
    for line in text.split("```").step_by(2).flat_map(str::lines) {
        let Some((marks, heading)) = line.split_once("# ") else { continue };
        let link = format!("[{heading}](#{})", super::anchor(heading));
        match (marks, sections.last_mut()) {
            ("#", _) => sections.push((link, Vec::new())),
            ("##", Some((_, parts)))
                if !["Parameters of ", "Outputs of "].iter().any(|list| heading.starts_with(list)) =>
            {
                parts.push(link);
            }
            _ => {}
        }
    }
    let line = |(section, parts): &(String, Vec<String>)| {
        let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
        format!("* {section}{parts}\n")
    };
    sections.iter().map(line).collect()
}

#[test]
fn kernels_page_lists_every_kernel_with_its_parameters_and_outputs() {
    let (mut text, mut parameters, mut outputs) = (String::new(), Earlier::new(), Earlier::new());
    for family in kernels::ALL.chunk_by(|kernel, next| family(kernel.id) == family(next.id)) {
        text += &describe(self::family(family[0].id), family, &mut parameters, &mut outputs);
    }
    check("docs/kernels.md", "kernels", &text);
    check("docs/kernels.md", "contents", &contents("docs/kernels.md"));
}

fn ready_sweeps() -> String {
    let mut text = String::new();
    for ready in sweep::ready::READY_SWEEPS {
        let needs = Some(ready.needs()).filter(|needs| !needs.is_empty()).map(|needs| format!(" ({needs})"));
        let _ = writeln!(text, "* {} `{}`{}", ready.question(), ready.name, needs.unwrap_or_default());
    }
    text
}

fn describe_model(model: &dyn Model) -> String {
    let about = model.about();
    let mut text = format!("\n### {}\n\n{}.\n\n", about.id, about.summary);
    let _ = writeln!(text, "* Source: {}, {}.", about.source.short, about.place);
    let explains = if about.explains.is_empty() { "no kernel yet".into() } else { code(about.explains) };
    let _ = writeln!(text, "* Predicts `{}` of {explains}.", about.column);
    let _ = writeln!(text, "* Assumes: {}.", about.assumes);
    let variables: Vec<&str> = about.variables.iter().map(|variable| variable.name).collect();
    let _ = writeln!(text, "* Variables: {}.", code(&variables));
    let fitted = about.parameters.iter().filter(|parameter| !parameter.is_given);
    let names: Vec<String> = fitted.map(|parameter| format!("`{}` ({})", parameter.number, parameter.symbol)).collect();
    if !names.is_empty() {
        let _ = writeln!(text, "* Fitted: {}.", names.join(", "));
    }
    if !about.parameters.is_empty() {
        let _ = writeln!(text, "* To fit it, measure {}.", about.design);
    }
    text
}

#[test]
fn models_page_lists_every_model_with_its_variables_and_fitted_numbers() {
    let text: String = models::ALL.iter().map(|model| describe_model(*model)).collect();
    check("docs/models.md", "models", &text);
    check("docs/models.md", "contents", &contents("docs/models.md"));
}

/// Returns `15.7 to 22.3 %`.
fn range_of_per_cent((least, most): (f64, f64), digits: usize) -> String {
    let [least, most] = [least, most].map(|share| format!("{:.digits$}", 100.0 * share));
    if least == most { format!("{most} %") } else { format!("{least} to {most} %") }
}

#[test]
fn models_page_lists_every_tested_error() {
    let mut text = String::new();
    for tests in TESTS.chunk_by(|a, b| a.model == b.model) {
        let name = &tests[0].model;
        if name.starts_with("simulation") {
            continue;
        }
        let _ = writeln!(text, "\n`{name}`:");
        text += &table(&["machine", "test", "P", "points", "SMAPE", "within a factor of 1.25"]);
        for test in tests {
            let ranks = match test.ranks {
                (least, most) if least == most => exact_number(most),
                (least, most) => format!("{} to {}", exact_number(least), exact_number(most)),
            };
            let subject = if test.is_banded { test.what.clone() } else { format!("{}; not in bands", test.what) };
            let near = test.near.map_or(String::new(), |near| range_of_per_cent(near, 0));
            let error = range_of_per_cent(test.smape, 1);
            row(&mut text, &[&test.machine, &subject, &ranks, &test.points.to_string(), &error, &near]);
        }
    }
    check("docs/models.md", "tested-errors", &text);
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

/// Returns the ready sweeps that a machine can simulate.
fn simulated_sweeps(card: &Card) -> Vec<&'static str> {
    let number = |name: &str| card.get(name).unwrap_or(0.0);
    let node = Machine {
        is_simulated: true,
        ..Machine::with_cores(number("cores").max(1.0) as usize, number("memory_bytes") as u64)
    };
    let card = Arc::new(card.clone());
    let simulation = Simulation { card, ranks_per_node: None, resampled: Vec::new(), mapping: Mapping::default() };
    let can_simulate = |name: &&str| {
        let file = Path::new("sweeps").join(name).with_extension("toml");
        let sweep = sweep::ready::open(&file, node.clone());
        sweep.is_ok_and(|sweep| simulation.check(&sweep.points).is_ok())
    };
    sweep::ready::READY_SWEEPS.iter().map(|ready| ready.name).filter(can_simulate).collect()
}

#[test]
fn machines_page_lists_what_each_published_machine_predicts_and_simulates() {
    let predicted: Vec<(&str, Vec<String>)> =
        models::ALL.iter().map(|model| (model.about().id, models::published::published_machines(*model))).collect();
    let (mut text, mut of_sweeps) = (table(&["machine", "what it is", "predicts with", "simulates"]), Vec::new());
    for (machine, _) in PUBLISHED {
        let card = Card::find(machine).expect("a published machine");
        let limit = |entry: &String| entry.strip_prefix(machine).map(str::to_owned);
        let models: Vec<String> = predicted
            .iter()
            .filter_map(|(id, machines)| machines.iter().find_map(limit).map(|limit| format!("`{id}`{limit}")))
            .collect();
        let sweeps = simulated_sweeps(&card);
        let counts = if sweeps.is_empty() { "none".to_owned() } else { format!("{} sweeps", sweeps.len()) };
        let models = if models.is_empty() { "none".to_owned() } else { models.join(", ") };
        row(&mut text, &[format!("`{machine}`"), card.summary, models, counts]);
        of_sweeps.push((*machine, sweeps));
    }
    text += "\n";
    text += table(&["sweeps", "machines that can simulate them"]).trim_start();
    let mut rows: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for ready in sweep::ready::READY_SWEEPS {
        let machines: Vec<&str> =
            of_sweeps.iter().filter(|(_, sweeps)| sweeps.contains(&ready.name)).map(|(machine, _)| *machine).collect();
        match rows.iter_mut().find(|(others, _)| *others == machines) {
            Some((_, sweeps)) => sweeps.push(ready.name),
            None => rows.push((machines, vec![ready.name])),
        }
    }
    for (machines, sweeps) in rows.iter().filter(|(machines, _)| !machines.is_empty()) {
        row(&mut text, &[code(sweeps), machines.join(", ")]);
    }
    check("docs/machines.md", "machines", &text);
}

/// Returns the unit that the end of a number's name implies.
fn implied_unit(name: &str) -> &'static str {
    let ends = [
        ("_seconds_per_byte", "s/B"),
        ("_bytes_per_second", "B/s"),
        ("_per_second", "1/s"),
        ("_seconds", "s"),
        ("_bytes", "B"),
        ("_hz", "Hz"),
    ];
    ends.into_iter().find(|(end, _)| name.ends_with(end)).map_or("", |(_, unit)| unit)
}

#[test]
fn cards_page_lists_every_number_of_machine_cards() {
    let mut text = String::new();
    for entry in CATALOGUE {
        let unit = Some(entry.unit.symbol()).filter(|unit| *unit != implied_unit(entry.name));
        let unit = unit.map(|unit| format!(" ({unit})")).unwrap_or_default();
        let _ = writeln!(text, "* `{}`{unit}: {}", entry.name, entry.meaning);
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
    let mut text = "\n".to_owned();
    for (name, key) in schema["properties"].as_object().expect("properties") {
        let described = key["description"].as_str().or_else(|| definitions[capitalize(name)]["description"].as_str());
        let takes = type_of_key(key, definitions);
        let _ = writeln!(text, "* `{name}` ({takes}): {}", described.unwrap_or_default().replace('\n', " "));
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
    for (name, heading) in [
        ("Launch", "[launch]"),
        ("Repeat", "[repeat]"),
        ("AnswerSpec", "[answer]"),
        ("StatisticSpec", "Values of an answer"),
        ("FigureSpec", "[[figure]]"),
        ("Range", "Ranges of values"),
    ] {
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
fn extending_page_shows_code_that_is_compiled_here() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (name, start) in [("kernel", "fn run<"), ("model", "impl Model"), ("figure", "pub fn distribution")] {
        let file = format!("tests/worked/{name}.rs");
        let source = std::fs::read_to_string(root.join(&file)).expect("an example");
        let place = source.find(start).expect("the part that the page shows");
        let link = format!("The end of [`{file}`](../{file}):");
        check("docs/extending.md", &file, &format!("{link}\n\n```rust\n{}```", &source[place..]));
    }
}

#[test]
fn disturbance_page_lists_every_cause_and_every_fact() {
    let mut text = table(&["cause", "quantity", "limit"]);
    for cause in Cause::ALL {
        row(&mut text, &[format!("`{cause}`"), cause.meaning().into(), si_number(cause.limit())]);
    }
    check("docs/disturbance.md", "causes", &text);
    let mut text = String::new();
    for about in Fact::ALL.iter().map(|fact| fact.info()) {
        let over = format!("{:?}", about.reduction).to_lowercase();
        let unit = Some(about.unit.symbol()).filter(|unit| !unit.is_empty()).map(|unit| format!("{unit}, "));
        let _ = writeln!(text, "* `{}` ({}{over}): {}", about.column, unit.unwrap_or_default(), about.meaning);
    }
    check("docs/disturbance.md", "facts", &text);
}
