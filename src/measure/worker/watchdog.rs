//! Detects the end of the driver, on rank 0: its output pipe is closed, or the driver's process on this machine has ended.

use crate::comm::{self, TransportKind};
use apexmap_base::guarded::{LAUNCH_VARIABLE, process_identity};
use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};
use std::thread::Builder;
use std::time::Duration;

/// The driver's guardian ends a launch within this time.
const GUARDIAN_TIME: Duration = Duration::from_secs(3);

/// Ends all ranks when the driver has ended, during a run or between runs. The thread sleeps until the system wakes it.
pub fn start_watchdog(kind: TransportKind) {
    // If the system refuses the thread, the ranks end at the next line that cannot be written.
    let _ = Builder::new().name("watchdog".into()).spawn(move || {
        let (stdout, driver) = (std::io::stdout(), open_driver());
        let end_events = PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL | PollFlags::POLLIN;
        loop {
            let mut descriptors = vec![PollFd::new(stdout.as_fd(), PollFlags::empty())];
            descriptors.extend(driver.as_ref().map(|driver| PollFd::new(driver.as_fd(), PollFlags::POLLIN)));
            match poll(&mut descriptors, PollTimeout::NONE) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return,
            }
            if descriptors.iter().any(|file| file.revents().is_some_and(|events| events.intersects(end_events))) {
                // The driver's guardian ends the launch: its launcher then removes the files of the ranks, which an abort would leave.
                std::thread::sleep(GUARDIAN_TIME);
                comm::abort(kind);
            }
        }
    });
}

/// If it is on this machine. A launcher between driver and rank 0 may keep the pipe open after the driver's end.
fn open_driver() -> Option<OwnedFd> {
    let launch_id = std::env::var(LAUNCH_VARIABLE).ok()?;
    let process: u32 = launch_id.split('-').next()?.parse().ok()?;
    // SAFETY: the call takes only numbers; the file that it opens is new, so nothing else closes it.
    let file = unsafe {
        let file = libc::syscall(libc::SYS_pidfd_open, process, 0);
        (file >= 0).then(|| OwnedFd::from_raw_fd(file as RawFd))?
    };
    // The identity is checked after the file was opened, so both refer to the same process.
    launch_id.starts_with(&format!("{}-", process_identity(process)?)).then_some(file)
}
