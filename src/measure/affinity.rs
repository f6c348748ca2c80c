//! The CPU affinity of threads.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// Returns the hardware threads that the calling thread may use, ascending, or `None` if the system does not report them or has
/// more of them than a `CpuSet` holds.
pub fn allowed_hardware_threads() -> Option<Vec<usize>> {
    let set = sched_getaffinity(Pid::from_raw(0)).ok()?;
    Some((0..CpuSet::count()).filter(|&processor| set.is_set(processor).unwrap_or(false)).collect())
}

/// Binds the calling thread to hardware threads. If the system refuses, the thread stays where it is, and its recorded placement
/// shows this.
pub fn bind(processors: &[usize]) {
    let mut set = CpuSet::new();
    if processors.iter().all(|&processor| set.set(processor).is_ok()) {
        let _ = sched_setaffinity(Pid::from_raw(0), &set);
    }
}
