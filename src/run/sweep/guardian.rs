//! A forked copy of this process that sleeps until this process ends for any reason. It then ends a process group.
//!
//! The signal at a parent's death reaches only the direct child. If that is a script, the `mpirun` that it started would survive.

use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork};
use std::io::PipeWriter;
use std::os::fd::{AsRawFd, RawFd};

/// Ends the group when this process ends, as long as the guardian exists.
pub struct Guardian {
    pid: Pid,
    /// The system closes it when this process ends.
    _pipe_end: PipeWriter,
}

impl Guardian {
    /// Forks the guardian of a group. Returns `None` if the system refuses a further process. The group's leader still ends with
    /// this process then.
    pub fn new(group: Pid) -> Option<Self> {
        let (reader, pipe_end) = std::io::pipe().ok()?;
        // SAFETY: the child calls only what may be called after a fork among threads, and never returns.
        match unsafe { fork() } {
            // SAFETY: this process has just been forked.
            Ok(ForkResult::Child) => unsafe { guard(group.as_raw(), reader.as_raw_fd()) },
            Ok(ForkResult::Parent { child }) => Some(Self { pid: child, _pipe_end: pipe_end }),
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

/// Waits until the other end of the pipe is closed. Then sends SIGTERM to the group, and SIGKILL after 3 s.
///
/// # Safety
/// Only in a process that has just been forked.
unsafe fn guard(group: libc::pid_t, pipe: RawFd) -> ! {
    // SAFETY: all of these are system calls without memory of this process, but for `byte` and `moment` on the stack.
    unsafe {
        // A terminal's Ctrl-C and the end of a session must not end this process.
        libc::setsid();
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            libc::signal(signal, libc::SIG_IGN);
        }
        // Close all files except the pipe: locks, the pipes of others, and the pipe's own other end.
        close_between(0, pipe - 1);
        close_between(pipe + 1, RawFd::MAX);
        let mut byte = 0u8;
        while libc::read(pipe, (&raw mut byte).cast(), 1) < 0 && *libc::__errno_location() == libc::EINTR {}
        libc::kill(-group, libc::SIGTERM);
        // A stopped process receives SIGTERM only when it continues.
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
/// No code of this process may use these files any more.
unsafe fn close_between(first: RawFd, last: RawFd) {
    if first > last {
        return;
    }
    // SAFETY: plain system calls.
    unsafe {
        // Linux before 5.9 has no such call. A call for each of 2^31 numbers would take minutes.
        if libc::syscall(libc::SYS_close_range, first, last, 0) != 0 {
            (first..=last.min(4096)).for_each(|file| _ = libc::close(file));
        }
    }
}
