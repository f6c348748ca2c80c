//! Colours that the terminal shows.

use apexmap_base::terminal::supports_colours;
use apexmap_draw::figure::colour::viridis;
use std::fmt::Write;
use std::io::IsTerminal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// No colours: shades of characters replace them.
    None,
    Sixteen,
    Indexed,
    /// 24 bits per colour.
    True,
}

/// A number of the palette, or red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    Indexed(u8),
    Rgb([u8; 3]),
}

/// The colours of a character and of the ground behind it; `None` is the terminal's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    pub ink: Option<Colour>,
    pub ground: Option<Colour>,
}

/// The nearest colours to viridis among the 16, from low to high: magenta, blue, cyan, green, bright green, yellow.
const SIXTEEN: [u8; 6] = [5, 4, 6, 2, 10, 11];
/// Levels of red, green and blue in the colours 16 to 231 of 256.
const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
const BLACK: Colour = Colour::Indexed(0);
const WHITE: Colour = Colour::Indexed(15);

impl Colours {
    /// Reads the variables that terminals set. `NO_COLOR` disables colours.
    pub fn detect(output: &impl IsTerminal) -> Self {
        let [colours, name] = ["COLORTERM", "TERM"].map(|name| std::env::var(name).unwrap_or_default());
        match (supports_colours(output), colours.as_str(), name.as_str()) {
            (false, ..) | (_, _, "" | "dumb") => Self::None,
            (_, "truecolor" | "24bit", _) => Self::True,
            (_, _, name) if name.ends_with("-direct") => Self::True,
            (_, _, name) if name.contains("256") => Self::Indexed,
            _ => Self::Sixteen,
        }
    }

    /// The colour of a value at this fraction of the scale, from 0 to 1: viridis, or the nearest colour.
    pub fn ground(self, share: f64) -> Option<Colour> {
        let colour = viridis(share);
        let channels = [colour.0, colour.1, colour.2];
        match self {
            Self::None => None,
            Self::Sixteen => {
                let step = (share.clamp(0.0, 1.0) * SIXTEEN.len() as f64) as usize;
                Some(Colour::Indexed(SIXTEEN[step.min(SIXTEEN.len() - 1)]))
            }
            Self::Indexed => {
                let [red, green, blue] = channels.map(nearest_level);
                Some(Colour::Indexed(16 + 36 * red + 6 * green + blue))
            }
            Self::True => Some(Colour::Rgb(channels)),
        }
    }

    /// The style of text on the ground of this fraction: white on dark grounds, black on bright ones.
    pub fn text_style(self, share: f64) -> Style {
        let darkest = if self == Self::Sixteen { 0.34 } else { 0.5 };
        let ground = self.ground(share);
        Style { ink: ground.map(|_| if share < darkest { WHITE } else { BLACK }), ground }
    }
}

fn nearest_level(channel: u8) -> u8 {
    let nearest = LEVELS.iter().enumerate().min_by_key(|(_, level)| level.abs_diff(channel));
    nearest.map_or(0, |(index, _)| index as u8)
}

impl Style {
    /// The first 16 colours use commands that every terminal knows.
    pub fn write_command(self, text: &mut String) {
        text.push_str("\x1b[0");
        for (colour, base) in [(self.ink, 30), (self.ground, 40)] {
            let _ = match colour {
                None => Ok(()),
                Some(Colour::Indexed(index @ 0..8)) => write!(text, ";{}", base + u16::from(index)),
                Some(Colour::Indexed(index @ 8..16)) => write!(text, ";{}", base + 60 + u16::from(index) - 8),
                Some(Colour::Indexed(index)) => write!(text, ";{};5;{index}", base + 8),
                Some(Colour::Rgb([red, green, blue])) => write!(text, ";{};2;{red};{green};{blue}", base + 8),
            };
        }
        text.push('m');
    }
}
