//! Trial measurements of a sweep's largest launch, which show whether a card belongs to its network.

use crate::disk::folder::Folder;
use apexmap_base::error::Result;
use apexmap_base::units::{self, plural};
use apexmap_theory::machine::{Card, catalogue};
use serde::{Deserialize, Serialize};

/// Measured messages between the first and the second half of the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    pub ranks: usize,
    pub nodes: usize,
    /// Seconds of a message of 8 bytes in one direction, with all pairs at the same time.
    pub message_seconds: Option<f64>,
    /// Bandwidth of messages of 64 KiB, of all pairs together.
    pub bytes_per_second: Option<f64>,
}

/// Largest ratio between two measurements of one network.
const MAX_NETWORK_RATIO: f64 = 2.0;

impl Trial {
    /// Returns a sentence if the card is of another network than the ranks'; `None` if not, or if a number is missing.
    pub fn describe_network_mismatch(&self, card: &Card) -> Option<String> {
        let (measured, on_card) = (self.message_seconds?, card.get(catalogue::NETWORK_LATENCY_SECONDS.name)?);
        // Several pairs of a node wait for each other, so a longer time shows nothing.
        let slower = self.ranks == self.nodes && measured > MAX_NETWORK_RATIO * on_card;
        (slower || measured < on_card / MAX_NETWORK_RATIO).then(|| {
            format!(
                "The card belongs to another network: a short message takes {} on it, and took {} between {} on {} before this sweep. \
                 Bounds and predictions of messages do not hold here; calibrate on these nodes, with their launcher.",
                units::amount(on_card, units::Unit::Seconds),
                units::amount(measured, units::Unit::Seconds),
                plural(self.ranks, "rank"),
                plural(self.nodes, "node"),
            )
        })
    }
}

impl Folder {
    pub fn trial(&self) -> Result<Option<Trial>> {
        self.read_json("trial.json", "delete it: only the check of the card's network is lost")
    }

    pub fn replace_trial(&self, trial: &Trial) -> Result<()> {
        self.replace_json("trial.json", trial)
    }
}
