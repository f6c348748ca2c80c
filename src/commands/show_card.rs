//! `apexmap card`: shows a machine card.

use apexmap_base::error::Result;
use apexmap_base::terminal::{print, terminal_width};
use apexmap_study::calibrate::{card_text, classic};
use apexmap_theory::machine::Card;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap card                                          show the card of results/calibrate
  apexmap card mine.toml
  apexmap card red-storm                                show a published machine")]
pub struct Arguments {
    /// Machine card that `apexmap calibrate` wrote, or the name of a published machine (see apexmap models)
    #[arg(value_name = "CARD", default_value = "results/calibrate/card.toml")]
    card: String,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let card = Card::find(&arguments.card)?;
    print(&text(&card))
}

/// Returns the classic numbers that the card contains, then all its numbers.
pub fn text(card: &Card) -> String {
    let (classic, numbers) = (classic::text(card, terminal_width()), card_text(card, terminal_width()));
    if classic.is_empty() { numbers } else { format!("{classic}\n{numbers}") }
}
