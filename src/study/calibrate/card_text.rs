//! The text of a card for people: one line per number, and one for all steps of a ladder.

use super::OVER_LAUNCHES;
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::{Unit, amount};
use apexmap_theory::machine::{Card, DISTURBED, NumberName, UNKNOWN, Word};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Minimum number of steps that are shown as one ladder.
const MIN_STEPS: usize = 3;

/// Returns the text of a card. Numbers that differ only in a size or a share, such as
/// `read_seconds--64KiB-huge-independent`, share one row. It shows their number, their least and greatest value, and
/// their first and last step. Meanings are wrapped so that lines are at most `width` long.
pub fn card_text(card: &Card, width: Option<usize>) -> String {
    let names: Vec<NumberName> = card.numbers().keys().filter_map(|name| NumberName::parse(name).ok()).collect();
    let mut ladders: BTreeMap<String, Vec<(f64, &NumberName)>> = BTreeMap::new();
    for name in &names {
        if let Some((ladder, position)) = step(name) {
            ladders.entry(ladder).or_default().push((position, name));
        }
    }
    ladders.retain(|_, steps| steps.len() >= MIN_STEPS);
    let mut rows: BTreeMap<String, [String; 4]> = BTreeMap::new();
    for name in &names {
        if !step(name).is_some_and(|(ladder, _)| ladders.contains_key(&ladder)) {
            rows.insert(name.to_string(), number(card, name));
        }
    }
    let mut folded = 0;
    for (ladder, steps) in &mut ladders {
        steps.sort_by(|a, b| a.0.total_cmp(&b.0));
        folded += steps.len();
        rows.extend(range(card, ladder, steps).map(|row| (ladder.clone(), row)));
    }
    let mut table =
        TextTable::new([Align::Left, Align::Right, Align::Left, Align::Left]).with_indent(2).with_width(width);
    rows.into_values().for_each(|row| table.add_row(row));
    let mut text = format!("{}: {}\n{table}", card.name, card.summary);
    if let Some(unknown) = card.provenance.get(UNKNOWN).and_then(|text| text.as_str()) {
        let _ = writeln!(text, "{unknown}");
    }
    if let Some(disturbed) = card.provenance.get(DISTURBED).and_then(|text| text.as_str()) {
        text.insert_str(0, &format!("{disturbed}\n"));
    }
    if folded > 0 {
        let _ = writeln!(text, "*: several steps in one row; the card has all {folded} steps");
    }
    text
}

/// Returns name, value, interval and meaning.
fn number(card: &Card, name: &NumberName) -> [String; 4] {
    let (text, unit) = (name.to_string(), name.entry.unit);
    let value = card.get(&text).map_or_else(String::new, |value| amount(value, unit));
    let range = card.range(&text).map(|(least, greatest)| format!("range {}", spread(least, greatest, unit)));
    let interval = || card.interval(&text).map(|(low, high)| spread(low, high, unit));
    let interval = range.or_else(|| not_known(card, &text)).or_else(interval).unwrap_or_default();
    [text, value, interval, name.entry.meaning.to_owned()]
}

/// Returns `not known (2 launches)` for a number without a meaningful interval.
pub fn not_known(card: &Card, name: &str) -> Option<String> {
    let over = || {
        let how = &card.numbers().get(name)?.how;
        how.rsplit_once(OVER_LAUNCHES).and_then(|(_, rest)| rest.split(',').next())
    };
    (!card.is_known(name)).then(|| over().map_or_else(|| "not known".into(), |over| format!("not known ({over})")))
}

fn range(card: &Card, ladder: &str, steps: &[(f64, &NumberName)]) -> Option<[String; 4]> {
    let values = || steps.iter().filter_map(|(_, name)| card.get(&name.to_string()));
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let ((_, first), (_, last)) = steps.first().zip(steps.last())?;
    let step_text = |name: &NumberName| name.qualifier[0].to_string().replace("_per_cent", " %");
    let meaning = format!("{}; {} to {}", first.entry.meaning, step_text(first), step_text(last));
    Some([ladder.to_owned(), format!("{} steps", steps.len()), spread(low, high, first.entry.unit), meaning])
}

fn spread(low: f64, high: f64, unit: Unit) -> String {
    format!("{} to {}", amount(low, unit), amount(high, unit))
}

/// Returns the ladder of a number, with `*` in place of the step, and the position of the step on it.
fn step(name: &NumberName) -> Option<(String, f64)> {
    let position = match name.qualifier.first()? {
        Word::Bytes(position) | Word::PerCent(position) => *position as f64,
        Word::Pair(first, second) => *first as f64 * 65536.0 + *second as f64,
        _ => return None,
    };
    let rest: String = name.qualifier[1..].iter().map(|word| format!("-{word}")).collect();
    Some((format!("{}--*{rest}", name.entry.name), position))
}
