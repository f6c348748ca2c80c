//! The threads of one rank that work together: started before the clock, and synchronised where they must be.

use crate::error::{Error, Result};
use crate::measure::comm::Comm;
use crate::measure::kernels::random_access::verify::Clock;
use crate::provenance;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{Builder, panicking};

/// Processors that a thread may use: all that the process may use.
fn usable(thread: Pid) -> Vec<usize> {
    let Ok(set) = sched_getaffinity(thread) else { return Vec::new() };
    (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).take(provenance::cores()).collect()
}

/// Where all members meet.
pub struct Gate {
    members: usize,
    waiting: AtomicUsize,
    round: AtomicUsize,
    /// A member is missing: nobody waits any more.
    broken: AtomicBool,
    /// Every member has a processor, so that those that wait may spin.
    spin: bool,
}

impl Gate {
    fn new(members: usize, spin: bool) -> Self {
        let (waiting, round, broken) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
        Self { members, waiting, round, broken, spin }
    }

    /// Returns when all members have come; `false` if one never will.
    #[must_use]
    pub fn pass(&self) -> bool {
        let round = self.round.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.members {
            self.waiting.store(0, Ordering::Relaxed);
            self.round.store(round + 1, Ordering::Release);
        }
        let mut turns = 0;
        while self.round.load(Ordering::Acquire) == round {
            if self.broken.load(Ordering::Acquire) {
                return false;
            }
            turns += 1;
            // Even where there are enough processors, others may be using them.
            if self.spin && turns < 10_000 { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        true
    }
}

/// A member that ends in a panic breaks the gate.
struct Guard<'a>(&'a Gate);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if panicking() {
            self.0.broken.store(true, Ordering::Release);
        }
    }
}

/// Runs `work` once for each of `members`, at the same time; the first on this thread. Returns what each gave.
///
/// The clock starts when all are about to begin, and stops when all have ended. If the transport has pinned this thread,
/// the others are pinned to the processors that are left, one each if there are enough.
pub fn run<C: Comm, M: Send, R: Send>(
    clock: &mut Clock<C>,
    members: Vec<M>,
    work: impl Fn(M, &Gate) -> R + Sync,
) -> Result<Vec<R>> {
    let (all, here) = (usable(Pid::this()), usable(Pid::from_raw(0)));
    let spin = members.len() <= all.len();
    let gate = Gate::new(members.len(), spin);
    let left: Vec<usize> = all.iter().copied().filter(|processor| !here.contains(processor)).collect();
    let mut places = if spin { left.into_iter().map(|one| vec![one]).collect() } else { Vec::new() }.into_iter();
    let (gate, work, all) = (&gate, &work, &all);
    let member = move |member: M, place: &[usize]| {
        let _guard = Guard(gate);
        settle(place);
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
                    gate.broken.store(true, Ordering::Release);
                    return Err(no_thread(cause));
                }
            }
        }
        let begun = gate.pass();
        clock.start();
        let own = (begun && gate.pass()).then(|| work(first, gate));
        let _ = gate.pass();
        clock.stop();
        let results = others.into_iter().map(|thread| thread.join().ok().flatten());
        let all: Option<Vec<R>> = std::iter::once(own).chain(results).collect();
        all.ok_or_else(|| Error::internal("a thread of the team ended early"))
    })
}

/// Binds this thread to these processors; a system that refuses leaves it where it is.
fn settle(processors: &[usize]) {
    let mut set = CpuSet::new();
    if processors.iter().all(|&processor| set.set(processor).is_ok()) {
        let _ = sched_setaffinity(Pid::from_raw(0), &set);
    }
}

fn no_thread(cause: std::io::Error) -> Error {
    Error::environment(
        format!("cannot start a thread for each core: {cause}"),
        "use fewer cores, or allow more threads",
    )
}
