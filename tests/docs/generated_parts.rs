//! Checks the parts of the guide that are generated from the program: kernels, models, machine numbers, ready sweeps,
//! sweep keys, examples.
//!
//! In a page, they are between `<!-- generated: NAME -->` and `<!-- end -->`. To write them again:
//! `APEXMAP_WRITE_DOCS=1 cargo test --release docs::generated`

use apexmap_base::error::EXIT_CODES;
use apexmap_base::units::{Unit, exact_number, si_number, suffix_names};
use apexmap_measure::comm::simulated::Mapping;
use apexmap_measure::kernels::{self, Kernel, Ranks, family};
use apexmap_results::table::quietness::Cause;
use apexmap_run::drive::simulation::Simulation;
use apexmap_run::sweep::{self, Machine};
use apexmap_theory::machine::{CATALOGUE, Card, PUBLISHED};
use apexmap_theory::models;
use apexmap_theory::models::tested::TESTS;
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

fn code(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn describe(name: &str, family: &[&Kernel]) -> String {
    let mut text = format!("\n### Family {name}\n\n");
    let mut parameters = Vec::new();
    for kernel in family {
        let ranks = if kernel.ranks == Ranks::One { " One rank." } else { "" };
        let (summary, source, place) = (kernel.summary, kernel.source.short, kernel.place);
        let _ = writeln!(text, "* `{}`: {summary}.{ranks} Source: {source}, {place}.", kernel.id);
        for parameter in kernel.parameters {
            if !parameters.contains(&parameter.name) {
                parameters.push(parameter.name);
            }
        }
    }
    if !parameters.is_empty() {
        let _ = writeln!(text, "\nParameters of the family: {}.", code(&parameters));
    }
    text
}

#[test]
fn kernels_page_lists_every_kernel_and_the_parameters_of_each_family() {
    let families = kernels::ALL.chunk_by(|kernel, next| family(kernel.id) == family(next.id));
    let text: String = families.map(|kernels| describe(family(kernels[0].id), kernels)).collect();
    check("docs/appendix/kernels.md", "kernels", &text);
}

fn ready_sweeps() -> String {
    let mut text = String::new();
    for ready in sweep::ready::READY_SWEEPS {
        let needs = Some(ready.needs()).filter(|needs| !needs.is_empty()).map(|needs| format!(" ({needs})"));
        let _ = writeln!(text, "* {} `{}`{}", ready.question(), ready.name, needs.unwrap_or_default());
    }
    text
}

#[test]
fn models_page_lists_every_model_with_its_source_and_what_a_fit_needs() {
    let mut text = String::new();
    for about in models::ALL.iter().map(|model| model.about()) {
        let source = format!("Source: {}, {}.", about.source.short, about.place);
        let fit =
            if about.parameters.is_empty() { String::new() } else { format!(" To fit it, measure {}.", about.design) };
        let _ = writeln!(text, "* `{}`: {}. {source}{fit}", about.id, about.summary);
    }
    check("docs/appendix/models.md", "models", &text);
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
    check("docs/appendix/models.md", "tested-errors", &text);
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
    check("docs/appendix/machines.md", "machines", &text);
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
    let names = CATALOGUE.iter().map(|entry| {
        let unit = Some(entry.unit.symbol()).filter(|unit| *unit != implied_unit(entry.name) && !unit.is_empty());
        format!("`{}`{}", entry.name, unit.map(|unit| format!(" ({unit})")).unwrap_or_default())
    });
    let text = format!("{}.", names.collect::<Vec<_>>().join(", "));
    check("docs/appendix/cards.md", "numbers", &text);
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
    check("docs/appendix/sweeps.md", "ready sweeps", &ready_sweeps());
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
    check("docs/appendix/sweeps.md", "keys", &text);
}

#[test]
fn guide_lists_every_exit_code() {
    let mut text = table(&["exit code", "meaning"]);
    EXIT_CODES.iter().for_each(|(code, meaning)| row(&mut text, &[code, meaning]));
    check("docs/appendix/faults.md", "exit codes", &text);
}

#[test]
fn extending_page_shows_a_kernel_that_is_compiled_here() {
    let file = "tests/worked/kernel.rs";
    let source = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).expect("an example");
    let place = source.find("fn run<").expect("the part that the page shows");
    let link = format!("The end of [`{file}`](../../{file}):");
    check("docs/appendix/extending.md", file, &format!("{link}\n\n```rust\n{}```", &source[place..]));
}

#[test]
fn disturbance_page_lists_every_cause() {
    let mut text = table(&["cause", "quantity", "limit"]);
    for cause in Cause::ALL {
        row(&mut text, &[format!("`{cause}`"), cause.meaning().into(), si_number(cause.limit())]);
    }
    check("docs/appendix/disturbance.md", "causes", &text);
}
