//! The end of the driver, noticed by rank 0: nobody reads its output any more, or the driver's process on this machine is gone.

use crate::comm::{self, TransportKind};
use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};
use std::thread::Builder;

/// Environment variable that the driver sets for a launch: its process, when that began, and a number.
pub const LAUNCH: &str = "APEXMAP_LAUNCH";

/// What tells this process from all others, on this machine and on others.
pub fn identity(process: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // After the name, which may hold anything: when it began, in ticks since the machine did.
    let began = stat.rsplit(')').next()?.split_ascii_whitespace().nth(19)?;
    Some(format!("{process}-{began}"))
}

/// Ends all ranks when the driver is gone, be it in a run or between two. The thread sleeps until then: the system wakes it
/// when the pipe is closed or the driver ends, and for nothing else.
pub fn watch(kind: TransportKind) {
    // Where the system gives no thread, the next line that cannot be written ends the ranks.
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

/// The driver's process, if it is on this machine: a launcher with a pipe of its own to this rank does not tell of its end.
fn driver() -> Option<OwnedFd> {
    let mark = std::env::var(LAUNCH).ok()?;
    let process: u32 = mark.split('-').next()?.parse().ok()?;
    // SAFETY: the call takes numbers only; the file that it opens is new, so that nothing else closes it.
    let file = unsafe {
        let file = libc::syscall(libc::SYS_pidfd_open, process, 0);
        (file >= 0).then(|| OwnedFd::from_raw_fd(file as RawFd))?
    };
    // Asked now, it is sure to be the process of the file.
    mark.starts_with(&format!("{}-", identity(process)?)).then_some(file)
}
