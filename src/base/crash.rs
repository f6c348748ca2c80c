//! Handling of uncaught panics: one message on standard error and exit code 70; and of missing memory: exit code 3.
//!
//! The panic hook only stores the panic, and the code that catches it prints the message, so nothing is printed twice. A panic
//! that cannot be caught, such as a second one in a destructor, ends the program with the same message.

use crate::{error::Error, terminal::note};
use arrayvec::ArrayString;
use nix::sys::resource::{Resource, getrlimit};
use std::alloc::{GlobalAlloc, Layout, System};
use std::any::Any;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::thread;

/// Exit code after a panic: an internal error in sysexits.h.
pub const EXIT_CODE: u8 = 70;

/// The text and the place of the latest panic.
static LATEST: Mutex<(String, String)> = Mutex::new((String::new(), String::new()));

/// Messages of the runtime when it cannot unwind and aborts.
const ABORT_MESSAGES: [&str; 2] = ["panic in a function that cannot unwind", "panic in a destructor during cleanup"];

/// Runs a program and returns its exit code. A panic becomes a message on standard error and exit code 70.
pub fn guard(program: impl FnOnce() -> u8 + Send + 'static) -> u8 {
    std::panic::set_hook(Box::new(store_panic));
    catch_unwind(AssertUnwindSafe(|| on_large_stack(program))).unwrap_or_else(|panic| {
        print_panic(&describe_panic(&*panic));
        EXIT_CODE
    })
}

/// Runs a program on another thread if the limit of the main one's stack is small (`ulimit -s`).
fn on_large_stack(program: impl FnOnce() -> u8 + Send + 'static) -> u8 {
    const STACK_BYTES: usize = 8 << 20;
    if !getrlimit(Resource::RLIMIT_STACK).is_ok_and(|(limit, _)| limit < STACK_BYTES as u64) {
        return program();
    }
    match thread::Builder::new().stack_size(STACK_BYTES).spawn(program) {
        Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
        Err(error) => {
            note(&format!("error: cannot start a thread: {error}"));
            note("  help: raise the limits on processes, memory and stack (ulimit -u, -v, -s)");
            3
        }
    }
}

fn store_panic(info: &PanicHookInfo) {
    let text = panic_text(info.payload());
    if ABORT_MESSAGES.contains(&text.as_str()) {
        print_panic(&latest_panic(None).unwrap_or(text));
        // SAFETY: ends the process at once, as the abort that follows would.
        unsafe { nix::libc::_exit(i32::from(EXIT_CODE)) };
    }
    let location = info.location().map(ToString::to_string).unwrap_or_default();
    // A panic in this hook would abort the program without a message.
    *LATEST.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = (text, location);
}

/// Returns the latest panic with its place. If `expected_text` is given, the panic must have this text.
fn latest_panic(expected_text: Option<&str>) -> Option<String> {
    let (text, location) = &*LATEST.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let matches = !location.is_empty() && expected_text.is_none_or(|expected| expected == text);
    matches.then(|| format!("{text} (at {location})"))
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned())).unwrap_or_else(|| "panicked".into())
}

pub fn describe_panic(panic: &(dyn Any + Send)) -> String {
    let text = panic_text(panic);
    latest_panic(Some(&text)).unwrap_or(text)
}

fn print_panic(panic: &str) {
    note(&format!("error: {}", Error::internal(panic)));
}

/// The allocator of the programs. Without memory, it ends the process with a message. The standard library would abort.
pub struct Allocator;

// SAFETY: these are the functions of the system's allocator.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        require_memory(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        require_memory(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        require_memory(unsafe { System.realloc(memory, layout, bytes) }, bytes)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[inline]
fn require_memory(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() { end_without_memory(bytes) } else { memory }
}

/// Ends the process. Its temporary files and programs have guardians.
#[cold]
fn end_without_memory(bytes: usize) -> ! {
    let mut text = ArrayString::<200>::new();
    let _ = write!(
        text,
        "error: memory allocation of {bytes} bytes failed\n  \
         help: raise the limit (`ulimit -v`), end other programs, or read a smaller file\n"
    );
    // SAFETY: the calls need no memory, and no other code runs after them.
    unsafe {
        nix::libc::write(nix::libc::STDERR_FILENO, text.as_ptr().cast(), text.len());
        nix::libc::_exit(3)
    }
}
