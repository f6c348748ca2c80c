//! Progress reports of a rank outside timed regions. Without them, a rank that fills or verifies large memory would seem to hang.

use apexmap_base::sample::{Event, Phase};
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Between two reports to a driver.
pub const MIN_REPORT_INTERVAL: Duration = Duration::from_secs(2);

type Report = Box<dyn FnMut(Event)>;

struct Reporter {
    report: Report,
    min_interval: Duration,
    latest_report: Instant,
    phase: Option<Phase>,
}

thread_local! {
    static REPORTER: RefCell<Option<Reporter>> = const { RefCell::new(None) };
}

/// At most once per `min_interval`.
pub fn set_reporter(min_interval: Duration, report: impl FnMut(Event) + 'static) {
    let reporter = Reporter { report: Box::new(report), min_interval, latest_report: Instant::now(), phase: None };
    REPORTER.set(Some(reporter));
}

/// A run that the driver knows about.
pub fn begin_run() {
    with_reporter(|reporter| (reporter.latest_report, reporter.phase) = (Instant::now(), None));
}

/// The finished fraction of a phase, unless the latest report is recent. Short runs therefore report nothing.
pub fn report_share(phase: Phase, share: f64) {
    with_reporter(|reporter| {
        if reporter.latest_report.elapsed() >= reporter.min_interval {
            reporter.send_report(phase, Some(share.clamp(0.0, 1.0)));
        }
    });
}

/// No report is possible until the clock stops. Reports if the same run has reported before, or if the latest report is old enough.
pub fn clock_starts() {
    with_reporter(|reporter| {
        let stale = reporter.phase.is_some_and(|phase| phase != Phase::Measuring);
        if stale || reporter.latest_report.elapsed() >= reporter.min_interval {
            reporter.send_report(Phase::Measuring, None);
        }
    });
}

/// The messages so far, and the virtual time.
pub fn report_simulation(messages: u64, seconds: f64) {
    with_reporter(|reporter| {
        if reporter.latest_report.elapsed() >= reporter.min_interval {
            (reporter.report)(Event::Simulation { messages, seconds });
            reporter.latest_report = Instant::now();
        }
    });
}

impl Reporter {
    fn send_report(&mut self, phase: Phase, share: Option<f64>) {
        (self.report)(Event::Progress { phase, share });
        (self.latest_report, self.phase) = (Instant::now(), Some(phase));
    }
}

fn with_reporter(act: impl FnOnce(&mut Reporter)) {
    REPORTER.with_borrow_mut(|reporter| {
        if let Some(reporter) = reporter {
            act(reporter);
        }
    });
}
