//! Colours: viridis for magnitudes, red and blue for ratios, the Okabe-Ito palette for series.

use plotters::style::RGBColor;
use plotters::style::colors::colormaps::{ColorMap, ViridisRGB};

pub const INK: RGBColor = RGBColor(34, 34, 34);
pub const GREY: RGBColor = RGBColor(110, 110, 110);
pub const PALE: RGBColor = RGBColor(222, 222, 222);
pub const WHITE: RGBColor = RGBColor(255, 255, 255);
/// The sides of the box behind a surface.
pub const PANEL: RGBColor = RGBColor(248, 248, 248);
/// The ground and the lines of an unknown value.
pub const HATCH: RGBColor = RGBColor(244, 244, 244);
pub const HATCH_LINE: RGBColor = RGBColor(200, 200, 200);

/// viridis (van der Walt and Smith, 2015): 0 is dark violet, 1 is yellow, and brightness rises evenly.
pub fn viridis(share: f64) -> RGBColor {
    ViridisRGB.get_color(share.clamp(0.0, 1.0))
}

/// viridis without the yellow that is faint on white, or the violet that is faint on a dark ground.
pub fn ramp(share: f64, dark: bool) -> RGBColor {
    viridis(if dark { 0.25 + 0.75 * share } else { 0.88 * share })
}

/// Exchanges ink, ground and the greys between them; other colours stay.
pub fn on_dark(colour: RGBColor) -> RGBColor {
    let exchanged = [
        (WHITE, RGBColor(20, 23, 28)),
        (INK, RGBColor(232, 232, 232)),
        (GREY, RGBColor(170, 174, 180)),
        (PALE, RGBColor(58, 63, 70)),
        (PANEL, RGBColor(30, 34, 40)),
        (HATCH, RGBColor(36, 40, 47)),
        (HATCH_LINE, RGBColor(84, 90, 98)),
    ];
    exchanged.into_iter().find(|(light, _)| *light == colour).map_or(colour, |(_, dark)| dark)
}

/// ColorBrewer's RdBu (Harrower and Brewer, 2003), which colour-blind readers can distinguish: red below 1/2, nearly white there, blue above.
pub fn diverging(share: f64) -> RGBColor {
    const STEPS: [[u8; 3]; 11] = [
        [103, 0, 31],
        [178, 24, 43],
        [214, 96, 77],
        [244, 165, 130],
        [253, 219, 199],
        [247, 247, 247],
        [209, 229, 240],
        [146, 197, 222],
        [67, 147, 195],
        [33, 102, 172],
        [5, 48, 97],
    ];
    let place = share.clamp(0.0, 1.0) * 10.0;
    let below = (place as usize).min(9);
    let mix = |channel: usize| {
        let (low, high) = (f64::from(STEPS[below][channel]), f64::from(STEPS[below + 1][channel]));
        (low + (high - low) * (place - below as f64)).round() as u8
    };
    RGBColor(mix(0), mix(1), mix(2))
}

/// From the lowest to the highest, as `#rrggbb`.
pub fn hexadecimal(map: fn(f64) -> RGBColor, count: usize) -> Vec<String> {
    let colour = |k: usize| map(k as f64 / (count - 1) as f64);
    (0..count).map(colour).map(|RGBColor(r, g, b)| format!("#{r:02x}{g:02x}{b:02x}")).collect()
}

/// Nearly black or nearly white, by the WCAG relative luminance of `ground`. A dark figure does not change them.
pub fn readable_on(ground: RGBColor) -> RGBColor {
    let linear = |channel: u8| {
        let c = f64::from(channel) / 255.0;
        if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    };
    let luminance = 0.2126 * linear(ground.0) + 0.7152 * linear(ground.1) + 0.0722 * linear(ground.2);
    // At this luminance, black and white have the same contrast.
    if luminance > 0.18 { RGBColor(4, 4, 4) } else { RGBColor(251, 251, 251) }
}

/// Okabe and Ito's palette for colour-blind readers; grey replaces their yellow, which is faint on white.
pub const SERIES: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(136, 136, 136),
];

/// Paul Tol's muted scheme for colour-blind readers, its pale grey first, and a dark grey.
pub const CLASSES: [RGBColor; 12] = [
    RGBColor(221, 221, 221),
    RGBColor(204, 102, 119),
    RGBColor(136, 34, 85),
    RGBColor(136, 204, 238),
    RGBColor(68, 170, 153),
    RGBColor(17, 119, 51),
    RGBColor(221, 204, 119),
    RGBColor(153, 153, 51),
    RGBColor(170, 68, 153),
    RGBColor(51, 34, 136),
    RGBColor(85, 85, 85),
    RGBColor(238, 136, 102),
];
