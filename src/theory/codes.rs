//! Known codes as points of the map: the alpha and L whose accesses resemble those of the code.
//!
//! `docs/codes.md` shows the format of a file. `apexmap locate` adds the parts of a code:
//!
//! ```toml
//! [[code.site]]
//! line = "join.c:18"
//! kind = "random"   # sweep, strided, chain, pointer, local or random
//! share = 0.31      # of the accesses
//! alpha = 0.97      # optional: absent if its accesses are unlike those of Apex-Map
//! L = 1
//! stride = 1        # in words, for sweep and strided
//! bytes = 8388608   # of its memory
//! reused = [4096, 8192]  # optional: memory between two visits of a line, for half and for 90 % of the visits
//! ```
//!
//! The values of `models/codes.toml` are estimates.

use crate::places::{CodeSite, Kind, NoRate, sizes_around};
use apexmap_base::error::{Error, Result};
use apexmap_base::toml_file::{self, TomlSource};
use serde::{Deserialize, Serialize};
use std::path::Path;
use toml::Spanned;

const KNOWN: &str = include_str!("data/codes.toml");

/// Maximum number of characters of a name, which is a label in figures.
const MAX_NAME: usize = 40;

/// How a code's accesses differ from those of Apex-Map with addresses that are known in advance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accesses {
    /// Their addresses are known in advance, too.
    #[default]
    Independent,
    /// Each word is written, too, which no map does: its rate there is an upper bound.
    Updates,
    /// Streams and jumps alternate. A core prefetches the streams, but one pair of alpha and L makes jumps of them all.
    Mixed,
    /// Each address follows from the datum before, as in `apex_map.chains` with one chain.
    Dependent,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Code {
    pub name: String,
    /// Temporal locality, above 0 and at most 1.
    pub alpha: f64,
    /// Spatial locality L: words per access, at least 1.
    pub block_words: f64,
    /// Its memory per rank, to which alpha refers; `None` if not given.
    pub bytes: Option<f64>,
    /// The largest memory with the same alpha and L; `None` if that is not known.
    pub max_bytes: Option<f64>,
    pub accesses: Accesses,
    /// Share of the time on the first machine of a comparison, relative to the other weights; `None` if the code does not count.
    pub weight: Option<f64>,
    /// Origin of alpha and L. May be empty.
    pub how: String,
    /// Paper or program. May be empty.
    pub source: String,
    /// Its parts, whose times add up. May be empty.
    pub sites: Vec<CodeSite>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    code: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: Spanned<String>,
    alpha: Spanned<f64>,
    #[serde(rename = "L")]
    block_words: Spanned<f64>,
    bytes: Option<Spanned<f64>>,
    max_bytes: Option<f64>,
    #[serde(default)]
    accesses: Accesses,
    weight: Option<Spanned<f64>>,
    #[serde(default)]
    how: String,
    #[serde(default)]
    source: String,
    #[serde(default, rename = "site")]
    sites: Vec<Spanned<CodeSite>>,
}

pub fn list_known() -> Vec<Code> {
    parse(KNOWN, Path::new("models/codes.toml")).expect("a test reads the known codes")
}

pub fn read_with_known(path: &Path) -> Result<Vec<Code>> {
    let next = "check the path; `docs/codes.md` shows the format";
    Ok(add_to_known(parse(&toml_file::read_text(path, "file of codes", next)?, path)?))
}

pub fn add_to_known(own: Vec<Code>) -> Vec<Code> {
    let mut codes = list_known();
    codes.retain(|code| own.iter().all(|other| other.name != code.name));
    codes.extend(own);
    codes
}

pub fn parse(text: &str, path: &Path) -> Result<Vec<Code>> {
    let page = TomlSource { path, text, examples: "models/" };
    let file: File = toml::from_str(text).map_err(|e| page.parse_error(&e))?;
    let mut codes: Vec<Code> = Vec::new();
    for entry in file.code {
        let code = entry.check(&page)?;
        if codes.iter().any(|other| other.name == code.name) {
            let message = format!("there are two codes \"{}\"", code.name);
            return Err(page.error_at(entry.name.span(), message, "give each code its own name"));
        }
        codes.push(code);
    }
    Ok(codes)
}

impl Entry {
    fn check(&self, page: &TomlSource) -> Result<Code> {
        let refuse =
            |place: std::ops::Range<usize>, message: String, help: &str| Err(page.error_at(place, message, help));
        let name = self.name.get_ref().trim();
        if name.is_empty() || name.chars().count() > MAX_NAME || name.contains(char::is_control) {
            let message = format!("the name of a code has 1 to {MAX_NAME} printable characters");
            return refuse(self.name.span(), message, "shorten it: it is a label on the map");
        }
        let (alpha, block_words) = (*self.alpha.get_ref(), *self.block_words.get_ref());
        if !(alpha > 0.0 && alpha <= 1.0) {
            let help = "1 is no reuse; smaller values are more reuse";
            return refuse(self.alpha.span(), format!("alpha = {alpha} is not above 0 and at most 1"), help);
        }
        if !(block_words >= 1.0 && block_words.is_finite()) {
            let help = "L is the mean number of consecutive words, of 8 bytes each";
            return refuse(self.block_words.span(), format!("L = {block_words} is not 1 or more"), help);
        }
        if let Some(size) = self.bytes.as_ref().filter(|size| !(*size.get_ref() >= 1.0 && size.get_ref().is_finite())) {
            let help = "it is the memory of the code per rank, in bytes";
            return refuse(size.span(), format!("bytes = {} is not 1 or more", size.get_ref()), help);
        }
        if let Some(weight) = &self.weight
            && !(*weight.get_ref() > 0.0 && weight.get_ref().is_finite())
        {
            let help = "a weight is a time, relative to those of the other codes";
            return refuse(weight.span(), format!("weight = {} is not above 0", weight.get_ref()), help);
        }
        if let Some(site) = self.sites.iter().find(|site| !site.get_ref().is_valid()) {
            let help =
                "share and alpha are above 0 and at most 1, L, bytes and reused are 1 or more, and stride is above 0";
            return refuse(site.span(), "a number of this site is out of range".into(), help);
        }
        Ok(Code {
            name: name.to_owned(),
            alpha,
            block_words,
            bytes: self.bytes.as_ref().map(|size| *size.get_ref()),
            max_bytes: self.max_bytes,
            accesses: self.accesses,
            weight: self.weight.as_ref().map(|weight| *weight.get_ref()),
            how: self.how.clone(),
            source: self.source.clone(),
            sites: self.sites.iter().map(|site| site.get_ref().clone()).collect(),
        })
    }
}

impl Code {
    pub fn as_site(&self) -> CodeSite {
        CodeSite {
            line: self.name.clone(),
            kind: if self.accesses == Accesses::Dependent { Kind::Chain } else { Kind::Random },
            share: 1.0,
            alpha: Some(self.alpha),
            block_words: self.block_words,
            stride: 1.0,
            bytes: self.bytes.unwrap_or(1.0),
            reused: None,
        }
    }

    /// Returns the size at which to read the code of `bytes`: the largest of the measured ones to which its place applies, or its own.
    pub fn size_on(&self, sizes: &[f64], bytes: f64) -> f64 {
        let applies = |size: &&f64| bytes <= **size && self.max_bytes.is_some_and(|most| **size <= most);
        sizes.iter().rfind(applies).copied().unwrap_or(bytes)
    }

    /// Returns why a map has no dot for the code. `chains`: those of its dependent accesses; `size`: its bytes per rank.
    pub fn check_place(&self, chains: Option<f64>, size: Option<f64>) -> Result<(), NoRate> {
        let is_here = match self.accesses {
            _ if !self.sites.is_empty() => return Err(NoRate::Sites),
            Accesses::Mixed => return Err(NoRate::Mixed),
            Accesses::Dependent => chains == Some(1.0),
            Accesses::Independent | Accesses::Updates => chains.is_none(),
        };
        match (self.bytes, size) {
            _ if !is_here => Err(NoRate::OtherAccesses),
            (Some(_), None) => Err(NoRate::UnknownSize),
            (Some(own), Some(size)) if sizes_around(&[size], self.size_on(&[size], own)).is_none() => {
                Err(NoRate::Size(own))
            }
            _ => Ok(()),
        }
    }
}

/// Returns the ratio of speeds of a program from times of parts on the first machine and their ratios; `None` without parts.
pub fn weighted_ratio(parts: &[(f64, f64)]) -> Option<f64> {
    let first: f64 = parts.iter().map(|(weight, _)| weight).sum();
    let second: f64 = parts.iter().map(|(weight, ratio)| weight / ratio).sum();
    (second > 0.0).then(|| first / second)
}

pub fn unplaceable(figure: &str) -> Error {
    Error::input(
        format!("codes have no place on {figure}"),
        "draw contour or heat over alpha and L: apexmap plot RESULT contour --codes",
    )
}
