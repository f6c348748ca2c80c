//! NAME: calibrate.stream. The bandwidth of memory: consecutive words read, or STREAM's four.
//!
//! SOURCE: McCalpin's STREAM (Copy, Scale, Add, Triad), and its count of bytes: 16 or 24 per word of the result, of arrays that are
//!   read and one that is written. Most processors read the result's line, too, before they store to it: that is counted in outputs
//!   of its own.
//! DEFINITION: `passes` passes over `bytes` bytes per rank. `read`: the sum of all words. The others have three arrays of a third
//!   each: `copy` a = b, `scale` a = 3 b, `add` a = b + c, `triad` a = b + 3 c. Words are integers, unlike STREAM's; nothing is
//!   stored past the caches, as memcpy does with long arrays.
//! CHECK: the sums against those of the contents; every word of the result against its sources.

use super::{BYTES, PAGES, about, contents, each, power_of_two, region_words};
use crate::error::Result;
use crate::measure::comm::Collectives;
use crate::measure::comm::arena::{Arena, Pages};
use crate::measure::kernels::apex_map::access::TRAFFIC;
use crate::measure::kernels::calibrate::{OUTPUTS, Probe, outcome};
use crate::measure::kernels::{About, Domain, Outcome, Parameter, parameter};
use crate::on_transport;
use crate::point::{Point, Value};
use crate::source;
use std::hint::black_box;

pub const KERNEL: Probe = Probe {
    about: &About {
        headline: "bytes_per_second",
        source: &source::STREAM,
        outputs: &[OUTPUTS[0], TRAFFIC[0], TRAFFIC[1]],
        ..about(
            "calibrate.stream",
            "Bandwidth of memory: consecutive words read, or STREAM's copy, scale, add and triad",
            "Table 2 (Copy, Scale, Add, Triad)",
            &[ACCESS, BYTES, PAGES, PASSES],
            "Every rank traverses its own memory from end to end, all at the same time; the time is that of the \
             slowest. Sums were compared with those of the contents, every word of a result with its sources. Bytes are \
             STREAM's: of the arrays read and written. The memory was traversed once before the clock started.",
        )
    },
    refuse: power_of_two,
    work: |point| {
        let count = point.integer("passes") * operation(point).words(point) as u64;
        each(
            point,
            count,
            "word",
            8 * operation(point).arrays,
            "8 per word read; 16 per word of copy and scale, 24 of add and triad",
        )
    },
    words: region_words,
    buffers: |_| 0,
    run: |point, _, world| on_transport!(&world.transport, comm => run(*comm, point, world.arena)),
};

const ACCESS: Parameter = parameter(
    "access",
    "access",
    "access: sum of the words read, triad a = b + 3 c, copy a = b, scale a = 3 b, or add a = b + c",
    Domain::Choice(&["read", "triad", "copy", "scale", "add"]),
);
const PASSES: Parameter = parameter(
    "passes",
    "passes",
    "passes over the memory in one run",
    Domain::Integer { least: 1, most: 1 << 32, default: 4 },
);

fn third(point: &Point) -> usize {
    // Whole lines, so that the arrays begin on some.
    (region_words(point) / 3 / 8 * 8) as usize
}

/// What is done with a word of the result.
struct Operation {
    /// Arrays that it reads or writes, each once.
    arrays: u64,
    run: fn(&mut [u64], &[u64], &[u64]),
    right: fn(u64, u64) -> u64,
}

fn operation(point: &Point) -> Operation {
    let (arrays, run, right): (_, fn(&mut [u64], &[u64], &[u64]), fn(u64, u64) -> u64) = match point.text("access") {
        "read" => (1, |_, _, _| (), |_, _| 0),
        "copy" => (2, copy, |b, _| b),
        "scale" => (2, scale, |b, _| b.wrapping_mul(3)),
        "add" => (3, add, u64::wrapping_add),
        _ => (3, triad, |b, c| b.wrapping_add(c.wrapping_mul(3))),
    };
    Operation { arrays, run, right }
}

impl Operation {
    /// Words of a pass.
    fn words(&self, point: &Point) -> usize {
        if self.arrays == 1 { region_words(point) as usize } else { third(point) }
    }
}

/// Collective.
pub fn run<C: Collectives>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let operation = operation(point);
    let (seconds, wrong, what) = if operation.arrays == 1 {
        let (seconds, wrong) = read(comm, point, arena)?;
        (seconds, wrong, "ranks read wrong words")
    } else {
        let (seconds, wrong) = write(comm, point, arena, operation.run, operation.right)?;
        (seconds, wrong, "words of the result are wrong")
    };
    let work = (KERNEL.work)(point);
    let mut outcome = outcome(comm, seconds, work.operations / point.ranks as f64, wrong, what);
    let read_first = if operation.arrays == 1 { 0 } else { 1 };
    let traffic = work.operations * (8 * (operation.arrays + read_first)) as f64;
    outcome.outputs.insert(TRAFFIC[0].column, Value::Real(traffic));
    outcome.outputs.insert(TRAFFIC[1].column, Value::Real(traffic / outcome.seconds));
    Ok(outcome)
}

fn read<C: Collectives>(comm: &C, point: &Point, arena: &mut Arena) -> Result<(f64, u64)> {
    let (words, passes) = (region_words(point), point.integer("passes"));
    let pages = Pages::from_name(point.text("pages"));
    let (memory, _) = arena.words(pages, words as usize, contents(), |place| place as u64)?;
    black_box(sum(memory));
    comm.barrier();
    let start = comm.now();
    let found = (0..passes).fold(0u64, |found, _| found.wrapping_add(sum(black_box(memory))));
    let seconds = comm.now() - start;
    let once = words.wrapping_mul(words - 1) / 2;
    Ok((seconds, u64::from(found != once.wrapping_mul(passes))))
}

/// A run whose loop is `pass`: seconds, and words that are not `right` of their sources. Collective.
///
/// # Errors
/// If there is no memory.
pub fn write<C: Collectives>(
    comm: &C,
    point: &Point,
    arena: &mut Arena,
    pass: impl Fn(&mut [u64], &[u64], &[u64]),
    right: impl Fn(u64, u64) -> u64,
) -> Result<(f64, u64)> {
    let pages = Pages::from_name(point.text("pages"));
    let (memory, _) = arena.words_mut(pages, region_words(point) as usize, contents(), |place| place as u64)?;
    let (result, sources) = memory.split_at_mut(third(point));
    let (b, c) = sources.split_at(third(point));
    result.fill(u64::MAX);
    comm.barrier();
    let start = comm.now();
    (0..point.integer("passes")).for_each(|_| pass(black_box(&mut *result), black_box(b), black_box(c)));
    let seconds = comm.now() - start;
    let is_wrong = |(a, (b, c)): &(&u64, (&u64, &u64))| **a != right(**b, **c);
    Ok((seconds, result.iter().zip(b.iter().zip(c)).filter(is_wrong).count() as u64))
}

#[multiversion::multiversion(targets("x86_64+avx2"))]
pub(super) fn sum(words: &[u64]) -> u64 {
    let mut sum = 0u64;
    for &word in words {
        sum = sum.wrapping_add(word);
    }
    sum
}

macro_rules! pass {
    ($name:ident, $b:ident, $c:ident, $value:expr) => {
        #[doc = concat!("A pass of ", stringify!($name), ".")]
        #[multiversion::multiversion(targets("x86_64+avx2"))]
        pub fn $name(result: &mut [u64], b: &[u64], c: &[u64]) {
            for (a, (&$b, &$c)) in result.iter_mut().zip(b.iter().zip(c)) {
                *a = $value;
            }
        }
    };
}

pass!(scale, b, _c, b.wrapping_mul(3));
pass!(add, b, c, b.wrapping_add(c));
pass!(triad, b, c, b.wrapping_add(c.wrapping_mul(3)));

/// A pass of copy.
pub fn copy(result: &mut [u64], b: &[u64], _c: &[u64]) {
    add_number(result, b, black_box(0));
}

/// Not known to be a copy, for which the compiler would call memcpy.
#[multiversion::multiversion(targets("x86_64+avx2"))]
fn add_number(result: &mut [u64], b: &[u64], number: u64) {
    for (a, b) in result.iter_mut().zip(b) {
        *a = b.wrapping_add(number);
    }
}
