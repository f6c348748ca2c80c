//! The cost of computation and memory on one core, after Aggarwal, Sabharwal, Garg and Heidelberger, Section 3.1, Equation (1): tg,
//! tu; lmbench's lat_mem_rd; McCalpin's STREAM.

pub mod blocks;
pub mod chain;
pub mod chase;
pub mod core_to_core;
pub mod draw;
pub mod loaded;
pub mod mix;
pub mod parts;
pub mod read;
pub mod residence;
pub mod sparse;
pub mod stream;
pub mod stride;
pub mod update_parts;

use super::*;

use crate::hardware::line_words;
use crate::kernels::shared::accesses::warm_up::prime;
use crate::kernels::shared::sums::sum_all;

const BYTES: Key<u64> =
    key("bytes", "size of the region, one per rank, a power of two", integers(1 << 10..=1 << 40, 256 << 20))
        .in_column("region_bytes", Unit::Bytes);
const PAGES: Key<Pages> = choice_key("pages", "page size requested: huge (2 MiB on x86_64) or base (4 KiB)");
const VALUES: Key<u64> =
    key("values", "values of the random stream in one run, in batches of 1024", integers(1024..=1 << 40, 1 << 22));
/// As in RandomAccess.
const BATCH: usize = 1024;

const FAMILY: Kernel = Kernel { outputs: MEMORY_OUTPUTS, ..super::FAMILY };

fn check_region(point: &Point) -> Result<(), Refusal> {
    require_power_of_two(point, BYTES)
}

/// The identity of contents where each word holds its index, like the tables of RandomAccess before a run. All of these kernels
/// share them, so memory is filled once.
fn index_contents() -> u64 {
    seed(&[u64::from_be_bytes(*b"T[i] = i"), 0])
}

/// Returns a rank's region after one traversal, and the initial state of its random draws. Collective.
fn prepare_region<'a, C: Collectives>(
    comm: &C,
    point: &Point,
    stream: u64,
    arena: &'a mut Arena,
) -> Result<(&'a [u64], u64)> {
    let (words, pages) = (region_words(point), PAGES.of(point));
    let (memory, _) = arena.words(pages, words as usize, index_contents(), |index| index as u64)?;
    prime(comm, memory);
    comm.barrier();
    Ok((memory, seed(&[stream, comm.rank() as u64])))
}

fn region_words(point: &Point) -> u64 {
    BYTES.of(point) / WORD_BYTES
}

fn work_per_rank(
    point: &Point,
    count: u64,
    operation: &'static str,
    bytes: u64,
    byte_definition: &'static str,
) -> Work {
    Work::new(count as f64 * point.ranks as f64, operation, bytes as f64, byte_definition)
}
