//! The words of the regression check, for the terminal and the HTML page.

use crate::compare::comparison::Warning;
use crate::compare::ratio::{Basis, format_change, format_interval, format_ratio};
use crate::compare::regression::{Outcome, RegressionCheck, TestedPoint};
use crate::html::capitalize;
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::short_number;
use serde_json::{Value, json};

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
    let _ = writeln!(
        text,
        "{}: {} of {} points of {} are more than {} slower than {}, {} did not finish; {} not testable, {} missing{}\n{}.",
        match check.verdict {
            Outcome::Passed => check.verdict.word().to_owned(),
            bad => bad.word().to_uppercase(),
        },
        check.slower.len(),
        check.tested,
        check.new,
        format_change(check.limit).trim_start_matches('+'),
        check.base,
        check.not_finished.len(),
        check.untested,
        check.missing,
        match check.exact {
            true => String::new(),
            false => format!(" (false discoveries controlled at {:.0} %)", 100.0 * check.false_findings),
        },
        capitalize(&check.grounds())
    );
    text
}

/// Without the warnings in `shown`, which the page has already.
pub fn section(check: &RegressionCheck, shown: &[Warning]) -> Value {
    // Point, slowdown, interval, p value and adjusted p value.
    let row = |tested: &TestedPoint| {
        let interval = format_interval(tested.interval).unwrap_or_default();
        let p = |p: f64| if tested.basis == Basis::Exact { String::new() } else { short_number(p) };
        [tested.point.clone(), format_ratio(tested.slowdown), interval, p(tested.p), p(tested.q)]
    };
    let mut section = json!(check);
    section["warnings"] = json!(check.warnings_except(shown));
    section["percent"] = json!(check.percent());
    section["power"] = json!(capitalize(&check.grounds()));
    section["rows"] = json!(check.slower.iter().map(row).collect::<Vec<_>>());
    section
}
