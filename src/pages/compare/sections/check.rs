//! The regression check: which points of a new result are slower than asked, beyond their uncertainty.
//!
//! Every matched point is tested one-sidedly: is its slowdown, the base's speed by the new one, above the limit? The test is that
//! of the point's interval: Welch's over launches. False discoveries over all points are controlled
//! at 5 % by Benjamini and Hochberg's procedure. Between runs of the same thing every finding is false, so that they trip the
//! check in at most 5 % of tries. That holds for launches that are draws of one distribution: points with one launch are not
//! tested unless allowed, as it is not known then how launches differ, and a result that has no others is refused.
//!
//! A check that finds nothing says what it could have found: a point shows a slowdown where the lower end of its interval is above the
//! limit. Where the median point shows none below [`FAR`] times the limit, the check is undecided.

use super::Section;
use crate::compare::Comparison;
use crate::compare::limit::SlowdownLimit;
use crate::compare::points::{PointData, list_first};
use crate::compare::ratio::{Basis, FALSE_FINDINGS, format_interval, format_ratio, ratio, shift, weakened};
use crate::html::capital;
use apexmap_base::error::{Error, Result};
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::{plural, significant};
use apexmap_theory::statistics::rank_tests::{MannWhitney, adjusted};
use serde::Serialize;

/// One tested point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tested {
    pub point: String,
    /// The base's speed by the new one.
    pub slowdown: f64,
    /// 95 % interval of it.
    pub interval: Option<(f64, f64)>,
    pub basis: Basis,
    /// One-sided, of a slowdown at most the limit.
    pub p: f64,
    /// Adjusted over all tested points.
    pub q: f64,
}

/// A check is undecided where the smallest slowdown that it could have found is more than this many times the limit.
pub const FAR: f64 = 3.0;

/// Smaller limits count as this one there.
const SMALLEST_LIMIT: f64 = 0.01;

/// The outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Passed,
    Failed,
    /// Nothing was found, and little could have been.
    Undecided,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Undecided => "undecided",
        }
    }
}

/// What the check found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RegressionCheck {
    pub base: String,
    pub new: String,
    pub limit: f64,
    pub verdict: Verdict,
    /// The smallest slowdown that the check could have found at the median point, such as 1.45; absent where it could have found none.
    pub smallest_found: Option<f64>,
    pub false_findings: f64,
    /// Points slower than the limit, the slowest first.
    pub slower: Vec<Tested>,
    /// Points that only the base finished.
    pub not_finished: Vec<String>,
    pub tested: usize,
    /// Matched points that cannot be tested: nobody finished them, or there are too few samples for any interval.
    pub untested: usize,
    /// Points of the base that the new result lacks.
    pub missing: usize,
    pub warnings: Vec<String>,
}

impl RegressionCheck {
    /// `the smallest slow-down that this check could have found is 45 % (median point)`
    pub fn power(&self) -> String {
        let percent = |slowdown: f64| format!("{} %", significant(100.0 * (slowdown - 1.0)));
        match self.smallest_found {
            Some(slowdown) => {
                format!(
                    "the smallest slow-down that this check could have found is {} (median point)",
                    percent(slowdown)
                )
            }
            None => "this check could have found no slow-down, because half of its points have no interval".to_owned(),
        }
    }

    /// The outcome in a sentence.
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

    /// The limit in per cent.
    pub fn percent(&self) -> String {
        significant(100.0 * (self.limit - 1.0))
    }
}

/// The smallest slowdown that would have been found at the median one of some points; `None` if half of them have no interval.
fn smallest_found(tested: &[Tested], limit: SlowdownLimit) -> Option<f64> {
    let one =
        |tested: &Tested| tested.interval.map_or(f64::INFINITY, |(low, _)| limit.slowdown * tested.slowdown / low);
    let mut all: Vec<f64> = tested.iter().map(one).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().filter(|slowdown| slowdown.is_finite())
}

fn verdict(slower: &[Tested], not_finished: &[String], smallest: Option<f64>, limit: SlowdownLimit) -> Verdict {
    let far = 1.0 + FAR * (limit.slowdown - 1.0).max(SMALLEST_LIMIT);
    match smallest {
        _ if !slower.is_empty() || !not_finished.is_empty() => Verdict::Failed,
        Some(smallest) if smallest <= far => Verdict::Passed,
        _ => Verdict::Undecided,
    }
}

/// A point's test before the adjustment.
struct Test {
    tested: Tested,
    /// The smallest p that this many samples can give.
    least: f64,
}

/// Checks the second machine of a comparison against the first.
///
/// # Errors
/// If there are not exactly two machines, nothing can be tested, the points have single launches and that was not allowed, or
/// so few samples that no point could ever be found.
pub fn check(comparison: &Comparison, limit: SlowdownLimit) -> Result<RegressionCheck> {
    let [base, new] = comparison.machines else {
        return Err(Error::input(
            format!("--fail-if compares one result with a base, but {} results were given", comparison.machines.len()),
            "name two: apexmap compare BASE NEW --fail-if slower=5%",
        ));
    };
    let mut tests = MannWhitney::default();
    let (mut done, mut not_finished, mut untested) = (Vec::new(), Vec::new(), 0);
    for &at in &comparison.matched {
        let (point, name) = (&comparison.points.points[at], &comparison.names[at]);
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
    let mut warnings = comparison.stamps();
    let (done, left_out) = with_launches(comparison, done, (&base.given, &new.given))?;
    untested += left_out.len();
    warnings.extend(without_launches(&left_out, done.len() + left_out.len()));
    warnings.extend(limits_of(&done, (&base.given, &new.given))?);
    let missing = comparison.unmatched().filter(|point| point.by_machine[0].is_some()).count();
    if missing > 0 {
        warnings.push(format!("{} of {} not in {} and not checked", plural(missing, "point"), base.given, new.given));
    }
    let q = adjusted(&done.iter().map(|test| test.tested.p).collect::<Vec<_>>());
    let all: Vec<Tested> = done.into_iter().zip(q).map(|(test, q)| Tested { q, ..test.tested }).collect();
    let (tested, smallest_found) = (all.len(), smallest_found(&all, limit));
    let mut slower: Vec<Tested> = all.into_iter().filter(|tested| tested.q <= FALSE_FINDINGS).collect();
    slower.sort_by(|a, b| b.slowdown.total_cmp(&a.slowdown));
    Ok(RegressionCheck {
        base: base.name.clone(),
        new: new.name.clone(),
        limit: limit.slowdown,
        verdict: verdict(&slower, &not_finished, smallest_found, limit),
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
    let found = ratio(a, b, tests)?;
    let margin = limit.slowdown.ln();
    let (p, least) = match shift(a, b) {
        Some((shift, _)) => (shift.p_above(margin), 0.0),
        None => {
            let (base, new) = (a.all(), b.all());
            // The base, slowed down as far as is accepted, against the new one.
            let slowed: Vec<f64> = base.iter().map(|speed| speed - margin).collect();
            let widening = a.widening.zip(b.widening).map(|(a, b)| a.max(b))?;
            let p = |p: f64| weakened(p, widening);
            (p(tests.p_above(&new, &slowed)), p(tests.least_p(new.len(), base.len())))
        }
    };
    let tested = Tested { point, slowdown: found.value, interval: found.interval, basis: found.basis, p, q: 1.0 };
    Some(Test { tested, least })
}

/// The tests whose points tell how launches differ, and the points of the others, which are not tested unless that was allowed.
///
/// # Errors
/// If there is no other.
fn with_launches(
    comparison: &Comparison,
    done: Vec<Test>,
    (base, new): (&str, &str),
) -> Result<(Vec<Test>, Vec<String>)> {
    if comparison.matching.allowed.one_launch {
        return Ok((done, Vec::new()));
    }
    let (known, single): (Vec<Test>, Vec<Test>) = done.into_iter().partition(|test| test.tested.basis.knows_launches());
    if known.is_empty() && !single.is_empty() {
        return Err(Error::input(
            format!(
                "--fail-if: {0} of {0} points measured in a single launch in {base} or {new}; launches vary more than \
                 samples within a launch, so such a check would often fail for two identical runs",
                single.len()
            ),
            "measure both with launches = 5 in the sweep's [launch], or accept this with --allow one-launch",
        ));
    }
    Ok((known, single.into_iter().map(|test| test.tested.point).collect()))
}

/// Names the points that are left out.
fn without_launches(points: &[String], all: usize) -> Option<String> {
    (!points.is_empty()).then(|| {
        format!(
            "{} of {all} points not tested, because they have a single launch on one side: {}; --allow one-launch tests them by \
             their samples",
            points.len(),
            list_first(points)
        )
    })
}

/// What limits the check; refusals where it could not find anything.
fn limits_of(done: &[Test], (base, new): (&str, &str)) -> Result<Vec<String>> {
    let single = done.iter().filter(|test| !test.tested.basis.knows_launches()).count();
    if single == 0 {
        return Ok(Vec::new());
    }
    let mut warnings = vec![format!(
        "{single} of {} points measured in a single launch in {base} or {new}: their tests ignore launch-to-launch variation and \
         may fail for two identical runs",
        done.len()
    )];
    // If all points were as slow as can be, which would be found? And how many must be slower together?
    let mut least: Vec<f64> = done.iter().map(|test| test.least).collect();
    least.sort_by(f64::total_cmp);
    let total = least.len() as f64;
    let needed = (1..=least.len()).find(|k| least[k - 1] <= FALSE_FINDINGS * *k as f64 / total);
    match needed {
        None => Err(Error::input(
            format!(
                "--fail-if: no point can be found slower: the smallest p value possible with so few samples is \
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

/// The finding as plain text for a terminal or the log of a CI job, without the warnings that are printed already.
pub fn text(check: &RegressionCheck, printed: &[String]) -> String {
    use std::fmt::Write;
    let percent = |ratio: f64| format!("{:+.1} %", 100.0 * (ratio - 1.0));
    let mut text = String::new();
    for warning in check.warnings.iter().filter(|warning| !printed.contains(warning)) {
        let _ = writeln!(text, "warning: {warning}");
    }
    let mut slower = TextTable::new([Align::Left, Align::Left, Align::Right, Align::Left, Align::Left]);
    for tested in &check.slower {
        slower.row([
            "SLOWER".to_owned(),
            tested.point.clone(),
            format!("time {}", percent(tested.slowdown)),
            tested.interval.map(|(low, high)| format!("[{}, {}]", percent(low), percent(high))).unwrap_or_default(),
            format!("q = {}", significant(tested.q)),
        ]);
    }
    let _ = write!(text, "{slower}");
    for point in &check.not_finished {
        let _ = writeln!(text, "DID NOT FINISH  {point}");
    }
    let _ = writeln!(
        text,
        "{}: {} of {} points of {} are more than {} slower than {}, {} did not finish; {} not testable, {} missing (false \
         discoveries controlled at {:.0} %)\n{}.",
        match check.verdict {
            Verdict::Passed => check.verdict.word().to_owned(),
            bad => bad.word().to_uppercase(),
        },
        check.slower.len(),
        check.tested,
        check.new,
        percent(check.limit).trim_start_matches('+'),
        check.base,
        check.not_finished.len(),
        check.untested,
        check.missing,
        100.0 * check.false_findings,
        capital(&check.power())
    );
    text
}

/// The check on the page; absent without one.
#[derive(Serialize)]
pub struct Check {
    check: Option<CheckRows>,
}

#[derive(Serialize)]
struct CheckRows {
    /// The check with its numbers.
    #[serde(flatten)]
    check: RegressionCheck,
    percent: String,
    /// What it could have found.
    power: String,
    /// Point, slowdown, interval, p and adjusted p of every finding.
    rows: Vec<[String; 5]>,
}

impl Check {
    /// `stamps`: the warnings that the page has already.
    pub fn new(check: Option<&RegressionCheck>, stamps: &[String]) -> Self {
        let row = |tested: &Tested| {
            let interval = format_interval(tested.interval).unwrap_or_default();
            [
                tested.point.clone(),
                format_ratio(tested.slowdown),
                interval,
                significant(tested.p),
                significant(tested.q),
            ]
        };
        let rows = |check: &RegressionCheck| CheckRows {
            percent: check.percent(),
            rows: check.slower.iter().map(row).collect(),
            power: capital(&check.power()),
            check: RegressionCheck {
                warnings: check.warnings.iter().filter(|warning| !stamps.contains(warning)).cloned().collect(),
                ..check.clone()
            },
        };
        Self { check: check.map(rows) }
    }
}

impl Section for Check {
    const HEADING: Option<[&'static str; 2]> = Some(["check", "Regression check"]);
    const TEMPLATE: &'static str = include_str!("check.html");

    fn applies(&self) -> bool {
        self.check.is_some()
    }
}
