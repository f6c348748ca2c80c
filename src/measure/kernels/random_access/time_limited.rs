use super::*;

/// Below 1, because rates vary between runs.
const MARGIN: f64 = 0.9;
/// A trial that takes this fraction of the time bound has the rate of the run.
const MIN_TRIAL_FRACTION: f64 = 0.05;
/// The first trial has this fraction of the updates.
const FIRST_TRIAL_DIVISOR: f64 = 1024.0;

/// Runs the point with the number of updates that fits into `seconds`, at most the requested number. Shorter runs estimate it
/// first. Every run is verified; the result is that of the last run. Collective.
pub(super) fn run(
    run: fn(&Point, u64, &mut World) -> Result<Outcome>,
    point: &Point,
    seconds: f64,
    world: &mut World,
) -> Result<Outcome> {
    let requested = UPDATES.of(point);
    let smallest = 1.0 / N_WORDS.of(point) as f64;
    let mut updates = (requested / FIRST_TRIAL_DIVISOR).max(smallest);
    loop {
        let part = point.clone().with_parameter("updates", updates.min(requested));
        let outcome = run(&part, 0, world)?;
        // All ranks use the time of rank 0, so that they decide in the same way.
        let mut shared = [outcome.seconds.to_bits(), u64::from(outcome.verdict.is_err())];
        on_transport!(world.transport, comm => comm.broadcast(&mut shared));
        let (time, wrong) = (f64::from_bits(shared[0]), shared[1] != 0);
        if updates >= requested || wrong {
            return Ok(outcome);
        }
        let fitting_updates = problem::updates(&part) as f64 * smallest * MARGIN * seconds / time;
        if time >= MIN_TRIAL_FRACTION * seconds || fitting_updates >= requested {
            return run(&point.clone().with_parameter("updates", fitting_updates.clamp(smallest, requested)), 0, world);
        }
        updates = fitting_updates.min(updates * 16.0);
    }
}
