//! The section on models: each model that explains a kernel of the result, fitted to it, and the predictions of the machine card.

use super::model_tables::{self, LadderRow, NumberRow};
use super::prelude::*;
use crate::explorer::AppliedModel;
use crate::html::file_name;
use apexmap_base::reservation;
use apexmap_study::model_fit::figures::{self, ModelFigure};
use apexmap_study::model_fit::groups::{FitGroup, groups, left_out};
use apexmap_study::model_fit::{self, Data, Judgement, card, formula};
use apexmap_theory::fit::baseline::{self, Baseline};
use apexmap_theory::fit::{Fit, Options, RateWords};
use apexmap_theory::models::formula::{FormulaModel, Saved};
use apexmap_theory::models::scan::BandBasis;
use apexmap_theory::models::{self, Model};

/// Per model, those with the most points; the others are listed.
const MAX_GROUPS: usize = 3;

/// Enough for an interval; `apexmap fit` draws more.
const RESAMPLES: u32 = 199;

/// `apexmap fit` uses more.
const MAX_POINTS: usize = 200;

#[derive(Default, Serialize)]
pub struct ModelSection {
    pub pending: usize,
    /// The best fit of each group, the group with the most points first.
    headlines: Vec<String>,
    ladder: Vec<LadderRow>,
    /// Models that describe their samples: the most points first, then the smallest error.
    entries: Vec<FitEntry>,
    poor: Vec<FitEntry>,
    refused: Vec<RefusedModel>,
    unshown: Vec<String>,
    card: Option<String>,
    resamples: u32,
    #[serde(skip)]
    pub applied: Vec<AppliedModel>,
}

#[derive(Default, Serialize)]
struct FitEntry {
    model: &'static str,
    group: String,
    fitted: bool,
    points: usize,
    equals: Vec<&'static str>,
    numbers_from: String,
    /// A fraction.
    smape: f64,
    error: String,
    #[serde(skip)]
    judgement: Option<Judgement>,
    #[serde(skip)]
    rates: Vec<f64>,
    about: String,
    sentence: String,
    bottleneck: Option<String>,
    numbers: Vec<NumberRow>,
    quality: Vec<(String, String)>,
    shown: Vec<Picture>,
    folded: Vec<Picture>,
    assumes: &'static str,
    oversubscribed: bool,
}

#[derive(Serialize)]
struct RefusedModel {
    model: String,
    groups: Vec<String>,
    reason: String,
    next: String,
}

pub struct PlannedFits<'a> {
    section: FitSections<'a>,
    fits: Vec<(&'static dyn Model, FitGroup)>,
}

impl<'a> PlannedFits<'a> {
    /// Lists models that explain kernels of the result but none of its points.
    pub fn new(input: &'a Input<'a>, own: &[&'static FormulaModel]) -> Result<Self> {
        let mut section = FitSections { input, explained: empty(&input.card) };
        let mut fits = Vec::new();
        let own = own.iter().map(|own| *own as &'static dyn Model);
        for model in models::ALL.iter().copied().chain(own) {
            let about = model.about();
            let groups = match groups(input.samples, model) {
                Ok(groups) if groups.is_empty() && model.formula().is_some() => {
                    return Err(model_fit::no_sample_error(model));
                }
                Ok(groups) => groups,
                Err(refusal) => {
                    section.refuse(model, about.explains.join(", "), &refusal);
                    continue;
                }
            };
            if let Some((points, why)) = left_out(input.samples, model).filter(|_| !groups.is_empty()) {
                section.refuse(model, plural(points, "point"), &why);
            }
            for (number, group) in groups.into_iter().enumerate() {
                if number < MAX_GROUPS {
                    fits.push((model, group));
                } else {
                    section.explained.unshown.push(format!("{} on {}", about.id, group.label));
                }
            }
        }
        Ok(Self { section, fits })
    }

    pub fn pending(&self) -> ModelSection {
        ModelSection { pending: self.fits.len(), ..empty(&self.section.input.card) }
    }

    /// Calls `progress` with a line before each fit.
    pub fn run(mut self, progress: &dyn Fn(&str)) -> Result<ModelSection> {
        let count = self.fits.len();
        for (number, (model, group)) in self.fits.iter().enumerate() {
            progress(&format!("fitting {} {} of {count}: {}", model.about().id, number + 1, group.label));
            self.section.add(*model, group)?;
        }
        let mut explained = self.section.explained;
        model_tables::keep_compact(&mut explained.ladder);
        explained.entries.sort_by(|a, b| b.points.cmp(&a.points).then(a.smape.total_cmp(&b.smape)));
        explained.applied.sort_by(|a, b| a.smape.total_cmp(&b.smape));
        explained.headlines = headlines(&explained.entries);
        (explained.entries, explained.poor) =
            explained.entries.into_iter().partition(|entry| entry.smape <= model_fit::MAX_SMAPE);
        Ok(explained)
    }
}

/// The best fit of each group whose numbers are all possible and known; `entries` are sorted by error within a group.
fn headlines(entries: &[FitEntry]) -> Vec<String> {
    let mut best: Vec<(&FitEntry, &Judgement)> = Vec::new();
    for (entry, judgement) in entries.iter().filter_map(|entry| Some((entry, entry.judgement.as_ref()?))) {
        if judgement.doubts == 0 && best.iter().all(|(other, _)| other.group != entry.group) {
            best.push((entry, judgement));
        }
    }
    let several = best.len() > 1;
    best.iter().map(|(entry, judgement)| judgement.headline(entry.model, several.then_some(&entry.group))).collect()
}

fn empty(card: &Option<Card>) -> ModelSection {
    ModelSection { card: card.as_ref().map(|card| card.name.clone()), resamples: RESAMPLES, ..ModelSection::default() }
}

struct FitSections<'a> {
    input: &'a Input<'a>,
    explained: ModelSection,
}

impl FitSections<'_> {
    fn add(&mut self, model: &'static dyn Model, group: &FitGroup) -> Result<()> {
        match self.fit_group(model, group) {
            Ok((fit, data, curve)) => {
                // Compact models with the same rates differ only in the form of their numbers; the first one has the fewest.
                let is_compact = |id: &str| models::find(id).is_ok_and(|model| model.is_compact());
                let is_equal = |entry: &&mut FitEntry| {
                    is_compact(entry.model) && entry.group == group.label && fit.has_rates(&entry.rates)
                };
                let earlier = self.explained.entries.iter_mut().find(is_equal);
                if let Some(earlier) = earlier.filter(|_| model.is_compact()) {
                    earlier.equals.push(model.about().id);
                    return Ok(());
                }
                let entry = self.fit_entry(model, group, &fit, &data, curve.as_ref())?;
                self.explained.entries.push(entry);
                self.explained.ladder.push(model_tables::ladder_row(model, group, &fit));
                let numbers = (fit.parameters, fit.quality.smape);
                self.explained.applied.push(AppliedModel::new(model, "fitted".into(), numbers, &group.samples));
            }
            Err(refusal) => self.refuse(model, group.label.clone(), &refusal),
        }
        let family = model.about().id.split('.').next().unwrap_or_default();
        // No calibration measures the parameters of a compact model.
        let from_card = ["random_access", "apex_map"].contains(&family) && !model.is_compact();
        let saved = model.formula().and_then(FormulaModel::file).map(Saved::card);
        let card = match (&self.input.card, saved) {
            (Some(card), Some(_)) => Some(card.clone()),
            (None, saved) => saved,
            (card, None) => card.clone().filter(|_| from_card),
        };
        let Some(card) = card else { return Ok(()) };
        let source = numbers_from(model, &card);
        match card::predict(&group.samples, model, &card) {
            Ok((data, predicted)) => {
                let entry = self.card_entry(model, group, &card, &data, &predicted)?;
                self.explained.entries.push(entry);
                let extrapolated = if predicted.extrapolated > 0 { ", extrapolated at some points" } else { "" };
                let origin = format!("predicted from {source}{extrapolated}");
                let numbers = (predicted.numbers.values, predicted.smape);
                self.explained.applied.push(AppliedModel::new(model, origin, numbers, &group.samples));
            }
            Err(refusal) => self.refuse(model, format!("{}, from {source}", group.label), &refusal),
        }
        Ok(())
    }

    fn fit_group(&self, model: &dyn Model, group: &FitGroup) -> Result<(Fit, Data, Option<Baseline>)> {
        let (samples, manifest) = (&group.samples, self.input.manifest);
        let data = model_fit::observations(samples, model, &[])?;
        let simulated = manifest.simulated_card()?;
        let card = self.input.card.as_ref().or(simulated.as_ref());
        let host = manifest.host_of(samples.first_word("launch"));
        let roles = model_fit::roles(model, (samples, host), card, &formula::held(model), &[]);
        let started = model.formula().map(|own| formula::start(own.clone(), &data, &roles)).transpose()?;
        let options = Options { resamples: RESAMPLES, most_points: MAX_POINTS, ..Options::default() };
        let fit = data.fit(started.as_ref().map_or(model, |own| own), &roles, options)?;
        let curve = baseline::interpolate(&data.observations);
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
        &self,
        model: &dyn Model,
        group: &FitGroup,
        fit: &Fit,
        data: &Data,
        curve: Option<&Baseline>,
    ) -> Result<FitEntry> {
        let subtitle = subtitle(group, data, &format!("fitted, SMAPE {:.1} %", 100.0 * fit.quality.smape));
        let words = RateWords::new(data.simulated.as_deref());
        let mut figures = figures::model_figures(model, &fit.points, (words, BandBasis::Fit), &subtitle);
        // For a compact model, show its errors rather than another surface.
        let alone = figures.len() == 1;
        figures.retain(|figure| !model.is_compact() || alone || figure.name.starts_with("ratio"));
        let (shown, folded) = self.pictures(model, group, figures, true)?;
        Ok(FitEntry {
            fitted: true,
            judgement: Some(model_fit::judge(model, fit, curve)),
            rates: fit.rates(),
            sentence: model_fit::sentence(model, fit, curve),
            bottleneck: model_fit::bottleneck(model, &fit.points),
            numbers: model_tables::numbers(model, fit),
            quality: name_rates(model_tables::quality(model, fit, curve), words),
            shown,
            folded,
            ..entry(model, group, data, fit.quality.smape)
        })
    }

    fn card_entry(
        &self,
        model: &dyn Model,
        group: &FitGroup,
        card: &Card,
        data: &Data,
        predicted: &card::CardPrediction,
    ) -> Result<FitEntry> {
        let limits = reservation::clauses(&predicted.reservations, predicted.points.len(), "point").join("; ");
        let limits = if limits.is_empty() { limits } else { format!("\n{limits}") };
        let smape = 100.0 * predicted.smape;
        let description = format!("predicted from {}, SMAPE {smape:.1} %{limits}", numbers_from(model, card));
        let subtitle = subtitle(group, data, &description);
        let words = (predicted.words, predicted.numbers.band_basis());
        let figures = figures::model_figures(model, &predicted.points, words, &subtitle);
        let (shown, folded) = self.pictures(model, group, figures, false)?;
        Ok(FitEntry {
            numbers_from: numbers_from(model, card),
            sentence: card::sentence(model, card, predicted),
            bottleneck: model_fit::bottleneck(model, &predicted.points),
            numbers: model_tables::card_numbers(model, predicted),
            quality: name_rates(model_tables::prediction_quality(model, predicted), predicted.words),
            shown,
            folded,
            ..entry(model, group, data, predicted.smape)
        })
    }

    /// Returns those to show and those to fold away.
    fn pictures(
        &self,
        model: &dyn Model,
        group: &FitGroup,
        figures: Vec<ModelFigure>,
        is_fitted: bool,
    ) -> Result<(Vec<Picture>, Vec<Picture>)> {
        let kind = if is_fitted { "fit" } else { "prediction" };
        let (mut shown, mut folded) = (Vec::new(), Vec::new());
        let alone = figures.len() == 1;
        for figure in figures {
            let file = file_name(&format!("{kind} {} {}", model.about().id, figure.name), &group.label);
            let is_main = figure.name.starts_with("ratio") || figure.name.starts_with("bottleneck") || alone;
            let list = if is_fitted && is_main { &mut shown } else { &mut folded };
            list.extend(self.input.draw(Drawing::new(figure.figure, file, figure.caption.clone(), figure.caption))?);
        }
        Ok((shown, folded))
    }
}

fn numbers_from(model: &dyn Model, card: &Card) -> String {
    match model.formula() {
        Some(_) => "the numbers of its file".to_owned(),
        None => format!("the card of {}", card.name),
    }
}

fn name_rates(quality: Vec<(&str, String)>, words: RateWords) -> Vec<(String, String)> {
    quality.into_iter().map(|(name, value)| (name.replace("measured", words.rates), value)).collect()
}

fn entry(model: &dyn Model, group: &FitGroup, data: &Data, smape: f64) -> FitEntry {
    let about = model.about();
    FitEntry {
        model: about.id,
        group: group.label.clone(),
        points: group.points,
        smape,
        error: format!("{} %", short_number((100.0 * smape).round())),
        about: format!("{} ({}, {}).", about.summary, about.source.short, about.place),
        assumes: about.assumes,
        oversubscribed: data.oversubscribed,
        ..FitEntry::default()
    }
}

fn subtitle(group: &FitGroup, data: &Data, description: &str) -> String {
    let over = if data.oversubscribed { "; OVERSUBSCRIBED: more ranks than hardware threads" } else { "" };
    let (samples, points) = (plural(data.samples, "sample"), plural(group.points, "point"));
    group.samples.stamp_subtitle(format!("{}; {samples} of {points}; {description}{over}", group.label))
}
