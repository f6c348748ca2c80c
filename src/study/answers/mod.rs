//! Short answers to the questions of ready sweeps, from the samples that they measure: STREAM's four numbers, and the steps over
//! sizes of memory with the effect of huge pages.

pub mod declared;
pub mod memory_sizes;
pub mod stream;
mod values;

use apexmap_base::error::Result;
use apexmap_base::provenance::{Host, PlainNode};
use apexmap_results::samples::Samples;
use apexmap_theory::machine::Card;

/// Returns the answers that these samples contain, as lines for a terminal; empty for other sweeps. `samples` are those of the
/// current plan, `host` is the measured machine.
pub fn text(samples: &Samples, card: Option<&Card>, node: &PlainNode, host: &Host) -> Result<String> {
    let mut text = String::new();
    if let Some(stream) = stream::answer(samples, card, node)? {
        text.push_str(&stream.text());
    }
    if let Some(sizes) = memory_sizes::answer(samples, host)? {
        text.push_str(&sizes.text());
    }
    Ok(text)
}
