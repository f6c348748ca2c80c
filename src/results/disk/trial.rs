//! The first numbers of a sweep's largest launch, which tell whether a card is of its network.

use crate::disk::folder::Folder;
use apexmap_base::error::{Error, Result};
use apexmap_base::regular_file::read_text;
use apexmap_base::units::{self, plural};
use apexmap_theory::machine::{Card, catalogue};
use serde::{Deserialize, Serialize};

/// What a trial showed of messages between the first half of the ranks and the second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    pub ranks: usize,
    pub nodes: usize,
    /// Of a message of 8 bytes, one way, all pairs at once, in seconds.
    pub message_seconds: Option<f64>,
    /// Of messages of 64 KiB, all pairs together.
    pub bytes_per_second: Option<f64>,
}

/// A card whose network is faster or slower by more than this factor is of another network.
const OTHER: f64 = 2.0;

impl Trial {
    /// A sentence if a card's network is another than the one that ranks have here; `None` too where either does not tell.
    pub fn of_another_network(&self, card: &Card) -> Option<String> {
        let (here, on_card) = (self.message_seconds?, card.get(catalogue::NETWORK_LATENCY_SECONDS.name)?);
        // Several pairs of a node wait for each other: that they are slower tells nothing.
        let slower = self.ranks == self.nodes && here > OTHER * on_card;
        (slower || here < on_card / OTHER).then(|| {
            format!(
                "The card is of another network: a short message takes {} on it, and took {} between {} on {} before this sweep. \
                 Bounds and predictions that are about messages do not hold here; calibrate on these nodes, with their launcher.",
                units::amount(on_card, units::Unit::Seconds),
                units::amount(here, units::Unit::Seconds),
                plural(self.ranks, "rank"),
                plural(self.nodes, "node"),
            )
        })
    }
}

impl Folder {
    /// The first numbers, `trial.json`; `None` where no trial was made.
    ///
    /// # Errors
    /// If the file cannot be read or is damaged.
    pub fn trial(&self) -> Result<Option<Trial>> {
        let path = self.path.join("trial.json");
        if !path.is_file() {
            return Ok(None);
        }
        let text = read_text(&path).map_err(|e| Error::file("read", &path, e))?;
        serde_json::from_str(&text).map(Some).map_err(|error| {
            Error::environment(
                format!("{} is damaged: {error}", path.display()),
                "delete it: only the comparison of the card's network with the one measured is lost",
            )
        })
    }

    pub fn replace_trial(&self, trial: &Trial) -> Result<()> {
        let text = serde_json::to_string_pretty(trial).map_err(|e| Error::internal(e.to_string()))?;
        self.replace_text(&self.path.join("trial.json"), &text)
    }
}
