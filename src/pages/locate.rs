//! A located program as an HTML page: its lines and functions, and its lines as dots on a measured map.

use crate::html::{self, Drawing, Picture};
use apexmap_base::error::{Error, Result};
use apexmap_base::new_file;
use apexmap_base::provenance::PlainNode;
use apexmap_base::units::{bytes, short_number};
use apexmap_draw::plot::{FigureKind, Request, add_codes, figure};
use apexmap_locate::code::site;
use apexmap_locate::located::{Located, Part};
use apexmap_locate::screen::kinds;
use apexmap_results::samples::Samples;
use apexmap_results::samples::code_rates::{CodeRates, RateColumn, bytes_per_rank};
use apexmap_results::samples::groups::SampleGroup;
use apexmap_results::table::columns::{ALPHA, BLOCK};
use apexmap_theory::codes::{Accesses, Code};
use apexmap_theory::places::Kind;
use serde::Serialize;
use std::path::{Path, PathBuf};

const TEMPLATE: &str = include_str!("locate.html");
const LEAST_SHARE: f64 = 0.001;
const LEAST_DOT: f64 = 0.02;
const MAX_DOTS: usize = 12;

#[derive(Serialize)]
struct Context<'a> {
    name: &'a str,
    sentence: String,
    notes: &'a [String],
    caches: [String; 2],
    maps: Vec<String>,
    lines: Vec<Row>,
    functions: Vec<Row>,
    picture: Option<Picture>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    numbers_before: [String; 3],
    kinds: String,
    numbers: [String; 8],
    rates: Vec<String>,
}

pub fn write(
    located: &Located,
    name: &str,
    [sentences, notes]: [&[String]; 2],
    map: Option<&Samples>,
    to: &Path,
) -> Result<PathBuf> {
    let figures = to.join("figures");
    let folder = if map.is_some() { &figures } else { to };
    std::fs::create_dir_all(folder).map_err(|e| Error::file("create", folder, e))?;
    let rates = map.map(CodeRates::new).transpose()?;
    let one_core = |rates| CodeRates::columns(rates).into_iter().filter(|column| column.ranks() == 1.0).collect();
    let maps: Vec<RateColumn> = rates.as_ref().map(one_core).unwrap_or_default();
    let rows = |parts: &[Part]| -> Vec<Row> {
        parts.iter().filter(|part| part.weight() >= LEAST_SHARE).map(|part| row(part, rates.as_ref(), &maps)).collect()
    };
    let context = Context {
        name,
        sentence: sentences.join(" "),
        notes,
        caches: located.machine.caches.map(|(_, size)| bytes(size as f64)),
        maps: maps.iter().map(|column| column.group().plain_label(&PlainNode::default())).collect(),
        lines: rows(&located.lines),
        functions: rows(&located.functions),
        picture: map.map(|samples| draw_map(located, samples, &figures)).transpose()?.flatten(),
    };
    let path = to.join("locate.html");
    new_file::replace_contents(&path, html::render(TEMPLATE, &context)?)?;
    Ok(path)
}

fn row(part: &Part, rates: Option<&CodeRates>, maps: &[RateColumn]) -> Row {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let place = |value: &dyn Fn() -> Option<String>| value().unwrap_or_default();
    let near = part.place.filter(|place| place.is_near());
    let walks = part.kinds.len() == 1 && matches!(part.kind(), Kind::Sweep | Kind::Strided);
    Row {
        name: format!("{} {}", part.name, part.function),
        numbers_before: [percent(part.share), percent(part.misses[0]), percent(part.misses[1])],
        kinds: kinds(part),
        numbers: [
            if walks { bytes(part.stride.unsigned_abs() as f64) } else { String::new() },
            bytes(part.footprint),
            bytes(part.pages.bytes),
            part.pages.miss_ratio.filter(|ratio| *ratio >= 0.001).map_or(String::new(), percent),
            part.reused_after.map_or("never".into(), |[half, _]| bytes(half)),
            place(&|| near.map(|place| short_number(place.alpha))),
            place(&|| part.place.map(|place| short_number(place.block_words))),
            place(&|| part.place.map(|place| format!("{:.1}", place.mismatch))),
        ],
        rates: maps.iter().filter_map(|map| rate(part, rates?, *map)).collect(),
    }
}

/// Or why it has none; `None` for parts of several kinds.
fn rate(part: &Part, rates: &CodeRates, map: RateColumn) -> Option<String> {
    let is_one = part.kinds.len() == 1 && part.place.is_some();
    is_one.then(|| rates.site(map, &site(part, 1.0)).map_or_else(|reason| reason.to_string(), |rate| rate.words()))
}

/// On the map of independent accesses that has the rates of most of the larger lines.
fn draw_map(located: &Located, samples: &Samples, to: &Path) -> Result<Option<Picture>> {
    let dots: Vec<Code> = located.lines.iter().filter(|part| part.weight() >= LEAST_DOT).filter_map(dot).collect();
    let dots = &dots[..dots.len().min(MAX_DOTS)];
    let count = |group: &SampleGroup| {
        dots.iter().filter(|dot| dot.check_place(None, bytes_per_rank(&group.samples)).is_ok()).count()
    };
    let groups = samples.groups()?;
    let maps = groups.iter().filter(|group| group.is_surface() && group.samples.chains().is_none());
    // The first of several equal ones.
    let Some(group) = maps.rev().max_by_key(|group| count(group)) else { return Ok(None) };
    let title = format!("Lines on the map: {}", group.label());
    let (x, by) = (BLOCK.into(), vec![ALPHA.into()]);
    let request = Request { kind: FigureKind::Contour, title: title.clone(), x, by, z: group.headline.into() };
    let drawn = figure(&group.samples, &request)?;
    let drawn = add_codes(&group.samples, &request, drawn, dots)?;
    let caption = "Lines with 2 % of the accesses or of the misses, with their share of the accesses, if their data are as large as the \
                   memory of this map and their accesses independent. The table has the rates of all sizes and kinds.";
    Drawing::new(drawn, "map", title, caption).picture(to).map(Some)
}

/// Apex-Map has no strides, and a sweep through caches is as fast as its instructions.
fn dot(part: &Part) -> Option<Code> {
    let is_on_map = |alpha: f64| match part.kind() {
        Kind::Strided => false,
        Kind::Sweep => alpha == 1.0,
        _ => true,
    };
    let place = part.place.filter(|place| place.is_near() && is_on_map(place.alpha))?;
    Some(Code {
        name: format!("{:.0} % {}", 100.0 * part.share, part.name),
        alpha: place.alpha,
        block_words: place.block_words,
        bytes: Some(place.bytes),
        max_bytes: None,
        accesses: match part.kind() {
            Kind::Chain | Kind::Pointer => Accesses::Dependent,
            _ => Accesses::Independent,
        },
        weight: None,
        how: String::new(),
        source: String::new(),
        sites: Vec::new(),
    })
}
