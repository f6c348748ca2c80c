//! A copy of this process that sleeps until this process is gone, however it ended, and then ends a process group.
//!
//! The signal that the system sends at a parent's death reaches only the child itself: where that is a script, the `mpirun`
//! that it started would go on.

use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork};
use std::io::PipeWriter;
use std::os::fd::{AsRawFd, RawFd};

/// While it lives, the group ends with this process.
pub struct Guardian {
    pid: Pid,
    /// Closed by the system when this process ends.
    _alive: PipeWriter,
}

impl Guardian {
    /// `None` where the system gives no further process: the group's leader still ends with this process.
    pub fn of(group: Pid) -> Option<Self> {
        let (reader, alive) = std::io::pipe().ok()?;
        // SAFETY: the child calls only what may be called after a fork among threads, and never returns.
        match unsafe { fork() } {
            // SAFETY: this process has just been forked.
            Ok(ForkResult::Child) => unsafe { guard(group.as_raw(), reader.as_raw_fd()) },
            Ok(ForkResult::Parent { child }) => Some(Self { pid: child, _alive: alive }),
            Err(_) => None,
        }
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        let _ = kill(self.pid, Signal::SIGKILL);
        let _ = waitpid(self.pid, None);
    }
}

/// Waits until the other end of the pipe is closed, then ends the group: politely, and after 3 s not so.
///
/// # Safety
/// Only in a process that has just been forked.
unsafe fn guard(group: libc::pid_t, pipe: RawFd) -> ! {
    // SAFETY: all of these are system calls without memory of this process, but for `byte` and `moment` on the stack.
    unsafe {
        // Neither a terminal's Ctrl-C nor the end of a session is for this process.
        libc::setsid();
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            libc::signal(signal, libc::SIG_IGN);
        }
        // Nothing stays open because of it: no lock, no pipe of others, nor its own other end.
        close_between(0, pipe - 1);
        close_between(pipe + 1, RawFd::MAX);
        let mut byte = 0u8;
        while libc::read(pipe, (&raw mut byte).cast(), 1) < 0 && *libc::__errno_location() == libc::EINTR {}
        libc::kill(-group, libc::SIGTERM);
        // Whoever was stopped hears it when it goes on.
        libc::kill(-group, libc::SIGCONT);
        let moment = libc::timespec { tv_sec: 0, tv_nsec: 10_000_000 };
        for _ in 0..300 {
            if libc::kill(-group, 0) != 0 {
                libc::_exit(0);
            }
            libc::nanosleep(&raw const moment, std::ptr::null_mut());
        }
        libc::kill(-group, libc::SIGKILL);
        libc::_exit(0)
    }
}

/// Closes all files with these numbers.
///
/// # Safety
/// Nobody uses them any more.
unsafe fn close_between(first: RawFd, last: RawFd) {
    if first > last {
        return;
    }
    // SAFETY: plain system calls.
    unsafe {
        // Linux before 5.9 has no such call.
        if libc::syscall(libc::SYS_close_range, first, last, 0) != 0 {
            (first..=last.min(4096)).for_each(|file| _ = libc::close(file));
        }
    }
}
