//! `apexmap card`: shows a machine card; and the option `--card`: the card that a result's bounds come from.

use super::pretty;
use apexmap_base::error::{Error, Result};
use apexmap_base::provenance::Host;
use apexmap_base::terminal::{print, print_data, terminal_width};
use apexmap_study::calibrate::{card_csv, card_numbers, card_text, classic};
use apexmap_theory::bounds::Limits;
use apexmap_theory::machine::Card;
use std::path::{Path, PathBuf};

#[derive(clap::Args, Clone, Default)]
pub struct CardArguments {
    /// Show rates relative to the limits of this machine card; the result keeps a copy
    #[arg(long, value_name = "CARD")]
    pub card: Option<PathBuf>,
    /// Accept a card that was measured on another host; the report says so
    #[arg(long, requires = "card")]
    pub card_of_another_host: bool,
}

impl CardArguments {
    /// A given card must come from one of these hosts, or from the machine that the result names.
    pub fn find(&self, machine: &str, hosts: &[&Host]) -> Result<Option<Card>> {
        let Some(path) = &self.card else { return Ok(None) };
        let mut card = match path.to_str() {
            Some(name) => Card::find(name)?,
            None => Card::read(path)?,
        };
        let limits = Limits::from_card(&card);
        card.provenance.remove(Limits::ACCEPTED);
        if !hosts.iter().any(|host| limits.is_from_host(host)) {
            let same_kind = hosts.iter().any(|host| limits.cpu_model.as_ref() == Some(&host.cpu_model));
            let accepted = match (same_kind && card.name == machine, self.card_of_another_host) {
                (true, _) => Limits::BY_NAME,
                (false, true) => Limits::BY_FORCE,
                (false, false) => return Err(foreign_card(path, &limits, machine)),
            };
            card.provenance.insert(Limits::ACCEPTED.into(), accepted.into());
        }
        Ok(Some(card))
    }
}

fn foreign_card(path: &Path, limits: &Limits, machine: &str) -> Error {
    let reason = match (&limits.host, &limits.cpu_model) {
        (Some(host), Some(model)) => format!("was measured on {host} ({model}), the samples on {machine}"),
        _ => "does not name the host that it was measured on".to_owned(),
    };
    Error::input(
        format!("{} {reason}: its numbers do not bound these samples", path.display()),
        "run `apexmap calibrate` on that machine and name its card; to use the limits of another machine anyway, \
         add --card-of-another-host",
    )
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// The classic numbers with 95 % intervals; with --all also the others
    Text,
    /// All numbers as in the card's file
    Json,
    /// All numbers, one per line, in the units of the card
    Csv,
}

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap card                                          show the card of results/calibrate
  apexmap card mine.toml --all
  apexmap card red-storm                                show a published machine
  apexmap card red-storm --format json")]
pub struct Arguments {
    /// Machine card that `apexmap calibrate` wrote, or the name of a published machine (see apexmap models)
    #[arg(value_name = "CARD", default_value = "results/calibrate/card.toml")]
    card: String,
    /// Show all numbers, not only the classic ones
    #[arg(long)]
    all: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let card = Card::find(&arguments.card)?;
    match arguments.format {
        Format::Text if arguments.all => print(&full_text(&card)),
        Format::Text => {
            let text = classic_text(&card);
            let has_more = !classic::table(&card).is_empty();
            let count = card.numbers().len();
            let more = if has_more { format!("--all shows all {count} numbers\n") } else { String::new() };
            print(&(text + &more))
        }
        Format::Json => {
            let value = serde_json::to_value(&card).map_err(|e| Error::internal(format!("a card is not JSON: {e}")))?;
            print_data(&pretty(&value)?)
        }
        Format::Csv => print_data(&card_csv(&card)),
    }
}

/// The classic numbers; all numbers of a card that has no classic ones.
pub fn classic_text(card: &Card) -> String {
    let classic = classic::text(card, terminal_width());
    if classic.is_empty() { card_text(card, terminal_width()) } else { classic }
}

fn full_text(card: &Card) -> String {
    let classic = classic::text(card, terminal_width());
    match classic.is_empty() {
        true => card_text(card, terminal_width()),
        false => format!("{classic}All numbers:\n{}", card_numbers(card, terminal_width())),
    }
}
