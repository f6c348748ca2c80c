//! The tables on models: parameters, goodness, and compact models next to the large one, which shows what few numbers describe.

use super::prelude::*;
use apexmap_base::units::{amount, is_informative};
use apexmap_study::model_fit::groups::FitGroup;
use apexmap_study::model_fit::{self, card};
use apexmap_theory::fit::baseline::Baseline;
use apexmap_theory::fit::{self, Fit};
use apexmap_theory::models::{self, Model};
use std::cmp::Reverse;

#[derive(Serialize)]
pub struct NumberRow {
    pub name: String,
    pub meaning: String,
    pub value: String,
    pub interval: String,
    pub bootstrap: String,
}

pub fn card_numbers(model: &dyn Model, predicted: &card::CardPrediction) -> Vec<NumberRow> {
    let parameters = model.about().parameters.iter().zip(&predicted.numbers.values);
    let finite = parameters.zip(&predicted.numbers.intervals).filter(|((_, value), _)| value.is_finite());
    let row = |((parameter, value), interval): ((&models::Parameter, &f64), &Option<(f64, f64)>)| NumberRow {
        name: parameter.label(),
        meaning: parameter.meaning(),
        value: amount(*value, parameter.unit()),
        interval: interval.map_or(String::new(), |ends| format_interval(ends, parameter.unit())),
        bootstrap: String::new(),
    };
    finite.map(row).collect()
}

/// With the terms at the slowest and the fastest point.
pub fn prediction_quality(model: &dyn Model, predicted: &card::CardPrediction) -> Vec<(&'static str, String)> {
    let mut lines = vec![
        ("SMAPE", percent(predicted.smape)),
        ("points within a factor of 1.25", percent(predicted.near)),
        ("median of measured / predicted", format!("{:.2}", predicted.bias)),
    ];
    let slower = |a: &&fit::Point, b: &&fit::Point| a.predicted.total_cmp(&b.predicted);
    let (points, numbers) = (&predicted.points, &predicted.numbers.values);
    let terms_at = |point: &fit::Point| model_fit::budget(&model.budget(&point.x, numbers));
    let varying = model_fit::varying_variables(points);
    let line = |point: &fit::Point| format!("{} at {}", terms_at(point), model_fit::place(model, &point.x, &varying));
    if let Some(slowest) = points.iter().min_by(slower).filter(|point| !terms_at(point).is_empty()) {
        lines.push(("terms of the slowest point", line(slowest)));
        lines.extend(points.iter().max_by(slower).map(|fastest| ("terms of the fastest point", line(fastest))));
        lines.push(("terms, mean fraction of the predicted time", mean_budget(model, predicted)));
    }
    lines
}

fn mean_budget(model: &dyn Model, predicted: &card::CardPrediction) -> String {
    let mut sums: Vec<(&str, f64)> = Vec::new();
    for point in &predicted.points {
        let terms = model.budget(&point.x, &predicted.numbers.values);
        let total: f64 = terms.iter().map(|term| term.1).sum();
        sums.resize(terms.len(), ("", 0.0));
        sums.iter_mut().zip(terms).for_each(|(sum, (name, seconds))| *sum = (name, sum.1 + seconds / total));
    }
    model_fit::budget(&sums)
}

pub fn format_interval((low, high): (f64, f64), unit: Unit) -> String {
    if high.is_finite() && !is_informative((low, high)) {
        return "not known".into();
    }
    format!("{} to {}", amount(low, unit), amount(high, unit))
}

pub fn numbers(model: &dyn Model, fit: &Fit) -> Vec<NumberRow> {
    let number = |name: &str, value: Option<f64>, interval: String, bootstrap: String| {
        let parameter = models::scan::parameter(model, name);
        let unit = parameter.map_or(Unit::None, |parameter| parameter.unit());
        NumberRow {
            name: parameter.map_or(name.to_owned(), models::Parameter::label),
            meaning: parameter.map_or(String::new(), |parameter| parameter.meaning()),
            value: value.map_or(String::new(), |value| amount(value, unit)),
            interval,
            bootstrap,
        }
    };
    let unit = |name: &str| models::scan::parameter(model, name).map_or(Unit::None, |parameter| parameter.unit());
    let fitted = fit.estimates.iter().map(|estimate| {
        let ends = |ends| format_interval(ends, unit(estimate.number));
        let bootstrap = estimate.bootstrap.map_or(String::new(), ends);
        number(estimate.number, Some(estimate.value), ends((estimate.low, estimate.high)), bootstrap)
    });
    let held = fit.held.iter().map(|(name, value)| {
        let how = match (fit.not_identified.contains(name), fit.assumed.contains(name)) {
            (true, _) => "from the card, because these points do not identify it",
            (_, true) => model_fit::ASSUMED,
            _ => "given",
        };
        number(name, Some(*value), how.into(), String::new())
    });
    let absent = fit.absent.iter().map(|name| number(name, None, "no point depends on it".into(), String::new()));
    let at_most = fit.at_most.iter().map(|hidden| {
        let how = format!("at most {}: {} hides it", amount(hidden.most, unit(hidden.number)), hidden.of);
        number(hidden.number, None, how, String::new())
    });
    fitted.chain(held).chain(at_most).chain(absent).collect()
}

pub fn quality(model: &dyn Model, fit: &Fit, curve: Option<&Baseline>) -> Vec<(&'static str, String)> {
    let quality = &fit.quality;
    let mut lines = vec![
        ("points, launches", format!("{}, {}", quality.points, quality.launches)),
        ("SMAPE", percent(quality.smape)),
        ("spread of ln(measured/predicted)", format!("{:.3}", quality.log_spread)),
        ("geometric standard deviation of measured/predicted", format!("{:.3}", quality.geometric_spread)),
    ];
    if quality.fitted_points < quality.points {
        lines.push(("fitted points, evenly spread; the others are predicted", quality.fitted_points.to_string()));
    }
    lines.extend(quality.left_out.map(|error| ("SMAPE of held-out points", percent(error))));
    lines.extend(quality.largest_left_out.map(|(ranks, error)| {
        ("SMAPE at the largest P, from a fit without it", format!("{} at P = {ranks}", percent(error)))
    }));
    lines.extend(curve.map(|curve| ("held-out SMAPE of the empirical baseline", percent(curve.left_out))));
    lines.extend(curve.map(|curve| {
        let shown = model_fit::lines(model, fit, curve);
        ("SMAPE of a variable's values left out one by one: model, baseline", shown.join("; "))
    }));
    lines.extend(quality.aicc.map(|aicc| ("AICc", format!("{aicc:.1}"))));
    if model.formula().is_some() {
        return lines;
    }
    let terms: BTreeMap<&str, usize> = fit.points.iter().fold(BTreeMap::new(), |mut terms, point| {
        *terms.entry(point.bottleneck).or_default() += 1;
        terms
    });
    let share = |(name, count): (&str, usize)| format!("{name} {}", percent(count as f64 / fit.points.len() as f64));
    lines.push((
        "bottleneck, fraction of the observations",
        terms.into_iter().map(share).collect::<Vec<_>>().join(", "),
    ));
    lines
}

#[derive(Serialize)]
pub struct LadderRow {
    #[serde(skip)]
    points: usize,
    group: String,
    model: &'static str,
    numbers: usize,
    smape: String,
    spread: String,
    left_out: String,
}

pub fn ladder_row(model: &dyn Model, group: &FitGroup, fit: &Fit) -> LadderRow {
    LadderRow {
        points: group.points,
        group: group.label.clone(),
        model: model.about().id,
        numbers: fit.estimates.len(),
        smape: percent(fit.quality.smape),
        spread: format!("{:.2}", fit.quality.geometric_spread),
        left_out: fit.quality.left_out.map_or(String::new(), percent),
    }
}

/// Keeps groups that a compact model was fitted to, the most points first, then the largest number of parameters.
pub fn keep_compact(rows: &mut Vec<LadderRow>) {
    let compact = |row: &&LadderRow| models::find(row.model).is_ok_and(|model| model.is_compact());
    let groups: Vec<String> = rows.iter().filter(compact).map(|row| row.group.clone()).collect();
    rows.retain(|row| groups.contains(&row.group));
    let order = |row: &LadderRow| (Reverse(row.points), row.group.clone(), Reverse(row.numbers));
    rows.sort_by_key(order);
}

pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
