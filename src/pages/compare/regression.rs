//! The regression check: points of a new result that are slower than a limit allows, beyond their uncertainty.
//!
//! Every matched point is tested one-sidedly for a slowdown (base speed / new speed) above the limit, by Welch's test over launches.
//! Benjamini and Hochberg's procedure controls the false discovery rate over all points at 5 %, so runs of one program fail in at most
//! 5 % of cases, if launches are draws from one distribution. Without noise, between values that cards determine, the limit alone decides.
//!
//! A check without findings states the slowdown that it could have found. Above [`FAR`] times the limit at the median point, it is
//! undecided. A disturbance of the new result leaves undecided what it may explain. One of the base may hide a slowdown, so what could
//! have been found grows by its cost, if that is known.

use super::comparison::{Comparison, Warning, compare};
use super::machine::Machine;
use super::points::list_first;
use super::ratio::{Basis, FALSE_FINDINGS, ratio, shift, weaken};
use super::verdict;
use apexmap_base::error::{Error, Result};
use apexmap_base::reservation::Reservation;
use apexmap_base::units::plural;
use apexmap_theory::statistics::rank_tests::{MannWhitney, adjust_p_values};
use serde::Serialize;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Conditions {
    pub limit: Option<SlowdownLimit>,
    pub noisy: bool,
}

impl Conditions {
    pub fn parse(texts: &[String]) -> Result<Self> {
        let mut conditions = Self::default();
        for text in texts {
            if text == "noisy" {
                conditions.noisy = true;
            } else if conditions.limit.replace(SlowdownLimit::parse(text)?).is_some() {
                return Err(Error::input("--fail-if gives two limits", "give one: --fail-if slower=5%"));
            }
        }
        Ok(conditions)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowdownLimit {
    /// Ratio of times: 1.05.
    pub slowdown: f64,
}

impl SlowdownLimit {
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |reason: &str| Error::input(format!("--fail-if {text}: {reason}"), "write --fail-if slower=5%");
        let share = text.strip_prefix("slower=").ok_or_else(|| wrong("the conditions are slower=PERCENT and noisy"))?;
        let percent = share.strip_suffix('%').ok_or_else(|| wrong("the limit must be in per cent"))?;
        let percent: f64 = percent.trim().parse().map_err(|_| wrong("this is not a number"))?;
        if !(0.0..=1000.0).contains(&percent) {
            return Err(wrong("the limit must lie between 0 and 1000 %"));
        }
        Ok(Self { slowdown: 1.0 + percent / 100.0 })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestedPoint {
    pub point: String,
    /// Base speed / new speed.
    pub slowdown: f64,
    /// 95 % interval.
    pub interval: Option<(f64, f64)>,
    pub basis: Basis,
    /// One-sided, that the slowdown is at most the limit.
    pub p: f64,
    pub q: f64,
}

/// Largest ratio of the smallest slowdown that a check could have found to the limit; beyond it the check is undecided.
pub const FAR: f64 = 3.0;

/// With [`FAR`]: three times a limit of 0 would leave every check without findings undecided.
const SMALLEST_LIMIT: f64 = 0.01;

apexmap_base::words! {
    pub enum Outcome {
        Passed = "passed",
        Failed = "failed",
        /// It found none, but could have found only a large one, or a disturbance may explain what it found.
        Undecided = "undecided",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RegressionCheck {
    pub base: String,
    pub new: String,
    pub limit: f64,
    pub verdict: Outcome,
    /// Cards determine all values, so there is no noise.
    pub exact: bool,
    /// That the check could have found at the median point, such as 1.45.
    pub smallest_found: Option<f64>,
    pub false_findings: f64,
    pub slower: Vec<TestedPoint>,
    /// Further points, whose slowdown the disturbance of the new result may explain.
    pub explained: usize,
    pub reservations: Vec<Reservation>,
    pub not_finished: Vec<String>,
    pub tested: usize,
    /// Unfinished on both sides, or too few samples for an interval.
    pub untested: usize,
    pub missing: usize,
    pub warnings: Vec<String>,
}

/// At the median point; `None` if half of the points have no known interval.
fn smallest_found(tests: &[Test], limit: SlowdownLimit) -> Option<f64> {
    let smallest = |test: &Test| {
        let noise = test.tested.interval.map_or(f64::INFINITY, |(low, _)| test.tested.slowdown / low);
        limit.slowdown * noise * test.base_slowed
    };
    let mut slowdowns: Vec<f64> = tests.iter().map(smallest).collect();
    slowdowns.sort_by(f64::total_cmp);
    slowdowns.get(slowdowns.len() / 2).copied().filter(|slowdown| slowdown.is_finite())
}

fn decide(failed: bool, explained: usize, smallest: Option<f64>, limit: SlowdownLimit) -> Outcome {
    let far = 1.0 + FAR * (limit.slowdown - 1.0).max(SMALLEST_LIMIT);
    match smallest {
        _ if failed => Outcome::Failed,
        Some(smallest) if explained == 0 && smallest <= far => Outcome::Passed,
        _ => Outcome::Undecided,
    }
}

struct Test {
    tested: TestedPoint,
    /// Hypothesis: a slowdown of at most the limit times the disturbance of the new result.
    p_beyond_disturbance: f64,
    /// 1 if unknown, because a check where everything is disturbed all the time could never pass.
    base_slowed: f64,
    /// That the number of samples allows.
    smallest_p: f64,
}

/// Each further machine against the first. The checks share the false findings, so that more of them give no more false alarms.
pub fn check_each(comparison: &Comparison, limit: SlowdownLimit) -> Result<Vec<RegressionCheck>> {
    let (base, others) = (&comparison.machines[0], &comparison.machines[1..]);
    let false_findings = FALSE_FINDINGS / others.len() as f64;
    if others.len() == 1 {
        return Ok(vec![check(comparison, limit, false_findings)?]);
    }
    let check_one = |new: &Machine| {
        let pair = [base.clone(), new.clone()];
        check(&compare(&pair, comparison.matching.clone())?, limit, false_findings)
    };
    others.iter().map(check_one).collect()
}

fn check(comparison: &Comparison, limit: SlowdownLimit, false_findings: f64) -> Result<RegressionCheck> {
    let [base, new] = comparison.machines else { return Err(Error::internal("a check has two sides")) };
    let (done, not_finished, mut untested) = test_points(comparison, limit);
    if done.is_empty() && not_finished.is_empty() {
        return Err(Error::input(
            format!("--fail-if: no point of {} and {} can be tested", base.given, new.given),
            "measure both with several launches: apexmap run ... --launches 5",
        ));
    }
    let mut warnings: Vec<String> = comparison.warnings().iter().map(Warning::to_string).collect();
    let (done, left_out) = split_by_launches(comparison, done, (&base.given, &new.given))?;
    untested += left_out.len();
    warnings.extend(list_single_launches(&left_out, done.len() + left_out.len()));
    warnings.extend(check_power(&done, (&base.given, &new.given), false_findings)?);
    let missing = comparison.unmatched_points().filter(|point| point.by_machine[0].is_some()).count();
    if missing > 0 {
        warnings.push(format!(
            "{} of {} are missing in {} and were not checked",
            plural(missing, "point"),
            base.given,
            new.given
        ));
    }
    let adjust = |p: fn(&Test) -> f64| adjust_p_values(&done.iter().map(p).collect::<Vec<_>>());
    let (slower, beyond) = (adjust(|test| test.tested.p), adjust(|test| test.p_beyond_disturbance));
    let count_findings = |q: &[f64]| q.iter().filter(|q| **q <= false_findings).count();
    let explained = count_findings(&slower).saturating_sub(count_findings(&beyond));
    let (tested, smallest_found) = (done.len(), smallest_found(&done, limit));
    let failed = count_findings(&beyond) > 0 || !not_finished.is_empty();
    let verdict = decide(failed, explained, smallest_found, limit);
    let reservations = reservations(comparison, verdict, explained);
    let findings = done.into_iter().zip(slower.into_iter().zip(beyond));
    let mut slower: Vec<TestedPoint> = findings
        .filter(|(_, (_, beyond))| *beyond <= false_findings)
        .map(|(test, (q, _))| TestedPoint { q, ..test.tested })
        .collect();
    slower.sort_by(|a, b| b.slowdown.total_cmp(&a.slowdown));
    Ok(RegressionCheck {
        base: base.name.clone(),
        new: new.name.clone(),
        limit: limit.slowdown,
        verdict,
        exact: comparison.is_exact(),
        smallest_found,
        false_findings,
        slower,
        explained,
        reservations,
        not_finished,
        tested,
        untested,
        missing,
        warnings,
    })
}

/// Returns the tests, the points that only the base finished, and the number without a test.
fn test_points(comparison: &Comparison, limit: SlowdownLimit) -> (Vec<Test>, Vec<String>, usize) {
    let mut tests = MannWhitney::default();
    let (mut done, mut not_finished, mut untested) = (Vec::new(), Vec::new(), 0);
    for &index in &comparison.matched {
        let [Some(a), Some(b)] = comparison.point(index).by_machine.as_slice() else { continue };
        match (a.samples(), b.samples()) {
            (0, _) => untested += 1,
            (_, 0) => not_finished.push(comparison.names[index].clone()),
            _ => match test(comparison, index, limit, &mut tests) {
                Some(test) => done.push(test),
                None => untested += 1,
            },
        }
    }
    (done, not_finished, untested)
}

/// Single launches, a disturbance of the new result that may explain slow points, or one of the base that may hide them.
fn reservations(comparison: &Comparison, verdict: Outcome, explained: usize) -> Vec<Reservation> {
    let Some(mean) = comparison.ratios[1].mean else { return Vec::new() };
    let mut reservations = verdict::reservations(comparison, [1, 0], &mean, &comparison.matched);
    reservations.retain(|reservation| matches!(reservation, Reservation::SingleLaunch { .. }));
    let disturbed = |side: usize| {
        let factor = Some(mean.slowed[1 - side]).filter(|factor| factor.is_finite());
        Reservation::Disturbed { name: comparison.name(side).to_owned(), factor }
    };
    reservations.extend((explained > 0).then(|| disturbed(1)));
    let may_hide = mean.slowed[1] > 1.0 && mean.slowed[1].is_finite();
    reservations.extend((verdict == Outcome::Undecided && may_hide).then(|| disturbed(0)));
    reservations
}

fn test(comparison: &Comparison, point: usize, limit: SlowdownLimit, tests: &mut MannWhitney) -> Option<Test> {
    let [Some(a), Some(b)] = comparison.point(point).by_machine.as_slice() else { return None };
    let ratio = ratio(a, b, tests)?;
    let [new_slowed, _] = comparison.ratio(1, point)?.ratio.slowed;
    let base_slowed = Some(ratio.slowed[0]).filter(|factor| factor.is_finite()).unwrap_or(1.0);
    let widening = a.widening.zip(b.widening).map(|(a, b)| a.max(b));
    let shift = shift(a, b);
    let mut p_above = |slowdown: f64| match &shift {
        _ if slowdown.is_infinite() => Some(1.0),
        Some((shift, _)) => Some(shift.p_above(slowdown.ln())),
        None => {
            // Test the new speeds against the base's speeds reduced by the limit.
            let slower_by = slowdown.ln() + a.systematic() + b.systematic();
            let slowed: Vec<f64> = a.log_speeds().iter().map(|speed| speed - slower_by).collect();
            Some(weaken(tests.p_above(&b.log_speeds(), &slowed), widening?))
        }
    };
    let (p, p_beyond_disturbance) = (p_above(limit.slowdown)?, p_above(limit.slowdown * new_slowed)?);
    let smallest_p = match shift {
        Some(_) => 0.0,
        None => weaken(tests.min_p(b.samples(), a.samples()), widening?),
    };
    let (name, interval, basis) = (comparison.names[point].clone(), ratio.interval, ratio.basis);
    let tested = TestedPoint { point: name, slowdown: ratio.value, interval, basis, p, q: 1.0 };
    Some(Test { tested, p_beyond_disturbance, base_slowed, smallest_p })
}

/// Points without several launches are not tested unless allowed; fails if all are such.
fn split_by_launches(
    comparison: &Comparison,
    done: Vec<Test>,
    (base, new): (&str, &str),
) -> Result<(Vec<Test>, Vec<String>)> {
    if comparison.matching.allowed.has("one-launch") {
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
            "measure both with several launches (apexmap run ... --launches 5), or accept this with --allow one-launch",
        ));
    }
    Ok((several, single.into_iter().map(|test| test.tested.point).collect()))
}

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

/// Warns of single launches; fails if no slowdown could be found with these samples.
fn check_power(done: &[Test], (base, new): (&str, &str), false_findings: f64) -> Result<Vec<String>> {
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
    let needed = (1..=least.len()).find(|k| least[k - 1] <= false_findings * *k as f64 / total);
    match needed {
        None => Err(Error::input(
            format!(
                "--fail-if: the check cannot find any slowdown: with so few samples the smallest possible p value is \
                 {:.2e}",
                least.first().copied().unwrap_or(1.0)
            ),
            "measure more launches (apexmap run ... --launches 5), or more samples per point: min = 10 in the sweep's [repeat]",
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
