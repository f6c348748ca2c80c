//! The words of the regression check, for the terminal and the HTML page.

use super::prelude::*;
use crate::compare::comparison::Warning;
use crate::compare::ratio::format_change;
use crate::compare::regression::{Outcome, RegressionCheck, TestedPoint};
use apexmap_base::text_table::{Align, TextTable};

impl RegressionCheck {
    pub fn power(&self) -> String {
        match self.smallest_found {
            _ if self.exact => format!("all ratios are {EXACT}"),
            Some(slowdown) => {
                let percent = short_number(100.0 * (slowdown - 1.0));
                format!("the smallest slowdown that this check could have found is {percent} % (median point)")
            }
            None => "this check cannot find any slowdown, because half of its points have no interval".to_owned(),
        }
    }

    fn disturbance(&self) -> Option<&Reservation> {
        self.reservations.iter().find(|reservation| matches!(reservation, Reservation::Disturbed { .. }))
    }

    /// A disturbance that may explain slow points, or the slowdown that the check could have found.
    pub fn grounds(&self) -> String {
        match self.disturbance().filter(|_| self.explained > 0) {
            Some(disturbed) => format!("{} slower, but {disturbed}", more_points(self.explained)),
            None => self.power(),
        }
    }

    pub fn counts(&self) -> String {
        let Self { base, new, tested, untested, missing, .. } = self;
        let [slower, unfinished] = [self.slower.len(), self.not_finished.len()];
        let points = plural(*tested, "point");
        format!(
            "{slower} of {points} of {new} are more than {} % slower than {base}, {unfinished} did not finish; {untested} not testable, \
             {missing} missing",
            self.percent()
        )
    }

    pub fn sentence(&self) -> String {
        format!("Regression check {}: {}; {}.", self.verdict.name(), self.counts(), self.grounds())
    }

    pub fn warnings_except(&self, shown: &[Warning]) -> Vec<String> {
        let shown: Vec<String> = shown.iter().map(Warning::to_string).collect();
        self.warnings.iter().filter(|warning| !shown.contains(warning)).cloned().collect()
    }

    pub fn percent(&self) -> String {
        short_number(100.0 * (self.limit - 1.0))
    }
}

fn more_points(count: usize) -> String {
    if count == 1 { "1 more point is".into() } else { format!("{count} more points are") }
}

/// For a terminal or the log of a CI job, without the warnings in `printed`.
pub fn text(check: &RegressionCheck, printed: &[Warning]) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    for warning in check.warnings_except(printed) {
        let _ = writeln!(text, "warning: {warning}");
    }
    let mut slower = TextTable::new([Align::Left, Align::Left, Align::Right, Align::Left, Align::Left]);
    for tested in &check.slower {
        let interval = tested.interval.map(|(low, high)| format!("[{}, {}]", format_change(low), format_change(high)));
        let [interval, q] = match tested.basis {
            Basis::Exact => Default::default(),
            _ => [interval.unwrap_or_default(), format!("q = {}", short_number(tested.q))],
        };
        let time = format!("time {}", format_change(tested.slowdown));
        slower.add_row(["SLOWER".to_owned(), tested.point.clone(), time, interval, q]);
    }
    let _ = write!(text, "{slower}");
    for point in &check.not_finished {
        let _ = writeln!(text, "DID NOT FINISH  {point}");
    }
    let word = match check.verdict {
        Outcome::Passed => check.verdict.name().to_owned(),
        bad => bad.name().to_uppercase(),
    };
    let controlled = match check.exact {
        true => String::new(),
        false => format!(" (false discoveries controlled at {:.0} %)", 100.0 * check.false_findings),
    };
    let _ = writeln!(text, "{word}: {}{controlled}\n{}.", check.counts(), capitalize(&check.grounds()));
    text
}

pub fn section(checks: &[RegressionCheck], shown: &[Warning]) -> Option<Value> {
    let checks: Vec<Value> = checks.iter().map(|check| describe(check, shown)).collect();
    (!checks.is_empty()).then(|| json!({ "checks": checks }))
}

fn describe(check: &RegressionCheck, shown: &[Warning]) -> Value {
    // Point, slowdown, interval, p value and adjusted p value.
    let row = |tested: &TestedPoint| {
        let interval = format_interval(tested.interval).unwrap_or_default();
        let p = |p: f64| if tested.basis == Basis::Exact { String::new() } else { short_number(p) };
        [tested.point.clone(), format_ratio(tested.slowdown), interval, p(tested.p), p(tested.q)]
    };
    let mut section = json!(check);
    section["warnings"] = json!(check.warnings_except(shown));
    section["counts"] = json!(check.counts());
    section["power"] = json!(capitalize(&check.grounds()));
    section["rows"] = json!(check.slower.iter().map(row).collect::<Vec<_>>());
    section
}
