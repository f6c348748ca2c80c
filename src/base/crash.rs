//! Handling of uncaught panics: one message on standard error and exit code 70.
//!
//! The panic hook only stores the panic, and the code that catches it prints the message, so nothing is printed twice. A panic
//! that cannot be caught, such as a second one in a destructor, ends the program with the same message.

use crate::error::Error;
use crate::terminal;
use std::any::Any;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::Mutex;

/// Exit code after a panic: an internal error in sysexits.h.
pub const EXIT_CODE: u8 = 70;

/// The text and the place of the latest panic.
static LATEST: Mutex<(String, String)> = Mutex::new((String::new(), String::new()));

/// Messages of the runtime when it cannot unwind and aborts.
const ABORTS: [&str; 2] = ["panic in a function that cannot unwind", "panic in a destructor during cleanup"];

/// Runs a program and returns its exit code. A panic becomes a message on standard error and exit code 70.
pub fn guard(program: impl FnOnce() -> u8) -> u8 {
    std::panic::set_hook(Box::new(keep));
    catch_unwind(AssertUnwindSafe(program)).unwrap_or_else(|panic| {
        say(&describe(&*panic));
        EXIT_CODE
    })
}

fn keep(info: &PanicHookInfo) {
    let text = text(info.payload());
    if ABORTS.contains(&text.as_str()) {
        say(&latest(None).unwrap_or(text));
        // SAFETY: ends the process at once, as the abort that follows would.
        unsafe { nix::libc::_exit(i32::from(EXIT_CODE)) };
    }
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    *LATEST.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = (text, place);
}

/// Returns the latest panic with its place. If `expected_text` is given, the panic must have this text.
fn latest(said: Option<&str>) -> Option<String> {
    let (text, place) = &*LATEST.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let this = !place.is_empty() && said.is_none_or(|said| said == text);
    this.then(|| format!("{text} (at {place})"))
}

fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned())).unwrap_or_else(|| "panicked".into())
}

/// Returns the message of a caught panic, with its place in the program if known.
pub fn describe(panic: &(dyn Any + Send)) -> String {
    let text = text(panic);
    latest(Some(&text)).unwrap_or(text)
}

fn say(panic: &str) {
    terminal::note(&format!("error: {}", Error::internal(panic)));
}
