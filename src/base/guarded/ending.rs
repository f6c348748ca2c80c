//! Ends everything that a program started.

use super::LAUNCH_VARIABLE;
use super::live::{Live, descendants};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid};
use std::time::{Duration, Instant};

/// Time between the request to end and the kill.
const GRACE: Duration = Duration::from_millis(2500);
/// The same for processes that another one may still end: a launcher removes the files of its ranks when they have ended.
const GRACE_OF_RANKS: Duration = Duration::from_secs(2);
/// Longest wait for the end of the processes. The system may be unable to end killed ones.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// The value of [`LAUNCH_VARIABLE`] of processes that stay, such as a shared connection of `ssh`.
const STAY: &[u8] = b"stay";

/// Ends the group of a program, the descendants of `root`, and the processes with this mark. Calls `wait` until none is left.
pub fn end_all(root: Pid, program: Pid, mark: &str, wait: &mut dyn FnMut(Duration)) {
    let (begun_at, mut asked, mut pause) = (Instant::now(), Vec::new(), Duration::from_millis(1));
    loop {
        let processes = list(root, program, mark);
        let elapsed = begun_at.elapsed();
        if processes.is_empty() || elapsed > END_TIMEOUT {
            return;
        }
        for process in &processes {
            // mpirun and srun end their ranks on all nodes when they receive SIGTERM, and then remove their files. A process below one of
            // another group may be such a rank, so it is asked only after that one has ended.
            let is_below = ancestors(&processes, process).any(|ancestor| ancestor.group != process.group);
            if elapsed > if is_below { GRACE_OF_RANKS } else { GRACE } {
                let _ = kill(process.id, Signal::SIGKILL);
            } else if !is_below && !asked.contains(&process.id) {
                // Once: the second one makes mpirun end without removing its files.
                asked.push(process.id);
                let _ = kill(process.id, Signal::SIGTERM);
                // A stopped process receives SIGTERM only when it continues.
                let _ = kill(process.id, Signal::SIGCONT);
            }
        }
        wait(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

fn ancestors<'a>(processes: &'a [Live], process: &Live) -> impl Iterator<Item = &'a Live> {
    let parent = |process: &Live| processes.iter().find(|other| other.id == process.parent);
    std::iter::successors(parent(process), move |process| parent(process))
}

/// Returns these processes without those that have ended, and without those that shall stay.
fn list(root: Pid, program: Pid, mark: &str) -> Vec<Live> {
    let processes = Live::list_all();
    let below = descendants(&processes, root);
    let belongs = |process: &Live| match process.group == program {
        true => true,
        false => {
            let variable = process.variable(LAUNCH_VARIABLE);
            let is_marked = !mark.is_empty() && variable.as_deref() == Some(mark.as_bytes());
            is_marked || (below.contains(process) && variable.as_deref() != Some(STAY))
        }
    };
    processes.into_iter().filter(|process| !process.is_over && process.id != getpid() && belongs(process)).collect()
}
