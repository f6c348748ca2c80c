//! Runs one kernel at one point, on two threads of this process, and prints its rate.
//!
//!     cargo run --release --example run_kernel
//!
//! No sweep, no launcher, no files: what `apexmap run` does on the ranks, reduced to one run.

use apexmap::error::{Error, Result};
use apexmap::measure::comm::{Transport, World, threads};
use apexmap::measure::kernels;
use apexmap::point::Point;

fn main() -> Result<()> {
    // Apex-Map by messages: 2 ranks, 8 MiB of memory in total, blocks of 64 words, a tenth of uniform randomness.
    let point = Point::new("apex_map.two_sided", 2).with("M", 1u64 << 20).with("L", 64u64).with("alpha", 0.1);
    // The other parameters get their defaults; all are checked.
    let point = kernels::complete(point).map_err(|why| Error::input(why, "see docs/kernels.md"))?;
    let kernel = kernels::find(&point.kernel)?;

    // Every rank runs the kernel with its own memory (the arena). Rank 0's outcome has the slowest rank's time.
    let outcomes = threads::run(point.ranks, |comm, arena| {
        kernel.run(&point, 0, &mut World { transport: Transport::Threads(comm), arena })
    });
    let outcome = outcomes.into_iter().next().expect("rank 0").map_err(Error::internal)??;

    // A run that computed something wrong has a time, too: look at the verdict before the rate.
    outcome.verdict.map_err(|why| Error::measurement(why, "report it"))?;
    let work = kernel.work(&point);
    println!("{}: {:.6} s", point.label(), outcome.seconds);
    println!("{:.0} MB/s per rank", work.bytes / point.ranks as f64 / outcome.seconds / 1e6);
    println!("{:.0} {} per second", work.operations / outcome.seconds, work.operation);
    Ok(())
}
