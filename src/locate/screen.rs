//! The first screen: one sentence, the largest parts, and notes.

use crate::kind::Kind;
use crate::located::{Located, Part};
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::{bytes, short_number};

/// Rows of the table, without the rest.
const ROWS: usize = 5;
/// The smallest share of a row, of accesses or of misses.
const LEAST_SHARE: f64 = 0.01;
/// Below this ratio, misses of a cache are too few to lead the sentence.
const FEW_MISSES: f64 = 0.001;
/// Columns of the terminal for the name of a part.
const NAME_WIDTH: usize = 22;

/// Returns the first screen.
pub fn text(located: &Located, width: usize) -> String {
    let table = if located.is_flat() { functions(located, width) } else { lines(located, width) };
    format!("{}\n\n{table}", sentence(located))
}

/// Returns a table of the largest lines of several programs.
pub fn programs(programs: &[(&str, Located)]) -> String {
    let aligns =
        [Align::Left, Align::Right, Align::Right, Align::Left, Align::Right, Align::Right, Align::Right, Align::Left];
    let mut table = TextTable::new(aligns);
    table.add_row(["code", "share", "misses", "kind", "data", "alpha", "L", "line"]);
    for (name, located) in programs {
        let shares = shares(&located.lines);
        for (row, part) in located.lines.iter().filter(|part| part.share >= 0.1).take(3).enumerate() {
            let [alpha, block] = place(part);
            let [share, misses] = shares[row].clone();
            let name = if row == 0 { *name } else { "" };
            let size = bytes(part.footprint);
            table.add_row([name.into(), share, misses, kind(part), size, alpha, block, part.name.clone()]);
        }
    }
    table.to_string()
}

/// Returns percent that add up to 100, by largest remainders.
pub fn percent(shares: &[f64]) -> Vec<u64> {
    let exact: Vec<f64> = shares.iter().map(|share| 100.0 * share.max(0.0)).collect();
    let mut percent: Vec<u64> = exact.iter().map(|value| value.floor() as u64).collect();
    let mut order: Vec<usize> = (0..exact.len()).collect();
    order.sort_by(|a, b| exact[*b].fract().total_cmp(&exact[*a].fract()));
    let left = (exact.iter().sum::<f64>().round() as u64).saturating_sub(percent.iter().sum());
    order.iter().take(left as usize).for_each(|index| percent[*index] += 1);
    percent
}

/// Returns the answer in one sentence.
pub fn sentence(located: &Located) -> String {
    let [(cache, size), _] = located.caches;
    if located.is_flat() {
        let largest = located.lines.iter().map(|part| part.share).fold(0.0, f64::max);
        let kinds = kinds(&located.program);
        return format!("No line dominates: the largest has {:.0} % of the accesses. Kinds: {kinds}.", 100.0 * largest);
    }
    let most = |share: &dyn Fn(&Part) -> f64| {
        let part = located.lines.iter().max_by(|a, b| share(a).total_cmp(&share(b))).unwrap_or(&located.program);
        (100.0 * share(part), part.clone())
    };
    if located.miss_ratios[0] < FEW_MISSES {
        let (share, part) = most(&|part| part.share);
        let size = bytes(size as f64);
        return format!(
            "A {cache} of {size} holds nearly all accesses. {share:.0} % of them come from {}.",
            words(&part)
        );
    }
    let (share, part) = most(&|part| part.misses[0]);
    format!("{share:.0} % of the lines that leave the {cache} ({}) come from {}.", bytes(size as f64), words(&part))
}

/// Returns the words for a part: its name, kind and size.
fn words(part: &Part) -> String {
    let walk = match part.kind() {
        Kind::Sweep => "a sweep through",
        Kind::Strided => "a strided walk through",
        Kind::Chain => "a chain of addresses in",
        Kind::Pointer => "accesses behind pointers to",
        Kind::Local => "local accesses to",
        Kind::Random => "random accesses to",
    };
    format!("{}, {walk} {}", part.name, bytes(part.footprint))
}

/// Returns the three largest kinds of a part with their percentages.
pub fn kinds(part: &Part) -> String {
    let shown: Vec<String> = percent(&part.kinds.iter().map(|(_, share)| *share).collect::<Vec<_>>())
        .iter()
        .zip(&part.kinds)
        .filter(|(percent, _)| **percent > 0)
        .take(3)
        .map(|(percent, (kind, _))| format!("{kind} {percent} %"))
        .collect();
    shown.join(", ")
}

/// Returns the shares of the first parts and of the rest, for accesses and for the two caches, as cells.
fn shares(parts: &[Part]) -> Vec<[String; 2]> {
    let shown = rows(parts);
    let column = |share: &dyn Fn(&Part) -> f64| {
        let mut values: Vec<f64> = parts[..shown].iter().map(share).collect();
        let rest: f64 = parts[shown..].iter().map(share).sum();
        values.push(rest);
        percent(&values)
    };
    let (accesses, second, third) =
        (column(&|part| part.share), column(&|part| part.misses[0]), column(&|part| part.misses[1]));
    (0..=shown).map(|row| [format!("{} %", accesses[row]), format!("{}/{} %", second[row], third[row])]).collect()
}

/// Returns the number of parts that get a row.
fn rows(parts: &[Part]) -> usize {
    parts.iter().take(ROWS).filter(|part| part.weight() >= LEAST_SHARE).count()
}

/// Returns a name cut to the width that is left for it.
fn cut(name: &str, width: usize) -> String {
    if name.chars().count() <= width {
        return name.to_owned();
    }
    name.chars().take(width - 1).chain(['\u{2026}']).collect()
}

fn lines(located: &Located, width: usize) -> String {
    let aligns =
        [Align::Right, Align::Right, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Left];
    let mut table = TextTable::new(aligns);
    table.add_row(["share", "misses", "kind", "data", "reused", "alpha", "L", "line"]);
    let shares = shares(&located.lines);
    for (part, [share, misses]) in located.lines.iter().zip(&shares).take(shares.len() - 1) {
        let [alpha, block] = place(part);
        let reused = part.reused_after.map_or("never".into(), bytes);
        let name = cut(&format!("{} {}", part.name, part.function), NAME_WIDTH.max(width.saturating_sub(60)));
        table.add_row([share.clone(), misses.clone(), kind(part), bytes(part.footprint), reused, alpha, block, name]);
    }
    add_rest(&mut table, &shares, located.lines.len(), "lines", 4);
    table.to_string()
}

fn functions(located: &Located, width: usize) -> String {
    let mut table = TextTable::new([Align::Right, Align::Right, Align::Right, Align::Left, Align::Left]);
    table.add_row(["share", "misses", "data", "kinds", "function or library"]);
    let shares = shares(&located.functions);
    for (part, [share, misses]) in located.functions.iter().zip(&shares).take(shares.len() - 1) {
        let name = cut(&part.name, NAME_WIDTH.max(width.saturating_sub(60)));
        table.add_row([share.clone(), misses.clone(), bytes(part.footprint), kinds(part), name]);
    }
    add_rest(&mut table, &shares, located.functions.len(), "functions", 1);
    table.to_string()
}

/// Adds a row for all other parts, with empty cells between shares and name.
fn add_rest(table: &mut TextTable, shares: &[[String; 2]], count: usize, noun: &str, empty: usize) {
    let rows = shares.len() - 1;
    if count > rows {
        let [share, misses] = &shares[rows];
        let name = format!("{} other {noun}", count - rows);
        let between = std::iter::repeat_n(String::new(), empty + 1);
        table.add_row([share.clone(), misses.clone()].into_iter().chain(between).chain([name]));
    }
}

/// Returns the kind, with the stride of a walk that has one.
fn kind(part: &Part) -> String {
    match part.kind() {
        kind @ (Kind::Sweep | Kind::Strided) if part.stride != 0 => {
            format!("{kind} {}", bytes(part.stride.unsigned_abs() as f64))
        }
        kind => kind.to_string(),
    }
}

/// Returns alpha and L as cells.
fn place(part: &Part) -> [String; 2] {
    match &part.place {
        None => ["".into(), "".into()],
        Some(place) if place.is_near() => [
            format!("{:.*}", if place.alpha < 0.01 { 3 } else { 2 }, place.alpha),
            short_number(place.block_words.round()),
        ],
        Some(place) => ["none".into(), short_number(place.block_words.round())],
    }
}
