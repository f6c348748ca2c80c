//! Apex-Map: the rate at which a processor receives global data, by temporal (alpha) and spatial (L) locality (Strohmaier and Shan,
//! Sections 2 and 2.1, Table 1). Unlike in the paper, the owner of an address is computed when the address is drawn, and the last
//! block of memory is drawn like any other. `METHOD` has the other differences.

pub mod access;
pub mod access_all;
pub mod chains;
pub mod neighbours;
pub mod one_sided;
pub mod sequential;
pub mod two_sided;
pub mod writes;

use super::shared::accesses::{
    ALPHA, B, HEADLINE, I, L, M, N, NSER, OUTPUTS, PAGES, SEED, SMSG, buffer_words, check, contents, draw, local_words,
    memory, simulated_words, tally, timing,
};
use super::shared::sums::{self, Sum, sum_all};
use crate::kernels::prelude::*;
use timing::Arrays;

const METHOD: &str = "Apex-Map sums blocks of L consecutive words. Their starts follow a power law of shape alpha \
    over a global memory of M words, rotated so that each rank accesses its own memory most often. Words are 64-bit \
    integers, not floating-point numbers, so their sum is the same in any order. One sample is \
    one run of N x I accesses on every rank, from a common start until every rank has its data and no request is \
    outstanding; its time is that of the slowest rank. Before the clock starts, each rank reads the hot end of its \
    memory at least once, at most 64 MiB, and runs other index arrays until their time per access settles, for 8 to 25 ms; \
    right after a run of the same point, for about 1 ms. \
    Indices are drawn while the clock does not run. With one rank, one array at a time is drawn into one buffer; the clock \
    runs over each array, and the cost of reading the clock is subtracted. With several ranks, all N arrays are drawn before the run, \
    so that their 8 bytes per access are streamed from memory in addition to the data. In every run and on every rank, the sum \
    of all words read was compared with the sum that the drawn addresses imply. If blocks were written, all accesses were repeated \
    afterwards in a plain loop, which had to read the same sum and leave the same words.";

const FAMILY: Kernel = Kernel {
    source: &source::APEX_MAP,
    outputs: OUTPUTS,
    headline: HEADLINE,
    method: METHOD,
    family_check: |_, point| check(point),
    work: |point| work(point, point.ranks),
    arena_words: local_words,
    simulated_memory: |kernel, point| {
        let computed = local_words(point) - simulated_words(point);
        kernel.memory(point).saturating_sub(computed.saturating_mul(WORD_BYTES))
    },
    traffic: Traffic::RandomOthers,
    bounded: Some(Bounded::Accesses),
    ..Kernel::DEFAULT
};

fn work(point: &Point, ranks: usize) -> Work {
    let operations = ranks as f64 * I.of(point) as f64 * N.of(point) as f64;
    let (words, byte_definition) = access::words_per_access(point);
    Work::new(operations, "access", words * WORD_BYTES as f64, byte_definition)
}

/// Returns the memory in addition to the share of the global memory: index arrays, and `blocks` blocks of L words.
fn buffer_bytes(point: &Point, arrays: Arrays, blocks: u64) -> u64 {
    let drawn = match arrays {
        Arrays::AllBefore => N.of(point),
        Arrays::OneByOne => 1,
    };
    buffer_words(point, drawn, blocks).saturating_mul(WORD_BYTES)
}
