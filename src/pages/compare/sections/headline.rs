//! The first sentences of the page and the terminal: who is faster, by which factor, and how certain that is.

use crate::compare::comparison::Comparison;
use crate::compare::machine::{Machine, Origin};
use crate::compare::mix;
use crate::compare::points::Scope;
use crate::compare::published_machines;
use crate::compare::ratio::{Basis, EXACT, format_ratio};
use crate::compare::verdict::{self, Direction, Verdict};
use crate::html::capitalize;
use apexmap_base::units::{NumberStyle, number};

/// Returns one sentence per machine except the base, or per role of its rank count. The weighted mix of codes comes first, if codes
/// have weights.
pub fn sentences(comparison: &Comparison) -> Vec<String> {
    if comparison.matched.is_empty() {
        return vec![not_compared(comparison)];
    }
    let mut sentences = mixes(comparison);
    for machine in 1..comparison.machines.len() {
        let verdicts = verdict::verdicts(comparison, machine);
        if verdicts.is_empty() {
            let [name, base] = [machine, 0].map(|k| comparison.name(k));
            sentences.push(format!("{name} and {base} have no common point with a value."));
        }
        sentences.extend(verdicts.iter().map(|verdict| of_verdict(comparison, machine, verdict)));
    }
    sentences
}

/// Returns why no speeds are compared.
fn not_compared(comparison: &Comparison) -> String {
    let without_rates = |machine: &&Machine| machine.origin == Origin::Published && machine.words("kernel").is_empty();
    let reasons: Vec<String> =
        comparison.machines.iter().filter(without_rates).map(published_machines::rates).collect();
    match reasons.is_empty() {
        true => "Only cards are compared: the machines have no common point.".to_owned(),
        false => format!("Only cards are compared: {}.", reasons.join("; ")),
    }
}

fn mixes(comparison: &Comparison) -> Vec<String> {
    let sentence = |mix: mix::Mix| {
        let ratio = mix.ratio.ok()?;
        let names = [mix.machine, 0].map(|k| comparison.name(k));
        let judged = Judged { names, value: ratio.value, interval: ratio.interval, direction: ratio.direction };
        Some(format!("Mix of codes, {}: {}.", mix.label, judged.words(ratio.basis)))
    };
    mix::mixes(comparison).into_iter().filter_map(sentence).collect()
}

fn of_verdict(comparison: &Comparison, machine: usize, verdict: &Verdict) -> String {
    let (names, mean) = ([machine, 0].map(|k| comparison.name(k)), verdict.mean);
    let judged = Judged { names, value: mean.value, interval: mean.interval, direction: verdict.direction };
    let scope = match verdict.scope {
        Scope::All => String::new(),
        scope => format!("{}: ", capitalize(scope.label())),
    };
    format!("{scope}{}{}.", judged.words(mean.basis), points(names[0], verdict))
}

/// A decided ratio of a machine to the base.
struct Judged<'a> {
    /// The machine and the base.
    names: [&'a str; 2],
    value: f64,
    interval: Option<(f64, f64)>,
    direction: Direction,
}

impl Judged<'_> {
    /// Returns `b is 1.5 times as fast as a (1.2 to 1.9)`. The faster machine comes first, so that the factor is above 1.
    fn words(&self, basis: Basis) -> String {
        let [name, base] = self.names;
        let (low, high) = self.interval.unwrap_or((f64::NAN, f64::NAN));
        let interval = |digits: &dyn Fn(f64) -> String, low: f64, high: f64| match basis {
            Basis::Exact => format!(", {EXACT}"),
            _ => format!(" ({} to {})", digits(low), digits(high)),
        };
        let faster = |fast: &str, slow: &str, value: f64, (low, high): (f64, f64)| {
            let digits = |factor: f64| format_factor(factor, (low, high));
            format!("{fast} is {} times as fast as {slow}{}", digits(value), interval(&digits, low, high))
        };
        let ratio = format!("{name} / {base} = {}", format_ratio(self.value));
        match self.direction {
            Direction::Faster => faster(name, base, self.value, (low, high)),
            Direction::Slower => faster(base, name, 1.0 / self.value, (1.0 / high, 1.0 / low)),
            Direction::Equal => format!("No difference: {ratio}{}", interval(&format_ratio, low, high)),
            Direction::Undecided => format!("No difference found: {ratio}{}", interval(&format_ratio, low, high)),
            Direction::Unknown => format!("{ratio}; no interval is known"),
        }
    }
}

/// Width of an interval above 1 from which two digits of a factor are enough.
const WIDE: f64 = 1.1;

/// Formats a factor with two digits if its interval is wide and stays above 1 with them, otherwise as everywhere.
fn format_factor(factor: f64, (low, high): (f64, f64)) -> String {
    const TWO_DIGITS: NumberStyle = NumberStyle::Fixed(2);
    let stays_above = number(low, TWO_DIGITS).parse().is_ok_and(|low: f64| low > 1.0);
    if high / low > WIDE && stays_above && factor < 1e5 { number(factor, TWO_DIGITS) } else { format_ratio(factor) }
}

/// Returns `; certain at 40 of 61 points`, so that the mean does not hide what single points say.
fn points(name: &str, verdict: &Verdict) -> String {
    let Verdict { faster, slower, equal, undecided, without_interval, .. } = verdict;
    let total = faster + slower + equal + undecided + without_interval.len();
    let (agreeing, opposite) = match verdict.direction {
        Direction::Faster => (faster, slower),
        Direction::Slower => (slower, faster),
        _ if faster + slower == 0 => return String::new(),
        _ => return format!("; {name} is faster at {faster} and slower at {slower} of {total} points"),
    };
    let certain = if verdict.mean.basis == Basis::Exact { "faster" } else { "certain" };
    match (*agreeing, *opposite) {
        (0, 0) if total > 1 => format!("; none of the {total} points is certain alone"),
        (agreeing, 0) if agreeing == total || total == 1 => String::new(),
        (agreeing, 0) => format!("; {certain} at {agreeing} of {total} points"),
        (agreeing, opposite) => format!("; {certain} at {agreeing} of {total} points, the opposite at {opposite}"),
    }
}
