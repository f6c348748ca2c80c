//! The answer that a sweep declares in its file, from the samples.

use crate::paired;
use apexmap_base::condition::{Dimension, Formula, NameType};
use apexmap_base::error::Result;
use apexmap_base::point::Value;
use apexmap_base::units::{self, NumberStyle, Unit};
use apexmap_results::samples::Samples;
use apexmap_results::samples::cells::Cell;
use apexmap_results::table::columns::{self, describe_of};
use apexmap_run::sweep::answer::{AnswerSpec, Answered, Part, StatisticSpec, ValueSpec, parse_answer};
use apexmap_run::sweep::ready::READY_SWEEPS;
use apexmap_theory::statistics::Summary;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A question with its answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Declared {
    pub question: String,
    /// The sentence; if a value has no samples yet, what is missing.
    pub text: String,
    /// Whether all values of the sentence are known.
    pub is_known: bool,
    /// The 95 % intervals of the values: `latency 0.51 to 0.54 us`.
    pub intervals: Vec<String>,
}

/// A value of an answer.
#[derive(Clone, Debug, PartialEq)]
enum Found {
    Number {
        value: f64,
        interval: Option<(f64, f64)>,
        unit: Unit,
    },
    /// The value of a parameter, as text and as a number if it is one.
    Place(String, Option<f64>),
}

/// Returns the answer to the sweep's question; `None` if the sweep declares none. `samples` are those of the current plan, and
/// `sweep` is the text of its file.
pub fn answer(samples: &Samples, sweep: &str) -> Result<Option<Declared>> {
    if let Some(declared) = paired_answer(samples, sweep) {
        return Ok(Some(declared));
    }
    let declared = parse_answer(sweep).or_else(|| parse_answer(ready_with_question(sweep)?));
    let Some(Answered { question, answer }) = declared else { return Ok(None) };
    let good = samples.good();
    let mut values = BTreeMap::new();
    for (name, spec) in &answer.values {
        if let ValueSpec::Statistic(statistic) = spec.get_ref() {
            values.insert(name.get_ref().as_str(), find(&good, statistic)?);
        }
    }
    let formulas = answer.values.iter().filter_map(|(name, spec)| match spec.get_ref() {
        ValueSpec::Formula(text) => Some((name.get_ref().as_str(), evaluate(text, &values))),
        ValueSpec::Statistic(_) => None,
    });
    let formulas: Vec<_> = formulas.collect();
    values.extend(formulas);
    let (mut text, mut missing, mut intervals) = (String::new(), Vec::new(), Vec::new());
    let (mut last, mut between) = (String::new(), "");
    for part in answer.parts().unwrap_or_default() {
        match part {
            Part::Text(words) => {
                between = words;
                text.push_str(words);
            }
            Part::Value(name) => match values.get(name).and_then(Option::as_ref) {
                // The ends of a range are equal, as on a machine with one pair of cores.
                Some(found) if between == " to " && found.text() == last => text.truncate(text.len() - between.len()),
                Some(found) => {
                    last = found.text();
                    text.push_str(&last);
                    intervals.extend(found.interval().map(|ends| format!("{} {ends}", name.replace('_', " "))));
                }
                None => missing.push(name.replace('_', " ")),
            },
        }
    }
    let single = single_valued(&good, &answer);
    let is_known = missing.is_empty() && single.is_none();
    if let Some((name, value)) = single {
        text = format!("not answered: these samples have one value of {name}, {value}, so there is nothing to compare");
    } else if !is_known {
        text = format!("not answered: these samples give no value for {}", missing.join(", "));
    }
    Ok(Some(Declared { question, text, is_known, intervals: if is_known { intervals } else { Vec::new() } }))
}

/// Returns the question and the answer of a paired comparison; `None` for other samples.
fn paired_answer(samples: &Samples, sweep: &str) -> Option<Declared> {
    let ratio = paired::pairs_of(samples)?.ratio()?;
    let text = if ratio.is_decided() { ratio.sentence() } else { format!("Undecided: {}", ratio.sentence()) };
    Some(Declared { question: question(sweep).unwrap_or_default(), text, is_known: true, intervals: Vec::new() })
}

/// Returns the question of a sweep.
fn question(sweep: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Asked {
        question: String,
    }
    toml::from_str(sweep).ok().map(|Asked { question }| question)
}

/// Returns the ready sweep with the question of a sweep. Results of earlier versions hold it without its answer.
fn ready_with_question(sweep: &str) -> Option<&'static str> {
    let question = question(sweep)?;
    READY_SWEEPS.iter().find(|ready| ready.question() == question).map(|ready| ready.text)
}

/// Returns the name and the value of a parameter whose ends an answer compares, if all samples have the same value of it, as on a
/// machine with one core.
fn single_valued<'a>(samples: &Samples, answer: &'a AnswerSpec) -> Option<(&'a str, f64)> {
    let statistics = answer.values.values().filter_map(|spec| match spec.get_ref() {
        ValueSpec::Statistic(statistic) => Some(statistic.as_ref()),
        ValueSpec::Formula(_) => None,
    });
    let statistics: Vec<&StatisticSpec> = statistics.collect();
    let low_ends = statistics.iter().filter_map(|statistic| statistic.smallest.as_ref());
    let low_ends = low_ends.map(|name| name.get_ref().trim());
    let is_compared =
        |name: &str| statistics.iter().any(|s| s.largest.as_ref().is_some_and(|l| l.get_ref().trim() == name));
    low_ends.filter(|name| is_compared(name)).find_map(|name| match samples.distinct_numbers(samples.resolve(name))[..]
    {
        [value] => Some((name, value)),
        _ => None,
    })
}

/// Returns the value of a statistic; `None` if it has no samples, or several points for one median.
fn find(samples: &Samples, statistic: &StatisticSpec) -> Result<Option<Found>> {
    let samples = select(samples, statistic);
    let axes = samples.axes();
    let cells = samples.cells_with(&axes, Some(Value::Text(String::new())))?;
    let column = [&statistic.median, &statistic.max, &statistic.min, &statistic.step].into_iter().flatten().next();
    let Some(column) = column.map(|name| samples.resolve(name.get_ref().trim())) else {
        // Which value is the largest or smallest: all points have it.
        return Ok(cells.first().and_then(|cell| value_at(cell, statistic)));
    };
    let summaries = cells.iter().filter_map(|cell| Some((cell, cell.summary(column)?)));
    let summaries: Vec<(&Cell, Summary)> = summaries.collect();
    if statistic.step.is_some() {
        return Ok(before_step(&summaries, statistic));
    }
    let by_median = |a: &&(&Cell, Summary), b: &&(&Cell, Summary)| a.1.median.total_cmp(&b.1.median);
    let chosen = if statistic.max.is_some() {
        summaries.iter().max_by(by_median)
    } else if statistic.min.is_some() {
        summaries.iter().min_by(by_median)
    } else {
        summaries.first().filter(|_| summaries.len() == 1)
    };
    let Some((cell, summary)) = chosen else { return Ok(None) };
    if statistic.at.is_none() {
        let words = samples.words("kernel");
        let unit = describe_of(column, words.iter().copied()).unit;
        let interval = summary.interval.filter(|ends| units::is_informative(*ends));
        return Ok(Some(Found::Number { value: summary.median, interval, unit }));
    }
    let Some(reaches) = &statistic.reaches else { return Ok(value_at(cell, statistic)) };
    let enough = summaries.iter().filter(|(_, other)| other.median >= reaches.get_ref() * summary.median);
    let values = enough.filter_map(|(cell, _)| value_at(cell, statistic));
    Ok(values.min_by(|a, b| a.number().total_cmp(&b.number())))
}

/// Returns the samples that a statistic is about.
fn select(samples: &Samples, statistic: &StatisticSpec) -> Samples {
    let mut selected = samples.clone();
    if let Some(text) = &statistic.condition {
        // The condition was checked with the sweep. A word that no sample has yet is unknown to it.
        let Ok(condition) = selected.condition(text.get_ref()) else { return samples.with_rows(Vec::new()) };
        selected = selected.filter(&condition);
    }
    for (name, end) in [(&statistic.largest, f64::max as fn(f64, f64) -> f64), (&statistic.smallest, f64::min)] {
        let Some(name) = name else { continue };
        let column = selected.resolve(name.get_ref().trim()).to_owned();
        let Some(wanted) = selected.numbers(&column).into_iter().reduce(end) else { continue };
        let table = selected.table().clone();
        selected = selected.filter_rows(|row| table.number(&column, row) == wanted);
    }
    selected
}

/// Returns the value of the statistic's `at` at a point.
fn value_at(cell: &Cell, statistic: &StatisticSpec) -> Option<Found> {
    let column = cell.samples.resolve(statistic.at.as_ref()?.get_ref().trim());
    let value = cell.samples.common_value(column)?;
    Some(Found::Place(columns::value_name(column, &value), value.as_f64()))
}

/// Smallest ratio of a median to the straight line of those before that counts as a step.
const MIN_STEP: f64 = 1.2;
/// Fewest points of that line.
const MIN_BEFORE_STEP: usize = 3;

/// Returns the value of the statistic's `at` before the largest step of the medians; `None` if they have no step.
fn before_step(summaries: &[(&Cell, Summary)], statistic: &StatisticSpec) -> Option<Found> {
    let mut places: Vec<(f64, f64, Found)> = summaries
        .iter()
        .filter_map(|(cell, summary)| {
            let place = value_at(cell, statistic)?;
            Some((place.number(), summary.median, place))
        })
        .collect();
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    let step = |index: &usize| {
        let before = &places[..=*index];
        // Each point counts by its relative error, or the largest ones alone would decide.
        let sum = |term: fn(f64, f64) -> f64| before.iter().map(|(x, y, _)| term(*x, *y) / (y * y)).sum::<f64>();
        let (n, x, y) = (sum(|_, _| 1.0), sum(|x, _| x), sum(|_, y| y));
        let (xx, xy) = (sum(|x, _| x * x), sum(|x, y| x * y));
        let slope = ((n * xy - x * y) / (n * xx - x * x)).max(0.0);
        let (next, median, _) = &places[index + 1];
        median / ((y - slope * x) / n + slope * next)
    };
    let ends = (MIN_BEFORE_STEP - 1..places.len().saturating_sub(1)).filter(|index| step(index) >= MIN_STEP);
    let largest = ends.max_by(|a, b| step(a).total_cmp(&step(b)))?;
    Some(places.swap_remove(largest).2)
}

/// Evaluates a formula over values. Its interval combines those of the values, as if their errors were independent.
fn evaluate(text: &str, values: &BTreeMap<&str, Option<Found>>) -> Option<Found> {
    let names: Vec<(&str, NameType)> = values.keys().map(|name| (*name, NameType::Number)).collect();
    let formula = Formula::parse(text, &names).ok()?;
    let number = |name: &str| values.get(name)?.as_ref().map(Found::number);
    let evaluate_with = |changed: &str, to: f64| {
        let lookup = |name: &str| (if name == changed { Some(to) } else { number(name) }).map(Value::Real);
        formula.evaluate(&lookup).filter(|value| value.is_finite())
    };
    let value = evaluate_with("", 0.0)?;
    let used = values.iter().filter(|(name, _)| formula.names().iter().any(|used| used == *name));
    let (mut below, mut above, mut all_known) = (0.0, 0.0, true);
    for (name, used_value) in used {
        let Some(Found::Number { interval: Some((low, high)), .. }) = used_value else {
            all_known = false;
            continue;
        };
        let ends = [evaluate_with(name, *low)? - value, evaluate_with(name, *high)? - value];
        below += ends[0].min(ends[1]).min(0.0).powi(2);
        above += ends[0].max(ends[1]).max(0.0).powi(2);
    }
    let interval = all_known.then_some((value - f64::sqrt(below), value + f64::sqrt(above)));
    Some(Found::Number { value, interval, unit: unit(text, &formula, values) })
}

/// Returns the unit of a formula: the first of its values' units that it agrees with.
fn unit(text: &str, formula: &Formula, values: &BTreeMap<&str, Option<Found>>) -> Unit {
    let unit_of = |name: &str| match values.get(name).and_then(Option::as_ref) {
        Some(Found::Number { unit, .. }) => *unit,
        _ => Unit::None,
    };
    let dimension_of = |name: &str| Some(Dimension::from_unit(unit_of(name)));
    let agrees = |unit: &Unit| formula.dimensions(text, Dimension::from_unit(*unit), &dimension_of).is_ok();
    formula.names().iter().map(|name| unit_of(name)).find(agrees).unwrap_or(Unit::None)
}

impl Found {
    /// Returns the number; NaN for a word.
    fn number(&self) -> f64 {
        match self {
            Self::Number { value, .. } => *value,
            Self::Place(_, number) => number.unwrap_or(f64::NAN),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Number { value, unit: Unit::None, .. } => units::number(*value, NumberStyle::Rounded(3)),
            Self::Number { value, unit, .. } => units::amount(*value, *unit),
            Self::Place(text, _) => text.clone(),
        }
    }

    fn interval(&self) -> Option<String> {
        match self {
            Self::Number { interval: Some(ends), unit, .. } => Some(units::amount_interval(*ends, *unit)),
            _ => None,
        }
    }
}

impl Declared {
    /// Says that only some points gave the answer: `count` is `34 of 126 points`.
    #[must_use]
    pub fn of_part(self, count: &str) -> Self {
        let text = if self.is_known { format!("{} ({count})", self.text) } else { self.text };
        Self { text, ..self }
    }

    /// Returns the question and the answer for a terminal.
    pub fn lines(&self) -> String {
        let question = if self.question.is_empty() { String::new() } else { format!("{}\n", self.question) };
        let intervals = match self.intervals.is_empty() {
            true => String::new(),
            false => format!("  (95 % intervals: {})\n", self.intervals.join(", ")),
        };
        format!("{question}  {}\n{intervals}", self.text)
    }
}
