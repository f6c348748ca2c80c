//! The text of a card for people: one line per number, and one for all steps of a ladder.

use super::OVER_LAUNCHES;
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::{Unit, amount};
use apexmap_results::export::csv;
use apexmap_theory::machine::{Card, DISTURBED, Number, NumberName, UNKNOWN, Word};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Narrower terminals get other layouts.
pub const WIDE_TERMINAL: usize = 110;

/// Minimum number of steps that are shown as one ladder.
const MIN_STEPS: usize = 3;

/// Returns the text of a card: a warning if the machine was disturbed, name and summary, network, and all numbers as
/// [`card_numbers`].
pub fn card_text(card: &Card, width: Option<usize>) -> String {
    let disturbed = card.provenance.get(DISTURBED).and_then(|text| text.as_str());
    let disturbed = disturbed.map_or_else(String::new, |text| format!("{text}\n"));
    let network = card.network.as_ref().map_or_else(String::new, |network| format!("Network: {network}\n"));
    format!("{disturbed}{}: {}\n{network}{}", card.name, card.summary, card_numbers(card, width))
}

/// Returns all numbers of a card. Numbers that differ only in a size or a share, such as
/// `read_seconds--64KiB-huge-independent`, share one row. It shows their number, their least and greatest value, and
/// their first and last step. Meanings are wrapped so that lines are at most `width` long. On narrow terminals, each name is a
/// line above its values.
pub fn card_numbers(card: &Card, width: Option<usize>) -> String {
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
    let mut text = table(rows.into_values(), width).to_string();
    if let Some(unknown) = card.provenance.get(UNKNOWN).and_then(|text| text.as_str()) {
        let _ = writeln!(text, "{unknown}");
    }
    if let Some(domain) = &card.domain {
        let _ = writeln!(text, "measured or printed for {domain}");
    }
    if folded > 0 {
        let _ = writeln!(text, "*: several steps in one row; the card has all {folded} steps");
    }
    text
}

fn table(rows: impl Iterator<Item = [String; 4]>, width: Option<usize>) -> TextTable {
    if width.is_none_or(|width| width >= WIDE_TERMINAL) {
        let columns = [Align::Left, Align::Right, Align::Left, Align::Left];
        let mut table = TextTable::new(columns).with_indent(2).with_width(width);
        rows.for_each(|row| table.add_row(row));
        return table;
    }
    let mut table = TextTable::new([Align::Right, Align::Left, Align::Left]).with_indent(4).with_width(width);
    for [name, value, interval, meaning] in rows {
        table.add_heading(format!("  {name}"));
        table.add_row([value, short_interval(&interval), meaning]);
    }
    table
}

/// Shortens an interval for narrow terminals: `range 99 ns to 121 ns` becomes `range 99 to 121 ns`.
pub fn short_interval(text: &str) -> String {
    let (start, end) = text.split_once(" to ").unwrap_or((text, ""));
    match (start.rsplit_once(' '), end.rsplit_once(' ')) {
        (Some((low, unit)), Some((_, end_unit))) if unit == end_unit => format!("{low} to {end}"),
        _ => text.to_owned(),
    }
}

/// Returns one row per number, in the units of the card: number, value, unit, low, high (the 95 % interval), least, greatest
/// (the range of few launches or runs), best, how.
pub fn card_csv(card: &Card) -> String {
    let head = ["number", "value", "unit", "low", "high", "least", "greatest", "best", "how"].map(str::to_owned);
    let row = |(name, number): (&String, &Number)| {
        let text = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:?}"));
        let (least, greatest) = number.range.unzip();
        let [low, high, least, greatest, best] = [number.low, number.high, least, greatest, number.best].map(text);
        let value = text(Some(number.value));
        [name.clone(), value, number.unit.clone(), low, high, least, greatest, best, number.how.clone()].into()
    };
    csv::text(std::iter::once(head.into()).chain(card.numbers().iter().map(row)))
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
