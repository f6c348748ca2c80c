//! The time of a block that a rank reads from its own memory, for itself or for another rank.

use super::costs::Memory;
use super::{MEMORY_END, PARAMETERS, Parameter, Place, RANKS_END, SHARED_END, SIZES, Served, Surface, card_numbers};
use crate::machine::Card;
use crate::models::Model;
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
/// The seconds are not finite if the card does not have a number of the memory: [`missing_memory_numbers`] names them.
pub fn own_block_seconds(card: &Card, given: &dyn Fn(&str) -> Option<f64>, poll: f64) -> Result<BlockSeconds> {
    let x = Surface.variables(given)?;
    let value = |parameter: &Parameter| card_numbers(std::slice::from_ref(parameter), card).map_or(f64::NAN, |p| p[0]);
    let mut p: Vec<f64> = PARAMETERS.iter().map(value).collect();
    // Messages take no part.
    p[MEMORY_END..RANKS_END].fill(0.0);
    p[SHARED_END..].fill(0.0);
    if p[..SIZES.len()].iter().any(|size| size.is_nan()) {
        return Ok(BlockSeconds { own: f64::NAN, others: f64::NAN, remote_share: 0.0 });
    }
    let served = Served::from_place(&Place::find(&x, &p), &x, &p);
    let core = Memory(&p[SIZES.len()..MEMORY_END]);
    let block = x[1];
    let seconds = |shares| core.issue_seconds(block) + core.misses(shares, block, poll).iter().sum::<f64>();
    let others = if served.remote > 0.0 { seconds(&served.shares.served) } else { 0.0 };
    Ok(BlockSeconds { own: seconds(&served.shares.own), others, remote_share: served.remote })
}

/// Returns the numbers of a core and its memory that a card does not have.
pub fn missing_memory_numbers(card: &Card) -> Vec<&'static str> {
    let is_missing = |parameter: &&Parameter| {
        let value = card_numbers(std::slice::from_ref(*parameter), card);
        value.map_or(true, |value| value[0].is_nan())
    };
    PARAMETERS[..MEMORY_END].iter().filter(is_missing).map(|parameter| parameter.number).collect()
}
