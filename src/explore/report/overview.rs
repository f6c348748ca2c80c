//! What a manager reads first: a few plain sentences and key numbers, computed from the samples.

use super::distinct;
use super::groups::{ALPHA, BLOCK, Group, independent, kernels_of, key_columns};
use super::trade::Trade;
use crate::error::Result;
use crate::explore::html::Tile;
use crate::explore::store::cells::cells;
use crate::explore::store::manifest::Manifest;
use crate::explore::store::table::Column;
use crate::explore::store::{Table, columns};
use crate::measure::numerics::statistics::{median, quantile};
use crate::point::Value;
use crate::sample::Status;
use crate::units::{self, NumberStyle, number, quantity, significant};
use serde::Serialize;

/// The first screen.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Lead {
    pub sentences: Vec<String>,
    pub tiles: Vec<Tile>,
}

/// What a result says at a glance. `held` are, of each surface shown, its name and what holding a bandwidth asks for there.
pub fn lead(
    manifest: &Manifest,
    table: &Table,
    rows: &[usize],
    groups: &[Group],
    held: &[(&str, &[Trade])],
) -> Result<Lead> {
    let mut lead = Lead { sentences: vec![measured(manifest, table, rows)], tiles: Vec::new() };
    for headline in distinct(groups.iter().map(|group| group.headline)) {
        if let Some(extremes) = extremes(table, groups, headline)? {
            extremes.tell(headline, &mut lead);
        }
    }
    let effects = effects(table, rows)?;
    lead.sentences.extend(most(&effects));
    if let Some((kernel, of)) = effects.first()
        && let Some((column, factor)) = of.first()
    {
        lead.tiles.push(Tile {
            value: format!("{} ×", number(*factor, NumberStyle::Factor)),
            label: format!("matters most: {}", columns::short(column)),
            note: format!("its best value over its worst, all else equal; median, {kernel}"),
        });
    }
    lead.sentences.extend(held.iter().find_map(|(name, trades)| hold(name, trades)));
    precision(table, groups, &mut lead)?;
    Ok(lead)
}

/// `a, b and c`; of many only the first and how many more.
fn list(words: &[String]) -> String {
    const SHOWN: usize = 4;
    match words {
        [] => String::new(),
        [one] => one.clone(),
        _ if words.len() > SHOWN => format!("{} and {} more", words[..SHOWN - 1].join(", "), words.len() + 1 - SHOWN),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn measured(manifest: &Manifest, table: &Table, rows: &[usize]) -> String {
    let kernels: Vec<String> = table.values("kernel", rows).iter().map(Value::to_string).collect();
    let ranks = table.distinct("ranks", rows);
    let one = ranks == [1.0];
    let ranks: Vec<String> = ranks.iter().map(f64::to_string).collect();
    let host = manifest.launches.last().map_or(String::new(), |launch| {
        let host = &launch.launch.host;
        let memory = units::bytes(host.memory_bytes as f64);
        format!(" ({}, {} processors, {memory})", host.cpu_model, host.processors)
    });
    let good = table.with_word("status", &[Status::Ok.name()], rows).len();
    let failed = rows.len() - good;
    let failures = if failed == 0 { "none failed".into() } else { format!("{failed} failed") };
    format!(
        "Measured on {}{host}: {} on {} rank{}; {} points, {good} good samples, {failures}.",
        manifest.machine,
        list(&kernels),
        list(&ranks),
        if one { "" } else { "s" },
        manifest.points
    )
}

/// The least and the largest median of a quantity, and where.
struct Extremes {
    worst: (f64, String),
    best: (f64, String),
}

fn extremes(table: &Table, groups: &[Group], headline: &str) -> Result<Option<Extremes>> {
    let mut all: Vec<(f64, String)> = Vec::new();
    let of_headline = || groups.iter().filter(|group| group.headline == headline);
    let several = of_headline().count() > 1;
    for group in of_headline() {
        for (cell, summary) in group.measured(table, group.headline)? {
            let mut place = vec![group.place(&cell)];
            if several {
                place.insert(0, group.label());
            }
            place.retain(|words| !words.is_empty());
            all.push((summary.median, place.join(", ")));
        }
    }
    let by_size = |a: &&(f64, String), b: &&(f64, String)| a.0.total_cmp(&b.0);
    let ends = all.iter().min_by(by_size).zip(all.iter().max_by(by_size));
    Ok(ends.map(|(worst, best)| Extremes { worst: worst.clone(), best: best.clone() }))
}

impl Extremes {
    fn tell(&self, headline: &str, lead: &mut Lead) {
        let described = columns::describe(headline);
        let (name, unit) = (described.label, described.unit);
        let at = |place: &str| if place.is_empty() { String::new() } else { format!(" at {place}") };
        let (best, worst) = (quantity(self.best.0, unit), quantity(self.worst.0, unit));
        let factor = self.best.0 / self.worst.0;
        if self.best == self.worst {
            lead.sentences.push(format!("The {name} was {best}{}.", at(&self.best.1)));
            return;
        }
        let ratio = if self.worst.0 > 0.0 {
            format!(": a factor of {} between the worst and the best point", number(factor, NumberStyle::Factor))
        } else {
            String::new()
        };
        lead.sentences.push(format!(
            "The {name} reached {best}{} and fell to {worst}{}{ratio}.",
            at(&self.best.1),
            at(&self.worst.1)
        ));
        // One quantity has tiles; more are in the table.
        if lead.tiles.is_empty() {
            let tile = |value: &str, which: &str, note: &str| Tile {
                value: value.into(),
                label: format!("{which} {name}"),
                note: note.into(),
            };
            lead.tiles.push(tile(&best, "best", &self.best.1));
            lead.tiles.push(tile(&worst, "worst", &self.worst.1));
            if self.worst.0 > 0.0 {
                lead.tiles.push(Tile {
                    value: format!("{} ×", number(factor, NumberStyle::Factor)),
                    label: "best over worst".into(),
                    note: String::new(),
                });
            }
        }
    }
}

/// What was varied, and by what factor it mattered.
type Effect<'a> = (&'a str, f64);

/// For each kernel, those with most cells first: what was varied and the factor between its best and its worst value with all
/// else equal, the median over all else; largest first.
fn effects<'a>(table: &'a Table, rows: &[usize]) -> Result<Vec<(&'static str, Vec<Effect<'a>>)>> {
    let mut found = Vec::new();
    for (kernel, rows) in kernels_of(table, rows) {
        let about = kernel.about();
        let mut names: Vec<&str> = key_columns(table, &rows)?.into_iter().filter(|name| *name != "kernel").collect();
        let surface = [ALPHA, BLOCK].into_iter().filter(|name| !table.numbers(name, &rows).is_empty());
        names.extend(surface.filter(|name| table.column(name).is_some()));
        // Rows without one of these would be left out of all cells.
        let everywhere = |column: &Column| rows.iter().all(|&row| column.bits(row).is_some());
        names.retain(|name| table.column(name).is_some_and(everywhere));
        let names = independent(table, &rows, names)?;
        let all: Vec<(Vec<Value>, f64)> = cells(table, &rows, &names, about.headline)?
            .into_iter()
            .filter_map(|cell| cell.summary.map(|summary| (cell.by, summary.median)))
            .filter(|(_, rate)| *rate > 0.0)
            .collect();
        let mut of: Vec<Effect> =
            names.iter().enumerate().filter_map(|(at, name)| Some((*name, effect(&all, at)?))).collect();
        of.sort_by(|a, b| b.1.total_cmp(&a.1));
        found.push((all.len(), about.id, of));
    }
    found.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
    Ok(found.into_iter().map(|(_, id, of)| (id, of)).collect())
}

/// The median factor between the largest and the least rate among cells that differ in the value at `at` only.
fn effect(cells: &[(Vec<Value>, f64)], at: usize) -> Option<f64> {
    let mut alike: std::collections::HashMap<String, (usize, f64, f64)> = std::collections::HashMap::new();
    for (by, rate) in cells {
        let others = by.iter().enumerate().filter(|(k, _)| *k != at).map(|(_, value)| format!("{value:?}\n"));
        let entry = alike.entry(others.collect()).or_insert((0, f64::INFINITY, 0.0));
        *entry = (entry.0 + 1, entry.1.min(*rate), entry.2.max(*rate));
    }
    let factors: Vec<f64> =
        alike.values().filter(|(count, ..)| *count > 1).map(|(_, least, most)| most / least).collect();
    median(&factors)
}

/// What matters most in the kernels with the most points.
fn most(effects: &[(&str, Vec<Effect>)]) -> Option<String> {
    const KERNELS: usize = 2;
    let one = |(column, factor): &Effect| {
        format!("{} ({} times)", columns::short(column), number(*factor, NumberStyle::Factor))
    };
    let of_kernel = |(kernel, of): &(&str, Vec<Effect>)| {
        let names: Vec<String> = of.iter().take(3).map(one).collect();
        (!names.is_empty()).then(|| format!("in {kernel} {}", names.join(", then ")))
    };
    let told: Vec<String> = effects.iter().take(KERNELS).filter_map(of_kernel).collect();
    (!told.is_empty()).then(|| {
        format!(
            "What matters most, as the best value over the worst with all else equal (median): {}.",
            told.join("; ")
        )
    })
}

/// The middle of the bandwidths that can be held all along alpha.
fn hold(name: &str, trades: &[Trade]) -> Option<String> {
    let possible: Vec<&Trade> = trades.iter().filter(|trade| trade.factor.is_some()).collect();
    let trade = possible.get(possible.len() / 2)?;
    Some(format!(
        "To hold {} in {name} without temporal locality (alpha from its smallest to its largest value), blocks must become {} times as long.",
        quantity(trade.level, units::Unit::BytesPerSecond),
        trade.factor.as_deref()?
    ))
}

/// Half-widths of the intervals, relative to the medians.
fn precision(table: &Table, groups: &[Group], lead: &mut Lead) -> Result<()> {
    let (mut widths, mut without) = (Vec::new(), 0);
    for group in groups {
        for (_, summary) in group.measured(table, group.headline)? {
            match summary.relative_width() {
                Some(width) if width.is_finite() => widths.push(width / 2.0),
                _ => without += 1,
            }
        }
    }
    widths.sort_by(f64::total_cmp);
    let percent = |share: f64| format!("± {} %", significant(share * 100.0));
    let (Some(half), Some(most)) = (quantile(&widths, 0.5), quantile(&widths, 0.9)) else {
        if without > 0 {
            lead.sentences.push("No point has the six samples that a 95 % interval needs: single numbers may be off by more than they differ.".into());
        }
        return Ok(());
    };
    let rest = if without == 0 { String::new() } else { format!("; {without} have too few samples for an interval") };
    lead.sentences.push(format!(
        "Half of the medians are known within {}, nine in ten within {} (95 % intervals){rest}.",
        percent(half),
        percent(most)
    ));
    lead.tiles.push(Tile {
        value: percent(half),
        label: "precision".into(),
        note: format!("half of the points are this sharp or sharper; nine in ten {}", percent(most)),
    });
    Ok(())
}
