//! A process between this one and a program, to which all processes below the program belong when their parents end, also
//! daemons. When this process asks, or ends for any reason, it ends them all.
//!
//! It is a fork of this process that runs no other program. It may allocate memory, because the C libraries of Linux keep the
//! allocator usable after a fork. It takes no other lock of this process.

use super::ending::end_all;
use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, signal, sigprocmask};
use nix::sys::{prctl, wait::waitpid};
use nix::unistd::{ForkResult, Pid, fork, getppid, setpgid, setsid};
use std::os::fd::{BorrowedFd, RawFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub struct Guardian {
    /// Whether the program gets its own session, without a terminal. Otherwise a terminal's Ctrl-C reaches it.
    pub own_session: bool,
    /// The value of the variable that the program's descendants inherit.
    pub mark: String,
    /// The end of a pipe whose other end this process holds. A byte asks for the end; its end is that of this process.
    pub leash: RawFd,
    /// The pipe that takes the program's id, and then its status.
    pub status: RawFd,
    /// The pipes of the program's output. If this process has ended, somebody must read them: a launcher that cannot write ends early.
    pub outputs: [RawFd; 2],
    /// Whether the program's status was written.
    pub is_reported: AtomicBool,
}

impl Guardian {
    /// Makes this process, a fork of the driver, the guardian, and returns in its child, which becomes the program.
    pub fn split(&self) -> std::io::Result<()> {
        if self.own_session {
            setsid()?;
            // `nohup` or a script's background job makes this process ignore signals. The program must not inherit that, because a script
            // cannot trap signals that were ignored at its start.
            // SAFETY: the default of a signal runs no code of this process.
            let _ =
                unsafe { (signal(Signal::SIGINT, SigHandler::SigDfl)?, signal(Signal::SIGQUIT, SigHandler::SigDfl)?) };
        }
        prctl::set_child_subreaper(true)?;
        let guardian = nix::unistd::getpid();
        // SAFETY: this process has one thread.
        match unsafe { fork()? } {
            ForkResult::Parent { child } => self.guard(child),
            ForkResult::Child => {
                if self.own_session {
                    setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
                }
                prctl::set_pdeathsig(Signal::SIGTERM)?;
                if getppid() == guardian { Ok(()) } else { Err(Errno::ESRCH.into()) }
            }
        }
    }

    fn guard(&self, program: Pid) -> ! {
        ignore_signals();
        // SAFETY: no handler is installed.
        let _ = unsafe { signal(Signal::SIGCHLD, SigHandler::SigDfl) };
        let children = SigSet::from(Signal::SIGCHLD);
        let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&children), None);
        // SAFETY: the call reads the set. This process owns the new file.
        let children = unsafe { libc::signalfd(-1, children.as_ref(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        close_all_but([self.leash, self.status, self.outputs[0], self.outputs[1], children]);
        self.report(program.as_raw());
        loop {
            self.reap(program);
            // SAFETY: both files are open until this process ends.
            let [leash, end_of_child] = [self.leash, children].map(|file| unsafe { BorrowedFd::borrow_raw(file) });
            let mut files = [leash, end_of_child].map(|file| PollFd::new(file, PollFlags::POLLIN));
            let _ = poll(&mut files, PollTimeout::NONE);
            if files[1].any() == Some(true) {
                let mut information = [0; size_of::<libc::signalfd_siginfo>()];
                let _ = nix::unistd::read(end_of_child, &mut information);
            }
            if files[0].any() == Some(true) {
                let was_asked = nix::unistd::read(leash, &mut [0]) == Ok(1);
                self.end(program, was_asked);
            }
        }
    }

    /// Ends everything, and then this process.
    fn end(&self, program: Pid, was_asked: bool) -> ! {
        let mut outputs = if was_asked { Vec::new() } else { self.outputs.to_vec() };
        end_all(nix::unistd::getpid(), program, &self.mark, &mut |pause| {
            drain(&mut outputs, pause);
            self.reap(program);
        });
        // A process whose first thread has ended looks ended before its other threads are.
        for _ in 0..200 {
            self.reap(program);
            if self.is_reported.load(Ordering::Relaxed) {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        exit()
    }

    /// Takes the status of ended processes. Ends this process when none is left.
    fn reap(&self, program: Pid) {
        loop {
            let mut status = 0;
            // SAFETY: the call writes to the variable.
            match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) } {
                0 => return,
                id if id == program.as_raw() => {
                    self.report(status);
                    self.is_reported.store(true, Ordering::Relaxed);
                }
                id if id > 0 => {}
                _ if Errno::last() == Errno::EINTR => {}
                _ => exit(),
            }
        }
    }

    fn report(&self, number: i32) {
        // SAFETY: the file is open until this process ends.
        let _ = nix::unistd::write(unsafe { BorrowedFd::borrow_raw(self.status) }, &number.to_ne_bytes());
    }
}

/// Removes a folder when this process ends, unless a byte came before. The pipe's other end belongs to this process.
pub fn remove_at_end(folder: PathBuf, leash: RawFd) -> nix::Result<()> {
    // SAFETY: the child allocates memory and makes system calls only.
    match unsafe { fork()? } {
        // Its child has no parent here that has to wait for it.
        ForkResult::Parent { child } => waitpid(child, None).map(drop),
        ForkResult::Child => {
            // SAFETY: as above.
            if !matches!(unsafe { fork() }, Ok(ForkResult::Child)) {
                exit();
            }
            let _ = setsid();
            ignore_signals();
            close_all_but([leash]);
            // SAFETY: the file is open until this process ends.
            let leash = unsafe { BorrowedFd::borrow_raw(leash) };
            let was_asked = loop {
                match nix::unistd::read(leash, &mut [0]) {
                    Err(Errno::EINTR) => {}
                    read => break read == Ok(1),
                }
            };
            // Programs that are being ended may still write.
            for pause in [0, 1, 1].into_iter().filter(|_| !was_asked) {
                std::thread::sleep(Duration::from_secs(pause));
                let _ = std::fs::remove_dir_all(&folder);
            }
            exit()
        }
    }
}

/// Ignores a terminal's Ctrl-C and the end of a session.
fn ignore_signals() {
    for number in [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGPIPE] {
        // SAFETY: no handler is installed.
        let _ = unsafe { signal(number, SigHandler::SigIgn) };
    }
}

/// Closes all files of the driver except these: locks, pipes of others, and the other ends of the own pipes.
fn close_all_but<const N: usize>(mut kept: [RawFd; N]) {
    kept.sort_unstable();
    let mut first = 0;
    for file in kept.into_iter().filter(|file| *file >= 0) {
        close_between(first, file - 1);
        first = file + 1;
    }
    close_between(first, RawFd::MAX);
}

/// Ends this process without any code of the driver.
fn exit() -> ! {
    // SAFETY: no code runs after it.
    unsafe { libc::_exit(0) }
}

fn drain(outputs: &mut Vec<RawFd>, time: Duration) {
    let begun_at = Instant::now();
    while let Some(left) = time.checked_sub(begun_at.elapsed()).filter(|left| !left.is_zero()) {
        // SAFETY: the files are open until this process ends.
        let files: Vec<_> =
            outputs.iter().filter(|file| **file >= 0).map(|file| unsafe { BorrowedFd::borrow_raw(*file) }).collect();
        let mut polled: Vec<_> = files.iter().map(|file| PollFd::new(*file, PollFlags::POLLIN)).collect();
        let _ = poll(&mut polled, PollTimeout::from(left.as_millis().max(1) as u16));
        let ready = polled.iter().zip(&files).filter(|(polled, _)| polled.any() == Some(true));
        let ended: Vec<RawFd> = ready
            .filter(|(_, file)| !nix::unistd::read(file, &mut [0; 1 << 12]).is_ok_and(|bytes| bytes > 0))
            .map(|(_, file)| std::os::fd::AsRawFd::as_raw_fd(file))
            .collect();
        outputs.retain(|file| !ended.contains(file));
    }
}

fn close_between(first: RawFd, last: RawFd) {
    if first > last {
        return;
    }
    // SAFETY: no code of this process uses these files any more.
    unsafe {
        // Linux before 5.9 has no such call. A call for each of 2^31 numbers would take minutes.
        if libc::syscall(libc::SYS_close_range, first, last, 0) != 0 {
            (first..=last.min(4096)).for_each(|file| _ = libc::close(file));
        }
    }
}
