//! The first screen: one sentence, the largest parts, and notes.

use crate::located::{Located, Part};
use crate::sets::{Conflict, Sets};
use crate::walk::Kind;
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::{bytes, short_number};

/// Rows of the table, without the rest.
const ROWS: usize = 5;
/// The smallest share of misses of the TLB that gets a note, and the number of notes about rows.
const TLB_MISSES: f64 = 0.01;
const MOST_NOTES: usize = 3;
/// The smallest share of a row, of accesses or of misses.
const LEAST_SHARE: f64 = 0.01;
/// Below this ratio, misses of a cache are too few to lead the sentence.
const FEW_MISSES: f64 = 0.005;
/// The fewest columns of the terminal for the name of a part, and those between two columns of a table.
const LEAST_NAME: usize = 10;
const GAP: usize = 2;

/// Begins with these sentences.
pub fn text(located: &Located, sentences: &[String], width: usize) -> String {
    let table = if located.is_flat() { functions(located, width) } else { lines(located, width) };
    format!("{}\n\n{table}misses: second-level/last cache\n", sentences.join("\n"))
}

pub fn programs(programs: &[(&str, Located)]) -> String {
    let aligns = [Align::Right, Align::Right, Align::Left, Align::Right, Align::Right, Align::Right, Align::Left];
    let mut table = TextTable::new(aligns);
    table.add_row(["share", "misses", "kind", "data", "alpha", "L", "source line"]);
    for (name, located) in programs {
        table.add_heading(*name);
        let shown = &located.lines[..rows(&located.lines)];
        for (part, [share, misses]) in shown.iter().zip(shares(shown)).filter(|(part, _)| part.share >= 0.1) {
            let [alpha, block] = place(part);
            table.add_row([share, misses, kind(part), bytes(part.footprint), alpha, block, part.name.clone()]);
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

pub fn sentence(located: &Located) -> String {
    if located.is_flat() {
        let unnamed: f64 = located.lines.iter().filter(|part| !part.is_line).map(|part| part.share).sum();
        let place = match 100.0 * unnamed {
            percent if percent < 50.0 => String::new(),
            percent => format!(" {percent:.0} % of the accesses are in code without line numbers."),
        };
        return format!("No line dominates. Kinds of all accesses: {}.{place}", kinds(&located.program));
    }
    let most = |share: &dyn Fn(&Part) -> f64| {
        let part = located.lines.iter().max_by(|a, b| share(a).total_cmp(&share(b))).unwrap_or(&located.program);
        (100.0 * share(part), part.clone())
    };
    if located.miss_ratios[0] < FEW_MISSES {
        let [(cache, size), _] = located.machine.caches;
        let (share, part) = most(&|part| part.share);
        let size = bytes(size as f64);
        return format!(
            "A {cache} of {size} holds nearly all accesses. {share:.0} % of them come from {}.",
            words(&part)
        );
    }
    // A miss of the last cache costs most.
    let level = usize::from(located.miss_ratios[1] >= FEW_MISSES);
    let (cache, size) = located.machine.caches[level];
    let (share, part) = most(&|part| part.misses[level]);
    format!("{share:.0} % of the misses of the {cache} ({}) come from {}.", bytes(size as f64), words(&part))
}

/// Returns sentences about conflicts and pages of rows, and about the pages of the program.
pub fn notes(located: &Located) -> Vec<String> {
    let (machine, whole) = (&located.machine, &located.program);
    let reach = machine.tlb_reach();
    let shown = if located.is_flat() { 0 } else { rows(&located.lines) };
    let of_row = |part: &Part| [machine.sets.and_then(|sets| conflict_note(part, sets)), pages_note(part, reach)];
    let mut notes: Vec<String> = located.lines[..shown].iter().flat_map(of_row).flatten().take(MOST_NOTES).collect();
    if whole.pages.bytes > reach.max(2.0 * whole.footprint) {
        let [data, pages] = [whole.footprint, whole.pages.bytes].map(bytes);
        notes.push(format!("The cache lines that the program touches are {data}, their pages {pages}."));
    }
    notes
}

fn conflict_note(part: &Part, Sets { sets, ways }: Sets) -> Option<String> {
    let Conflict { lines, sets: reached, share } = part.conflict?;
    let (stride, percent) = (bytes(part.stride.unsigned_abs() as f64), 100.0 * share);
    let line = &part.name;
    Some(format!(
        "{line}: its stride of {stride} reaches {reached} of {sets} sets of the second-level cache, of {ways} ways. {percent:.0} % of the \
         {lines} cache lines of a pass displace each other."
    ))
}

fn pages_note(part: &Part, reach: f64) -> Option<String> {
    let percent = 100.0 * part.pages.miss_ratio.filter(|ratio| *ratio >= TLB_MISSES && part.pages.bytes > reach)?;
    let (line, pages, reach) = (&part.name, bytes(part.pages.bytes), bytes(reach));
    Some(format!(
        "{line}: {percent:.0} % of its accesses miss the TLB, which reaches {reach} of its {pages} in pages of 4 KiB."
    ))
}

fn words(part: &Part) -> String {
    let walk = match part.kind() {
        Kind::Sweep => "a sweep through",
        Kind::Strided => "a strided walk through",
        Kind::Chain => "a chain of addresses in",
        Kind::Pointer => "accesses behind pointers to",
        Kind::Local => "local accesses to",
        Kind::Random => "random accesses to",
    };
    let line = if part.is_line && part.name.contains(':') { "source line " } else { "" };
    format!("{line}{}, {walk} {}", part.name, bytes(part.footprint))
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

fn rows(parts: &[Part]) -> usize {
    parts.iter().take(ROWS).filter(|part| part.weight() >= LEAST_SHARE).count()
}

fn lines(located: &Located, width: usize) -> String {
    let aligns =
        [Align::Right, Align::Right, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Left];
    let head = ["share", "misses", "kind", "data", "reused", "alpha", "L", "source line"];
    table(&located.lines, (aligns, head), width, |part, [share, misses]| {
        let [alpha, block] = place(part);
        let reused = part.reused_after.map_or("never".into(), |[half, _]| bytes(half));
        let name = format!("{} {}", part.name, part.function);
        [share, misses, kind(part), bytes(part.footprint), reused, alpha, block, name.trim_end().to_owned()]
    })
}

fn functions(located: &Located, width: usize) -> String {
    let aligns = [Align::Right, Align::Right, Align::Right, Align::Left, Align::Left];
    let head = ["share", "misses", "data", "kinds", "function or library"];
    table(&located.functions, (aligns, head), width, |part, [share, misses]| {
        [share, misses, bytes(part.footprint), kinds(part), part.name.clone()]
    })
}

/// Returns a table of the largest parts, and a row for all others with empty cells between shares and name.
fn table<const N: usize>(
    parts: &[Part],
    (aligns, head): ([Align; N], [&str; N]),
    width: usize,
    row: impl Fn(&Part, [String; 2]) -> [String; N],
) -> String {
    let mut shares = shares(parts);
    let rest = shares.pop().unwrap_or_default();
    let shown = shares.len();
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(parts.iter().zip(shares).map(|(part, shares)| row(part, shares)));
    if parts.len() > shown {
        let mut cells = std::array::from_fn(|_| String::new());
        [cells[0], cells[1]] = rest;
        cells[N - 1] = format!("{} others", parts.len() - shown);
        rows.push(cells);
    }
    cut_names(&mut rows, width);
    let mut table = TextTable::new(aligns);
    rows.into_iter().for_each(|row| table.add_row(row));
    table.to_string()
}

/// Cuts the last cells of rows so that the table has this width.
fn cut_names<const N: usize>(rows: &mut [[String; N]], width: usize) {
    let count = |cell: &String| cell.chars().count();
    let widest = |column: usize| rows.iter().map(|row| count(&row[column])).max().unwrap_or(0);
    let others: usize = (0..N - 1).map(|column| widest(column) + GAP).sum();
    let room = width.saturating_sub(others).max(LEAST_NAME);
    for name in rows.iter_mut().map(|row| &mut row[N - 1]).filter(|name| count(name) > room) {
        *name = name.chars().take(room - 1).chain(['\u{2026}']).collect();
    }
}

fn kind(part: &Part) -> String {
    match part.kind() {
        kind @ (Kind::Sweep | Kind::Strided) if part.stride != 0 => {
            format!("{kind} {}", bytes(part.stride.unsigned_abs() as f64))
        }
        kind => kind.to_string(),
    }
}

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
