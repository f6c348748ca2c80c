//! Ratios of hardware numbers next to the measured ones (Apex-Map paper, Section 3.3): do they explain a speed-up?

use super::prelude::*;
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::amount;
use apexmap_theory::machine::{CATALOGUE, catalogue};

pub fn section(comparison: &Comparison) -> Option<Value> {
    let (cards, read_off) = (rows(comparison), quote_paper(comparison));
    let mut arguments = Vec::new();
    for machine in 1..comparison.machines.len() {
        arguments.extend(comparison.groups().filter_map(|group| compare_with_hardware(group, &cards, machine)));
    }
    (!cards.is_empty() || !read_off.is_empty())
        .then(|| json!({ "cards": cards, "arguments": arguments, "read_off": read_off }))
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NumberRow {
    pub number: &'static str,
    pub meaning: &'static str,
    /// Empty if a card does not contain the number.
    pub values: Vec<String>,
    pub ratios: Vec<Option<f64>>,
    pub shown: Vec<String>,
}

pub fn rows(comparison: &Comparison) -> Vec<NumberRow> {
    let value = |machine: usize, name: &str| comparison.machines[machine].card.as_ref().and_then(|card| card.get(name));
    let mut rows = Vec::new();
    for entry in CATALOGUE {
        let values: Vec<Option<f64>> = (0..comparison.machines.len()).map(|k| value(k, entry.name)).collect();
        let ratios: Vec<Option<f64>> = values[1..].iter().map(|other| Some((*other)? / values[0]?)).collect();
        if ratios.iter().all(Option::is_none) {
            continue;
        }
        rows.push(NumberRow {
            number: entry.name,
            meaning: entry.meaning,
            values: values.iter().map(|value| value.map(|v| amount(v, entry.unit)).unwrap_or_default()).collect(),
            shown: ratios.iter().map(|ratio| ratio.map(short_number).unwrap_or_default()).collect(),
            ratios,
        });
    }
    rows
}

pub fn text(comparison: &Comparison) -> String {
    let (machines, rows) = (comparison.machines, rows(comparison));
    if rows.is_empty() || machines.iter().any(|machine| machine.origin != Origin::Published) {
        return String::new();
    }
    let names = machines.iter().map(|machine| machine.name.as_str()).chain(machines[1..].iter().map(|_| "ratio"));
    let numbers = std::iter::repeat_n(Align::Right, 2 * machines.len() - 1);
    let mut table = TextTable::new([Align::Left].into_iter().chain(numbers));
    table.add_row(["number"].into_iter().chain(names));
    for NumberRow { number, values, shown, .. } in rows {
        table.add_row([number.to_owned()].into_iter().chain(values).chain(shown));
    }
    table.to_string()
}

/// Ratios of rates, and reciprocal ratios of times, that usually explain a speed-up.
fn speeds(rows: &[NumberRow], machine: usize) -> Vec<(&'static str, f64)> {
    const SPEEDS: [(&str, &str); 8] = [
        (catalogue::CLOCK_HZ.name, "clock"),
        (catalogue::MEMORY_BANDWIDTH_BYTES_PER_SECOND.name, "memory bandwidth per processor"),
        (catalogue::NODE_BANDWIDTH_BYTES_PER_SECOND.name, "memory bandwidth per node"),
        (catalogue::NETWORK_BANDWIDTH_BYTES_PER_SECOND.name, "network bandwidth"),
        (catalogue::NODE_NETWORK_BANDWIDTH_BYTES_PER_SECOND.name, "network bandwidth per node"),
        (catalogue::MESSAGE_RATE_PER_SECOND.name, "message rate"),
        (catalogue::MEMORY_LATENCY_SECONDS.name, "memory latency"),
        (catalogue::NETWORK_LATENCY_SECONDS.name, "network latency"),
    ];
    let speed = |(name, words): &(&str, &'static str)| {
        let ratio = rows.iter().find(|row| row.number == *name)?.ratios[machine - 1]?;
        Some((*words, if name.ends_with("_seconds") { 1.0 / ratio } else { ratio }))
    };
    SPEEDS.iter().filter_map(speed).collect()
}

fn compare_with_hardware(group: Group, rows: &[NumberRow], machine: usize) -> Option<String> {
    let comparison = group.comparison;
    let speeds = speeds(rows, machine);
    let (&(low_name, low), &(high_name, high)) =
        (speeds.iter().min_by(|a, b| a.1.total_cmp(&b.1))?, speeds.iter().max_by(|a, b| a.1.total_cmp(&b.1))?);
    let ratio = |&index: &usize| Some((index, comparison.ratio(machine, index)?.ratio.value));
    let ratios: Vec<(usize, f64)> = group.points.iter().filter_map(ratio).collect();
    if ratios.is_empty() {
        return None;
    }
    let (least, most) = ratios.iter().fold((f64::INFINITY, 0.0_f64), |(l, m), (_, r)| (l.min(*r), m.max(*r)));
    let above = ratios.iter().filter(|(_, ratio)| *ratio > high).count();
    let below = ratios.iter().filter(|(_, ratio)| *ratio < low).count();
    let each: Vec<String> = speeds.iter().map(|(name, ratio)| format!("{name} {}", short_number(*ratio))).collect();
    let name = &comparison.machines[machine].name;
    let mut text = format!(
        "{}, {name} / {}: the measured ratios lie between {} and {}; the hardware ratios are {}. ",
        group.label,
        comparison.machines[0].name,
        short_number(least),
        short_number(most),
        each.join(", ")
    );
    let within = ratios.len() - above - below;
    text += &format!(
        "{} points in total: {above} exceed every hardware ratio (largest: {high_name}), {below} are below every one \
         (smallest: {low_name}), {within} lie between. ",
        ratios.len()
    );
    if group.is_surface() {
        let quadrant = |high_alpha, high_block| quadrant_median(comparison, &ratios, high_alpha, high_block);
        text += &format!(
            "Median ratio by quadrant: both localities high {}, temporal only {}, spatial only {}, both low {}.",
            quadrant(false, true),
            quadrant(false, false),
            quadrant(true, true),
            quadrant(true, false)
        );
    }
    Some(text)
}

/// In the lower or upper half of the values of alpha, and of L.
fn quadrant_median(comparison: &Comparison, ratios: &[(usize, f64)], high_alpha: bool, high_block: bool) -> String {
    let half = |column: &str, is_high: bool| {
        let mut values = comparison.points.numbers(ratios.iter().map(|(index, _)| *index), column);
        let half = values.len().div_ceil(2);
        if is_high { values.split_off(values.len() - half) } else { values[..half].to_vec() }
    };
    let (alphas, blocks) = (half(ALPHA, high_alpha), half(BLOCK, high_block));
    let is_inside = |index: usize| {
        let point = comparison.point(index);
        point.number(ALPHA).is_some_and(|alpha| alphas.contains(&alpha))
            && point.number(BLOCK).is_some_and(|block| blocks.contains(&block))
    };
    let inside = ratios.iter().filter(|(index, _)| is_inside(*index));
    let logarithms: Vec<f64> = inside.map(|(_, ratio)| ratio.ln()).collect();
    median(&logarithms).map_or_else(|| "-".into(), |median| short_number(median.exp()))
}

/// About the surfaces of its machines; it prints no numbers of the surfaces themselves.
pub fn quote_paper(comparison: &Comparison) -> Vec<String> {
    use apexmap_theory::paper_tables::quoted_number;
    let given: Vec<&str> = comparison.machines.iter().map(|machine| machine.given.as_str()).collect();
    let both = |a: &str, b: &str| given.contains(&a) && given.contains(&b);
    let number = |name: &str| quoted_number(name).map(short_number).unwrap_or_default();
    let mut sentences = Vec::new();
    if both("cheetah", "seaborg") {
        sentences.push(format!(
            "Cheetah / Seaborg (Figure 5): {} to {} for high temporal or high spatial locality, {} to {} for low \
             localities, higher than any ratio of simple architectural parameters.",
            number("cheetah_over_seaborg_local_least"),
            number("cheetah_over_seaborg_local_most"),
            number("cheetah_over_seaborg_far_least"),
            number("cheetah_over_seaborg_far_most")
        ));
    }
    if both("phoenix", "cheetah") {
        sentences.push(format!(
            "Phoenix / Cheetah (Figure 6): up to {} where spatial locality is high and temporal locality poor; \
             below 1 where spatial locality is poor or temporal locality is high.",
            number("phoenix_over_cheetah_most")
        ));
    }
    let trades = [("cheetah", "Cheetah", "cheetah_trade_factor"), ("phoenix", "Phoenix", "phoenix_trade_factor")];
    for (_, name, figure) in trades.iter().filter(|(card, _, _)| given.contains(card)) {
        sentences.push(format!(
            "{name}: L must grow by a factor of {} to sustain 10 MB/s when alpha goes from 0.001 to 1 (Section \
             3.3).",
            number(figure)
        ));
    }
    if given.contains(&"seaborg") {
        sentences.push(format!(
            "Seaborg: 1 MB/s needs L = 1 at alpha = 0.005 and up to L = {} as alpha grows (Section 3.3).",
            number("seaborg_trade_words")
        ));
    }
    sentences
}
