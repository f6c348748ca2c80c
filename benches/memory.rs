//! `cargo bench --bench memory`: compares the timed loops of the memory kernels with plain C loops. These are
//! Apex-Map's writes and chains, strides, STREAM's four loops, and the handover of a line. For pointer chases it
//! compares whole runs.
//!
//! Both alternate in this process, over the same accesses on the same pages. `cc -O3 -march=native` of the system
//! compiles the C loops at the start, with an option that keeps loops from becoming memcpy. The output is the ratio of
//! medians and the spread of the ratios of pairs. `cargo bench --bench memory -- PART` runs only the loops whose names
//! contain PART.

use apexmap::Point;
use apexmap_measure::comm::arena::{Arena, Pages};
use apexmap_measure::comm::{Collectives, Comm, Transport, World, threads};
use apexmap_measure::kernels::apex_map::access::{Access, WritePattern};
use apexmap_measure::kernels::apex_map::access_all::{AccessSpec, access_all};
use apexmap_measure::kernels::apex_map::chains::chase_all;
use apexmap_measure::kernels::calibrate::memory::core_to_core::{Side, hand_over};
use apexmap_measure::kernels::calibrate::memory::{stream, stride::sum_strided};
use apexmap_measure::kernels::{complete, find};
use apexmap_measure::numerics::mix::mix;
use apexmap_measure::numerics::statistics::median;
use libloading::{Library, Symbol};
use std::cell::Cell;
use std::hint::black_box;
use std::process::Command;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

type PeerAccess = unsafe extern "C" fn(*mut u64, *const u64, usize, usize, usize, usize) -> u64;
type PeerChase = unsafe extern "C" fn(*const u64, *const u64, usize, usize, usize) -> u64;
type PeerStride = unsafe extern "C" fn(*const u64, usize, usize) -> u64;
type PeerStream = unsafe extern "C" fn(*mut u64, *const u64, *const u64, usize);
type PeerHandOver = unsafe extern "C" fn(u64, i32, i32) -> f64;
type PeerPointerChase = unsafe extern "C" fn(usize, usize) -> f64;

const PAIRS: usize = 31;
/// Words that fit into the second-level cache, into the third, and into neither.
const SIZES: [(&str, usize); 3] = [("L2", 32 << 10), ("L3", 1 << 20), ("DRAM", 32 << 20)];

fn main() {
    let library = build();
    // SAFETY: the library was just built, and has no initialisation code.
    let library = unsafe { Library::new(&library) }.expect("the peers load");
    let mut arena = Arena::default();
    let max_words = SIZES[2].1;
    let (memory, granted) = arena.words_mut(Pages::Huge, max_words, 0, |i| i as u64).expect("memory for the benchmark");
    println!("pages {:?}, {PAIRS} pairs; ratio = apexmap / C, below 1 is faster", granted.page_bytes);
    println!("{:<34} {:>12} {:>12} {:>7} {:>15}", "loop", "apexmap ns", "C ns", "ratio", "10 to 90 %");
    pointer_chases(&library);
    chains(&library, memory);
    strides(&library, memory);
    accesses(&library, memory);
    streams(&library, memory);
    hand_overs(&library);
}

fn build() -> std::path::PathBuf {
    let output = std::env::temp_dir().join(format!("apexmap-memory-{}.so", std::process::id()));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/memory.c");
    let options = [
        "-O3",
        "-march=native",
        "-fno-tree-loop-distribute-patterns",
        "-shared",
        "-fPIC",
        "-pthread",
        "-D_GNU_SOURCE",
        "-o",
    ];
    let built = Command::new("cc").args(options).arg(&output).arg(source).status();
    assert!(built.is_ok_and(|status| status.success()), "a C compiler named cc is needed to build {source}");
    output
}

fn peer<'a, T>(library: &'a Library, name: &str) -> Symbol<'a, T> {
    // SAFETY: the caller gives the type of this function in memory.c.
    unsafe { library.get(name.as_bytes()) }.expect("the library has this peer")
}

/// Runs both alternately, with the order swapped from pair to pair. Each returns its seconds.
fn compare(name: &str, operations: usize, mut ours: impl FnMut() -> f64, mut theirs: impl FnMut() -> f64) {
    if std::env::args().skip(1).find(|part| !part.starts_with('-')).is_some_and(|part| !name.contains(&part)) {
        return;
    }
    let (mut of_ours, mut of_theirs) = (Vec::new(), Vec::new());
    for pair in 0..PAIRS + 1 {
        let (a, b) = if pair % 2 == 0 {
            let first = ours();
            (first, theirs())
        } else {
            let first = theirs();
            (ours(), first)
        };
        // The first pair warms up.
        if pair > 0 {
            of_ours.push(a * 1e9 / operations as f64);
            of_theirs.push(b * 1e9 / operations as f64);
        }
    }
    let mut ratios: Vec<f64> = of_ours.iter().zip(&of_theirs).map(|(a, b)| a / b).collect();
    ratios.sort_by(f64::total_cmp);
    let (low, high) = (ratios[ratios.len() / 10], ratios[ratios.len() * 9 / 10]);
    let (ours, theirs) = (median(&of_ours).unwrap_or(f64::NAN), median(&of_theirs).unwrap_or(f64::NAN));
    println!("{name:<34} {ours:>12.2} {theirs:>12.2} {:>7.3} {low:>7.3} {high:>7.3}", ours / theirs);
}

fn time<R>(run: impl FnOnce() -> R) -> f64 {
    let start = Instant::now();
    black_box(run());
    start.elapsed().as_secs_f64()
}

/// Index arrays that are used in turn, so that none profits from cache lines that another has loaded.
struct Arrays {
    arrays: Vec<Vec<u64>>,
    turn: Cell<usize>,
}

impl Arrays {
    /// Creates arrays of `count` uniformly drawn blocks each.
    fn uniform(words: usize, block: usize, count: usize) -> Self {
        let draw = |array: u64| {
            (0..count as u64).map(|i| mix(array << 32 | i) % (words / block) as u64 * block as u64).collect()
        };
        Self { arrays: (0..16).map(draw).collect(), turn: Cell::new(0) }
    }

    fn next(&self) -> &[u64] {
        self.turn.set(self.turn.get() + 1);
        &self.arrays[self.turn.get() % self.arrays.len()]
    }
}

fn accesses(library: &Library, memory: &mut [u64]) {
    let kinds = [
        ("write", Access::Write, 100, "peer_write_all"),
        ("update", Access::Update, 100, "peer_update"),
        ("copy", Access::Copy, 100, "peer_copy"),
        ("non_temporal", Access::NonTemporal, 100, "peer_non_temporal"),
        ("25 % write", Access::Write, 25, "peer_write"),
        ("50 % write", Access::Write, 50, "peer_write"),
    ];
    for (size, words) in SIZES {
        for (name, access, share, function) in kinds {
            for block in [1, 8, 64, 4096] {
                let count = ((1 << 21) / block).clamp(1 << 8, 1 << 16);
                let offsets = Arrays::uniform(words, block, count);
                let pattern = WritePattern::from_per_cent(share);
                let (group, writes) = (pattern.group.min(count), pattern.writes.min(count));
                let memory = &mut memory[..words];
                let pointer = memory.as_mut_ptr();
                let theirs: Symbol<PeerAccess> = peer(library, function);
                let spec = AccessSpec { access, pattern, block, first: 1 };
                let c = || {
                    let offsets = offsets.next();
                    // SAFETY: every block lies within the memory, which has no other user during the call.
                    time(|| unsafe { theirs(pointer, offsets.as_ptr(), count, block, group, writes) })
                };
                let rust = || {
                    let offsets = offsets.next();
                    // SAFETY: as above.
                    let memory = unsafe { std::slice::from_raw_parts_mut(pointer, words) };
                    time(|| access_all(memory, offsets, spec))
                };
                compare(&format!("{name}, L = {block}, {size}"), count, rust, c);
            }
        }
    }
}

/// Compares runs of `calibrate.chase` with a chase like lat_mem_rd's. Each has a separate region.
fn pointer_chases(library: &Library) {
    const STEPS: usize = 1 << 18;
    for (size, bytes) in [("L1", 16usize << 10), ("L2", 256 << 10), ("L3", 8 << 20), ("DRAM", 512 << 20)] {
        let point = Point::new("calibrate.chase", 1)
            .with_parameter("bytes", bytes as u64)
            .with_parameter("steps", STEPS as u64);
        let point = complete(point).expect("a point");
        let kernel = find("calibrate.chase").expect("the kernel");
        threads::run(1, |comm, arena| {
            let theirs: Symbol<PeerPointerChase> = peer(library, "peer_pointer_chase");
            let ours = || {
                let mut world = World { transport: Transport::Threads(comm), arena };
                kernel.run(&point, 0, &mut world).expect("a run").seconds
            };
            // SAFETY: the function takes any size of whole lines.
            compare(&format!("pointer chase, {size}"), STEPS, ours, || unsafe { theirs(bytes, STEPS) });
        });
    }
}

fn chains(library: &Library, memory: &[u64]) {
    let theirs: Symbol<PeerChase> = peer(library, "peer_chase");
    for (size, words) in SIZES {
        for chains in [1, 4, 16] {
            for block in [1, 8, 64] {
                let count = ((1 << 19) / block).clamp(1 << 8, 1 << 16);
                let mut steps = Arrays::uniform(words, block, count);
                for array in &mut steps.arrays {
                    // Each word holds its own index, and the next step of its chain starts there.
                    for i in (chains..count).rev() {
                        array[i] = array[i].wrapping_sub(array[i - chains] + block as u64 - 1);
                    }
                }
                // SAFETY: every step leads to a block within the memory.
                let c = |steps: &[u64]| unsafe { theirs(memory.as_ptr(), steps.as_ptr(), count, block, chains) };
                assert_eq!(
                    chase_all(memory, &steps.arrays[0], block, chains),
                    c(&steps.arrays[0]),
                    "both read the same words"
                );
                let rust = || {
                    let steps = steps.next();
                    time(|| chase_all(&memory[..words], steps, block, chains))
                };
                let peer = || {
                    let steps = steps.next();
                    time(|| c(steps))
                };
                compare(&format!("{chains} chains, L = {block}, {size}"), count, rust, peer);
            }
        }
    }
}

fn strides(library: &Library, memory: &[u64]) {
    let theirs: Symbol<PeerStride> = peer(library, "peer_stride");
    for (size, words) in SIZES {
        for stride in [1, 2, 8, 16] {
            let passes = ((1 << 20) * stride / words).max(1);
            let memory = &memory[..words];
            let rust = |_| sum_strided(black_box(memory), stride);
            // SAFETY: the memory has this number of words.
            let c = |_| unsafe { theirs(memory.as_ptr(), words, stride) };
            let rust = || time(|| (0..passes).map(rust).fold(0, u64::wrapping_add));
            let c = || time(|| (0..passes).map(c).fold(0, u64::wrapping_add));
            compare(&format!("stride {stride}, {size}"), passes * words / stride, rust, c);
        }
    }
}

fn streams(library: &Library, memory: &mut [u64]) {
    type Ours = fn(&mut [u64], &[u64], &[u64]);
    let fill: Ours = |a, _, _| stream::fill(a, 7);
    let loops: [(&str, Ours); 5] = [
        ("copy", stream::copy),
        ("scale", stream::scale),
        ("add", stream::add),
        ("triad", stream::triad),
        ("fill", fill),
    ];
    for (size, words) in SIZES {
        for (name, ours) in loops {
            let theirs: Symbol<PeerStream> =
                peer(library, &if name == "fill" { "peer_fill".into() } else { format!("peer_stream_{name}") });
            let third = words / 3 / 8 * 8;
            let (a, sources) = memory[..words].split_at_mut(third);
            let (b, c) = sources.split_at(third);
            let passes = ((1 << 20) / words).max(1);
            let pointer = a.as_mut_ptr();
            // SAFETY: the array has this number of words, and no other user during the call.
            let array = || unsafe { std::slice::from_raw_parts_mut(pointer, third) };
            let rust = || time(|| (0..passes).for_each(|_| ours(black_box(array()), black_box(b), black_box(c))));
            // SAFETY: as above.
            let peer = || time(|| (0..passes).for_each(|_| unsafe { theirs(pointer, b.as_ptr(), c.as_ptr(), third) }));
            compare(&format!("STREAM {name}, {size}"), passes * third, rust, peer);
        }
    }
}

/// Compares the loops alone, each between two new threads. A hypervisor may move the processors from one second to the
/// next, so both loops warm up and then run within milliseconds of each other.
fn hand_overs(library: &Library) {
    const ROUNDS: u64 = 1 << 14;
    const WARM_UP: f64 = 0.75;
    let theirs: Symbol<PeerHandOver> = peer(library, "peer_hand_over");
    let ours = || {
        let line = Line(AtomicU64::new(0));
        let one_side = |comm: &threads::ThreadComm, _: &mut Arena| {
            let side = if comm.rank() == 0 { Side::First } else { Side::Second };
            comm.barrier();
            hand_over(comm, &line.0, side, 0..ROUNDS / 8);
            time(|| hand_over(comm, &line.0, side, ROUNDS / 8..ROUNDS / 8 + ROUNDS))
        };
        threads::run(2, one_side).swap_remove(0).expect("no panic")
    };
    // SAFETY: the function takes any numbers.
    let peer = || unsafe { theirs(ROUNDS, 0, 1) };
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < WARM_UP {
        black_box((ours(), peer()));
    }
    compare("handover between two cores", 2 * ROUNDS as usize, ours, peer);
}

/// Alone on its cache lines, like the kernel's.
#[repr(align(128))]
struct Line(AtomicU64);
