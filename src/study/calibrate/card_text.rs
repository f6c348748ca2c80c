//! The text of a card for people: one line per number, and one for all steps of a ladder.

use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::{Unit, amount, amount_interval};
use apexmap_results::export::csv;
use apexmap_theory::machine::{Card, DISTURBED, Number, NumberName, UNKNOWN, Word};
use std::collections::BTreeMap;
use std::fmt::Write;

pub fn is_wide(width: Option<usize>) -> bool {
    width.is_none_or(|width| width >= 110)
}

const MIN_STEPS: usize = 3;

/// A warning if the machine was disturbed, name and summary, network, and all numbers as [`card_numbers`].
pub fn card_text(card: &Card, width: Option<usize>) -> String {
    let disturbed = card.provenance.get(DISTURBED).and_then(|text| text.as_str());
    let disturbed = disturbed.map_or_else(String::new, |text| format!("{text}\n"));
    let network = card.network.as_ref().map_or_else(String::new, |network| format!("Network: {network}\n"));
    format!("{disturbed}{}: {}\n{network}{}", card.name, card.summary, card_numbers(card, width))
}

/// All numbers of a card. Those that differ only in a size or a share, such as `read_seconds--64KiB-huge-independent`, share one row
/// with their number, their least and greatest value, and their first and last step. On narrow terminals, each name is a line.
pub fn card_numbers(card: &Card, width: Option<usize>) -> String {
    let names: Vec<NumberName> = card.numbers().keys().filter_map(|name| NumberName::parse(name).ok()).collect();
    let mut ladders: BTreeMap<String, Vec<(f64, &NumberName)>> = BTreeMap::new();
    for name in &names {
        if let Some((ladder, position)) = step(name) {
            ladders.entry(ladder).or_default().push((position, name));
        }
    }
    ladders.retain(|_, steps| steps.len() >= MIN_STEPS);
    let spread = if is_wide(width) { spread } else { amount_interval };
    let mut rows: BTreeMap<String, [String; 4]> = BTreeMap::new();
    for name in &names {
        if !step(name).is_some_and(|(ladder, _)| ladders.contains_key(&ladder)) {
            rows.insert(name.to_string(), number(card, name, spread));
        }
    }
    let mut folded = 0;
    for (ladder, steps) in &mut ladders {
        steps.sort_by(|a, b| a.0.total_cmp(&b.0));
        folded += steps.len();
        rows.extend(range(card, ladder, steps, spread).map(|row| (ladder.clone(), row)));
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
    if is_wide(width) {
        let columns = [Align::Left, Align::Right, Align::Left, Align::Left];
        let mut table = TextTable::new(columns).with_indent(2).with_width(width);
        rows.for_each(|row| table.add_row(row));
        return table;
    }
    let mut table = TextTable::new([Align::Right, Align::Left, Align::Left]).with_indent(4).with_width(width);
    for [name, value, interval, meaning] in rows {
        table.add_heading(format!("  {name}"));
        table.add_row([value, interval, meaning]);
    }
    table
}

/// One row per number, in the units of the card, with low and high of the 95 % interval or the range of few launches or runs.
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

fn number(card: &Card, name: &NumberName, spread: Spread) -> [String; 4] {
    let (text, unit) = (name.to_string(), name.entry.unit);
    let value = card.get(&text).map_or_else(String::new, |value| amount(value, unit));
    let interval = interval(card, &text, |ends| spread(ends, unit));
    [text, value, interval, name.entry.meaning.to_owned()]
}

/// The 95 % interval of a number, `not known (2 launches)` if it says nothing, or the range of a few launches or runs.
pub fn interval(card: &Card, name: &str, spread: impl Fn((f64, f64)) -> String) -> String {
    if let Some(ends) = card.range(name) {
        return format!("range {}", spread(ends));
    }
    if card.is_known(name) {
        return card.interval(name).map(spread).unwrap_or_default();
    }
    let launches = card.numbers().get(name).and_then(|number| number.launches).filter(|&launches| launches > 1);
    launches.map_or_else(|| "not known".into(), |launches| format!("not known ({launches} launches)"))
}

fn range(card: &Card, ladder: &str, steps: &[(f64, &NumberName)], spread: Spread) -> Option<[String; 4]> {
    let values = || steps.iter().filter_map(|(_, name)| card.get(&name.to_string()));
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let ((_, first), (_, last)) = steps.first().zip(steps.last())?;
    let step_text = |name: &NumberName| name.qualifier[0].to_string().replace("_per_cent", " %");
    let meaning = format!("{}; {} to {}", first.entry.meaning, step_text(first), step_text(last));
    Some([ladder.to_owned(), format!("{} steps", steps.len()), spread((low, high), first.entry.unit), meaning])
}

type Spread = fn((f64, f64), Unit) -> String;

fn spread((low, high): (f64, f64), unit: Unit) -> String {
    format!("{} to {}", amount(low, unit), amount(high, unit))
}

/// The ladder of a number, with `*` in place of the step, and the position of the step on it.
fn step(name: &NumberName) -> Option<(String, f64)> {
    let position = match name.qualifier.first()? {
        Word::Bytes(position) | Word::PerCent(position) => *position as f64,
        // Pairs are sorted by the first number, then by the second.
        Word::Pair(first, second) => *first as f64 * 65536.0 + *second as f64,
        _ => return None,
    };
    let rest: String = name.qualifier[1..].iter().map(|word| format!("-{word}")).collect();
    Some((format!("{}--*{rest}", name.entry.name), position))
}
