//! The words of [`crate::compare::terms`]: regions, and maps of the leading term and of the part that the model does not explain.

use super::MAX_GROUPS;
use super::prelude::*;
use crate::compare::terms::{LeadingTerm, SIMILAR_FACTOR, TermCell, TermPair, UNEXPLAINED, explain_pair};
use apexmap_base::units::exact_number;
use apexmap_draw::figure::{Categories, CellText, FigureOptions};
use apexmap_measure::numerics::power_law::remote_share;
use apexmap_results::export::csv;
use apexmap_study::model_fit::card::NEAR;
use ndarray::Array2;
use std::collections::HashMap;

const MIN_SHARE: f64 = 0.05;

#[derive(Serialize)]
pub struct Terms {
    pub explained: Vec<Explanation>,
    #[serde(skip)]
    pub table: Option<String>,
}

impl Terms {
    pub fn new(comparison: &Comparison, folder: Option<&Path>) -> Result<Self> {
        let mut explained: Vec<Explanation> = Vec::new();
        for machine in 1..comparison.machines.len() {
            match explain_pair(comparison, machine) {
                None => {}
                // Report the same reason only once, such as missing cards.
                Some(Err(why)) if explained.iter().any(|explanation| explanation.sentences.contains(&why)) => {}
                Some(Err(why)) => {
                    let (title, sentences, groups) = (comparison.title(machine), vec![why], Vec::new());
                    explained.push(Explanation { title, sentences, groups, pair: None });
                }
                Some(Ok(pair)) => explained.push(Explanation::new(comparison, pair, folder)?),
            }
        }
        let pairs: Vec<&TermPair> = explained.iter().filter_map(|explained| explained.pair.as_ref()).collect();
        let table = (!pairs.is_empty()).then(|| table(comparison, &pairs));
        Ok(Self { explained, table })
    }
}

impl Terms {
    pub fn section(&self) -> Option<&Self> {
        Some(self).filter(|section| !section.explained.is_empty())
    }

    pub fn sentences(&self) -> Vec<String> {
        self.explained.iter().flat_map(|explained| explained.sentences.clone()).collect()
    }
}

#[derive(Debug, Serialize)]
pub struct Explanation {
    pub title: String,
    pub sentences: Vec<String>,
    pub groups: Vec<GroupExplanation>,
    #[serde(skip)]
    pub pair: Option<TermPair>,
}

#[derive(Debug, Serialize)]
pub struct GroupExplanation {
    pub label: String,
    pub pictures: Vec<Picture>,
    pub terms: Vec<String>,
    pub rows: Vec<RegionRow>,
}

#[derive(Debug, Serialize)]
pub struct RegionRow {
    pub region: String,
    pub points: usize,
    pub measured: String,
    pub predicted: String,
    /// Factors of the speed; the last one is not explained.
    pub factors: Vec<String>,
}

impl Explanation {
    fn new(comparison: &Comparison, pair: TermPair, folder: Option<&Path>) -> Result<Self> {
        let mut groups = Vec::new();
        for (group, folder) in comparison.groups().zip(std::iter::repeat(folder)) {
            let Some(folder) = folder else { break };
            let cells: Vec<&TermCell> = pair.cells.iter().filter(|cell| group.points.contains(&cell.point)).collect();
            if cells.is_empty() || groups.len() == MAX_GROUPS {
                continue;
            }
            let name = format!("terms-{}-{}", pair.machine, groups.len() + 1);
            let mut pictures = Vec::new();
            for map in maps(group, &pair, &cells, &name) {
                pictures.extend(map.draw(folder, &mut Vec::new())?);
            }
            let (terms, rows) = region_table(comparison, &pair, &cells);
            groups.push(GroupExplanation { label: group.label.clone(), pictures, terms, rows });
        }
        let (title, sentences) = (comparison.title(pair.machine), sentences(comparison, &pair));
        Ok(Self { title, sentences, groups, pair: Some(pair) })
    }
}

fn sentences(comparison: &Comparison, pair: &TermPair) -> Vec<String> {
    let mut sentences = Vec::new();
    let unknown =
        |(why, points): (_, &usize)| format!("Terms are unknown at {}, because {why}.", plural(*points, "point"));
    sentences.extend(pair.left_out.iter().map(unknown));
    if pair.cells.is_empty() {
        return sentences;
    }
    sentences.push(agreement(comparison, pair));
    sentences.push(leaders(pair));
    sentences.extend(verdicts(comparison, pair));
    sentences
}

fn agreement(comparison: &Comparison, pair: &TermPair) -> String {
    let [base, other] = [0, pair.machine].map(|k| comparison.machines[k].name.as_str());
    let off: Vec<f64> = pair.cells.iter().map(|cell| cell.unexplained_log_ratio().abs()).collect();
    let near = off.iter().filter(|off| **off <= NEAR.ln()).count();
    let worst =
        pair.cells.iter().max_by(|a, b| a.unexplained_log_ratio().abs().total_cmp(&b.unexplained_log_ratio().abs()));
    let worst = worst.map(|cell| (place(comparison, cell), cell.unexplained_log_ratio().abs().exp()));
    let (point, factor) = worst.unwrap_or_default();
    format!(
        "The cards of {other} and {base} predict the ratio of their speeds within a factor of {NEAR} at {near} of {}; the median \
         point is off by {}, the worst by {}{point}.",
        plural(off.len(), "point"),
        format_ratio(median(&off).unwrap_or(0.0).exp()),
        format_ratio(factor),
    )
}

fn leaders(pair: &TermPair) -> String {
    let mut counts = vec![0; pair.terms.len() + 1];
    let leading: Vec<LeadingTerm> = pair.cells.iter().filter_map(TermCell::leading).collect();
    leading.iter().for_each(|leading| counts[leading.term] += 1);
    let similar = pair.cells.len() - leading.len();
    let mut named: Vec<(usize, &str)> = counts.into_iter().zip(pair.names()).filter(|(count, _)| *count > 0).collect();
    named.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let each: Vec<String> = named.into_iter().map(|(count, name)| format!("{name} at {count}")).collect();
    let similar = match similar {
        0 => String::new(),
        count if count == pair.cells.len() => {
            return format!("No point is faster or slower by a factor of {SIMILAR_FACTOR}.");
        }
        some => format!("; at {some} the machines differ by less than a factor of {SIMILAR_FACTOR}"),
    };
    let points = plural(pair.cells.len(), "point");
    format!("The largest contribution to the ratio, over {points}: {}{similar}.", each.join(", "))
}

/// The slowest and the fastest point relative to the base, and why. Prefers decided ratios.
fn verdicts(comparison: &Comparison, pair: &TermPair) -> Vec<String> {
    let decided = |cell: &&TermCell| {
        comparison.ratio(pair.machine, cell.point).is_some_and(|tested| comparison.decision.differs(tested))
    };
    let apart = |cell: &&TermCell| cell.leading().is_some();
    let any = pair.cells.iter().any(|cell| decided(&cell));
    let cells: Vec<&TermCell> = pair.cells.iter().filter(apart).filter(|cell| !any || decided(cell)).collect();
    let slowest = cells.iter().max_by(|a, b| a.measured.total_cmp(&b.measured)).filter(|cell| cell.measured > 0.0);
    let fastest = cells.iter().min_by(|a, b| a.measured.total_cmp(&b.measured)).filter(|cell| cell.measured < 0.0);
    slowest.into_iter().chain(fastest).filter_map(|cell| verdict(comparison, pair, cell)).collect()
}

fn verdict(comparison: &Comparison, pair: &TermPair, cell: &TermCell) -> Option<String> {
    let leading = cell.leading()?;
    let [base, other] = [0, pair.machine].map(|k| comparison.machines[k].name.as_str());
    let how = if cell.measured > 0.0 { "slower" } else { "faster" };
    let per_cent = |share: f64| format!("{:.0} %", 100.0 * share);
    let mut shares: Vec<(f64, &str)> = cell.shares().into_iter().zip(pair.names()).collect();
    shares.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (rest, terms): (Vec<_>, Vec<_>) = shares.into_iter().partition(|(_, name)| *name == UNEXPLAINED);
    let describe = |(share, name): &(f64, &str)| format!("{name} ({})", per_cent(*share));
    let list = |shares: &[(f64, &str)]| shares.iter().map(describe).collect::<Vec<_>>().join(", ");
    let (with, against): (Vec<_>, Vec<_>) = terms.into_iter().partition(|(share, _)| *share > 0.0);
    let with: Vec<_> = with.into_iter().filter(|(share, _)| *share >= MIN_SHARE).collect();
    let against: Vec<_> = against.into_iter().rev().filter(|(share, _)| *share <= -MIN_SHARE).collect();
    let left = rest.first().map_or(0.0, |(share, _)| *share);
    let mut why = match with.split_first() {
        _ if leading.term == pair.terms.len() => {
            let but = if with.is_empty() { String::new() } else { format!("; its terms contribute {}", list(&with)) };
            format!("mostly not explained by the model ({} of it){but}", per_cent(left))
        }
        Some(((share, name), further)) => {
            let mostly = if *share >= 0.5 { "mostly" } else { "most of all" };
            let then = if further.is_empty() { String::new() } else { format!(", then {}", list(further)) };
            format!("{mostly} because of {name} ({} of it){then}", per_cent(*share))
        }
        None => return None,
    };
    if !against.is_empty() {
        why += &format!("; {} act against it", list(&against));
    }
    if leading.term < pair.terms.len() && left.abs() >= MIN_SHARE {
        why += &match left > 0.0 {
            true => format!("; {} is not explained", per_cent(left)),
            false => format!("; the terms predict {} more than was measured", per_cent(-left)),
        };
    }
    let tested = comparison.ratio(pair.machine, cell.point);
    let is_open = tested.is_some_and(|tested| comparison.decision.leaves_open(tested));
    let point = format!("{}{}", place(comparison, cell), if is_open { " (not certain)" } else { "" });
    Some(format!("{other} is {} times {how} than {base}{point}, {why}.", format_ratio(cell.measured.abs().exp())))
}

fn place(comparison: &Comparison, cell: &TermCell) -> String {
    let name = &comparison.names[cell.point];
    if name.is_empty() { String::new() } else { format!(" at {name}") }
}

fn region_table(comparison: &Comparison, pair: &TermPair, cells: &[&TermCell]) -> (Vec<String>, Vec<RegionRow>) {
    let regions = regions(comparison, cells);
    let least = 1.005f64.ln();
    let matters = |term: &usize| regions.iter().any(|(_, cells)| mean(cells, |cell| cell.parts[*term]).abs() >= least);
    let kept: Vec<usize> = (0..pair.terms.len()).filter(matters).collect();
    // The parts are logarithms of times; speeds have the opposite sign.
    let speed = |logarithm: f64| number((-logarithm).exp(), NumberStyle::Fixed(3));
    let row = |(region, cells): &(String, Vec<&TermCell>)| {
        let parts = kept.iter().map(|term| mean(cells, |cell| cell.parts[*term]));
        RegionRow {
            region: region.clone(),
            points: cells.len(),
            measured: speed(mean(cells, |cell| cell.measured)),
            predicted: speed(mean(cells, TermCell::predicted_log_ratio)),
            factors: parts.chain([mean(cells, TermCell::unexplained_log_ratio)]).map(speed).collect(),
        }
    };
    let names = kept.iter().map(|term| pair.terms[*term].to_owned()).chain([UNEXPLAINED.to_owned()]);
    (names.collect(), regions.iter().map(row).collect())
}

fn mean(cells: &[&TermCell], part: impl Fn(&TermCell) -> f64) -> f64 {
    cells.iter().map(|cell| part(cell)).sum::<f64>() / cells.len() as f64
}

fn regions<'a>(comparison: &Comparison, cells: &[&'a TermCell]) -> Vec<(String, Vec<&'a TermCell>)> {
    let mut regions = vec![("all points".to_owned(), cells.to_vec())];
    let value_of = |cell: &TermCell, column: &str| comparison.point(cell.point).number(column);
    let ranks = |cell: &TermCell| comparison.point(cell.point).number_on(0, "ranks");
    for (column, [below, above]) in [
        (BLOCK, ["short blocks, L", "long blocks, L"]),
        (ALPHA, ["high temporal locality, alpha", "low temporal locality, alpha"]),
    ] {
        let values = comparison.points.numbers(cells.iter().map(|cell| cell.point), column);
        if values.len() < 2 {
            continue;
        }
        let (low, high) = values.split_at(values.len() / 2);
        for (name, values) in [(below, low), (above, high)] {
            let [from, to] = [values[0], values[values.len() - 1]];
            let ends =
                if from == to { exact_number(from) } else { format!("{} to {}", exact_number(from), exact_number(to)) };
            let inside = |cell: &&&TermCell| value_of(cell, column).is_some_and(|value| from <= value && value <= to);
            let part: Vec<&TermCell> = cells.iter().filter(inside).copied().collect();
            let away = part.first().and_then(|cell| ranks(cell)).filter(|ranks| column == ALPHA && *ranks > 1.0);
            let away = away.map_or(String::new(), |ranks| {
                let [least, most] = [from, to].map(|alpha| 100.0 * remote_share(ranks as usize, alpha));
                format!("; {least:.0} to {most:.0} % remote")
            });
            regions.push((format!("{name} = {ends}{away}"), part));
        }
    }
    regions
}

/// Over two axes; empty for other groups. File names begin with `name`.
fn maps(group: Group, pair: &TermPair, cells: &[&TermCell], name: &str) -> Vec<Drawing> {
    if !group.is_map() {
        return Vec::new();
    }
    let [base, other] = [0, pair.machine].map(|k| group.comparison.name(k));
    let places = group.grid();
    let at_point: HashMap<usize, &TermCell> = cells.iter().map(|cell| (cell.point, *cell)).collect();
    let cells = places.map(|index| index.and_then(|index| at_point.get(&index).copied()));
    let points = plural(at_point.len(), "point");
    let subtitle = group.subtitle(&format!("apex_map.surface with the cards, {points}"));
    let grid = |title: &str, z: Quantity, value: &dyn Fn(&TermCell) -> f64| {
        let (title, subtitle, failed) = (title.to_owned(), subtitle.clone(), Vec::new());
        let [x, y] = [0, 1].map(|axis| group.axis(axis));
        let values: Array2<f64> = cells.map(|cell| cell.map_or(f64::NAN, value));
        Grid { title, subtitle, x, y, z, values, failed }
    };
    let title = format!("Which term separates {other} from {base}");
    let share = Quantity::linear("part of the logarithm of the ratio", Unit::None);
    let leading = Categories {
        grid: grid(&title, share, &|cell| cell.leading().map_or(f64::NAN, |leading| leading.share)),
        cells: cells.map(|cell| Some(cell.as_ref()?.leading().map_or(0, |leading| leading.term + 1))),
        names: std::iter::once(format!("less than a factor of {SIMILAR_FACTOR}"))
            .chain(pair.names().map(str::to_owned))
            .collect(),
        shown: CellText::Value,
    };
    let caption = format!(
        "The term that contributes most to the measured ratio of {other} to {base}, and its part of the logarithm: above 100 % \
         if other terms act against it. Dark grey: most is not explained."
    );
    let leading = Drawing { figure: Figure::Categories(leading), file: name.to_owned(), title, caption };
    let title = format!("Speed of {other} relative to {base}: measured / predicted");
    let ratio = Quantity::log("measured / predicted", Unit::None);
    let left = grid(&title, ratio, &|cell| (-cell.unexplained_log_ratio()).exp());
    let caption = format!(
        "The part of the ratio that the cards do not predict: above 1 (blue) {other} is faster than both cards predict, below 1 \
         (red) it is slower."
    );
    // Within the factor NEAR colours stay pale, because such deviations are noise.
    let figure =
        Figure::Ratio(left).with(FigureOptions { range: Some((1.0 / NEAR, NEAR)), ..FigureOptions::default() });
    vec![leading, Drawing { figure, file: format!("{name}-left"), title, caption }]
}

/// Seconds, and each term's part of the logarithm of the ratio of times, where the terms of both sides are known.
fn table(comparison: &Comparison, pairs: &[&TermPair]) -> String {
    let columns = comparison.points.columns();
    let names = pairs.first().map(|pair| pair.terms.clone()).unwrap_or_default();
    let mut head = comparison.points.head();
    head.extend(["base", "machine", "time / base time", "predicted"].map(str::to_owned));
    let of_side = |side| names.iter().map(move |term| format!("{term}: seconds of the {side}"));
    head.extend(["base", "machine"].into_iter().flat_map(of_side));
    head.extend(names.iter().chain([&UNEXPLAINED]).map(|term| format!("{term}: part of the logarithm")));
    let mut rows = vec![head];
    for pair in pairs {
        let [base, machine] = [0, pair.machine].map(|k| comparison.name(k).to_owned());
        let row = |cell: &TermCell| {
            let mut row = comparison.point(cell.point).row(&columns);
            row.extend([base.clone(), machine.clone()]);
            let ratios = [cell.measured.exp(), cell.predicted_log_ratio().exp()];
            let numbers = ratios.iter().chain(cell.seconds.iter().flatten()).chain(&cell.parts);
            row.extend(numbers.chain([&cell.unexplained_log_ratio()]).map(f64::to_string));
            row
        };
        rows.extend(pair.cells.iter().map(row));
    }
    csv::text(rows)
}
