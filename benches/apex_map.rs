//! `cargo bench --bench apex_map`: compares the timed loop of apex_map.sequential with a plain C loop.
//!
//! Both loops alternate in this process, with the same accesses on the same pages. `cc -O3 -march=native` of the system
//! compiles the C loop at the start. The output is the ratio of medians and the spread of the ratios of pairs.

use apexmap_measure::comm::arena::{Arena, Pages};
use apexmap_measure::kernels::shared::sums::sum_all;
use apexmap_measure::numerics::mix::mix;
use apexmap_measure::numerics::power_law::PowerLaw;
use apexmap_measure::numerics::statistics::median;
use rand::SeedableRng;
use rand_distr::Distribution;
use rand_pcg::Pcg64Mcg;
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

type Peer = unsafe extern "C" fn(*const u64, *const u64, usize, usize) -> u64;

const WORDS: usize = 64 << 20;
const PAIRS: usize = 31;

fn main() {
    let library = build_peer();
    // SAFETY: the function has this signature in peer.c, which was just built.
    let library = unsafe { libloading::Library::new(&library) }.expect("the peer loads");
    // SAFETY: as above; the library stays loaded until the end.
    let peer: libloading::Symbol<Peer> = unsafe { library.get(b"peer_sum") }.expect("the peer has peer_sum");
    let mut arena = Arena::default();
    let (memory, granted) = arena.words(Pages::Huge, WORDS, 0, |i| mix(i as u64)).expect("memory for the benchmark");
    println!("{WORDS} words, pages {:?}, {PAIRS} pairs; ratio = apexmap / C, below 1 is faster", granted.page_bytes);
    println!("{:>6} {:>6} {:>12} {:>12} {:>7} {:>15}", "alpha", "L", "apexmap ns", "C ns", "ratio", "10 to 90 %");
    for alpha in [1.0, 0.01] {
        for block in [1, 2, 3, 4, 8, 15, 16, 17, 32, 63, 64, 65, 256, 16384] {
            compare(memory, alpha, block, *peer);
        }
    }
}

fn build_peer() -> std::path::PathBuf {
    let output = std::env::temp_dir().join(format!("apexmap-peer-{}.so", std::process::id()));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peer.c");
    let built =
        Command::new("cc").args(["-O3", "-march=native", "-shared", "-fPIC", "-o"]).arg(&output).arg(source).status();
    assert!(built.is_ok_and(|status| status.success()), "a C compiler named cc is needed to build {source}");
    output
}

/// Times one access of both loops, alternately. Each timing uses a new draw of accesses.
fn compare(memory: &[u64], alpha: f64, block: usize, peer: Peer) {
    let accesses = ((1 << 22) / block).clamp(1 << 8, 1 << 17);
    let law = PowerLaw::new((memory.len() / block) as u64, alpha);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for pair in 0..PAIRS {
        let mut rng = Pcg64Mcg::seed_from_u64(mix(pair as u64));
        let mut draw = || -> Vec<u64> { (0..accesses).map(|_| law.sample(&mut rng) * block as u64).collect() };
        let offsets = [draw(), draw(), draw()];
        let rust = |offsets: &[u64]| sum_all(memory, offsets, block);
        // SAFETY: every block lies within `memory`.
        let c = |offsets: &[u64]| unsafe { peer(memory.as_ptr(), offsets.as_ptr(), offsets.len(), block) };
        assert_eq!(rust(&offsets[2]), c(&offsets[2]), "both loops read the same words");
        // Alternate the order from pair to pair, and with it the draw that each loop gets.
        let (first, second) = (pair % 2, (pair + 1) % 2);
        for turn in 0..2 {
            if (turn == 0) == (pair % 2 == 0) {
                ours.push(time(accesses, || rust(&offsets[first])));
            } else {
                theirs.push(time(accesses, || c(&offsets[second])));
            }
        }
    }
    report(alpha, block, &ours, &theirs);
}

fn time(accesses: usize, run: impl FnOnce() -> u64) -> f64 {
    let start = Instant::now();
    black_box(run());
    start.elapsed().as_secs_f64() * 1e9 / accesses as f64
}

fn report(alpha: f64, block: usize, ours: &[f64], theirs: &[f64]) {
    let mut ratios: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a / b).collect();
    ratios.sort_by(f64::total_cmp);
    let (low, high) = (ratios[ratios.len() / 10], ratios[ratios.len() * 9 / 10]);
    let (ours, theirs) = (median(ours).unwrap_or(f64::NAN), median(theirs).unwrap_or(f64::NAN));
    println!("{alpha:>6} {block:>6} {ours:>12.2} {theirs:>12.2} {:>7.3} {low:>7.3} {high:>7.3}", ours / theirs);
}
