//! Short answers to the questions of ready sweeps, from the samples that they measure.

pub mod declared;
pub mod memory_sizes;
pub mod stream;
mod values;

use apexmap_base::error::Result;
use apexmap_base::provenance::{Host, PlainNode};
use apexmap_results::samples::Samples;
use apexmap_theory::machine::Card;
use memory_sizes::MemorySizes;
use stream::Stream;

/// The answers that samples contain; empty for other sweeps.
pub struct Answers {
    pub stream: Option<Stream>,
    pub sizes: Option<MemorySizes>,
}

impl Answers {
    /// `samples` are those of the current plan, `host` is the measured machine.
    pub fn new(samples: &Samples, card: Option<&Card>, node: &PlainNode, host: &Host) -> Result<Self> {
        Ok(Self { stream: stream::answer(samples, card, node)?, sizes: memory_sizes::answer(samples, host)? })
    }

    pub fn text(&self) -> String {
        let stream = self.stream.as_ref().map(Stream::text).unwrap_or_default();
        stream + &self.sizes.as_ref().map(MemorySizes::text).unwrap_or_default()
    }
}
