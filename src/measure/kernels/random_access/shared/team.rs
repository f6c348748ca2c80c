//! The threads of one rank that work together: started before the clock, and synchronised where they must be.

use crate::affinity;
use crate::comm::Collectives;
use crate::comm::sync::{Barrier, Failure};
use crate::hardware::{Hardware, Place, order};
use crate::kernels::random_access::verify::Clock;
use apexmap_base::crash::describe;
use apexmap_base::error::{Error, Result};
use std::thread::{Builder, panicking};

/// Where all members meet.
pub struct Gate {
    barrier: Barrier,
    /// A member is missing: nobody waits any more.
    failure: Failure,
    /// Every member has a processor, so that those that wait may spin.
    spin: bool,
}

impl Gate {
    /// Returns when all members have come; `false` if one never will.
    #[must_use]
    pub fn pass(&self) -> bool {
        let mut turns = 0;
        self.barrier.wait(&self.failure, || {
            turns += 1;
            // Even where there are enough processors, others may be using them.
            if self.spin && turns < 10_000 { std::hint::spin_loop() } else { std::thread::yield_now() }
        })
    }
}

/// A member that ends in a panic breaks the gate.
struct Guard<'a>(&'a Gate);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if panicking() {
            self.0.failure.declare();
        }
    }
}

/// Runs `work` once for each of `members`, at the same time; the first on this thread. Returns what each gave.
///
/// The clock starts when all are about to begin, and stops when all have ended. If the transport has pinned this thread,
/// the others are pinned to the processors that are left, one each if there are enough, in the order of `place`.
pub fn run<C: Collectives, M: Send, R: Send>(
    clock: &mut Clock<C>,
    members: Vec<M>,
    work: impl Fn(M, &Gate) -> R + Sync,
) -> Result<Vec<R>> {
    run_led(clock, members, |first, gate| work(first, gate), &work)
}

/// The same, where the first does its own work, `lead`, which no other thread ever touches.
pub fn run_led<C: Collectives, M: Send, R: Send>(
    clock: &mut Clock<C>,
    members: Vec<M>,
    lead: impl FnOnce(M, &Gate) -> R,
    work: impl Fn(M, &Gate) -> R + Sync,
) -> Result<Vec<R>> {
    let (hardware, here) = (Hardware::here(), affinity::of_thread().unwrap_or_default());
    let all = processors(hardware, clock.comm.place());
    let spin = members.len() <= all.len();
    let gate = Gate { barrier: Barrier::new(members.len()), failure: Failure::default(), spin };
    let mut places = if spin { left(&all, &here) } else { Vec::new() }.into_iter().map(|one| vec![one]);
    let (gate, work, all) = (&gate, &work, &all);
    let member = move |member: M, place: &[usize]| {
        let _guard = Guard(gate);
        affinity::bind(place);
        let begun = gate.pass() && gate.pass();
        let result = begun.then(|| work(member, gate));
        let _ = gate.pass();
        result
    };
    std::thread::scope(|scope| {
        let _guard = Guard(gate);
        let mut members = members.into_iter();
        let Some(first) = members.next() else { return Ok(Vec::new()) };
        let mut others = Vec::new();
        for one in members {
            let place = places.next().unwrap_or_else(|| all.clone());
            match Builder::new().spawn_scoped(scope, move || member(one, &place)) {
                Ok(thread) => others.push(thread),
                Err(cause) => {
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
            others.into_iter().map(|thread| thread.join().map_err(|panic| Error::internal(describe(&*panic))));
        let results: Vec<Option<R>> = results.collect::<Result<_>>()?;
        let all: Option<Vec<R>> = std::iter::once(own).chain(results).collect();
        all.ok_or_else(|| Error::internal("a thread of the team ended early"))
    })
}

/// The processors that a team may use, in the order in which ranks would take them.
pub fn processors(hardware: &Hardware, place: Place) -> Vec<usize> {
    let mut all = order(&hardware.threads, &hardware.allowed, place);
    all.truncate(hardware.hardware_threads());
    all
}

/// Those of `all` that the first member does not use, in their order.
pub fn left(all: &[usize], here: &[usize]) -> Vec<usize> {
    all.iter().copied().filter(|processor| !here.contains(processor)).collect()
}

fn no_thread(cause: std::io::Error) -> Error {
    Error::environment(
        format!("cannot start a thread for each core: {cause}"),
        "use fewer cores, or allow more threads",
    )
}
