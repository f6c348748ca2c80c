//! What a manager reads first: a few plain sentences and key numbers, computed from the samples.

use super::distinct;
use super::input::Input;
use crate::error::Result;
use crate::explore::html::Tile;
use crate::explore::store::Samples;
use crate::explore::store::columns::{self, ALPHA, BLOCK};
use crate::explore::store::groups::SampleGroup;
use crate::explore::trade::Trade;
use crate::measure::numerics::statistics::{median, quantile};
use crate::point::Value;
use crate::units::{self, NumberStyle, number, quantity, significant};
use serde::Serialize;

/// The first screen.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Lead {
    pub sentences: Vec<String>,
    pub tiles: Vec<Tile>,
}

/// What a result says at a glance. `held` are, of each surface shown, its name and what holding a bandwidth asks for there.
pub fn lead(input: &Input, held: &[(&str, &[Trade])]) -> Result<Lead> {
    let (samples, groups) = (input.samples, &input.groups);
    let mut lead = Lead { sentences: vec![measured(input)], tiles: Vec::new() };
    for headline in distinct(groups.iter().map(|group| group.headline)) {
        if let Some(extremes) = extremes(groups, headline)? {
            extremes.tell(headline, &mut lead);
        }
    }
    let effects = effects(samples)?;
    lead.sentences.extend(most(&effects));
    if let Some((kernel, of)) = effects.first()
        && let Some((column, factor)) = of.first()
    {
        lead.tiles.push(Tile {
            value: format!("{} ×", number(*factor, NumberStyle::Factor)),
            label: format!("largest effect: {}", columns::short(column)),
            note: format!("best value / worst value, other parameters fixed; median, {kernel}"),
        });
    }
    lead.sentences.extend(held.iter().find_map(|(name, trades)| hold(name, trades)));
    precision(groups, &mut lead)?;
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

fn measured(Input { manifest, samples, .. }: &Input) -> String {
    let kernels: Vec<String> = samples.values("kernel").iter().map(Value::to_string).collect();
    let ranks = samples.distinct("ranks");
    let one = ranks == [1.0];
    let ranks: Vec<String> = ranks.iter().map(f64::to_string).collect();
    let host = manifest.launches.last().map_or(String::new(), |launch| {
        let host = &launch.launch.host;
        let memory = units::bytes(host.memory_bytes as f64);
        format!(" ({}, {}, {memory})", host.cpu_model, host.processors)
    });
    let good = samples.good().len();
    let failed = samples.len() - good;
    let failures = if failed == 0 { "none failed".into() } else { format!("{failed} failed") };
    format!(
        "Measured on {}{host}: {} on {} rank{}; {} points, {good} valid samples, {failures}.",
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

fn extremes(groups: &[SampleGroup], headline: &str) -> Result<Option<Extremes>> {
    let mut all: Vec<(f64, String)> = Vec::new();
    let of_headline = || groups.iter().filter(|group| group.headline == headline);
    let several = of_headline().count() > 1;
    for group in of_headline() {
        for (cell, summary) in group.measured(group.headline)? {
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
            format!(", a factor of {} apart", number(factor, NumberStyle::Factor))
        } else {
            String::new()
        };
        lead.sentences.push(format!(
            "Highest {name}: {best}{}; lowest: {worst}{}{ratio}.",
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
            lead.tiles.push(tile(&best, "highest", &self.best.1));
            lead.tiles.push(tile(&worst, "lowest", &self.worst.1));
            if self.worst.0 > 0.0 {
                lead.tiles.push(Tile {
                    value: format!("{} ×", number(factor, NumberStyle::Factor)),
                    label: "highest / lowest".into(),
                    note: String::new(),
                });
            }
        }
    }
}

/// What was varied, and by what factor it mattered.
type Effect = (String, f64);

/// For each kernel, those with most cells first: what was varied and the factor between its best and its worst value with all
/// else equal, the median over all else; largest first.
fn effects(samples: &Samples) -> Result<Vec<(&'static str, Vec<Effect>)>> {
    let mut found = Vec::new();
    for (kernel, samples) in samples.kernels() {
        let about = kernel.about();
        let mut names: Vec<&str> = samples.key_columns().into_iter().filter(|name| *name != "kernel").collect();
        names.extend([ALPHA, BLOCK]);
        // Samples without one of these would be left out of all cells.
        names.retain(|name| samples.all_have(name));
        let names = samples.independent(&names);
        let all: Vec<(Vec<Value>, f64)> = samples
            .cells(&names)?
            .into_iter()
            .filter_map(|cell| cell.summary(about.headline).map(|summary| (cell.by, summary.median)))
            .filter(|(_, rate)| *rate > 0.0)
            .collect();
        let mut of: Vec<Effect> =
            names.iter().enumerate().filter_map(|(at, name)| Some((name.to_string(), effect(&all, at)?))).collect();
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
    let one =
        |(column, factor): &Effect| format!("{} ({}x)", columns::short(column), number(*factor, NumberStyle::Factor));
    let of_kernel = |(kernel, of): &(&str, Vec<Effect>)| {
        let names: Vec<String> = of.iter().take(3).map(one).collect();
        (!names.is_empty()).then(|| format!("in {kernel} {}", names.join(", then ")))
    };
    let told: Vec<String> = effects.iter().take(KERNELS).filter_map(of_kernel).collect();
    (!told.is_empty()).then(|| {
        format!("Largest effects (median ratio of best to worst, other parameters fixed): {}.", told.join("; "))
    })
}

/// The middle of the bandwidths that can be held all along alpha.
fn hold(name: &str, trades: &[Trade]) -> Option<String> {
    let possible: Vec<&Trade> = trades.iter().filter(|trade| trade.factor.is_some()).collect();
    let trade = possible.get(possible.len() / 2)?;
    Some(format!(
        "To sustain {} in {name} at the largest alpha, blocks must be {} times as long as at the smallest alpha.",
        quantity(trade.level, units::Unit::BytesPerSecond),
        trade.factor.as_deref()?
    ))
}

/// Half-widths of the intervals, relative to the medians.
fn precision(groups: &[SampleGroup], lead: &mut Lead) -> Result<()> {
    let (mut widths, mut without) = (Vec::new(), 0);
    for group in groups {
        for (_, summary) in group.measured(group.headline)? {
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
            lead.sentences.push(
                "No point has the six samples needed for a 95 % interval; differences between these \
                 numbers may be noise."
                    .into(),
            );
        }
        return Ok(());
    };
    let rest = if without == 0 {
        String::new()
    } else {
        format!(
            "; {without} points have too few samples for an \
         interval"
        )
    };
    lead.sentences.push(format!(
        "95 % interval half-width: median {}, 90th percentile {}{rest}.",
        percent(half),
        percent(most)
    ));
    lead.tiles.push(Tile {
        value: percent(half),
        label: "precision".into(),
        note: format!("median half-width of the 95 % intervals; 90th percentile {}", percent(most)),
    });
    Ok(())
}
