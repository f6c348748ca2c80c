//! `apexmap compare`: machines against each other.

use super::plot::condition;
use super::print;
use crate::compare::fairness::{self, Allowed};
use crate::compare::machine::{Machine, name_all};
use crate::compare::points::Matching;
use crate::compare::{self, compare};
use crate::error::{Error, Result};
use crate::figure::select;
use crate::machine::Card;
use crate::nearest::suggest;
use crate::store::manifest::Manifest;
use crate::store::{Folder, Table, columns, parquet};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap compare results/old results/new
  apexmap compare 'results/pages[pages == \"base\"]' 'results/pages[pages == \"huge\"]' --allow page-size --names 4KiB,2MiB
  apexmap compare red-storm results/random-access-ranks

Ratios are speeds of each by that of the first.")]
pub struct Arguments {
    /// Result folders, Parquet files of samples, published machines or machine cards; a condition in brackets chooses samples
    #[arg(required = true, num_args = 2.., value_name = "RESULT")]
    inputs: Vec<String>,
    /// Folder for the page, its figures and tables [default: compare/ and the names]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// What the machines are called, with commas between [default: their own names]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    names: Vec<String>,
    /// Differences that would make the comparison unfair, and are to be printed everywhere instead: page-size, oversubscription,
    /// transport, version, kernel, one-launch
    #[arg(long, value_delimiter = ',', value_name = "DIFFERENCES")]
    allow: Vec<String>,
    /// Parameters that points are not matched by, such as I,N
    #[arg(long, value_delimiter = ',', value_name = "PARAMETERS")]
    ignore: Vec<String>,
    /// Samples to compare, of all results
    #[arg(long = "where", value_name = "CONDITION")]
    condition: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let matching = Matching {
        allowed: Allowed::parse(&arguments.allow)?,
        ignored: arguments.ignore.iter().map(|name| parameter(name)).collect::<Result<_>>()?,
    };
    let mut machines: Vec<Machine> =
        arguments.inputs.iter().map(|input| open(input, arguments.condition.as_deref())).collect::<Result<_>>()?;
    name_all(&mut machines, &arguments.names)?;
    let comparison = compare(&machines, matching)?;
    let folder = arguments.out.clone().unwrap_or_else(|| default_folder(&machines));
    let command = std::env::args().collect::<Vec<_>>().join(" ");
    let made = compare::write(&comparison, &folder, &command)?;
    print(&format!("{}comparison: {}\n", made.summary, made.page.display()))
}

fn parameter(name: &str) -> Result<String> {
    let column = columns::resolve(name);
    let known: Vec<&str> = crate::kernels::ALL.iter().flat_map(|kernel| kernel.parameters()).map(|p| p.name).collect();
    let is_parameter = crate::kernels::ALL.iter().flat_map(|kernel| kernel.parameters()).any(|p| p.column == column);
    match is_parameter {
        true => Ok(column.to_owned()),
        false => Err(Error::input(format!("--ignore {name}: no kernel has this parameter"), suggest(name, &known))),
    }
}

/// `compare/A-vs-B`, of characters that any file system takes.
fn default_folder(machines: &[Machine]) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '-' };
    let one = |machine: &Machine| {
        let name: String = machine.name.chars().map(plain).collect();
        name.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
    };
    let mut name = machines.iter().map(one).collect::<Vec<_>>().join("-vs-");
    name.truncate(120);
    Path::new("compare").join(name)
}

/// A result folder, a Parquet file, a machine card or a published machine, with a condition in brackets.
fn open(given: &str, everywhere: Option<&str>) -> Result<Machine> {
    let (path, own) = match given.strip_suffix(']').and_then(|rest| rest.split_once('[')) {
        Some((path, own)) if !Path::new(given).exists() => (path, Some(own)),
        _ => (given, None),
    };
    let file = Path::new(path);
    let (table, manifest, card) = if file.is_dir() {
        let folder = Folder::open(file)?;
        let manifest = folder.manifest().is_file().then(|| Manifest::read(&folder)).transpose()?;
        let card = file.join("machine.toml");
        let card = card.is_file().then(|| Card::read(&card)).transpose()?;
        (folder.table()?, manifest, card)
    } else if file.is_file() {
        (parquet::read(file)?, None, None)
    } else {
        let known: Vec<&str> = crate::machine::PUBLISHED.iter().map(|(known, _)| *known).collect();
        return Err(Error::input(
            format!("there is no result, file or published machine \"{path}\""),
            format!("{}; or name a result folder, or a Parquet file of samples", suggest(path, &known)),
        ));
    };
    let rows = chosen(given, &table, [everywhere, own])?;
    let machine = Machine::measured(given, table, rows, manifest)?;
    Ok(match card {
        Some(card) => machine.with_card(card),
        None => machine,
    })
}

fn chosen(given: &str, table: &Table, conditions: [Option<&str>; 2]) -> Result<Vec<usize>> {
    let named = |error: Error| Error { what: format!("{given}: {}", error.what), ..error };
    let mut rows = select::rows(table, None);
    for text in conditions.into_iter().flatten() {
        let condition = condition(text, table).map_err(named)?;
        let kept: std::collections::HashSet<usize> = select::rows(table, Some(&condition)).into_iter().collect();
        rows.retain(|row| kept.contains(row));
    }
    Ok(rows)
}

#[allow(dead_code)]
const NAMES: [&str; 6] = fairness::NAMES;
