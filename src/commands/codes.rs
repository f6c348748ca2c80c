//! `apexmap codes`: lists known codes with their places on the map, or their rates on a measured map.

use super::opened::Opened;
use super::plot;
use super::selection::Selection;
use apexmap_base::distinct::push_new;
use apexmap_base::error::{Error, Result};
use apexmap_base::provenance::PlainNode;
use apexmap_base::terminal::{print, print_in_red, terminal_width, wrap_lines};
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::{bytes, plural, short_number};
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::samples::Samples;
use apexmap_results::samples::code_rates::{CodeRate, CodeRates};
use apexmap_results::samples::health::Health;
use apexmap_theory::codes::{self, Accesses, Code};
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap codes                                 list the codes: alpha, L, and how they were derived
  apexmap codes results/quickstart              their rates on this machine, read from the measured map
  apexmap codes results/quickstart --codes mine.toml

Alpha and L are estimates. A code or a site is read at its own size, between the measured sizes and points around it; without them
it has no rate. The times of a code's sites add up: sweeps and strided walks are read from calibrate.stride, chains and pointers
from apex_map.chains with one chain, and all others from Apex-Map. apexmap run codes measures these maps from 16 KiB to 512 MiB.")]
pub struct Arguments {
    /// A result: folder, archive, report.html or Parquet file of samples [default: none, list the codes]
    result: Option<PathBuf>,
    /// Add the codes of a TOML file [default: codes.toml in the result]
    #[arg(long, value_name = "FILE")]
    codes: Option<PathBuf>,
    #[command(flatten)]
    selection: Selection,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.result {
        None => {
            let own = arguments.codes.as_deref().map(codes::read_with_known);
            print(&list(&own.unwrap_or_else(|| Ok(codes::list_known()))?))
        }
        Some(result) => {
            let opened = Opened::open(result)?;
            let samples = arguments.selection.choose(&opened.samples()?.current())?;
            let manifest = opened.known_folder().and_then(|folder| Manifest::read(folder).ok());
            let node = manifest.map(|manifest| manifest.plain_node()).unwrap_or_default();
            print(&rates(&samples, &plot::codes(arguments.codes.as_deref(), &opened)?, &node)?)?;
            Health::from_samples(&samples).banner().map_or(Ok(()), |banner| print_in_red(&banner.to_string()))
        }
    }
}

fn list(codes: &[Code]) -> String {
    let mut table = TextTable::new([Align::Left, Align::Right, Align::Right, Align::Left])
        .with_width(Some(terminal_width().unwrap_or(100)));
    table.add_row(["code", "alpha", "L", "estimated from"]);
    for code in codes {
        let source = if code.source.is_empty() { String::new() } else { format!(" ({})", code.source) };
        let how = format!("{}{source}", code.how);
        table.add_row([code.name.as_str(), &short_number(code.alpha), &short_number(code.block_words), how.trim()]);
    }
    table.to_string()
}

/// The rate of each code on each map of the samples, and why some have none.
fn rates(samples: &Samples, codes: &[Code], node: &PlainNode) -> Result<String> {
    let rates = CodeRates::new(samples)?;
    let columns = rates.columns();
    if columns.is_empty() {
        return Err(Error::input(
            "this result has no map over alpha and L",
            "name the result of apexmap run quickstart, or list the codes alone: apexmap codes",
        ));
    }
    let aligns = [Align::Left, Align::Right, Align::Right].into_iter().chain(columns.iter().map(|_| Align::Right));
    let mut table = TextTable::new(aligns).with_width(terminal_width());
    let labels: Vec<String> = columns.iter().map(|column| column.group().plain_label(node)).collect();
    table.add_row(["code", "alpha", "L"].map(str::to_owned).into_iter().chain(labels.iter().cloned()));
    let mut notes = Vec::new();
    for code in codes {
        let place = [code.alpha, code.block_words].map(short_number);
        let place = if code.sites.is_empty() { place } else { [plural(code.sites.len(), "site"), String::new()] };
        let mut cells = vec![code.name.clone()];
        cells.extend(place);
        for (column, label) in columns.iter().zip(&labels) {
            let read = rates.code(*column, code);
            notes.extend(notes_of(code, &read).into_iter().map(|note| (note, label.clone())));
            let total = if column.group().headline.ends_with("_per_rank") { 1.0 } else { column.ranks() };
            cells.push(read.rate.map_or("\u{2013}".into(), |rate| rate.times(total).words()));
        }
        table.add_row(cells);
    }
    Ok(format!("{table}{}", wrap_lines(&describe(&notes, labels.len()), terminal_width())))
}

#[derive(Clone, PartialEq)]
enum Note {
    ReadAt(f64, String),
    NoRate(String),
    Bound(String),
    /// Another bound, with its reason.
    Above(&'static str, String),
}

fn notes_of(code: &Code, read: &CodeRate) -> Vec<Note> {
    let read_at = read.rate.and_then(|rate| rate.read_at).map(|size| Note::ReadAt(size, code.name.clone()));
    let missing = read.missing.iter().map(|(kind, share, reason)| match (read.rate, code.sites.is_empty()) {
        (_, true) => Note::NoRate(format!("{} ({reason})", code.name)),
        (None, _) => Note::NoRate(format!("{:.0} % of {}, {kind} ({reason})", 100.0 * share, code.name)),
        (Some(_), _) => Note::Bound(format!("{:.0} % of {}, {kind} ({reason})", 100.0 * share, code.name)),
    });
    let is_bound = read.missing.is_empty() && read.rate.is_some_and(|rate| rate.is_bound);
    let is_update = code.accesses == Accesses::Updates;
    let reason = if is_update { "the map does not write" } else { "caches wait for instructions" };
    let bound = is_bound.then(|| Note::Above(reason, code.name.clone()));
    read_at.into_iter().chain(bound).chain(missing).collect()
}

/// Notes of all `maps` have no label.
fn describe(notes: &[(Note, String)], maps: usize) -> String {
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (note, label) in notes {
        let (title, name) = match note {
            Note::ReadAt(size, name) => (format!("Read at the nearest measured size, {}", bytes(*size)), name),
            Note::NoRate(name) => ("No rate".to_owned(), name),
            Note::Bound(name) => ("< is an upper bound, without".to_owned(), name),
            Note::Above(reason, name) => (format!("< is an upper bound, because {reason}"), name),
        };
        let everywhere = notes.iter().filter(|(other, _)| other == note).count() == maps;
        let place = if everywhere { String::new() } else { format!(", {label}") };
        let names = names.entry(format!("{title}{place}")).or_default();
        push_new(names, name.clone());
    }
    let is_missing = notes.iter().any(|(note, _)| matches!(note, Note::NoRate(..) | Note::Bound(..)));
    let sentences = names.iter().map(|(title, names)| format!("{title}: {}.\n", names.join("; ")));
    let next = is_missing.then_some("apexmap run codes measures maps of all kinds from 16 KiB to 512 MiB.\n");
    sentences.chain(next.map(str::to_owned)).collect()
}
