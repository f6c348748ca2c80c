//! The section on models: each model that explains a kernel of the result, fitted to it, and the predictions of the machine card.

use super::input::Input;
use super::ladder::{self, LadderRow, percent};
use crate::explorer::AppliedModel;
use crate::html::{Picture, picture};
use apexmap_base::error::{Error, Result};
use apexmap_base::units::{Unit, amount, is_informative, plural};
use apexmap_study::model_fit::figures::{self, ModelFigure};
use apexmap_study::model_fit::groups::{FitGroup, groups, left_out};
use apexmap_study::model_fit::{self, Data, card};
use apexmap_theory::fit::baseline::{self, Baseline};
use apexmap_theory::fit::{self, Fit, Options};
use apexmap_theory::machine::Card;
use apexmap_theory::models::{self, Model};
use serde::Serialize;
use std::collections::BTreeMap;

/// Maximum number of groups per model, those with the most points; the others are listed.
const MAX_GROUPS: usize = 3;

/// Number of bootstrap resamples, enough for an interval; `apexmap fit` draws more.
const RESAMPLES: u32 = 199;

/// Maximum number of points of a fit; `apexmap fit` uses more.
const MAX_POINTS: usize = 200;

/// The section of a report.
#[derive(Serialize)]
pub struct ModelSection {
    /// Fits of groups with compact models, one line each.
    ladder: Vec<LadderRow>,
    entries: Vec<FitEntry>,
    refused: Vec<RefusedModel>,
    unshown: Vec<String>,
    card: Option<String>,
    resamples: u32,
    /// The models with their parameters, for the terms at each cell.
    #[serde(skip)]
    pub applied: Vec<AppliedModel>,
}

/// A model and a group of samples.
#[derive(Serialize)]
struct FitEntry {
    title: String,
    /// Whether the parameters were fitted to these samples; otherwise they come from a card.
    fitted: bool,
    about: String,
    sentence: String,
    bottleneck: Option<String>,
    numbers: Vec<NumberRow>,
    quality: Vec<(&'static str, String)>,
    /// Figures of the model's errors and of the bottlenecks.
    shown: Vec<Picture>,
    folded: Vec<Picture>,
    assumes: &'static str,
    oversubscribed: bool,
}

/// A parameter of the machine.
#[derive(Serialize)]
struct NumberRow {
    name: String,
    meaning: String,
    value: String,
    interval: String,
    bootstrap: String,
}

/// A model that could not be fitted, or a card that could not predict, with the groups in question.
#[derive(Serialize)]
struct RefusedModel {
    model: String,
    groups: Vec<String>,
    reason: String,
    next: String,
}

/// Fits every model to the groups that it explains, and draws the fits.
///
/// # Errors
/// If a file cannot be written. A model that cannot be fitted is not an error; the section lists it.
pub fn section(input: &Input) -> Result<ModelSection> {
    let mut section = FitSections { input, number: 0, explained: empty(&input.card) };
    for model in models::ALL {
        let about = model.about();
        let groups = match groups(input.samples, *model) {
            Ok(groups) => groups,
            Err(refusal) => {
                section.refuse(*model, about.explains.join(", "), &refusal);
                continue;
            }
        };
        if let Some((points, why)) = left_out(input.samples, *model).filter(|_| !groups.is_empty()) {
            section.refuse(*model, plural(points, "point"), &why);
        }
        for (number, group) in groups.iter().enumerate() {
            if number < MAX_GROUPS {
                section.add(*model, group)?;
            } else {
                section.explained.unshown.push(format!("{} on {}", about.id, group.label));
            }
        }
    }
    ladder::keep_compact(&mut section.explained.ladder);
    Ok(section.explained)
}

fn empty(card: &Option<Card>) -> ModelSection {
    ModelSection {
        ladder: Vec::new(),
        entries: Vec::new(),
        refused: Vec::new(),
        unshown: Vec::new(),
        card: card.as_ref().map(|card| card.name.clone()),
        resamples: RESAMPLES,
        applied: Vec::new(),
    }
}

/// The section under construction.
struct FitSections<'a> {
    input: &'a Input<'a>,
    /// Number of entries with pictures so far.
    number: usize,
    explained: ModelSection,
}

impl FitSections<'_> {
    fn add(&mut self, model: &'static dyn Model, group: &FitGroup) -> Result<()> {
        match self.fit_group(model, group) {
            Ok((fit, data, curve)) => {
                let entry = self.fit_entry(model, group, &fit, &data, curve.as_ref())?;
                self.explained.entries.push(entry);
                self.explained.ladder.push(ladder::row(model, group, &fit));
                self.explained.applied.push(AppliedModel::new(model, "fitted".into(), fit.parameters, &group.samples));
            }
            Err(refusal) => self.refuse(model, group.label.clone(), &refusal),
        }
        let family = model.about().id.split('.').next().unwrap_or_default();
        // No calibration measures the parameters of a compact model.
        let from_card = ["random_access", "apex_map"].contains(&family) && !model.is_compact();
        let Some(card) = self.input.card.as_ref().filter(|_| from_card) else {
            return Ok(());
        };
        match card::predict(&group.samples, model, card) {
            Ok((data, predicted)) => {
                let entry = self.card_entry(model, group, card, &data, &predicted)?;
                self.explained.entries.push(entry);
                let origin = format!("predicted from the card of {}", card.name);
                let parameters = predicted.numbers.values;
                self.explained.applied.push(AppliedModel::new(model, origin, parameters, &group.samples));
            }
            Err(refusal) => self.refuse(model, format!("{}, from the machine card", group.label), &refusal),
        }
        Ok(())
    }

    fn fit_group(&self, model: &dyn Model, group: &FitGroup) -> Result<(Fit, Data, Option<Baseline>)> {
        let (samples, manifest) = (&group.samples, self.input.manifest);
        let data = model_fit::observations(samples, model, &[])?;
        let name = samples.first_word("launch");
        let launch = manifest.launches.iter().find(|end| end.launch.launch == name);
        let host = launch.map_or(&manifest.driver_host, |end| &end.launch.host);
        let reported =
            |number: &str| model_fit::reported_by_os(host, number).or_else(|| model_fit::loads(samples, number));
        let roles = model_fit::roles(model, &reported, self.input.card.as_ref(), &[], &[]);
        let options = Options { resamples: RESAMPLES, most_points: MAX_POINTS, ..Options::default() };
        let fit = fit::fit(model, &data.observations, &roles, options)?;
        let curve = baseline::choose(&data.observations, &model_fit::work(model));
        Ok((fit, data, curve))
    }

    fn refuse(&mut self, model: &dyn Model, group: String, refusal: &Error) {
        let id = model.about().id;
        let same = |earlier: &&mut RefusedModel| earlier.model == id && earlier.reason == refusal.message;
        match self.explained.refused.iter_mut().find(same) {
            Some(earlier) => earlier.groups.push(group),
            None => self.explained.refused.push(RefusedModel {
                model: id.to_owned(),
                groups: vec![group],
                reason: refusal.message.clone(),
                next: refusal.help.clone(),
            }),
        }
    }

    fn fit_entry(
        &mut self,
        model: &dyn Model,
        group: &FitGroup,
        fit: &Fit,
        data: &Data,
        curve: Option<&Baseline>,
    ) -> Result<FitEntry> {
        let subtitle = subtitle(group, data, &format!("fitted, SMAPE {:.1} %", 100.0 * fit.quality.smape));
        let mut figures = figures::model_figures(model, &fit.points, &subtitle);
        // For a compact model, show its errors rather than another surface.
        let alone = figures.len() == 1;
        figures.retain(|figure| !model.is_compact() || alone || figure.name.starts_with("ratio"));
        let (shown, folded) = self.pictures(figures, true)?;
        Ok(FitEntry {
            fitted: true,
            sentence: model_fit::sentence(model, fit, curve),
            bottleneck: model_fit::bottleneck(model, &fit.points),
            numbers: numbers(model, fit),
            quality: quality(model, fit, curve),
            shown,
            folded,
            ..entry(model, group, data)
        })
    }

    fn card_entry(
        &mut self,
        model: &dyn Model,
        group: &FitGroup,
        card: &Card,
        data: &Data,
        predicted: &card::CardPrediction,
    ) -> Result<FitEntry> {
        let description = format!("predicted from the card of {}, SMAPE {:.1} %", card.name, 100.0 * predicted.smape);
        let figures = figures::model_figures(model, &predicted.points, &subtitle(group, data, &description));
        let (shown, folded) = self.pictures(figures, false)?;
        let parameters = model.about().parameters.iter().zip(&predicted.numbers.values);
        let finite = parameters.zip(&predicted.numbers.intervals).filter(|((_, value), _)| value.is_finite());
        let number = |((parameter, value), interval): ((&models::Parameter, &f64), &Option<(f64, f64)>)| NumberRow {
            name: format!("{} ({})", parameter.number, parameter.symbol),
            meaning: parameter.meaning(),
            value: amount(*value, parameter.unit()),
            interval: interval.map_or(String::new(), |ends| format_interval(ends, parameter.unit())),
            bootstrap: String::new(),
        };
        Ok(FitEntry {
            fitted: false,
            sentence: card::sentence(model, card, predicted),
            bottleneck: model_fit::bottleneck(model, &predicted.points),
            numbers: finite.map(number).collect(),
            quality: prediction_quality(model, predicted),
            shown,
            folded,
            ..entry(model, group, data)
        })
    }

    /// Draws figures, and returns those to show and those to fold away.
    fn pictures(&mut self, figures: Vec<ModelFigure>, show: bool) -> Result<(Vec<Picture>, Vec<Picture>)> {
        self.number += 1;
        let (mut shown, mut folded) = (Vec::new(), Vec::new());
        let alone = figures.len() == 1;
        for figure in figures {
            let file = format!("model-{}-{}", self.number, figure.name);
            let is_main = figure.name.starts_with("ratio") || figure.name.starts_with("bottleneck") || alone;
            let list = if show && is_main { &mut shown } else { &mut folded };
            let title = figure.caption.clone();
            let drawn = picture(&self.input.folder.figures(), &figure.figure, file, title, figure.caption.clone());
            list.extend(self.input.if_drawable(&figure.caption, drawn)?);
        }
        Ok((shown, folded))
    }
}

/// Returns how well a card predicts, and the terms at the slowest and the fastest point.
fn prediction_quality(model: &dyn Model, predicted: &card::CardPrediction) -> Vec<(&'static str, String)> {
    let mut lines = vec![
        ("SMAPE", percent(predicted.smape)),
        ("points within a factor of 1.25", percent(predicted.near)),
        ("median of measured / predicted", format!("{:.2}", predicted.bias)),
    ];
    let slower = |a: &&fit::Point, b: &&fit::Point| a.predicted.total_cmp(&b.predicted);
    let (points, numbers) = (&predicted.points, &predicted.numbers.values);
    let terms_at = |point: &fit::Point| model_fit::budget(&model.budget(&point.x, numbers));
    let place = |point: &fit::Point| model_fit::place(model, &point.x, &model_fit::varying_variables(points));
    let line = |point: &fit::Point| format!("{} at {}", terms_at(point), place(point));
    if let Some(slowest) = points.iter().min_by(slower).filter(|point| !terms_at(point).is_empty()) {
        lines.push(("terms of the slowest point", line(slowest)));
        lines.extend(points.iter().max_by(slower).map(|fastest| ("terms of the fastest point", line(fastest))));
        lines.push(("terms, mean fraction of the predicted time", mean_budget(model, predicted)));
    }
    lines
}

/// Returns the mean share of each term; all points have the same weight.
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

/// Returns the parts of an entry that fits and predictions share.
fn entry(model: &dyn Model, group: &FitGroup, data: &Data) -> FitEntry {
    let about = model.about();
    FitEntry {
        title: format!("{}: {}", about.id, group.label),
        fitted: false,
        about: format!("{} ({}, {}).", about.summary, about.source.short, about.place),
        sentence: String::new(),
        bottleneck: None,
        numbers: Vec::new(),
        quality: Vec::new(),
        shown: Vec::new(),
        folded: Vec::new(),
        assumes: about.assumes,
        oversubscribed: data.oversubscribed,
    }
}

fn subtitle(group: &FitGroup, data: &Data, description: &str) -> String {
    let over = if data.oversubscribed { "; OVERSUBSCRIBED: more ranks than hardware threads" } else { "" };
    let (samples, points) = (plural(data.samples, "sample"), plural(group.points, "point"));
    group.samples.stamp_subtitle(format!("{}; {samples} of {points}; {description}{over}", group.label))
}

fn format_interval((low, high): (f64, f64), unit: Unit) -> String {
    if high.is_finite() && !is_informative((low, high)) {
        return "not known".into();
    }
    format!("{} to {}", amount(low, unit), amount(high, unit))
}

fn numbers(model: &dyn Model, fit: &Fit) -> Vec<NumberRow> {
    let number = |name: &str, value: Option<f64>, interval: String, bootstrap: String| {
        let parameter = models::scan::parameter(model, name);
        let unit = parameter.map_or(Unit::None, |parameter| parameter.unit());
        NumberRow {
            name: parameter.map_or(name.to_owned(), |parameter| format!("{name} ({})", parameter.symbol)),
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
            (_, true) => "assumed, because these points do not identify it",
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

fn quality(model: &dyn Model, fit: &Fit, curve: Option<&Baseline>) -> Vec<(&'static str, String)> {
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
    lines.extend(curve.map(|curve| ("baseline, chosen from all points", curve.curve.to_string())));
    lines.extend(curve.map(|curve| {
        let shown = model_fit::lines(model, fit, curve);
        ("SMAPE of a variable's values left out one by one: model, baseline", shown.join("; "))
    }));
    lines.extend(quality.aicc.map(|aicc| ("AICc", format!("{aicc:.1}"))));
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
