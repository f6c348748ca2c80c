//! Detects the end of the driver, on rank 0: its output pipe is closed, or the driver's process on this machine has ended.

use crate::comm::{self, TransportKind};
use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};
use std::thread::Builder;

/// Environment variable that the driver sets for a launch: its process id, the process's start time, and a number.
pub const LAUNCH: &str = "APEXMAP_LAUNCH";

/// Returns a string that distinguishes a process from all others, including later ones with the same id and those of other
/// machines.
pub fn identity(process: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name may contain any characters, so the fields are counted after it. The start time is in ticks since the machine
    // booted.
    let began = stat.rsplit(')').next()?.split_ascii_whitespace().nth(19)?;
    Some(format!("{process}-{began}"))
}

/// Ends all ranks when the driver has ended, during a run or between runs. The thread sleeps until the system wakes it because
/// the pipe was closed or the driver ended.
pub fn watch(kind: TransportKind) {
    // If the system refuses the thread, the ranks end at the next line that cannot be written.
    let _ = Builder::new().name("watchdog".into()).spawn(move || {
        let (stdout, driver) = (std::io::stdout(), driver());
        let gone = PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL | PollFlags::POLLIN;
        loop {
            let mut watched = vec![PollFd::new(stdout.as_fd(), PollFlags::empty())];
            watched.extend(driver.as_ref().map(|driver| PollFd::new(driver.as_fd(), PollFlags::POLLIN)));
            match poll(&mut watched, PollTimeout::NONE) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return,
            }
            if watched.iter().any(|file| file.revents().is_some_and(|events| events.intersects(gone))) {
                comm::abort(kind);
            }
        }
    });
}

/// Opens the driver's process, if it is on this machine. This is needed because a launcher between driver and rank 0 may keep the
/// pipe open after the driver's end.
fn driver() -> Option<OwnedFd> {
    let mark = std::env::var(LAUNCH).ok()?;
    let process: u32 = mark.split('-').next()?.parse().ok()?;
    // SAFETY: the call takes only numbers; the file that it opens is new, so nothing else closes it.
    let file = unsafe {
        let file = libc::syscall(libc::SYS_pidfd_open, process, 0);
        (file >= 0).then(|| OwnedFd::from_raw_fd(file as RawFd))?
    };
    // The identity is checked after the file was opened, so both refer to the same process.
    mark.starts_with(&format!("{}-", identity(process)?)).then_some(file)
}
