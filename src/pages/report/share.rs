//! Fractions of the machine's limits: the bottleneck of each point, and the fraction of the bound that was reached.

use super::prelude::*;
use apexmap_measure::kernels::{self, Kernel};
use apexmap_results::table::derived_columns::{ATTAINABLE, ATTAINED, BOUND_BY, SHARE, bound_column};
use apexmap_study::model_fit::card::NEAR;
use apexmap_theory::bounds::{self, Limits, Terms};
use apexmap_theory::statistics::Summary;
use std::collections::{BTreeSet, HashMap};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shares {
    pub machine: String,
    /// If the card may come from another host than the samples.
    pub accepted: Option<String>,
    pub sentence: String,
    /// Agreement with the card's prediction; `None` without a model.
    pub predicted: Option<String>,
    /// Points beyond their bound and uncertainty, because the calibration is wrong.
    pub above: Vec<String>,
    pub rows: Vec<ShareRow>,
    /// Limits without numbers on the card, by kernel.
    pub missing: Vec<String>,
    pub limits: Vec<Formula>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShareRow {
    pub group: String,
    pub which: &'static str,
    pub place: String,
    pub rate: String,
    pub bound: String,
    pub by: String,
    pub share: String,
    /// Prediction, and the fraction of it that was reached; empty without a model.
    pub attainable: String,
    pub others: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Formula {
    pub family: &'static str,
    pub name: &'static str,
    pub formula: &'static str,
    pub source: String,
}

pub fn section(input: &Input) -> Result<Option<Shares>> {
    let Some(card) = input.card.as_ref().filter(|_| input.samples.column(SHARE).is_some()) else { return Ok(None) };
    let (groups, terms) = (&input.groups, &input.terms);
    let (mut rows, mut above, mut best_shares, mut bottlenecks) = (Vec::new(), Vec::new(), Vec::new(), BTreeMap::new());
    for group in groups {
        let ranked = group.cells_by_median(SHARE)?;
        for (cell, share) in &ranked {
            best_shares.push(best_share(cell));
            *bottlenecks.entry(cell.samples.first_word(BOUND_BY).to_owned()).or_insert(0) += 1;
            if is_above(share) {
                above.push(format!("{}, {}: {}", group.label(), group.place(cell), per_cent(cell, share)));
            }
        }
        let Some(last) = ranked.len().checked_sub(1) else { continue };
        let places = [("smallest", 0), ("median", last / 2), ("largest", last)];
        rows.extend(places.map(|(extreme, index)| row(group, extreme, &ranked[index], terms)));
    }
    if best_shares.is_empty() {
        return Ok(None);
    }
    let kernels: BTreeMap<&'static str, &Kernel> = groups.iter().filter_map(family).collect();
    let limits_of = |(family, kernel): (&'static str, &Kernel)| {
        Some(bounds::family(kernel)?.limits.iter().map(move |limit| Formula {
            family,
            name: limit.name,
            formula: limit.formula,
            source: format!("{}, {}", limit.source.short, limit.place),
        }))
    };
    Ok(Some(Shares {
        machine: card.name.clone(),
        accepted: Limits::from_card(card).accepted,
        sentence: sentence(&mut best_shares, &bottlenecks)
            + &card_is_wrong(above.len()).map_or(String::new(), |text| format!(" {text}")),
        predicted: describe_prediction(groups)?,
        above,
        rows,
        missing: missing(groups, terms),
        limits: kernels.into_iter().filter_map(limits_of).flatten().collect(),
    }))
}

/// Beyond the uncertainty. No machine exceeds its limit, so the card is then wrong.
pub fn is_above(share: &Summary) -> bool {
    share.interval.filter(|ends| units::is_informative(*ends)).map_or(share.median, |(low, _)| low) > 1.0
}

fn card_is_wrong(above: usize) -> Option<String> {
    (above > 0).then(|| {
        format!(
            "{} above the limit: the card is wrong, because the machine was slower during calibration; \
             calibrate again, just before measuring.",
            plural(above, "point")
        )
    })
}

impl Shares {
    pub fn warning(&self) -> Option<String> {
        card_is_wrong(self.above.len())
    }
}

fn family(group: &SampleGroup) -> Option<(&'static str, &'static Kernel)> {
    let kernel = kernels::find(group.samples.first_word("kernel")).ok()?;
    Some((kernels::family(kernel.id), kernel))
}

/// The fastest run counts, because bounds are computed from the best runs of a calibration.
fn best_share(cell: &Cell) -> f64 {
    cell.samples.numbers(SHARE).into_iter().fold(0.0, f64::max)
}

fn per_cent(cell: &Cell, share: &Summary) -> String {
    let percent = |share: f64| units::short_number(100.0 * share);
    let interval =
        share.interval.map(|(low, high)| format!(" ({} to {})", percent(low), percent(high))).unwrap_or_default();
    format!("{} %, median {} %{interval}", percent(best_share(cell)), percent(share.median))
}

fn row(
    group: &SampleGroup,
    extreme: &'static str,
    (cell, share): &(Cell, Summary),
    terms: &HashMap<String, Terms>,
) -> ShareRow {
    let unit = group.samples.describe(group.headline).unit;
    let rate = |column: Option<&str>| {
        column.and_then(|column| cell.samples.median(column)).map(|v| units::quantity(v, unit)).unwrap_or_default()
    };
    let others = terms.get(cell.samples.first_word("key")).map(other_limits).unwrap_or_default();
    ShareRow {
        group: group.label(),
        which: extreme,
        place: group.place(cell),
        rate: rate(Some(group.headline)),
        bound: rate(bound_column(group.headline)),
        by: cell.samples.first_word(BOUND_BY).to_owned(),
        share: per_cent(cell, share),
        attainable: attainable(cell, unit),
        others,
    }
}

/// Over all points that Apex-Map's model explains, with the largest disagreement.
fn describe_prediction(groups: &[SampleGroup]) -> Result<Option<String>> {
    let mut attained: Vec<(f64, String)> = Vec::new();
    for group in groups.iter().filter(|group| group.samples.column(ATTAINED).is_some()) {
        let place = |cell: &Cell| format!("{}, {}", group.label(), group.place(cell));
        attained.extend(group.cells_by_median(ATTAINED)?.iter().map(|(cell, share)| (share.median, place(cell))));
    }
    let off = |share: f64| share.max(1.0 / share);
    let Some((share, place)) = attained.iter().max_by(|a, b| off(a.0).total_cmp(&off(b.0))) else { return Ok(None) };
    let near = attained.iter().filter(|(share, _)| off(*share) <= NEAR).count();
    Ok(Some(format!(
        "Apex-Map's model predicts the attainable rates from the card alone, without the measured surface: {} of \
         {} are within a factor of {NEAR} of the prediction. Largest disagreement: {} % of the prediction at {place}.",
        near,
        plural(attained.len(), "point"),
        units::short_number(100.0 * share)
    )))
}

fn attainable(cell: &Cell, unit: Unit) -> String {
    let (rate, share) = (cell.samples.median(ATTAINABLE), cell.samples.median(ATTAINED));
    let text = |(rate, share)| format!("{}, {} %", units::quantity(rate, unit), units::short_number(100.0 * share));
    rate.zip(share).map(text).unwrap_or_default()
}

/// As multiples of the bound, after the program's own loop, which is not a limit.
fn other_limits(terms: &Terms) -> Vec<String> {
    let Some(bottleneck) = terms.bottleneck() else { return Vec::new() };
    let mut least: BTreeMap<&str, f64> = BTreeMap::new();
    for term in terms.limits.iter().filter(|term| term.name != bottleneck.name) {
        let times = term.rate / bottleneck.rate;
        least.entry(term.name).and_modify(|smallest| *smallest = smallest.min(times)).or_insert(times);
    }
    let mut least: Vec<_> = least.into_iter().collect();
    least.sort_by(|a, b| a.1.total_cmp(&b.1));
    let own = terms.program.map(|rate| (bounds::LOOP, rate / bottleneck.rate));
    own.iter().chain(&least).map(|(name, times)| format!("{name} {}x", units::short_number(*times))).collect()
}

fn sentence(shares: &mut [f64], bottlenecks: &BTreeMap<String, usize>) -> String {
    shares.sort_by(f64::total_cmp);
    let percent = |k: usize| units::short_number(100.0 * shares[k]);
    let last = shares.len() - 1;
    let mut names: Vec<_> = bottlenecks.iter().collect();
    names.sort_by(|a, b| b.1.cmp(a.1));
    let names: Vec<String> = names.iter().map(|(name, count)| format!("{name} at {count}")).collect();
    format!(
        "{} with a bound: the best run of each reaches {} to {} % of it, half of them at least {} %. Bottlenecks: {}.",
        plural(shares.len(), "point"),
        percent(0),
        percent(last),
        percent(last / 2),
        names.join(", ")
    )
}

fn missing(groups: &[SampleGroup], terms: &HashMap<String, Terms>) -> Vec<String> {
    let mut missing_by_kernel: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for samples in groups.iter().map(|group| &group.samples) {
        for key in samples.words("key") {
            let Some(terms) = terms.get(key).filter(|terms| !terms.missing.is_empty()) else { continue };
            missing_by_kernel.entry(samples.first_word("kernel")).or_default().extend(&terms.missing);
        }
    }
    let describe = |(kernel, names): (&str, BTreeSet<&str>)| {
        format!("{kernel}: {}", names.into_iter().collect::<Vec<_>>().join(", "))
    };
    missing_by_kernel.into_iter().map(describe).collect()
}
