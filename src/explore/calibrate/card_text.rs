//! A card for people: a line a number, and one for all steps of a ladder.

use crate::explore::machine::{Card, meaning_of, unit_of};
use crate::units::{self, Unit, amount};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Steps from which on they are a ladder.
const LADDER: usize = 3;

/// What a card says. Numbers that differ in a size or a share only, `read_seconds--64KiB-huge-independent` and the like, have
/// one line: how many they are, their least and greatest value, their first and last step.
pub fn listed(card: &Card) -> String {
    let mut ladders: BTreeMap<String, Vec<(f64, &str)>> = BTreeMap::new();
    for name in card.numbers().keys() {
        if let Some((ladder, at)) = step(name) {
            ladders.entry(ladder).or_default().push((at, name));
        }
    }
    ladders.retain(|_, steps| steps.len() >= LADDER);
    let mut lines: BTreeMap<&str, String> = BTreeMap::new();
    for name in card.numbers().keys() {
        if !step(name).is_some_and(|(ladder, _)| ladders.contains_key(&ladder)) {
            lines.insert(name, number(card, name));
        }
    }
    let mut folded = 0;
    for (ladder, steps) in &mut ladders {
        steps.sort_by(|a, b| a.0.total_cmp(&b.0));
        folded += steps.len();
        lines.insert(ladder, range(card, ladder, steps));
    }
    let mut text = format!("{}: {}\n", card.name, card.summary);
    text.extend(lines.into_values());
    if folded > 0 {
        let _ = writeln!(text, "*: several steps in one line; the card has all {folded} steps");
    }
    text
}

fn number(card: &Card, name: &str) -> String {
    let unit = unit(name);
    let value = card.get(name).map_or_else(String::new, |value| amount(value, unit));
    let interval = card.interval(name).map_or_else(String::new, |(low, high)| spread(low, high, unit));
    line(name, &value, &interval, &meaning(name))
}

fn range(card: &Card, ladder: &str, steps: &[(f64, &str)]) -> String {
    let values = || steps.iter().filter_map(|(_, name)| card.get(name));
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let written = |(_, name): &(f64, &str)| written(name).replace("_per_cent", " %");
    let ends = steps.first().zip(steps.last()).map(|(a, b)| format!("{} to {}", written(a), written(b)));
    let meaning = format!("{}; {}", meaning(ladder), ends.unwrap_or_default());
    line(ladder, &format!("{} steps", steps.len()), &spread(low, high, unit(ladder)), &meaning)
}

fn line(name: &str, value: &str, interval: &str, meaning: &str) -> String {
    format!("  {name:<36} {value:>12}  {interval:<28} {meaning}\n")
}

fn spread(low: f64, high: f64, unit: Unit) -> String {
    format!("{} to {}", amount(low, unit), amount(high, unit))
}

fn base(name: &str) -> &str {
    name.split("--").next().unwrap_or(name)
}

fn unit(name: &str) -> Unit {
    unit_of(base(name)).unwrap_or(Unit::None)
}

fn meaning(name: &str) -> String {
    meaning_of(base(name)).unwrap_or_default()
}

/// The step of a number as it stands in its name: `64KiB`, `25_per_cent`.
fn written(name: &str) -> &str {
    let qualifier = name.split_once("--").map_or("", |(_, qualifier)| qualifier);
    qualifier.split('-').next().unwrap_or_default()
}

/// The ladder that a number is a step of, with `*` for the step; and where on it.
fn step(name: &str) -> Option<(String, f64)> {
    let step = written(name);
    let at = match step.strip_suffix("_per_cent") {
        Some(share) => share.parse().ok()?,
        None => units::parse(step, Unit::Bytes).ok()?,
    };
    Some((name.replacen(&format!("--{step}"), "--*", 1), at))
}
