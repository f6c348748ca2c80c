use super::{Outcome, complete, find, run_on_nodes};
use crate::comm::{Transport, World, threads};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Point;

/// Runs a point once, on threads of this process, and verifies it. Returns rank 0's outcome: the time of the slowest rank, and the
/// outputs. Missing parameters get their defaults. Runs with different `stream` access different random addresses.
pub fn run_embedded(point: &Point, stream: u64) -> Result<Outcome> {
    let point = complete(point.clone()).map_err(|why| Error::input(why, "see `apexmap kernels KERNEL`"))?;
    let kernel = find(&point.kernel)?;
    let outcomes = threads::run(point.ranks, |comm, arena| {
        run_on_nodes(kernel, &point, stream, &mut World { transport: Transport::Threads(comm), arena })
    });
    // The rank that failed first reports the reason; the others report only that another rank failed.
    let failures = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
    if let Some(reason) = failures.min_by_key(|why| *why == threads::OTHER_RANK_FAILED) {
        return Err(Error::internal(reason.as_str()));
    }
    let outcome = outcomes.into_iter().flatten().next().expect("a complete point has a rank")?;
    match &outcome.verdict {
        Ok(()) => Ok(outcome),
        Err(reason) => {
            Err(Error::measurement(format!("{}: {reason}", point.label()), "report this bug: wrong results"))
        }
    }
}
