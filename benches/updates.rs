//! `cargo bench --bench updates [-- ROUNDS]`: compares `random_access.sequential` with four plain C loops, and `random_access.hypercube`
//! between threads with a plain C exchange, on tables of 2^24 and 2^26 words, on both sizes of pages.
//!
//! All take turns in this process, on the same pages, in an order that moves from round to round. `cc -O3 -march=native` of the system
//! compiles the C code at the start. The output has the medians of GUPS, and the ratio to the fastest C code; aim: at least 0.97.

use apexmap_base::point::Point;
use apexmap_measure::comm::arena::{Arena, Pages};
use apexmap_measure::comm::threads::{self, ThreadComm};
use apexmap_measure::comm::{Collectives, Comm, Transport, World};
use apexmap_measure::kernels::{complete, find};
use apexmap_measure::numerics::statistics::median;
use libloading::{Library, Symbol};
use std::process::Command;
use std::time::Instant;

/// The table of this rank, its words and this rank's updates.
type Peer = unsafe extern "C" fn(*mut u64, usize, usize);

const ROUNDS: usize = 7;
const UPDATES: usize = 1 << 23;
const AIM: f64 = 0.97;
const LOOPS: [&str; 4] = ["one_stream", "many_streams", "prefetched_far", "prefetched_near"];

fn main() {
    let rounds = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(ROUNDS);
    // SAFETY: the library was just built, and has no initialisation code.
    let library = unsafe { Library::new(build()) }.expect("the peers load");
    // SAFETY: updates.c has a function of this name and type.
    let prepare =
        unsafe { library.get::<unsafe extern "C" fn(usize)>(b"prepare") }.expect("the library has this function");
    let (hypercube, exchange): (_, &[&str]) = ("random_access.hypercube", &["exchange"]);
    let most = 1 << std::thread::available_parallelism().map_or(1, usize::from).clamp(2, 64).ilog2();
    let mut contests =
        vec![(1, "random_access.sequential", &LOOPS[..]), (2, hypercube, exchange), (most, hypercube, exchange)];
    contests.dedup();
    for (ranks, kernel, names) in contests {
        // SAFETY: no other thread is in the library.
        unsafe { prepare(ranks) };
        // SAFETY: updates.c has functions of these names and this type.
        let peer = |name: &&str| unsafe { library.get::<Peer>(name.as_bytes()) }.expect("the library has this peer");
        let peers: Vec<_> = names.iter().map(peer).collect();
        for bits in [24, 26] {
            for (pages, word) in [(Pages::Base, "base"), (Pages::Huge, "huge")] {
                let point = Point::new(kernel, ranks)
                    .with_parameter("N_words", 1u64 << bits)
                    .with_parameter("pages", word)
                    .with_parameter("updates", UPDATES as f64 / (1u64 << bits) as f64);
                let point = complete(point).expect("a point");
                let rates =
                    threads::run(ranks, |comm, arena| take_turns((comm, arena), rounds, (&point, pages), &peers));
                let rates = rates.into_iter().next().expect("a rank").expect("no panic");
                print(&format!("{kernel}, {ranks} ranks, 2^{bits} words, {word} pages"), names, &rates);
            }
        }
    }
}

fn build() -> std::path::PathBuf {
    let output = std::env::temp_dir().join(format!("apexmap-updates-{}.so", std::process::id()));
    let source = output.with_extension("c");
    std::fs::write(&source, include_str!("updates.c")).expect("a temporary file");
    let options = ["-O3", "-march=native", "-shared", "-fPIC", "-o"];
    let built = Command::new("cc").args(options).arg(&output).arg(&source).status();
    assert!(built.is_ok_and(|status| status.success()), "a C compiler named cc is needed to build benches/updates.c");
    output
}

/// Returns the GUPS of the kernel, and of each peer.
fn take_turns(
    (comm, arena): (&ThreadComm, &mut Arena),
    rounds: usize,
    (point, pages): (&Point, Pages),
    peers: &[Symbol<Peer>],
) -> Vec<Vec<f64>> {
    let kernel = find(&point.kernel).expect("the kernel");
    let all_words = point.params["N_words"].as_f64().expect("a number") as usize;
    let (words, contenders) = (all_words / comm.size(), peers.len() + 1);
    let mut rates = vec![Vec::new(); contenders];
    for round in 0..rounds {
        for turn in 0..contenders {
            let contender = (round + turn) % contenders;
            let seconds = if contender == 0 {
                kernel.run(point, 0, &mut World { transport: Transport::Threads(comm), arena }).expect("a run").seconds
            } else {
                let (table, _) = arena.words_mut(pages, words, 0, |word| word as u64).expect("memory");
                comm.barrier();
                let start = Instant::now();
                // SAFETY: the table has this number of words, a power of two, and all ranks call the same function.
                unsafe { peers[contender - 1](table.as_mut_ptr(), words, UPDATES / comm.size()) };
                comm.barrier();
                start.elapsed().as_secs_f64()
            };
            rates[contender].push(UPDATES as f64 / seconds / 1e9);
        }
    }
    rates
}

fn print(title: &str, names: &[&str], rates: &[Vec<f64>]) {
    let medians: Vec<f64> = rates.iter().map(|rates| median(rates).unwrap_or(f64::NAN)).collect();
    let best = medians[1..].iter().copied().fold(0.0, f64::max);
    let peers: Vec<String> = names.iter().zip(&medians[1..]).map(|(name, rate)| format!("{name} {rate:.4}")).collect();
    let ratio = medians[0] / best;
    let verdict = if ratio >= AIM { "reached" } else { "missed" };
    println!("{title}: apexmap {:.4}, {}; ratio to the best {ratio:.3}, {AIM} {verdict}", medians[0], peers.join(", "));
}
