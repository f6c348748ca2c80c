//! The time of a block that a rank reads from its own memory, for itself or for another rank.

use super::costs::Memory;
use super::{MEMORY_END, PARAMETERS, Place, RANKS_END, SIZES, Served, Surface};
use crate::machine::Card;
use crate::models::{Model, card_number};
use apexmap_base::error::Result;

/// Seconds of a block that a rank reads from its own memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockSeconds {
    /// For the rank itself.
    pub own: f64,
    /// For another rank.
    pub others: f64,
    /// Fraction of the blocks that is read for other ranks.
    pub remote_share: f64,
}

/// Returns the seconds of a block, as in [`Surface`] without messages. `given` returns variables of that model by name.
///
/// # Errors
/// If the card does not have a number of the memory. The error names all of them.
pub fn own_block_seconds(card: &Card, given: &dyn Fn(&str) -> Option<f64>, poll: f64) -> Result<BlockSeconds> {
    let (x, mut p) = (Surface.variables(given)?, Surface.parameters(card)?);
    // Messages take no part.
    p[MEMORY_END..RANKS_END].fill(0.0);
    let served = Served::from_place(&Place::find(&x, &p), &x, &p);
    let core = Memory(&p[SIZES.len()..MEMORY_END]);
    let block = x[1];
    let seconds = |shares| core.issue_seconds(block) + core.misses(shares, block, poll).iter().sum::<f64>();
    let others = if served.remote > 0.0 { seconds(&served.shares.served) } else { 0.0 };
    let blocks = BlockSeconds { own: seconds(&served.shares.own), others, remote_share: served.remote };
    if blocks.own.is_finite() && blocks.others.is_finite() {
        return Ok(blocks);
    }
    let numbers = PARAMETERS[..MEMORY_END].iter().map(|parameter| parameter.number);
    Err(card.missing_error(&numbers.filter(|number| card_number(card, number).is_none()).collect::<Vec<_>>()))
}
