//! A located program as a code with sites, for `apexmap codes` and figures.

use crate::located::{Located, Part};
use crate::place::Place;
use apexmap_base::error::{Error, Result};
use apexmap_base::units::WORD_BYTES;
use apexmap_theory::codes::Accesses;
use apexmap_theory::places::{CodeSite, Kind};
use serde::Serialize;

/// The smallest share of a site of a code; smaller ones are joined.
const LEAST_SHARE: f64 = 0.01;
const MAX_NAME: usize = 40;

#[derive(Serialize)]
struct File {
    code: [Entry; 1],
}

#[derive(Serialize)]
struct Entry {
    name: String,
    alpha: f64,
    #[serde(rename = "L")]
    block_words: f64,
    bytes: f64,
    accesses: Option<Accesses>,
    how: String,
    site: Vec<CodeSite>,
}

pub fn toml(located: &Located, name: &str) -> Result<String> {
    let whole = &located.program;
    let place = place(whole);
    let how = format!(
        "Located by apexmap locate: {} accesses. Alpha and L are those of the whole program, {:.1} points from its miss ratios.",
        whole.accesses, place.mismatch
    );
    let name = name.chars().take(MAX_NAME).collect();
    let (alpha, block_words) = (round_to_four_digits(place.alpha), round_to_four_digits(place.block_words));
    let bytes = place.bytes.round();
    let waiting = whole.kinds.iter().filter(|(kind, _)| matches!(kind, Kind::Chain | Kind::Pointer));
    let accesses = (waiting.map(|(_, share)| share).sum::<f64>() > 0.5).then_some(Accesses::Dependent);
    let file = File { code: [Entry { name, alpha, block_words, bytes, accesses, how, site: sites(located) }] };
    toml::to_string(&file).map_err(|e| Error::internal(format!("a code is not TOML: {e}")))
}

/// Returns the larger parts, with shares of the words that add up to 1.
pub fn sites(located: &Located) -> Vec<CodeSite> {
    let larger: Vec<&Part> = located.lines.iter().filter(|part| part.share >= LEAST_SHARE).collect();
    let total: f64 = larger.iter().map(|part| part.words).sum();
    larger.into_iter().map(|part| site(part, total)).collect()
}

fn place(part: &Part) -> Place {
    part.place.unwrap_or(Place { alpha: 1.0, block_words: 1.0, bytes: part.footprint.max(1.0), mismatch: 0.0 })
}

pub fn site(part: &Part, total: f64) -> CodeSite {
    let (place, stride) = (place(part), part.stride.unsigned_abs() as f64);
    CodeSite {
        line: part.name.clone(),
        kind: part.kind(),
        share: part.words / total,
        alpha: place.is_near().then(|| round_to_four_digits(place.alpha)),
        block_words: round_to_four_digits(place.block_words),
        // A sweep may read several words at each step, or, without a gap, all of them.
        stride: match part.kind() {
            Kind::Strided => (stride / WORD_BYTES as f64).max(1.0),
            Kind::Sweep => round_to_four_digits((stride / part.step_bytes).max(1.0)),
            _ => 1.0,
        },
        bytes: match part.kind() {
            Kind::Sweep | Kind::Strided => part.footprint.max(1.0),
            _ => place.bytes,
        }
        .round(),
        reused: part.reused_after.map(|ends| ends.map(f64::round)),
    }
}

fn round_to_four_digits(value: f64) -> f64 {
    let scale = 10f64.powf(3.0 - value.log10().floor());
    (value * scale).round() / scale
}
