//! Handles Ctrl-C, SIGTERM and SIGHUP while something is measured: what was started ends, and samples are kept.

use crate::error::{Error, ErrorKind, Result};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::sync::atomic::{AtomicI32, Ordering};

static RECEIVED_SIGNAL: AtomicI32 = AtomicI32::new(0);

extern "C" fn store_signal(signal: nix::libc::c_int) {
    // Relaxed suffices: the number is all that the handler shares.
    RECEIVED_SIGNAL.store(signal, Ordering::Relaxed);
}

/// Records SIGINT, SIGTERM and SIGHUP while it exists. Only a second SIGINT ends the program at once: others may come twice.
pub struct Interrupt {
    old_actions: Vec<(Signal, SigAction)>,
}

impl Interrupt {
    /// Starts to record the signals, except those that this process ignores.
    pub fn catch() -> Self {
        RECEIVED_SIGNAL.store(0, Ordering::Relaxed);
        let mut old_actions = Vec::new();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            let flags = if signal == Signal::SIGINT { SaFlags::SA_RESETHAND } else { SaFlags::empty() };
            let action =
                SigAction::new(SigHandler::Handler(store_signal), SaFlags::SA_RESTART | flags, SigSet::empty());
            // SAFETY: the handler only stores to an atomic variable.
            let Ok(old_action) = (unsafe { sigaction(signal, &action) }) else { continue };
            if matches!(old_action.handler(), SigHandler::SigIgn) {
                // `nohup` and shells with background jobs ignore the signal on purpose.
                // SAFETY: this restores the previous action.
                let _ = unsafe { sigaction(signal, &old_action) };
            } else {
                old_actions.push((signal, old_action));
            }
        }
        Self { old_actions }
    }

    pub fn check(&self) -> Result<()> {
        match RECEIVED_SIGNAL.load(Ordering::Relaxed) {
            0 => Ok(()),
            signal => Err(Error::new(ErrorKind::Interrupted(signal as u8), "interrupted", "")),
        }
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        for (signal, action) in &self.old_actions {
            // SAFETY: this restores the previous action.
            let _ = unsafe { sigaction(*signal, action) };
        }
    }
}

/// Returns the name of the signal of an interruption: `Ctrl-C (SIGINT)`; `None` for other errors.
pub fn signal_name(kind: ErrorKind) -> Option<&'static str> {
    let ErrorKind::Interrupted(signal) = kind else { return None };
    Some(match Signal::try_from(i32::from(signal)) {
        Ok(Signal::SIGINT) => "Ctrl-C (SIGINT)",
        Ok(other) => other.as_str(),
        Err(_) => "a signal",
    })
}
