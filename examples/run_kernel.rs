//! Runs one kernel at one point, on two threads of this process, and prints its rate.
//!
//!     cargo run --release --example run_kernel
//!
//! No sweep, no launcher, no files: one run of the work that `apexmap run` does on the ranks.

use apexmap::{Error, Point, Result, kernels};

fn main() -> Result<()> {
    // Apex-Map by messages: 2 ranks, 8 MiB of memory in total, blocks of 64 words, alpha = 0.1.
    let point = Point::new("apex_map.two_sided", 2)
        .with_parameter("M", 1u64 << 20)
        .with_parameter("L", 64u64)
        .with_parameter("alpha", 0.1);
    // The other parameters get their defaults, and all are checked.
    let point = kernels::complete(point).map_err(|why| Error::input(why, "`apexmap kernels` lists them"))?;
    let kernel = kernels::find(&point.kernel)?;

    // Every rank runs the kernel with its own memory. The time is that of the slowest rank. A run with wrong results is
    // an error and gives no time.
    let outcome = kernels::run_embedded(&point, 0)?;
    let work = kernel.work(&point);
    println!("{}: {:.6} s", point.label(), outcome.seconds);
    println!("{:.0} MB/s per rank", work.bytes / point.ranks as f64 / outcome.seconds / 1e6);
    println!("{:.0} {} per second", work.operations / outcome.seconds, work.operation);
    Ok(())
}
