//! `cargo bench --bench codes`: compares the rates of the known codes as plain C loops with those that the map of this machine has
//! at their places.
//!
//! `cc -O2` of the system compiles the loops of `codes.c` at the start. Loops and map have the same amount of memory, on pages of
//! the same size, and alternate in this process. The map has the points of the quickstart around the place of a code; for a code
//! that waits for each address, those of `apex_map.chains` with one chain. The output is the ratio of medians, C / map, and the spread
//! of the ratios of rounds.

use apexmap::Point;
use apexmap_measure::comm::arena::{Arena, Pages};
use apexmap_measure::comm::{Transport, World, threads};
use apexmap_measure::kernels::{complete, find};
use apexmap_measure::numerics::statistics::median;
use apexmap_theory::codes::{Accesses, Code, list_known};
use apexmap_theory::places::interpolate;
use libloading::{Library, Symbol};
use std::collections::HashMap;
use std::process::Command;
use std::time::Instant;

/// Name of a code, the function that fills its memory, and its loop, in `codes.c`.
const LOOPS: [(&str, &str, &str); 6] = [
    ("STREAM triad", "setup_arrays", "triad"),
    ("matrix product, tiled", "setup_arrays", "tiled_product"),
    ("matrix product, naive", "setup_arrays", "naive_product"),
    ("SpMV, five-point", "setup_five_point", "five_point"),
    ("list walk", "setup_list", "list_walk"),
    ("GUPS", "setup_arrays", "gups"),
];
const ROUNDS: usize = 15;
const ALPHAS: [f64; 7] = [0.001, 0.003_162_278, 0.01, 0.031_622_78, 0.1, 0.316_227_8, 1.0];
const BLOCKS: [f64; 7] = [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0];

type Setup = unsafe extern "C" fn(*mut u64);
type Loop = unsafe extern "C" fn(*mut u64) -> u64;

fn main() {
    // SAFETY: the library was just built, and has no initialisation code.
    let library = unsafe { Library::new(build()) }.expect("the loops load");
    // SAFETY: codes.c defines this constant.
    let words = unsafe { **library.get::<*const u64>(b"peer_words").expect("the number of words") };
    let mut own = Arena::default();
    let (memory, granted) = own.words_mut(Pages::Huge, words as usize, 0, |_| 0).expect("memory for the loops");
    println!("{} MB, pages {:?}, one core, {ROUNDS} rounds", words * 8 / 1_000_000, granted.page_bytes);
    println!("{:<24} {:>9} {:>9} {:>8} {:>15}", "code", "map GB/s", "C GB/s", "C / map", "10 to 90 %");
    let memory = &mut *memory;
    let address = memory.as_mut_ptr() as usize;
    let codes = list_known();
    let ran = threads::run(1, |comm, arena| {
        let mut world = World { transport: Transport::Threads(comm), arena };
        for (name, setup, body) in LOOPS {
            let code = codes.iter().find(|code| code.name == name).expect("a known code");
            let (setup, body): (Symbol<Setup>, Symbol<Loop>) = (function(&library, setup), function(&library, body));
            let pointer = address as *mut u64;
            // SAFETY: the functions use this memory, which has the number of words of codes.c and no other user.
            unsafe { setup(pointer) };
            let in_c = || {
                let start = Instant::now();
                // SAFETY: as above.
                let used = unsafe { body(pointer) };
                used as f64 * 8.0 / start.elapsed().as_secs_f64()
            };
            compare(code, in_c, || on_map(code, words, &mut world));
        }
    });
    assert!(ran.iter().all(Result::is_ok), "{ran:?}");
}

fn build() -> std::path::PathBuf {
    let output = std::env::temp_dir().join(format!("apexmap-codes-{}.so", std::process::id()));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/codes.c");
    let built = Command::new("cc").args(["-O2", "-shared", "-fPIC", "-o"]).arg(&output).arg(source).status();
    assert!(built.is_ok_and(|status| status.success()), "a C compiler named cc is needed to build {source}");
    output
}

fn function<'a, T>(library: &'a Library, name: &str) -> Symbol<'a, T> {
    // SAFETY: the caller gives the type of this function in codes.c.
    unsafe { library.get(name.as_bytes()) }.expect("the library has this function")
}

/// Measures both alternately. Each returns bytes per second.
fn compare(code: &Code, mut in_c: impl FnMut() -> f64, mut on_map: impl FnMut() -> f64) {
    let (mut of_c, mut of_map) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let (c, map) = (in_c(), on_map());
        // The first round warms up.
        if round > 0 {
            of_c.push(c);
            of_map.push(map);
        }
    }
    let mut ratios: Vec<f64> = of_c.iter().zip(&of_map).map(|(c, map)| c / map).collect();
    ratios.sort_by(f64::total_cmp);
    let (low, high) = (ratios[ROUNDS / 10], ratios[ROUNDS * 9 / 10]);
    let [c, map] = [&of_c, &of_map].map(|rates| median(rates).unwrap_or(f64::NAN));
    println!("{:<24} {:>9.3} {:>9.3} {:>8.2} {low:>7.2} {high:>7.2}", code.name, map / 1e9, c / 1e9, c / map);
}

/// Reads the rate at the place of a code from a map that is measured around this place.
fn on_map(code: &Code, words: u64, world: &mut World) -> f64 {
    let kernel = if code.accesses == Accesses::Dependent { "apex_map.chains" } else { "apex_map.sequential" };
    let mut rates: HashMap<(usize, usize), f64> = HashMap::new();
    // Measure the points that the interpolation asks for, each once.
    loop {
        let missing = std::cell::Cell::new(None);
        let value = |i: usize, j: usize| {
            rates.get(&(i, j)).copied().unwrap_or_else(|| {
                missing.set(Some((i, j)));
                1.0
            })
        };
        let reading = interpolate([&ALPHAS, &BLOCKS], value, [code.alpha, code.block_words]);
        match (missing.get(), reading) {
            (Some((i, j)), _) => {
                rates.insert((i, j), measure(kernel, words, ALPHAS[i], BLOCKS[j], world));
            }
            (None, Ok(rate)) => return rate,
            (None, Err(reason)) => panic!("{}: {reason}", code.name),
        }
    }
}

/// Measures a point of the map in bytes per second.
fn measure(id: &str, words: u64, alpha: f64, block: f64, world: &mut World) -> f64 {
    // Memory holds whole blocks of every size.
    let memory = words / 4096 * 4096;
    let arrays = ((1 << 22) as f64 / (1024.0 * block)).max(4.0) as u64;
    let point = Point::new(id, 1)
        .with_parameter("M", memory)
        .with_parameter("alpha", alpha)
        .with_parameter("L", block as u64)
        .with_parameter("I", 1024u64)
        .with_parameter("N", arrays);
    let point = complete(point).expect("a point");
    let kernel = find(id).expect("a kernel");
    kernel.work(&point).bytes / kernel.run(&point, 0, world).expect("a run").seconds
}
