//! A team of threads of one rank. They start before the clock and synchronise at gates.

use crate::affinity;
use crate::comm::sync::{Barrier, Failure};
use crate::hardware::{Hardware, PlacementOrder, place_ranks};
use crate::kernels::prelude::*;
use crate::kernels::random_access::verify::Clock;
use apexmap_base::crash::describe_panic;
use std::thread::{Builder, panicking};

pub struct Gate {
    barrier: Barrier,
    /// After the failure of a member, no other waits any more.
    failure: Failure,
    /// Whether every member has its own processor, so that waiting members may spin.
    spin: bool,
}

impl Gate {
    /// Returns `false` if a member has failed.
    #[must_use]
    pub fn pass(&self) -> bool {
        let mut turns = 0;
        self.barrier.wait(&self.failure, || {
            turns += 1;
            // Spins only for a limited time: other programs may use the processors.
            if self.spin && turns < 10_000 { std::hint::spin_loop() } else { std::thread::yield_now() }
        })
    }
}

/// Declares a failure at the gate if its member panics.
struct Guard<'a>(&'a Gate);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if panicking() {
            self.0.failure.declare();
        }
    }
}

/// Runs `work` once for each of `members`, all at the same time and the first on this thread. The clock starts when all are ready
/// to begin, and stops when all have ended. If the transport has pinned this thread, the other threads are pinned to the remaining
/// processors in the order of `place`, one each if there are enough.
pub fn run<C: Collectives, M: Send, R: Send>(
    clock: &mut Clock<C>,
    members: Vec<M>,
    work: impl Fn(M, &Gate) -> R + Sync,
) -> Result<Vec<R>> {
    run_led(clock, members, |first, gate| work(first, gate), &work)
}

/// As [`run`], but the first member runs `lead`, which never leaves this thread.
pub fn run_led<C: Collectives, M: Send, R: Send>(
    clock: &mut Clock<C>,
    members: Vec<M>,
    lead: impl FnOnce(M, &Gate) -> R,
    work: impl Fn(M, &Gate) -> R + Sync,
) -> Result<Vec<R>> {
    let (hardware, own_processors) =
        (Hardware::this_machine(), affinity::allowed_hardware_threads().unwrap_or_default());
    let processors = processors(hardware, clock.comm.placement_order());
    let spin = members.len() <= processors.len();
    let gate = Gate { barrier: Barrier::new(members.len()), failure: Failure::default(), spin };
    let mut places = if spin { other_processors(&processors, &own_processors) } else { Vec::new() }
        .into_iter()
        .map(|processor| vec![processor]);
    let (gate, work, processors) = (&gate, &work, &processors);
    let member = move |member: M, place: &[usize]| {
        let _guard = Guard(gate);
        affinity::bind(place);
        // All are ready at the first gate. The clock starts between the two.
        let begun = gate.pass() && gate.pass();
        let result = begun.then(|| work(member, gate));
        // The clock stops when the last member arrives here.
        let _ = gate.pass();
        result
    };
    std::thread::scope(|scope| {
        let _guard = Guard(gate);
        let mut members = members.into_iter();
        let Some(first) = members.next() else { return Ok(Vec::new()) };
        let mut others = Vec::new();
        for follower in members {
            let place = places.next().unwrap_or_else(|| processors.clone());
            match Builder::new().spawn_scoped(scope, move || member(follower, &place)) {
                Ok(thread) => others.push(thread),
                Err(cause) => {
                    // Members that have started would wait at the gate for those that have not.
                    gate.failure.declare();
                    return Err(no_thread(cause));
                }
            }
        }
        let begun = gate.pass();
        clock.start();
        let own = (begun && gate.pass()).then(|| lead(first, gate));
        let _ = gate.pass();
        clock.stop();
        let results =
            others.into_iter().map(|thread| thread.join().map_err(|panic| Error::internal(describe_panic(&*panic))));
        let results: Vec<Option<R>> = results.collect::<Result<_>>()?;
        let outcomes: Option<Vec<R>> = std::iter::once(own).chain(results).collect();
        outcomes.ok_or_else(|| Error::internal("a thread of the team ended early"))
    })
}

pub fn processors(hardware: &Hardware, place: PlacementOrder) -> Vec<usize> {
    let mut processors = place_ranks(&hardware.threads, &hardware.allowed, place);
    processors.truncate(hardware.hardware_threads());
    processors
}

pub fn other_processors(processors: &[usize], own: &[usize]) -> Vec<usize> {
    processors.iter().copied().filter(|processor| !own.contains(processor)).collect()
}

fn no_thread(cause: std::io::Error) -> Error {
    Error::environment(
        format!("cannot start a thread for each core: {cause}"),
        "use fewer cores, or allow more threads",
    )
}
