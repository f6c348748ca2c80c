//! Text of a figure: the embedded font, how wide words are in it, and how long ones are made to fit.

use std::sync::OnceLock;

use plotters::style::{FontDesc, FontFamily, FontStyle, RGBColor, register_font};

use super::colour::INK;
use apexmap_base::error::{Error, Result};

/// Sizes of type in pixels of the em.
pub const TITLE: f64 = 18.0;
pub const AXIS: f64 = 15.0;
pub const TICK: f64 = 13.0;

/// A line of DejaVu Sans is this many ems high, and plotters sizes bitmap type by the line.
pub const LINE_PER_EM: f64 = 1.164;

/// Makes the embedded font known to plotters, so that no figure depends on what a system has installed.
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

/// How a line of text is set.
#[derive(Clone, Copy)]
pub struct Type {
    pub size: f64,
    pub bold: bool,
    pub colour: RGBColor,
}

impl Type {
    pub fn new(size: f64) -> Self {
        Self { size, bold: false, colour: INK }
    }

    pub fn bold(size: f64) -> Self {
        Self { bold: true, ..Self::new(size) }
    }

    pub fn coloured(self, colour: RGBColor) -> Self {
        Self { colour, ..self }
    }

    pub fn width(&self, text: &str) -> f64 {
        width(text, self.size, self.bold)
    }

    /// From the middle of the capitals down to the base line.
    pub fn half_capital(&self) -> f64 {
        0.36 * self.size
    }
}

/// Which end of a line of text lies at its place.
#[derive(Clone, Copy, PartialEq)]
pub enum Side {
    Left,
    Middle,
    Right,
}

/// Width in pixels of a line of text; `register` must have been called.
pub fn width(text: &str, size: f64, bold: bool) -> f64 {
    // Measured large: plotters rounds to whole pixels.
    const LARGE: f64 = 16.0;
    let layout = font(size * LINE_PER_EM * LARGE, bold).layout_box(text);
    layout.map(|((left, _), (right, _))| f64::from(right - left) / LARGE).unwrap_or(0.0)
}

/// The text without what XML cannot hold or a figure cannot show: control characters become spaces.
pub fn clean(text: &str) -> String {
    let shown = |c: char| if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') { ' ' } else { c };
    text.chars().map(shown).collect()
}

/// No line of a figure has room for more characters: what is longer is cut before it is measured.
const LONGEST: usize = 400;

/// The text cut to `room` pixels, with an ellipsis if something had to go.
pub fn cut(text: &str, size: f64, bold: bool, room: f64) -> String {
    let head: Vec<char> = text.chars().take(LONGEST + 1).collect();
    shortened(text, head.len(), (size, bold, room), |kept| {
        head[..kept].iter().collect::<String>().trim_end().to_owned() + "…"
    })
}

/// The text cut to `room` pixels by taking characters out of its middle.
pub fn cut_inside(text: &str, size: f64, bold: bool, room: f64) -> String {
    let head: Vec<char> = text.chars().take(LONGEST + 1).collect();
    let back: Vec<char> = text.chars().rev().take(head.len()).collect();
    shortened(text, head.len(), (size, bold, room), |kept| {
        head[..kept.div_ceil(2)].iter().chain(&['…']).chain(back[..kept / 2].iter().rev()).collect()
    })
}

/// The text, or the longest of its shorter versions, of so many of its characters, that fits. A version of more characters is
/// wider, so that few of them are measured.
fn shortened(
    text: &str,
    characters: usize,
    (size, bold, room): (f64, bool, f64),
    version: impl Fn(usize) -> String,
) -> String {
    if characters <= LONGEST && width(text, size, bold) <= room {
        return text.to_owned();
    }
    // Versions of fewer characters than `fitting` fit, and of `too_many` do not.
    let (mut fitting, mut too_many) = (0, characters);
    while fitting < too_many {
        let kept = fitting.midpoint(too_many);
        if width(&version(kept), size, bold) <= room { fitting = kept + 1 } else { too_many = kept }
    }
    fitting.checked_sub(1).map(version).unwrap_or_default()
}

/// The text broken at spaces into at most `most` lines of at most `room` pixels; what does not fit is cut.
pub fn wrapped(text: &str, size: f64, bold: bool, room: f64, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = word.char_indices().nth(LONGEST + 1).map_or(word, |(end, _)| &word[..end]);
        let count = lines.len();
        match lines.last_mut() {
            // The last line takes all the rest, to be cut.
            Some(line) if count == most || width(&format!("{line} {word}"), size, bold) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| cut(line, size, bold, room)).collect()
}
