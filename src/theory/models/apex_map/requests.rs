//! Accesses with a given remote share, as measured by `calibrate.request`.
//!
//! SOURCE: Apex-Map paper, Section 2.1 and Table 1.

use super::costs::{self, Memory, Remote};
use super::hits::Shares;
use super::{BLOCK, BY, MEMORY_END, PAGE, RANKS_END, SIZES, WORDS, parameters, sizes};
use crate::models::prelude::*;
use apexmap_measure::kernels::calibrate::network::request;

/// Bandwidth of a process: the time is that of [`super::Surface`], with a given remote share.
pub struct Requests;

const SHARE: Variable = Variable {
    valid: ValidNumbers::Share,
    ..variable("given_remote_share", Unit::None, "fraction of the accesses that go to other ranks", None)
};

/// Parameters. Those of memory are given, because the measurements do not determine them.
static PARAMETERS: [Parameter; RANKS_END] = {
    let surface_parameters = parameters();
    let mut request_parameters = [surface_parameters[0]; RANKS_END];
    let mut index = 0;
    while index < RANKS_END {
        request_parameters[index] = surface_parameters[index];
        request_parameters[index].is_given = index < MEMORY_END;
        index += 1;
    }
    request_parameters
};

impl Model for Requests {
    fn about(&self) -> &'static About {
        static ABOUT: About = About {
            id: "apex_map.requests",
            summary: "bandwidth with a given share of remote accesses, by messages or gets",
            source: &source::APEX_MAP,
            place: "Section 2.1, Table 1",
            variables: &[SHARE, BLOCK, WORDS, RANKS, PAGE, BY],
            parameters: &PARAMETERS,
            explains: &[request::KERNEL.id],
            column: "bytes_per_second_per_rank",
            unit: Unit::BytesPerSecond,
            linear: false,
            design: "calibrate.request with given_remote_share from 2^-10 to 1 and L = 1, 64, 4096, by messages and by gets",
            assumes: "as apex_map.surface; the blocks lie in caches",
        };
        &ABOUT
    }

    fn parameters(&self, card: &Card) -> Result<Vec<f64>> {
        super::card_numbers(&PARAMETERS, card)
    }

    fn budget(&self, x: &[f64], p: &[f64]) -> Vec<(&'static str, f64)> {
        let [share, block, memory, ranks, page, by] = array(x);
        let (own, bytes) = (WORD_BYTES as f64 * memory / ranks, WORD_BYTES as f64 * block);
        let shares = Shares::from_uniform_reads(own, bytes, 1.0, page, sizes(p, ranks));
        let (core, remote) = (Memory(&p[SIZES.len()..MEMORY_END]), Remote::from_way(by, &p[MEMORY_END..]));
        super::TERMS
            .into_iter()
            .zip(costs::access_budget(core, remote, block, (&shares, &shares), share, ranks))
            .collect()
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let (seconds, term) = super::sum_terms(&self.budget(x, p));
        let [_, block, ..] = array::<6>(x);
        bound(WORD_BYTES as f64 * block / seconds, term)
    }
}
