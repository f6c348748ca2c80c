//! How far a rank is in a run, told while no clock runs: what fills or verifies large memory takes long, and looks like a rank that
//! hangs.

use apexmap_base::sample::Phase;
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Shortest time between two reports of a phase, for lines to a driver.
pub const QUIET: Duration = Duration::from_secs(2);

type Report = Box<dyn FnMut(Phase, Option<f64>)>;

struct Reporter {
    report: Report,
    quiet: Duration,
    /// When something was told last.
    told: Instant,
    phase: Option<Phase>,
}

thread_local! {
    /// Of this thread's rank, if it is one that speaks.
    static REPORTER: RefCell<Option<Reporter>> = const { RefCell::new(None) };
}

/// From now on `report` hears how far this thread's runs are, no more often than every `quiet`.
pub fn report_to(quiet: Duration, report: impl FnMut(Phase, Option<f64>) + 'static) {
    let reporter = Reporter { report: Box::new(report), quiet, told: Instant::now(), phase: None };
    REPORTER.set(Some(reporter));
}

/// A run begins, and the driver knows.
pub fn begin() {
    with_reporter(|reporter| (reporter.told, reporter.phase) = (Instant::now(), None));
}

/// This part of a phase is done. Told every few seconds at most: short runs tell nothing.
pub fn note(phase: Phase, share: f64) {
    with_reporter(|reporter| {
        if reporter.told.elapsed() >= reporter.quiet {
            reporter.tell(phase, Some(share.clamp(0.0, 1.0)));
        }
    });
}

/// The clock is about to start: until it stops nothing can be told. Told after something was told of the same run, or if it is time.
pub fn clock_starts() {
    with_reporter(|reporter| {
        let stale = reporter.phase.is_some_and(|phase| phase != Phase::Measuring);
        if stale || reporter.told.elapsed() >= reporter.quiet {
            reporter.tell(Phase::Measuring, None);
        }
    });
}

impl Reporter {
    fn tell(&mut self, phase: Phase, share: Option<f64>) {
        (self.report)(phase, share);
        (self.told, self.phase) = (Instant::now(), Some(phase));
    }
}

fn with_reporter(act: impl FnOnce(&mut Reporter)) {
    REPORTER.with_borrow_mut(|reporter| {
        if let Some(reporter) = reporter {
            act(reporter);
        }
    });
}
