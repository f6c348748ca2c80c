//! A card for people: one line per number, and one for all steps of a ladder.

use crate::explore::machine::{Card, NumberName, Word};
use crate::units::{Unit, amount};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Steps from which on they are a ladder.
const LADDER: usize = 3;

/// What a card says. Numbers that differ in a size or a share only, `read_seconds--64KiB-huge-independent` and the like, have
/// one line: their number, smallest and largest value, first and last step.
pub fn card_text(card: &Card) -> String {
    let names: Vec<NumberName> = card.numbers().keys().filter_map(|name| NumberName::parse(name).ok()).collect();
    let mut ladders: BTreeMap<String, Vec<(f64, &NumberName)>> = BTreeMap::new();
    for name in &names {
        if let Some((ladder, at)) = step(name) {
            ladders.entry(ladder).or_default().push((at, name));
        }
    }
    ladders.retain(|_, steps| steps.len() >= LADDER);
    let mut lines: BTreeMap<String, String> = BTreeMap::new();
    for name in &names {
        if !step(name).is_some_and(|(ladder, _)| ladders.contains_key(&ladder)) {
            lines.insert(name.to_string(), number(card, name));
        }
    }
    let mut folded = 0;
    for (ladder, steps) in &mut ladders {
        steps.sort_by(|a, b| a.0.total_cmp(&b.0));
        folded += steps.len();
        lines.insert(ladder.clone(), range(card, ladder, steps));
    }
    let mut text = format!("{}: {}\n", card.name, card.summary);
    text.extend(lines.into_values());
    if folded > 0 {
        let _ = writeln!(text, "*: several steps in one line; the card has all {folded} steps");
    }
    text
}

fn number(card: &Card, name: &NumberName) -> String {
    let (text, unit) = (name.to_string(), name.entry.unit);
    let value = card.get(&text).map_or_else(String::new, |value| amount(value, unit));
    let interval = card.interval(&text).map_or_else(String::new, |(low, high)| spread(low, high, unit));
    line(&text, &value, &interval, name.entry.meaning)
}

fn range(card: &Card, ladder: &str, steps: &[(f64, &NumberName)]) -> String {
    let values = || steps.iter().filter_map(|(_, name)| card.get(&name.to_string()));
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let Some(((_, first), (_, last))) = steps.first().zip(steps.last()) else { return String::new() };
    let written = |name: &NumberName| name.qualifier[0].to_string().replace("_per_cent", " %");
    let meaning = format!("{}; {} to {}", first.entry.meaning, written(first), written(last));
    line(ladder, &format!("{} steps", steps.len()), &spread(low, high, first.entry.unit), &meaning)
}

fn line(name: &str, value: &str, interval: &str, meaning: &str) -> String {
    format!("  {name:<36} {value:>12}  {interval:<28} {meaning}\n")
}

fn spread(low: f64, high: f64, unit: Unit) -> String {
    format!("{} to {}", amount(low, unit), amount(high, unit))
}

/// The ladder that a number is a step of, with `*` for the step; and where on it.
fn step(name: &NumberName) -> Option<(String, f64)> {
    let at = match name.qualifier.first()? {
        Word::Bytes(at) | Word::PerCent(at) => *at as f64,
        _ => return None,
    };
    let rest: String = name.qualifier[1..].iter().map(|word| format!("-{word}")).collect();
    Some((format!("{}--*{rest}", name.entry.name), at))
}
