//! The regression check: finds points of a new result that are slower than a limit allows, beyond their uncertainty.
//!
//! Every matched point is tested one-sidedly for a slowdown (base speed / new speed) above the limit, by Welch's test over
//! launches. Benjamini and Hochberg's procedure controls the false discovery rate over all points at 5 %. Runs of one program
//! therefore fail in at most 5 % of cases, if launches are draws from one distribution. Points with one launch are not tested
//! unless allowed, because the variation between launches is unknown.
//!
//! Ratios of two values that cards determine have no noise: the limit alone decides.
//!
//! A point shows a slowdown if the lower end of its interval is above the limit. A check without findings states the slowdown
//! that it could have found. If that is more than [`FAR`] times the limit at the median point, the check is undecided.

use crate::compare::comparison::{Comparison, Warning};
use crate::compare::limit::SlowdownLimit;
use crate::compare::points::{PointData, list_first};
use crate::compare::ratio::{
    Basis, EXACT, FALSE_FINDINGS, format_change, format_interval, format_ratio, ratio, shift, weaken,
};
use crate::html::capitalize;
use apexmap_base::error::{Error, Result};
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::{plural, short_number};
use apexmap_theory::statistics::rank_tests::{MannWhitney, adjust_p_values};
use serde::Serialize;

/// One tested point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestedPoint {
    pub point: String,
    /// The base's speed divided by the new speed.
    pub slowdown: f64,
    /// 95 % interval of the slowdown.
    pub interval: Option<(f64, f64)>,
    pub basis: Basis,
    /// One-sided p value of the hypothesis that the slowdown is at most the limit.
    pub p: f64,
    /// p value adjusted over all tested points.
    pub q: f64,
}

/// Largest ratio between the smallest slowdown that a check could have found and the limit. Beyond it the check is undecided.
pub const FAR: f64 = 3.0;

/// Smallest limit that the comparison with [`FAR`] uses.
/// Three times a limit of 0 would leave every check without findings undecided.
const SMALLEST_LIMIT: f64 = 0.01;

/// The outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Passed,
    Failed,
    /// The check found no slowdown, but could have found only a large one.
    Undecided,
}

impl Outcome {
    fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Undecided => "undecided",
        }
    }
}

/// Result of a check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RegressionCheck {
    pub base: String,
    pub new: String,
    pub limit: f64,
    pub verdict: Outcome,
    /// Whether cards determine all values, so that the check has no noise.
    pub exact: bool,
    /// Smallest slowdown that the check could have found at the median point, such as 1.45; `None` if none.
    pub smallest_found: Option<f64>,
    pub false_findings: f64,
    /// Points slower than the limit, slowest first.
    pub slower: Vec<TestedPoint>,
    /// Points that only the base finished.
    pub not_finished: Vec<String>,
    pub tested: usize,
    /// Matched points that cannot be tested: unfinished on both sides, or too few samples for an interval.
    pub untested: usize,
    /// Points of the base that are missing in the new result.
    pub missing: usize,
    pub warnings: Vec<String>,
}

impl RegressionCheck {
    /// Returns `the smallest slowdown that this check could have found is 45 % (median point)`.
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

    pub fn sentence(&self) -> String {
        format!(
            "Regression check {}: {} of {} more than {} % slower, {} unfinished; {}.",
            self.verdict.word(),
            self.slower.len(),
            plural(self.tested, "point"),
            self.percent(),
            self.not_finished.len(),
            self.power()
        )
    }

    /// Returns the warnings that a reader does not see elsewhere.
    fn warnings_except(&self, shown: &[Warning]) -> Vec<String> {
        let shown: Vec<String> = shown.iter().map(Warning::to_string).collect();
        self.warnings.iter().filter(|warning| !shown.contains(warning)).cloned().collect()
    }

    pub fn percent(&self) -> String {
        short_number(100.0 * (self.limit - 1.0))
    }
}

/// Returns the smallest slowdown that would have been found at the median point; `None` if half of the points have no interval.
fn smallest_found(tested: &[TestedPoint], limit: SlowdownLimit) -> Option<f64> {
    let smallest =
        |tested: &TestedPoint| tested.interval.map_or(f64::INFINITY, |(low, _)| limit.slowdown * tested.slowdown / low);
    let mut slowdowns: Vec<f64> = tested.iter().map(smallest).collect();
    slowdowns.sort_by(f64::total_cmp);
    slowdowns.get(slowdowns.len() / 2).copied().filter(|slowdown| slowdown.is_finite())
}

fn decide(slower: &[TestedPoint], not_finished: &[String], smallest: Option<f64>, limit: SlowdownLimit) -> Outcome {
    let far = 1.0 + FAR * (limit.slowdown - 1.0).max(SMALLEST_LIMIT);
    match smallest {
        _ if !slower.is_empty() || !not_finished.is_empty() => Outcome::Failed,
        Some(smallest) if smallest <= far => Outcome::Passed,
        _ => Outcome::Undecided,
    }
}

/// A point's test before the p values are adjusted.
struct Test {
    tested: TestedPoint,
    /// Smallest p value that the number of samples allows.
    smallest_p: f64,
}

/// Checks the second machine of a comparison against the first.
///
/// # Errors
/// If there are not two machines, no testable point, only single launches (unless allowed), or too few samples.
pub fn check(comparison: &Comparison, limit: SlowdownLimit) -> Result<RegressionCheck> {
    let [base, new] = comparison.machines else {
        return Err(Error::input(
            format!("--fail-if compares two results, but {} were given", comparison.machines.len()),
            "name two results: apexmap compare BASE NEW --fail-if slower=5%",
        ));
    };
    let mut tests = MannWhitney::default();
    let (mut done, mut not_finished, mut untested) = (Vec::new(), Vec::new(), 0);
    for &index in &comparison.matched {
        let (point, name) = (comparison.point(index), &comparison.names[index]);
        let (Some(a), Some(b)) = (&point.by_machine[0], &point.by_machine[1]) else { continue };
        match (a.samples(), b.samples()) {
            (0, _) => untested += 1,
            (_, 0) => not_finished.push(name.clone()),
            _ => match test(a, b, limit, &mut tests, name.clone()) {
                Some(test) => done.push(test),
                None => untested += 1,
            },
        }
    }
    if done.is_empty() && not_finished.is_empty() {
        return Err(Error::input(
            format!("--fail-if: no point of {} and {} can be tested", base.given, new.given),
            "measure both with several launches: launches = 5 in the sweep's [launch]",
        ));
    }
    let mut warnings: Vec<String> = comparison.warnings().iter().map(Warning::to_string).collect();
    let (done, left_out) = split_by_launches(comparison, done, (&base.given, &new.given))?;
    untested += left_out.len();
    warnings.extend(list_single_launches(&left_out, done.len() + left_out.len()));
    warnings.extend(check_power(&done, (&base.given, &new.given))?);
    let missing = comparison.unmatched_points().filter(|point| point.by_machine[0].is_some()).count();
    if missing > 0 {
        warnings.push(format!(
            "{} of {} are missing in {} and were not checked",
            plural(missing, "point"),
            base.given,
            new.given
        ));
    }
    let q = adjust_p_values(&done.iter().map(|test| test.tested.p).collect::<Vec<_>>());
    let results: Vec<TestedPoint> = done.into_iter().zip(q).map(|(test, q)| TestedPoint { q, ..test.tested }).collect();
    let (tested, smallest_found) = (results.len(), smallest_found(&results, limit));
    let mut slower: Vec<TestedPoint> = results.into_iter().filter(|tested| tested.q <= FALSE_FINDINGS).collect();
    slower.sort_by(|a, b| b.slowdown.total_cmp(&a.slowdown));
    Ok(RegressionCheck {
        base: base.name.clone(),
        new: new.name.clone(),
        limit: limit.slowdown,
        verdict: decide(&slower, &not_finished, smallest_found, limit),
        exact: comparison.is_exact(),
        smallest_found,
        false_findings: FALSE_FINDINGS,
        slower,
        not_finished,
        tested,
        untested,
        missing,
        warnings,
    })
}

fn test(a: &PointData, b: &PointData, limit: SlowdownLimit, tests: &mut MannWhitney, point: String) -> Option<Test> {
    let ratio = ratio(a, b, tests)?;
    let margin = limit.slowdown.ln();
    let (p, least) = match shift(a, b) {
        Some((shift, _)) => (shift.p_above(margin), 0.0),
        None => {
            let (base, new) = (a.log_speeds(), b.log_speeds());
            // Test the new speeds against the base's speeds reduced by the limit.
            let slower_by = margin + a.systematic() + b.systematic();
            let slowed: Vec<f64> = base.iter().map(|speed| speed - slower_by).collect();
            let widening = a.widening.zip(b.widening).map(|(a, b)| a.max(b))?;
            let p = |p: f64| weaken(p, widening);
            (p(tests.p_above(&new, &slowed)), p(tests.min_p(new.len(), base.len())))
        }
    };
    let tested = TestedPoint { point, slowdown: ratio.value, interval: ratio.interval, basis: ratio.basis, p, q: 1.0 };
    Some(Test { tested, smallest_p: least })
}

/// Separates tests of points with several launches from points without, which are not tested unless allowed; fails if all are such.
fn split_by_launches(
    comparison: &Comparison,
    done: Vec<Test>,
    (base, new): (&str, &str),
) -> Result<(Vec<Test>, Vec<String>)> {
    if comparison.matching.allowed.one_launch {
        return Ok((done, Vec::new()));
    }
    let (several, single): (Vec<Test>, Vec<Test>) =
        done.into_iter().partition(|test| test.tested.basis.includes_launches());
    if several.is_empty() && !single.is_empty() {
        return Err(Error::input(
            format!(
                "--fail-if: all {0} points were measured in a single launch in {base} or {new}; launches vary more than \
                 samples within a launch, so the check would often fail for two identical runs",
                single.len()
            ),
            "measure both with launches = 5 in the sweep's [launch], or accept this with --allow one-launch",
        ));
    }
    Ok((several, single.into_iter().map(|test| test.tested.point).collect()))
}

/// Returns a warning that lists the points with a single launch.
fn list_single_launches(points: &[String], total: usize) -> Option<String> {
    (!points.is_empty()).then(|| {
        format!(
            "{} of {total} points were not tested, because they have a single launch on one side: {}; --allow one-launch tests them with \
             their samples",
            points.len(),
            list_first(points)
        )
    })
}

/// Returns warnings about points with single launches; an error if no slowdown could be found with these samples.
fn check_power(done: &[Test], (base, new): (&str, &str)) -> Result<Vec<String>> {
    let single = done.iter().filter(|test| !test.tested.basis.includes_launches()).count();
    if single == 0 {
        return Ok(Vec::new());
    }
    let mut warnings = vec![format!(
        "{single} of {} points were measured in a single launch in {base} or {new}: their tests ignore launch-to-launch variation and \
         may fail for two identical runs",
        done.len()
    )];
    // Assume that every point has its smallest possible p value: how many points must be slower for the first to be found?
    let mut least: Vec<f64> = done.iter().map(|test| test.smallest_p).collect();
    least.sort_by(f64::total_cmp);
    let total = least.len() as f64;
    let needed = (1..=least.len()).find(|k| least[k - 1] <= FALSE_FINDINGS * *k as f64 / total);
    match needed {
        None => Err(Error::input(
            format!(
                "--fail-if: the check cannot find any slowdown: with so few samples the smallest possible p value is \
                 {:.2e}",
                least.first().copied().unwrap_or(1.0)
            ),
            "take more samples per point: min = 10 in the sweep's [repeat], or launches = 5 in its [launch]",
        )),
        Some(1) => Ok(warnings),
        Some(k) => {
            warnings.push(format!(
                "with so few samples per point the smallest possible p value is {:.2e}, which over {} tests \
                 suffices only if at least {k} points are slower",
                least[0],
                done.len()
            ));
            Ok(warnings)
        }
    }
}

/// Formats the result for a terminal or the log of a CI job, without warnings that are already printed.
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
        capitalize(&check.power())
    );
    text
}

/// The check on the HTML page.
#[derive(Serialize)]
pub struct Check {
    /// The numbers of the check.
    #[serde(flatten)]
    check: RegressionCheck,
    percent: String,
    /// The smallest slowdown that it could have found.
    power: String,
    /// Point, slowdown, interval, p value and adjusted p value of every finding.
    rows: Vec<[String; 5]>,
}

impl Check {
    /// Omits the warnings in `shown`, which the HTML page already shows.
    pub fn new(check: &RegressionCheck, shown: &[Warning]) -> Self {
        let row = |tested: &TestedPoint| {
            let interval = format_interval(tested.interval).unwrap_or_default();
            let p = |p: f64| if tested.basis == Basis::Exact { String::new() } else { short_number(p) };
            [tested.point.clone(), format_ratio(tested.slowdown), interval, p(tested.p), p(tested.q)]
        };
        Self {
            percent: check.percent(),
            rows: check.slower.iter().map(row).collect(),
            power: capitalize(&check.power()),
            check: RegressionCheck { warnings: check.warnings_except(shown), ..check.clone() },
        }
    }
}
