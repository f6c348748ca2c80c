//! The words of verdicts: the first sentences, who is faster, by which factor, and how certain that is; then the details.

use super::prelude::*;
use crate::compare::mix;
use crate::compare::points::list_first;
use crate::compare::published_machines;
use crate::compare::ratio::Decision;
use apexmap_theory::statistics::distributions::t_quantile_at;

/// One per machine except the base, or per role of its rank count, after the weighted mix of codes.
pub fn sentences(comparison: &Comparison) -> Vec<String> {
    if comparison.matched.is_empty() {
        return vec![not_compared(comparison)];
    }
    let mut sentences = mixes(comparison);
    for machine in 1..comparison.machines.len() {
        let [name, base] = [machine, 0].map(|k| comparison.name(k));
        if comparison.machines[machine].has_same_samples(&comparison.machines[0]) {
            sentences.push(format!("{base} and {name} contain the same samples: all their ratios are 1."));
            continue;
        }
        let verdicts = verdict::verdicts(comparison, machine);
        if verdicts.is_empty() {
            sentences.push(format!("{name} and {base} have no common point with a value."));
        }
        sentences.extend(verdicts.iter().map(|verdict| of_verdict(comparison, machine, verdict)));
    }
    sentences
}

fn not_compared(comparison: &Comparison) -> String {
    let is_published = |machine: &&Machine| machine.origin == Origin::Published;
    let (published, measured): (Vec<&Machine>, Vec<&Machine>) = comparison.machines.iter().partition(is_published);
    let with_rates = published.iter().find_map(|machine| Some((machine, machine.words("kernel").first()?.clone())));
    if let (Some((machine, kernel)), [_, ..]) = (with_rates, measured.as_slice()) {
        let names: Vec<&str> = measured.iter().map(|machine| machine.name.as_str()).collect();
        let word = kernel.rsplit('.').next().unwrap_or(&kernel);
        return format!(
            "{} has no point at which {} has a rate. To compare, measure {kernel}: `apexmap sweeps {word}` lists ready sweeps.",
            names.join(" and "),
            machine.name
        );
    }
    let without_rates = |machine: &&&Machine| machine.words("kernel").is_empty();
    let reasons: Vec<String> =
        published.iter().filter(without_rates).map(|machine| published_machines::rates(machine)).collect();
    match reasons.is_empty() {
        true => "Only cards are compared: the machines have no common point.".to_owned(),
        false => format!("Only cards are compared: {}.", reasons.join("; ")),
    }
}

fn mixes(comparison: &Comparison) -> Vec<String> {
    let sentence = |mix: mix::Mix| {
        let ratio = mix.ratio.ok()?;
        let words = words(comparison, mix.machine, &ratio.mean, &ratio.reservations);
        Some(format!("Mix of codes, {}: {words}.", mix.label))
    };
    mix::mixes(comparison).into_iter().filter_map(sentence).collect()
}

fn of_verdict(comparison: &Comparison, machine: usize, verdict: &Verdict) -> String {
    let scope = match verdict.scope {
        Scope::All => String::new(),
        scope => format!("{}: ", capitalize(&scope.label())),
    };
    let words = words(comparison, machine, &verdict.mean, &verdict.reservations);
    format!("{scope}{words}{}.", points(comparison.name(machine), verdict))
}

/// `b is 1.5 times as fast as a (1.2 to 1.9)`; the faster machine comes first, so that the factor is above 1
fn words(comparison: &Comparison, machine: usize, mean: &GeometricMean, reservations: &[Reservation]) -> String {
    let ([name, base], GeometricMean { value, interval, basis, .. }) =
        ([machine, 0].map(|k| comparison.name(k)), *mean);
    let (low, high) = interval.unwrap_or((f64::NAN, f64::NAN));
    let interval = |digits: &dyn Fn(f64) -> String, low: f64, high: f64| match basis {
        Basis::Exact => format!(", {EXACT}"),
        _ => format!(" ({} to {})", digits(low), digits(high)),
    };
    let faster = |fast: &str, slow: &str, value: f64, (low, high): (f64, f64)| {
        let digits = |factor: f64| format_factor(factor, (low, high));
        format!("{fast} is {} times as fast as {slow}{}", digits(value), interval(&digits, low, high))
    };
    let ratio = format!("{name} / {base} = {}", format_ratio(value));
    match (reservations, mean.direction()) {
        ([], Direction::Faster) => faster(name, base, value, (low, high)),
        ([], Direction::Slower) => faster(base, name, 1.0 / value, (1.0 / high, 1.0 / low)),
        ([], Direction::Equal) => format!("No difference: {ratio}{}", interval(&format_ratio, low, high)),
        ([], Direction::Undecided) => format!("No difference found: {ratio}{}", interval(&format_ratio, low, high)),
        ([], Direction::Unknown) => format!("{ratio}; no interval is known"),
        ([disturbed @ Reservation::Disturbed { .. }, ..], _) => {
            format!("Not decided: {ratio}{}, and {disturbed}", interval(&format_ratio, low, high))
        }
        _ => {
            let same_run = comparison.machines[machine].is_same_run(&comparison.machines[0]);
            format!("{ratio} {}", undecided_by_launches(value, reservations, same_run))
        }
    }
}

/// `in these two launches; launches of one machine differ, so this is undecided: 3 launches of each ...`
fn undecided_by_launches(ratio: f64, reservations: &[Reservation], same_run: bool) -> String {
    let (place, who) = match reservations {
        _ if same_run => ("in this launch".to_owned(), ""),
        [Reservation::SingleLaunch { name }] => (format!("with a single launch of {name}"), " of it"),
        _ => ("in these two launches".to_owned(), " of each"),
    };
    let launches = deciding_launches(ratio);
    let size = if launches < MAX_LAUNCHES { "this size" } else { "10 % or more" };
    format!(
        "{place}; launches of one machine differ, so this is undecided: {launches} launches{who} \
         (apexmap run ... --launches {launches}) would show a difference of {size}"
    )
}

/// Standard deviation of ln(median of a launch). Four on a shared 16-core Xeon had 0.14 between threads and 0.09 over MPI.
const USUAL_SPREAD: f64 = 0.1;
const MAX_LAUNCHES: u32 = 10;

/// Launches of each side whose interval (Student's t) would exclude 1 for a ratio if they differ by [`USUAL_SPREAD`].
fn deciding_launches(ratio: f64) -> u32 {
    let excludes_one = |launches: &u32| {
        let n = f64::from(*launches);
        t_quantile_at(2.0 * n - 2.0, 0.975) * USUAL_SPREAD * (2.0 / n).sqrt() < ratio.ln().abs()
    };
    (3..MAX_LAUNCHES).find(excludes_one).unwrap_or(MAX_LAUNCHES)
}

/// Intervals above 1 this wide need only two digits of a factor.
const WIDE: f64 = 1.1;

/// Two digits if the interval is wide and stays above 1 with them.
fn format_factor(factor: f64, (low, high): (f64, f64)) -> String {
    const TWO_DIGITS: NumberStyle = NumberStyle::Fixed(2);
    let stays_above = number(low, TWO_DIGITS).parse().is_ok_and(|low: f64| low > 1.0);
    if high / low > WIDE && stays_above && factor < 1e5 { number(factor, TWO_DIGITS) } else { format_ratio(factor) }
}

/// `; certain at 40 of 61 points`, so that the mean does not hide what single points say
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

pub fn details(comparison: &Comparison) -> Vec<String> {
    let mut sentences = Vec::new();
    for machine in (1..comparison.machines.len()).filter(|_| !comparison.matched.is_empty()) {
        let verdicts = verdict::verdicts(comparison, machine);
        sentences.extend(verdicts.iter().map(|verdict| sentence(comparison, machine, verdict)));
        sentences.extend(describe_dropped(comparison, machine));
    }
    sentences
}

fn sentence(comparison: &Comparison, machine: usize, verdict: &Verdict) -> String {
    let mean = verdict.mean;
    let value = format!("{} = {}", comparison.title(machine), format_with_interval(mean.value, mean.interval));
    let value = match verdict.scope {
        Scope::All => value,
        scope => format!("{}: {value}", capitalize(&scope.label())),
    };
    let basis = if mean.interval.is_some() { BasisWords::new(mean.basis).mean } else { "without an interval" };
    let [least, most] =
        verdict.extremes.map(|(point, ratio)| format!("{} at {}", format_ratio(ratio), comparison.names[point]));
    format!(
        "{value} (geometric mean over {}, {basis}). {}; ratios from {least} to {most}.",
        members(comparison, machine, mean),
        counts(comparison, verdict)
    )
}

/// `the 9 points compared`, or only `9 points` if no others exist
fn members(comparison: &Comparison, machine: usize, mean: GeometricMean) -> String {
    let points = plural(mean.cells, "point");
    match (mean.left_out, verdict::points_on_one_side(comparison, machine).next()) {
        (1.., _) if mean.basis == Basis::Exact => format!("the {points} without noise"),
        (1.., _) if mean.basis.includes_launches() => format!("the {points} with several launches"),
        (1.., _) => format!("the {points} that have an interval"),
        (0, Some(_)) => format!("the {points} compared"),
        (0, None) => points,
    }
}

fn counts(comparison: &Comparison, verdict: &Verdict) -> String {
    let points = |count: usize| plural(count, "point");
    let Verdict { faster, slower, equal, undecided, unadjusted, mean, .. } = verdict;
    let mut parts = Vec::new();
    if mean.basis == Basis::Exact {
        parts.push(format!("Faster at {}, slower at {slower}, equal at {equal}", points(*faster)));
    } else if faster + slower + undecided > 0 {
        let how = match comparison.decision {
            Decision::Adjusted => format!(" (adjusted; unadjusted {} and {})", unadjusted[0], unadjusted[1]),
            Decision::Unadjusted => " (unadjusted)".to_owned(),
        };
        parts.push(format!(
            "Certainly faster at {}, certainly slower at {slower}, not certain at {undecided}{how}",
            points(*faster)
        ));
    }
    let bare: Vec<String> = verdict.without_interval.iter().map(|&point| comparison.names[point].clone()).collect();
    if !bare.is_empty() {
        let left_out = if mean.left_out > 0 { ", not included in the mean" } else { "" };
        parts.push(format!("No interval at {}{left_out}: {}", points(bare.len()), list_first(&bare)));
    }
    if verdict.unfinished > 0 {
        parts.push(format!("Unfinished at {}", points(verdict.unfinished)));
    }
    parts.join(". ")
}

fn describe_dropped(comparison: &Comparison, other: usize) -> Option<String> {
    let side = |machine: usize| -> Option<String> {
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        for point in verdict::points_on_one_side(comparison, other).filter(|point| point.by_machine[machine].is_some())
        {
            let ranks = point.value("ranks").map(|ranks| format!(", {}", label("ranks", ranks))).unwrap_or_default();
            *kinds.entry(format!("{}{ranks}", point.class)).or_default() += 1;
        }
        let left: usize = kinds.values().sum();
        let has = |point: &&Point| point.by_machine[machine].is_some();
        let total = comparison.points.points.iter().filter(has).count();
        let mut parts: Vec<String> =
            kinds.iter().take(MAX_KINDS).map(|(kind, count)| format!("{kind}: {count}")).collect();
        parts.extend((kinds.len() > MAX_KINDS).then(|| "...".to_owned()));
        let name = comparison.name(machine);
        (left > 0).then(|| format!("{left} of {} of {name} ({})", plural(total, "point"), parts.join("; ")))
    };
    let sides: Vec<String> = [0, other].into_iter().filter_map(side).collect();
    (!sides.is_empty()).then(|| format!("Not compared, because they exist on one side only: {}.", sides.join("; ")))
}

const MAX_KINDS: usize = 4;
