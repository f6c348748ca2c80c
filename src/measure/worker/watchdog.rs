//! The end of the driver, noticed by rank 0 wherever it is: nobody reads its output any more.

use crate::measure::comm::{self, TransportKind};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::os::fd::AsFd;
use std::thread::Builder;

/// Ends all ranks when nobody reads what this one writes, be it in a run or between two. The thread sleeps until then: the
/// system wakes it when the pipe is closed, and for nothing else.
pub fn watch(kind: TransportKind) {
    // Where the system gives no thread, the next line that cannot be written ends the ranks.
    let _ = Builder::new().name("watchdog".into()).spawn(move || {
        let stdout = std::io::stdout();
        let gone = PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL;
        loop {
            let mut pipe = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
            match poll(&mut pipe, PollTimeout::NONE) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return,
            }
            if pipe[0].revents().is_some_and(|events| events.intersects(gone)) {
                comm::abort(kind);
            }
        }
    });
}
