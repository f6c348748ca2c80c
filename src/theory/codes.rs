//! Known codes as points of the map: the alpha and L whose accesses resemble those of the code.
//!
//! ```toml
//! [[code]]
//! name = "my solver"
//! alpha = 0.1
//! L = 16
//! accesses = "mixed"  # optional: "mixed" or "dependent", what a map of independent accesses does not show
//! weight = 3        # optional: its share of the time on the first machine of a comparison
//! how = "..."       # optional: the origin of alpha and L
//! source = "..."    # optional
//! [[code.site]]     # optional: its parts, as `apexmap locate` writes them
//! line = "join.c:18"
//! kind = "random"   # sweep, strided, chain, pointer, local or random
//! share = 0.31      # of the accesses
//! alpha = 0.97
//! L = 1
//! stride = 1        # in words, for sweep and strided
//! bytes = 8388608   # of its memory
//! ```
//!
//! The values of `models/codes.toml` are estimates.

use apexmap_base::error::{Error, Result};
use apexmap_base::toml_file::{self, TomlSource};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;
use toml::Spanned;

/// The known codes, as TOML text.
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
    /// Streams and jumps alternate. A core prefetches the streams, but one pair of alpha and L makes jumps of them all.
    Mixed,
    /// Each address follows from the datum before, as in `apex_map.chains` with one chain.
    Dependent,
}

/// How a part of a code walks through memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// At a constant stride that leaves out no line.
    Sweep,
    /// At a constant, longer stride.
    Strided,
    /// The address is a constant plus a multiple of the value that the same instruction loaded before.
    Chain,
    /// The address is shortly behind one of the last eight loaded words.
    Pointer,
    /// Mostly within the line of the access before.
    Local,
    Random,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Sweep => "sweep",
            Self::Strided => "strided",
            Self::Chain => "chain",
            Self::Pointer => "pointer",
            Self::Local => "local",
            Self::Random => "random",
        })
    }
}

/// A part of a code: accesses of one line and kind.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CodeSite {
    pub line: String,
    pub kind: Kind,
    /// Share of the accesses of the code.
    pub share: f64,
    pub alpha: f64,
    #[serde(rename = "L")]
    pub block_words: f64,
    /// Distance of consecutive accesses in words, for sweeps and strided walks.
    #[serde(default = "unit_stride")]
    pub stride: f64,
    /// Size of its memory.
    pub bytes: f64,
}

fn unit_stride() -> f64 {
    1.0
}

impl CodeSite {
    fn is_valid(&self) -> bool {
        let is_size = |value: f64| value >= 1.0 && value.is_finite();
        let is_share = |value: f64| value > 0.0 && value <= 1.0;
        is_share(self.share)
            && is_share(self.alpha)
            && is_size(self.block_words)
            && is_size(self.bytes)
            && self.stride > 0.0
            && self.stride.is_finite()
    }
}

/// A code as a point of the map.
#[derive(Clone, Debug, PartialEq)]
pub struct Code {
    /// Name, as the label of the point.
    pub name: String,
    /// Temporal locality, above 0 and at most 1.
    pub alpha: f64,
    /// Spatial locality L: words per access, at least 1.
    pub block_words: f64,
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

/// A code as written in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: Spanned<String>,
    alpha: Spanned<f64>,
    #[serde(rename = "L")]
    block_words: Spanned<f64>,
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

/// Returns the codes that this program knows.
pub fn list_known() -> Vec<Code> {
    parse(KNOWN, Path::new("models/codes.toml")).expect("a test reads the known codes")
}

/// Returns the known codes and those of a file. A code of the file replaces the known one of the same name.
pub fn read_with_known(path: &Path) -> Result<Vec<Code>> {
    let next = "check the path; `docs/codes.md` shows the format";
    Ok(add_to_known(parse(&toml_file::read_text(path, "file of codes", next)?, path)?))
}

/// Returns the known codes and these. One of these replaces the known one of the same name.
pub fn add_to_known(own: Vec<Code>) -> Vec<Code> {
    let mut codes = list_known();
    codes.retain(|code| own.iter().all(|other| other.name != code.name));
    codes.extend(own);
    codes
}

/// Reads codes from the text of the file `path`.
///
/// # Errors
/// If a key is unknown or missing, a value is out of range, or a name occurs twice.
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
        if let Some(weight) = &self.weight
            && !(*weight.get_ref() > 0.0 && weight.get_ref().is_finite())
        {
            let help = "a weight is a time, relative to those of the other codes";
            return refuse(weight.span(), format!("weight = {} is not above 0", weight.get_ref()), help);
        }
        if let Some(site) = self.sites.iter().find(|site| !site.get_ref().is_valid()) {
            let help = "share and alpha are above 0 and at most 1, L and bytes are 1 or more, and stride is above 0";
            return refuse(site.span(), "a number of this site is out of range".into(), help);
        }
        Ok(Code {
            name: name.to_owned(),
            alpha,
            block_words,
            accesses: self.accesses,
            weight: self.weight.as_ref().map(|weight| *weight.get_ref()),
            how: self.how.clone(),
            source: self.source.clone(),
            sites: self.sites.iter().map(|site| site.get_ref().clone()).collect(),
        })
    }
}

impl Code {
    /// Returns whether a map has such accesses. `chains` is the map's number of chains of dependent accesses, `None` for a map of
    /// independent accesses.
    pub fn is_on_map(&self, chains: Option<f64>) -> bool {
        match self.accesses {
            Accesses::Dependent => chains == Some(1.0),
            Accesses::Independent | Accesses::Mixed => chains.is_none(),
        }
    }
}

/// The words for a code that a map does not have, instead of a rate.
pub const NOT_ON_MAP: &str = "not on this map";

/// The value of a map at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reading {
    /// The value, interpolated between the points around the place.
    Value(f64),
    /// The place is outside the measured values of an axis.
    Outside,
    /// A point around the place has no value.
    Gap,
}

/// Reads a map at (x, y). `value(i, j)` is the value at the i-th x and the j-th y, or NaN; `xs` and `ys` ascend and are positive.
/// Between points, the logarithm of the value is linear in those of x and y (bilinear interpolation). Nothing is extrapolated.
pub fn interpolate([xs, ys]: [&[f64]; 2], value: impl Fn(usize, usize) -> f64, [x, y]: [f64; 2]) -> Reading {
    let (Some((i, u)), Some((j, v))) = (position(xs, x), position(ys, y)) else { return Reading::Outside };
    let mut logarithm = 0.0;
    for (di, dj, weight) in [(0, 0, (1.0 - u) * (1.0 - v)), (1, 0, u * (1.0 - v)), (0, 1, (1.0 - u) * v), (1, 1, u * v)]
    {
        // A point on a line of the grid does not depend on the next line.
        if weight > 0.0 {
            logarithm += weight * value(i + di, j + dj).ln();
        }
    }
    if logarithm.is_finite() { Reading::Value(logarithm.exp()) } else { Reading::Gap }
}

/// Returns the index of the last of `values` that is at most `x`, and the share of the way to the next, in logarithms; `None`
/// if `x` is outside.
fn position(values: &[f64], x: f64) -> Option<(usize, f64)> {
    // Values such as 0.001 are rounded where they are computed from powers.
    const SAME: f64 = 1e-9;
    if let Some(index) = values.iter().position(|value| (value / x - 1.0).abs() < SAME) {
        return Some((index, 0.0));
    }
    let index = values.windows(2).position(|pair| pair[0] < x && x < pair[1])?;
    Some((index, (x / values[index]).ln() / (values[index + 1] / values[index]).ln()))
}

/// Returns the ratio of speeds of a program whose parts took these times on the first machine, from the ratios of the parts;
/// `None` without parts. The times on the second machine are those on the first divided by the ratios.
pub fn weighted_ratio(parts: &[(f64, f64)]) -> Option<f64> {
    let first: f64 = parts.iter().map(|(weight, _)| weight).sum();
    let second: f64 = parts.iter().map(|(weight, ratio)| weight / ratio).sum();
    (second > 0.0).then(|| first / second)
}

/// Returns the error for a request to place codes on a figure that has no place for them.
pub fn unplaceable(figure: &str) -> Error {
    Error::input(
        format!("codes have no place on {figure}"),
        "draw contour or heat over alpha and L: apexmap plot RESULT contour --codes",
    )
}
