//! Handles Ctrl-C, SIGTERM and SIGHUP while a sweep runs: the launch ends, its samples are kept, and the error shows how to
//! resume.

use crate::sweep::plan::{Plan, Progress};
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::shell::{command_to_resume, command_words};
use apexmap_base::units::plural;
use apexmap_results::disk::Folder;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::sync::atomic::{AtomicI32, Ordering};

/// The received signal; 0 if none.
static RECEIVED_SIGNAL: AtomicI32 = AtomicI32::new(0);

extern "C" fn store_signal(signal: nix::libc::c_int) {
    // Relaxed suffices: the number is all that the handler shares.
    RECEIVED_SIGNAL.store(signal, Ordering::Relaxed);
}

/// Records SIGINT, SIGTERM and SIGHUP while it exists. A second SIGINT ends the program and its launch at once. A second SIGTERM
/// or SIGHUP does not, because batch systems and closing terminals may send them twice.
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

    /// Checks for a signal.
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

/// Adds to the error of an interrupted sweep what is kept and how to resume. Other errors stay unchanged.
pub fn explain(error: Error, plan: &Plan, folder: &Folder) -> Error {
    let ErrorKind::Interrupted(signal) = error.kind else { return error };
    let name = match Signal::try_from(i32::from(signal)) {
        Ok(Signal::SIGINT) => "Ctrl-C (SIGINT)",
        Ok(other) => other.as_str(),
        Err(_) => "a signal",
    };
    let kept_samples = folder.outcomes().map_or_else(
        |_| "all samples are kept".to_owned(),
        |records| {
            let progress = Progress::new(plan, &records);
            let (points, samples) = (plan.entries.len(), plural(progress.samples(), "sample"));
            let done_points = progress.counts()[0];
            format!("{samples} kept, {done_points} of {} done", plural(points, "point"))
        },
    );
    Error::new(
        error.kind,
        format!("interrupted by {name}: {kept_samples} in {}", folder.path.display()),
        format!("resume with: {}", command_to_resume(&command_words())),
    )
}
