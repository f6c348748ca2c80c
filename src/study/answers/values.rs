//! The values of an answer: statistics of samples, all at the same ends of their axes, and formulas over them.

use apexmap_base::condition::{Dimension, Formula, NameType};
use apexmap_base::error::Result;
use apexmap_base::point::Value;
use apexmap_base::units::{self, NumberStyle, Unit};
use apexmap_results::samples::{Samples, cells::Cell};
use apexmap_results::table::columns::{self, describe_of};
use apexmap_run::sweep::answer::{AnswerSpec, StatisticSpec};
use apexmap_theory::statistics::Summary;
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    Number {
        value: f64,
        interval: Option<(f64, f64)>,
        unit: Unit,
        /// 0 for a formula.
        samples: usize,
    },
    /// The value of a parameter, as text and as a number if it is one.
    Place(String, Option<f64>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// No sample is at its point, or only one of several points has one.
    NotMeasured,
    SeveralPoints,
    /// The medians have no step, or the formula has no finite value.
    NoValue,
}

/// A value, or the reason why there is none.
pub type Outcome = Result<Found, Missing>;

pub struct Source<'a> {
    good: Samples,
    /// One row per planned point; empty if the plan is not known.
    plan: &'a Samples,
    /// The ends of the axes, by the name of the axis and whether it is the largest value. All values of the answer share them.
    ends: BTreeMap<(&'a str, bool), f64>,
}

impl<'a> Source<'a> {
    /// An end of an axis is a value at which every value of the answer with this axis has a planned point, or else a sample.
    pub fn new(answer: &'a AnswerSpec, samples: &Samples, plan: &'a Samples) -> Self {
        let mut common: BTreeMap<(&str, bool), Vec<f64>> = BTreeMap::new();
        for statistic in answer.values.values().filter_map(|spec| spec.get_ref().statistic()) {
            for (axis, is_largest) in statistic.ends() {
                let is_planned = plan.has(plan.resolve(axis));
                let planned = || matching(plan, statistic).unwrap_or_else(|| plan.clone());
                let points = if is_planned { planned() } else { samples.clone() };
                let values = points.distinct_numbers(points.resolve(axis));
                common
                    .entry((axis, is_largest))
                    .or_insert_with(|| values.clone())
                    .retain(|value| values.contains(value));
            }
        }
        let end_of = |((axis, is_largest), values): ((&'a str, bool), Vec<f64>)| {
            let end = if is_largest { values.last() } else { values.first() };
            Some(((axis, is_largest), *end?))
        };
        Self { good: samples.good(), plan, ends: common.into_iter().filter_map(end_of).collect() }
    }

    /// An axis whose ends the answer compares, with its value, if both ends are the same, as on a machine with one core.
    pub fn single_valued(&self) -> Option<(&str, f64)> {
        let both = |(&(axis, is_largest), &end): (&(&'a str, bool), &f64)| {
            (!is_largest && self.ends.get(&(axis, true)) == Some(&end)).then_some((axis, end))
        };
        self.ends.iter().find_map(both)
    }

    pub fn values(&self, answer: &'a AnswerSpec) -> Result<BTreeMap<&'a str, Outcome>> {
        let mut values = BTreeMap::new();
        for (name, spec) in &answer.values {
            if let Some(statistic) = spec.get_ref().statistic() {
                values.insert(name.get_ref().as_str(), self.find(statistic)?);
            }
        }
        let formulas = answer.values.iter().filter_map(|(name, spec)| Some((name, spec.get_ref().formula()?)));
        let formulas: Vec<(&str, Outcome)> = formulas
            .map(|(name, text)| (name.get_ref().as_str(), evaluate(text, &values).ok_or(Missing::NoValue)))
            .collect();
        values.extend(formulas);
        Ok(values)
    }

    fn find(&self, statistic: &StatisticSpec) -> Result<Outcome> {
        let planned = self.select(self.plan, statistic);
        let Some(kind) = statistic.kinds().next() else {
            let points = planned.filter(|points| !points.is_empty()).or_else(|| self.select(&self.good, statistic));
            return Ok(points.and_then(|points| value_at(&points, statistic)).ok_or(Missing::NotMeasured));
        };
        let samples = self.select(&self.good, statistic).unwrap_or_else(|| self.good.with_rows(Vec::new()));
        let axes = samples.axes();
        let cells = samples.cells_with(&axes, Some(Value::Text(String::new())))?;
        let column = samples.resolve(kind.get_ref().trim());
        let summaries = cells.iter().filter_map(|cell| Some((cell, cell.summary(column)?)));
        let summaries: Vec<(&Cell, Summary)> = summaries.collect();
        let several = planned.as_ref().is_some_and(|points| points.len() > 1);
        if several && summaries.len() == 1 && statistic.median.is_none() {
            return Ok(Err(Missing::NotMeasured));
        }
        let by_median = |a: &&(&Cell, Summary), b: &&(&Cell, Summary)| a.1.median.total_cmp(&b.1.median);
        let chosen = if statistic.max.is_some() || statistic.step.is_some() {
            summaries.iter().max_by(by_median)
        } else if statistic.min.is_some() {
            summaries.iter().min_by(by_median)
        } else if summaries.len() > 1 || planned.is_some_and(|points| !points.axes().is_empty()) {
            return Ok(Err(Missing::SeveralPoints));
        } else {
            summaries.first()
        };
        let Some((cell, summary)) = chosen else { return Ok(Err(Missing::NotMeasured)) };
        if statistic.step.is_some() {
            return Ok(before_step(&summaries, statistic).ok_or(Missing::NoValue));
        }
        if statistic.at.is_none() {
            let words = samples.words("kernel");
            let unit = describe_of(column, words.iter().copied()).unit;
            let interval = summary.interval.filter(|ends| units::is_informative(*ends));
            return Ok(Ok(Found::Number { value: summary.median, interval, unit, samples: summary.n }));
        }
        let Some(reaches) = &statistic.reaches else {
            return Ok(value_at(&cell.samples, statistic).ok_or(Missing::NoValue));
        };
        let enough = summaries.iter().filter(|(_, other)| other.median >= reaches.get_ref() * summary.median);
        let values = enough.filter_map(|(cell, _)| value_at(&cell.samples, statistic));
        Ok(values.min_by(|a, b| a.number().total_cmp(&b.number())).ok_or(Missing::NoValue))
    }

    /// The samples or planned points that a statistic is about; `None` if its condition names what they do not have.
    fn select(&self, samples: &Samples, statistic: &StatisticSpec) -> Option<Samples> {
        let mut selected = matching(samples, statistic)?;
        for (axis, is_largest) in statistic.ends() {
            let end = self.ends.get(&(axis, is_largest))?;
            let (table, column) = (selected.table().clone(), selected.resolve(axis).to_owned());
            selected = selected.filter_rows(|row| table.number(&column, row) == *end);
        }
        Some(selected)
    }
}

/// Those that meet the condition of a statistic; `None` if it names a column or a word that they do not have.
fn matching(samples: &Samples, statistic: &StatisticSpec) -> Option<Samples> {
    let Some(text) = &statistic.condition else { return Some(samples.clone()) };
    // The condition was checked with the sweep.
    samples.condition(text.get_ref()).ok().map(|condition| samples.filter(&condition))
}

/// The value of the statistic's `at` that these samples have in common.
fn value_at(samples: &Samples, statistic: &StatisticSpec) -> Option<Found> {
    let column = samples.resolve(statistic.at.as_ref()?.get_ref().trim());
    let value = samples.common_value(column)?;
    Some(Found::Place(columns::value_name(column, &value), value.as_f64()))
}

/// Smallest ratio of a median to the straight line of those before that counts as a step.
const MIN_STEP: f64 = 1.2;
/// Fewest points of that line.
const MIN_BEFORE_STEP: usize = 3;

/// The value of the statistic's `at` before the largest step of the medians.
fn before_step(summaries: &[(&Cell, Summary)], statistic: &StatisticSpec) -> Option<Found> {
    let mut places: Vec<(f64, f64, Found)> = summaries
        .iter()
        .filter_map(|(cell, summary)| {
            let place = value_at(&cell.samples, statistic)?;
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

/// The interval of a formula combines those of the values, as if their errors were independent.
fn evaluate(text: &str, values: &BTreeMap<&str, Outcome>) -> Option<Found> {
    let names: Vec<(&str, NameType)> = values.keys().map(|name| (*name, NameType::Number)).collect();
    let formula = Formula::parse(text, &names).ok()?;
    let number = |name: &str| values.get(name)?.as_ref().ok().map(Found::number);
    let evaluate_with = |changed: &str, to: f64| {
        let lookup = |name: &str| (if name == changed { Some(to) } else { number(name) }).map(Value::Real);
        formula.evaluate(&lookup).filter(|value| value.is_finite())
    };
    let value = evaluate_with("", 0.0)?;
    let used = values.iter().filter(|(name, _)| formula.names().iter().any(|used| used == *name));
    let (mut below, mut above, mut all_known) = (0.0, 0.0, true);
    for (name, used_value) in used {
        let Ok(Found::Number { interval: Some((low, high)), .. }) = used_value else {
            all_known = false;
            continue;
        };
        let ends = [evaluate_with(name, *low)? - value, evaluate_with(name, *high)? - value];
        below += ends[0].min(ends[1]).min(0.0).powi(2);
        above += ends[0].max(ends[1]).max(0.0).powi(2);
    }
    let interval = all_known.then_some((value - f64::sqrt(below), value + f64::sqrt(above)));
    Some(Found::Number { value, interval, unit: unit(text, &formula, values), samples: 0 })
}

/// The first of its values' units that the formula agrees with.
fn unit(text: &str, formula: &Formula, values: &BTreeMap<&str, Outcome>) -> Unit {
    let unit_of = |name: &str| match values.get(name) {
        Some(Ok(Found::Number { unit, .. })) => *unit,
        _ => Unit::None,
    };
    let dimension_of = |name: &str| Some(Dimension::from_unit(unit_of(name)));
    let agrees = |unit: &Unit| formula.dimensions(text, Dimension::from_unit(*unit), &dimension_of).is_ok();
    formula.names().iter().map(|name| unit_of(name)).find(agrees).unwrap_or(Unit::None)
}

impl Found {
    /// NaN for a word.
    pub fn number(&self) -> f64 {
        match self {
            Self::Number { value, .. } => *value,
            Self::Place(_, number) => number.unwrap_or(f64::NAN),
        }
    }

    pub fn text(&self) -> String {
        match self {
            Self::Number { value, unit: Unit::None, .. } => units::number(*value, NumberStyle::Rounded(3)),
            Self::Number { value, unit, .. } => units::amount(*value, *unit),
            Self::Place(text, _) => text.clone(),
        }
    }
}
