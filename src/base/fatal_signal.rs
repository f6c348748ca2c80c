//! Prints a backtrace when a signal such as SIGSEGV is about to end the process. The signal then has its usual effect.

use nix::libc::{self, c_int, c_void, siginfo_t};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::backtrace::Backtrace;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

const SIGNALS: [Signal; 5] = [Signal::SIGSEGV, Signal::SIGBUS, Signal::SIGILL, Signal::SIGFPE, Signal::SIGABRT];

/// The actions before [`catch`], in the order of [`SIGNALS`]. The one for SIGSEGV detects stack overflows.
static OLD_ACTIONS: OnceLock<Vec<Option<SigAction>>> = OnceLock::new();

/// The signal whose backtrace is being printed; 0 if none.
static CURRENT: AtomicI32 = AtomicI32::new(0);

/// Bytes of the stack for handlers. The standard library's own stack is too small for resolving names.
const STACK_BYTES: usize = 256 << 10;

/// Seconds after which a backtrace is abandoned: it allocates, and the fault may have left the allocator locked.
const TIMEOUT_SECONDS: u32 = 5;

/// Starts to print backtraces for all threads. Call [`prepare_thread`] on each thread whose stack may overflow.
pub fn catch() {
    prepare_thread();
    // The first backtrace loads libraries, which a handler must not do.
    let _ = Backtrace::force_capture();
    let flags = SaFlags::SA_ONSTACK | SaFlags::SA_SIGINFO;
    let action = SigAction::new(SigHandler::SigAction(print_backtrace), flags, SigSet::empty());
    // SAFETY: the handler abandons a backtrace that waits for a lock.
    let old_actions = SIGNALS.map(|signal| unsafe { sigaction(signal, &action) }.ok());
    let _ = OLD_ACTIONS.set(old_actions.to_vec());
}

/// Gives this thread a stack for handlers that lasts as long as the process.
pub fn prepare_thread() {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the new memory is only used as the stack of handlers, and never freed.
    unsafe {
        let memory = libc::mmap(std::ptr::null_mut(), STACK_BYTES, access, flags, -1, 0);
        if memory != libc::MAP_FAILED {
            let stack = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: STACK_BYTES };
            libc::sigaltstack(&raw const stack, std::ptr::null_mut());
        }
    }
}

extern "C" fn print_backtrace(signal: c_int, info: *mut siginfo_t, _: *mut c_void) {
    // SAFETY: the system passes a valid description of the signal.
    let (is_fault, address) = unsafe { ((*info).si_code > 0, (*info).si_addr() as usize) };
    // A second fault, in the handler or on another thread, has its usual effect at once.
    // Relaxed: this number guards no other data.
    if CURRENT.swap(signal, Ordering::Relaxed) == 0 {
        let give_up = SigAction::new(SigHandler::Handler(abandon), SaFlags::SA_ONSTACK, SigSet::empty());
        // SAFETY: `abandon` only ends the process.
        let _ = unsafe { sigaction(Signal::SIGALRM, &give_up) };
        // SAFETY: a plain system call.
        unsafe { libc::alarm(TIMEOUT_SECONDS) };
        let name = Signal::try_from(signal).map_or("unknown", Signal::as_str);
        write(format!("apexmap: signal {signal} ({name}) at address {address:#x}; backtrace:\n").as_bytes());
        write(format!("{}\n", Backtrace::force_capture()).as_bytes());
        // SAFETY: a plain system call.
        unsafe { libc::alarm(0) };
    }
    let index = SIGNALS.iter().position(|caught| *caught as c_int == signal);
    let old_action = index.and_then(|index| OLD_ACTIONS.get()?.get(index)?.as_ref());
    match (Signal::try_from(signal), old_action) {
        // The instruction is executed again when this handler returns, and meets the old action.
        (Ok(name), Some(old_action)) if is_fault => {
            // SAFETY: this restores the previous action.
            let _ = unsafe { sigaction(name, old_action) };
        }
        _ => end_by(signal),
    }
}

extern "C" fn abandon(_: c_int) {
    write(b"(the backtrace is incomplete)\n");
    end_by(CURRENT.load(Ordering::Relaxed));
}

/// Ends the process by this signal, as if it were not caught.
fn end_by(signal: c_int) {
    // SAFETY: plain system calls, which handlers may make.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        // The signal is blocked in its handler. It takes effect when it is unblocked.
        libc::raise(signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
    }
}

/// Writes bytes to standard error without a lock.
fn write(bytes: &[u8]) {
    // SAFETY: a plain system call with a valid buffer.
    let _ = unsafe { libc::write(libc::STDERR_FILENO, bytes.as_ptr().cast(), bytes.len()) };
}
