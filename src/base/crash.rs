//! A panic that escapes: one message, exit code 70.
//!
//! Whoever catches a panic says what it means; so the hook only keeps it, and nothing is printed twice. A panic that nobody
//! can catch, such as a second one in a destructor, ends the program with the same message.

use crate::error::Error;
use crate::terminal;
use std::any::Any;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::Mutex;

/// What the program ends with after a panic: an error inside the program, in sysexits.h.
pub const EXIT_CODE: u8 = 70;

/// The latest panic, and where it was.
static LATEST: Mutex<(String, String)> = Mutex::new((String::new(), String::new()));

/// What the runtime says where it cannot unwind and aborts.
const ABORTS: [&str; 2] = ["panic in a function that cannot unwind", "panic in a destructor during cleanup"];

/// Runs a program to its exit code; a panic becomes a message on standard error and exit code 70.
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

/// The latest panic with its place, if it said this.
fn latest(said: Option<&str>) -> Option<String> {
    let (text, place) = &*LATEST.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let this = !place.is_empty() && said.is_none_or(|said| said == text);
    this.then(|| format!("{text} (at {place})"))
}

fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned())).unwrap_or_else(|| "panicked".into())
}

/// What a caught panic says, with its place in the program where that is known.
pub fn describe(panic: &(dyn Any + Send)) -> String {
    let text = text(panic);
    latest(Some(&text)).unwrap_or(text)
}

fn say(panic: &str) {
    terminal::note(&format!("error: {}", Error::internal(panic)));
}
