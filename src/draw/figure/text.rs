//! Text of a figure: the embedded font, the width of text in it, and the cutting and wrapping of long text.

use super::colour::INK;
use apexmap_base::error::{Error, Result};
use plotters::style::{FontDesc, FontFamily, FontStyle, RGBColor, register_font};
use std::sync::OnceLock;

/// Font sizes in pixels of the em.
pub const TITLE: f64 = 18.0;
pub const AXIS: f64 = 15.0;
pub const TICK: f64 = 13.0;

/// Line height of DejaVu Sans in ems; plotters sizes bitmap type by the line.
pub const LINE_PER_EM: f64 = 1.164;

/// Figures do not depend on installed fonts.
pub fn register() -> Result<()> {
    static DONE: OnceLock<bool> = OnceLock::new();
    let register = || {
        register_font("sans-serif", FontStyle::Normal, dejavu::sans::regular()).is_ok()
            && register_font("sans-serif", FontStyle::Bold, dejavu::sans::bold()).is_ok()
    };
    if *DONE.get_or_init(register) { Ok(()) } else { Err(Error::internal("the embedded font cannot be read")) }
}

pub fn font(size: f64, bold: bool) -> FontDesc<'static> {
    FontDesc::new(FontFamily::SansSerif, size, if bold { FontStyle::Bold } else { FontStyle::Normal })
}

#[derive(Clone, Copy)]
pub struct Font {
    pub size: f64,
    pub bold: bool,
    pub colour: RGBColor,
}

impl Font {
    pub fn new(size: f64) -> Self {
        Self { size, bold: false, colour: INK }
    }

    pub fn bold(size: f64) -> Self {
        Self { bold: true, ..Self::new(size) }
    }

    pub fn with_colour(self, colour: RGBColor) -> Self {
        Self { colour, ..self }
    }

    pub fn width(&self, text: &str) -> f64 {
        width(text, self.size, self.bold)
    }

    pub fn half_capital(&self) -> f64 {
        0.36 * self.size
    }
}

/// The end of a text that lies at its position.
#[derive(Clone, Copy, PartialEq)]
pub enum Side {
    Left,
    Middle,
    Right,
}

/// In pixels; `register` must be called first.
pub fn width(text: &str, size: f64, bold: bool) -> f64 {
    // Measure a larger size, because plotters rounds to whole pixels.
    const LARGE: f64 = 16.0;
    let layout = font(size * LINE_PER_EM * LARGE, bold).layout_box(text);
    layout.map(|((left, _), (right, _))| f64::from(right - left) / LARGE).unwrap_or(0.0)
}

/// Spaces replace control characters and those that XML forbids.
pub fn clean(text: &str) -> String {
    let shown = |c: char| if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') { ' ' } else { c };
    text.chars().map(shown).collect()
}

/// Longer lines are cut before they are measured, because no figure has space for them.
const MAX_CHARACTERS: usize = 400;

/// Marks the cut with an ellipsis.
pub fn cut(text: &str, size: f64, bold: bool, room: f64) -> String {
    let head: Vec<char> = text.chars().take(MAX_CHARACTERS + 1).collect();
    shorten(text, head.len(), (size, bold, room), |kept| {
        head[..kept].iter().collect::<String>().trim_end().to_owned() + "…"
    })
}

pub fn cut_inside(text: &str, size: f64, bold: bool, room: f64) -> String {
    let head: Vec<char> = text.chars().take(MAX_CHARACTERS + 1).collect();
    let back: Vec<char> = text.chars().rev().take(head.len()).collect();
    shorten(text, head.len(), (size, bold, room), |kept| {
        head[..kept.div_ceil(2)].iter().chain(&['…']).chain(back[..kept / 2].iter().rev()).collect()
    })
}

/// Returns the text if it fits, otherwise the longest `version` with fewer characters, by binary search.
fn shorten(
    text: &str,
    characters: usize,
    (size, bold, room): (f64, bool, f64),
    version: impl Fn(usize) -> String,
) -> String {
    if characters <= MAX_CHARACTERS && width(text, size, bold) <= room {
        return text.to_owned();
    }
    // Versions with fewer than `fitting` characters fit; those with `too_many` do not.
    let (mut fitting, mut too_many) = (0, characters);
    while fitting < too_many {
        let kept = fitting.midpoint(too_many);
        if width(&version(kept), size, bold) <= room { fitting = kept + 1 } else { too_many = kept }
    }
    fitting.checked_sub(1).map(version).unwrap_or_default()
}

/// Adds words before the warning of a subtitle, which follows a line break.
pub fn add_remark(subtitle: &str, remark: &str) -> String {
    let (words, warning) = subtitle.split_once('\n').unwrap_or((subtitle, ""));
    let words = if words.is_empty() { remark.to_owned() } else { format!("{words}; {remark}") };
    if warning.is_empty() { words } else { format!("{words}\n{warning}") }
}

/// Breaks text at spaces, and cuts lines that are too long.
pub fn wrap(text: &str, size: f64, bold: bool, room: f64, max_lines: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = word.char_indices().nth(MAX_CHARACTERS + 1).map_or(word, |(end, _)| &word[..end]);
        let count = lines.len();
        match lines.last_mut() {
            // The last line takes the rest of the text and is then cut.
            Some(line) if count == max_lines || width(&format!("{line} {word}"), size, bold) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| cut(line, size, bold, room)).collect()
}
