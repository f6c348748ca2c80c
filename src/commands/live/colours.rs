//! Colours that the terminal shows.

use apexmap_base::terminal::supports_colours;
use apexmap_draw::figure::colour::viridis;
use ratatui_core::style::Color;
use std::fmt::Write;
use std::io::IsTerminal;

/// The colours of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// No colours: shades of characters replace them.
    None,
    /// The 16 colours of old terminals.
    Sixteen,
    /// The palette of 256 colours.
    Indexed,
    /// 24 bits per colour.
    True,
}

/// The nearest colours to viridis among the 16, from low to high: magenta, blue, cyan, green, bright green, yellow.
const SIXTEEN: [u8; 6] = [5, 4, 6, 2, 10, 11];
/// Levels of red, green and blue in the colours 16 to 231 of 256.
const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];

impl Colours {
    /// Returns the colours of an output, from the variables that terminals set. `NO_COLOR` disables them.
    pub fn detect(output: &impl IsTerminal) -> Self {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        match (supports_colours(output), variable("COLORTERM").as_str(), variable("TERM").as_str()) {
            (false, ..) | (_, _, "" | "dumb") => Self::None,
            (_, "truecolor" | "24bit", _) => Self::True,
            (_, _, name) if name.ends_with("-direct") => Self::True,
            (_, _, name) if name.contains("256") => Self::Indexed,
            _ => Self::Sixteen,
        }
    }

    /// Returns the colour of a value at this fraction of the scale, from 0 to 1: viridis, or the nearest colour.
    pub fn ground(self, share: f64) -> Color {
        let colour = viridis(share);
        let [red, green, blue] = [colour.0, colour.1, colour.2];
        match self {
            Self::None => Color::Reset,
            Self::Sixteen => {
                let step = (share.clamp(0.0, 1.0) * SIXTEEN.len() as f64) as usize;
                Color::Indexed(SIXTEEN[step.min(SIXTEEN.len() - 1)])
            }
            Self::Indexed => {
                let [red, green, blue] = [red, green, blue].map(nearest_level);
                Color::Indexed(16 + 36 * red + 6 * green + blue)
            }
            Self::True => Color::Rgb(red, green, blue),
        }
    }

    /// Returns the colour of text on the ground of this fraction: white on dark grounds, black on bright ones.
    pub fn ink(self, share: f64) -> Color {
        match self {
            Self::None => Color::Reset,
            Self::Sixteen if share < 0.34 => Color::Indexed(15),
            _ if share < 0.5 && self != Self::Sixteen => Color::Indexed(15),
            _ => Color::Indexed(0),
        }
    }
}

fn nearest_level(channel: u8) -> u8 {
    let distance = |level: &u8| level.abs_diff(channel);
    let nearest = LEVELS.iter().enumerate().min_by_key(|(_, level)| distance(level));
    nearest.map_or(0, |(index, _)| index as u8)
}

/// Writes the terminal command for these colours. The first 16 use commands that every terminal knows.
pub fn write_colours(text: &mut String, foreground: Color, background: Color) {
    text.push_str("\x1b[0");
    for (colour, base) in [(foreground, 30), (background, 40)] {
        let _ = match colour {
            Color::Indexed(index @ 0..8) => write!(text, ";{}", base + u16::from(index)),
            Color::Indexed(index @ 8..16) => write!(text, ";{}", base + 60 + u16::from(index) - 8),
            Color::Indexed(index) => write!(text, ";{};5;{index}", base + 8),
            Color::Rgb(red, green, blue) => write!(text, ";{};2;{red};{green};{blue}", base + 8),
            _ => Ok(()),
        };
    }
    text.push('m');
}
