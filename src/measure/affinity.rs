//! Which processors a thread may use.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// Those of the calling thread, ascending; `None` if the system does not say, or has more than a set holds.
pub fn of_thread() -> Option<Vec<usize>> {
    let set = sched_getaffinity(Pid::from_raw(0)).ok()?;
    Some((0..CpuSet::count()).filter(|&processor| set.is_set(processor).unwrap_or(false)).collect())
}

/// Binds the calling thread. Best effort: a system that refuses leaves it where it is, and placements say so.
pub fn bind(processors: &[usize]) {
    let mut set = CpuSet::new();
    if processors.iter().all(|&processor| set.set(processor).is_ok()) {
        let _ = sched_setaffinity(Pid::from_raw(0), &set);
    }
}
