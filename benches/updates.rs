//! `cargo bench --bench updates [-- ROUNDS]`: compares `random_access.sequential` with four plain C loops, on tables of 2^24 and 2^26
//! words, on both sizes of pages.
//!
//! All take turns in this process, on the same pages, in an order that moves from round to round. `cc -O3 -march=native` of the system
//! compiles the C loops at the start. The output has the medians of GUPS, and the ratio to the fastest C loop; aim: at least 0.97.

use apexmap_base::point::Point;
use apexmap_measure::comm::arena::{Arena, Pages};
use apexmap_measure::comm::threads::{self, ThreadComm};
use apexmap_measure::comm::{Transport, World};
use apexmap_measure::kernels::{complete, find};
use apexmap_measure::numerics::statistics::median;
use libloading::{Library, Symbol};
use std::process::Command;
use std::time::Instant;

type Peer = unsafe extern "C" fn(*mut u64, usize, usize);

const ROUNDS: usize = 7;
const UPDATES: usize = 1 << 23;
const AIM: f64 = 0.97;
const PEERS: [&str; 4] = ["one_stream", "many_streams", "prefetched_far", "prefetched_near"];

fn main() {
    let rounds = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(ROUNDS);
    // SAFETY: the library was just built, and has no initialisation code.
    let library = unsafe { Library::new(build()) }.expect("the peers load");
    // SAFETY: updates.c has functions of these names and this type.
    let peers = PEERS.map(|name| unsafe { library.get::<Peer>(name.as_bytes()) }.expect("the library has this peer"));
    for bits in [24, 26] {
        for (pages, word) in [(Pages::Base, "base"), (Pages::Huge, "huge")] {
            let rates =
                threads::run(1, |comm, arena| take_turns((comm, arena), rounds, 1 << bits, (pages, word), &peers));
            print(
                &format!("2^{bits} words, {word} pages"),
                &rates.into_iter().next().expect("a rank").expect("no panic"),
            );
        }
    }
}

fn build() -> std::path::PathBuf {
    let output = std::env::temp_dir().join(format!("apexmap-updates-{}.so", std::process::id()));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/updates.c");
    let options = ["-O3", "-march=native", "-shared", "-fPIC", "-o"];
    let built = Command::new("cc").args(options).arg(&output).arg(source).status();
    assert!(built.is_ok_and(|status| status.success()), "a C compiler named cc is needed to build {source}");
    output
}

/// Returns the GUPS of the kernel, and of each peer.
fn take_turns(
    (comm, arena): (&ThreadComm, &mut Arena),
    rounds: usize,
    words: usize,
    (pages, word): (Pages, &str),
    peers: &[Symbol<Peer>],
) -> Vec<Vec<f64>> {
    let point = Point::new("random_access.sequential", 1)
        .with_parameter("N_words", words as u64)
        .with_parameter("pages", word)
        .with_parameter("updates", UPDATES as f64 / words as f64);
    let (point, kernel) = (complete(point).expect("a point"), find("random_access.sequential").expect("the kernel"));
    let contenders = peers.len() + 1;
    let mut rates = vec![Vec::new(); contenders];
    for round in 0..rounds {
        for turn in 0..contenders {
            let contender = (round + turn) % contenders;
            let seconds = if contender == 0 {
                kernel.run(&point, 0, &mut World { transport: Transport::Threads(comm), arena }).expect("a run").seconds
            } else {
                let (table, _) = arena.words_mut(pages, words, 0, |word| word as u64).expect("memory");
                let start = Instant::now();
                // SAFETY: the table has this number of words, a power of two.
                unsafe { peers[contender - 1](table.as_mut_ptr(), words, UPDATES) };
                start.elapsed().as_secs_f64()
            };
            rates[contender].push(UPDATES as f64 / seconds / 1e9);
        }
    }
    rates
}

fn print(title: &str, rates: &[Vec<f64>]) {
    let medians: Vec<f64> = rates.iter().map(|rates| median(rates).unwrap_or(f64::NAN)).collect();
    let best = medians[1..].iter().copied().fold(0.0, f64::max);
    let peers: Vec<String> = PEERS.iter().zip(&medians[1..]).map(|(name, rate)| format!("{name} {rate:.4}")).collect();
    let ratio = medians[0] / best;
    let verdict = if ratio >= AIM { "reached" } else { "missed" };
    println!("{title}: apexmap {:.4}, {}; ratio to the best {ratio:.3}, {AIM} {verdict}", medians[0], peers.join(", "));
}
