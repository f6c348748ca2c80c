//! Colours: viridis for magnitudes, red and blue for ratios, the Okabe-Ito palette for series.

use plotters::style::RGBColor;
use plotters::style::colors::colormaps::{ColorMap, ViridisRGB};

pub const INK: RGBColor = RGBColor(34, 34, 34);
pub const GREY: RGBColor = RGBColor(110, 110, 110);
pub const PALE: RGBColor = RGBColor(222, 222, 222);
pub const WHITE: RGBColor = RGBColor(255, 255, 255);
pub const PANEL: RGBColor = RGBColor(248, 248, 248);
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
    const STEPS: [RGBColor; 11] = colours([
        0x67001f, 0xb2182b, 0xd6604d, 0xf4a582, 0xfddbc7, 0xf7f7f7, 0xd1e5f0, 0x92c5de, 0x4393c3, 0x2166ac, 0x053061,
    ]);
    let place = share.clamp(0.0, 1.0) * 10.0;
    let below = (place as usize).min(9);
    let mix = |channel: fn(RGBColor) -> u8| {
        let [low, high] = [STEPS[below], STEPS[below + 1]].map(|step| f64::from(channel(step)));
        (low + (high - low) * (place - below as f64)).round() as u8
    };
    RGBColor(mix(|step| step.0), mix(|step| step.1), mix(|step| step.2))
}

/// The lowest first, as `#rrggbb`.
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

const fn colours<const N: usize>(rrggbb: [u32; N]) -> [RGBColor; N] {
    let mut colours = [WHITE; N];
    let mut k = 0;
    while k < N {
        let [_, red, green, blue] = rrggbb[k].to_be_bytes();
        colours[k] = RGBColor(red, green, blue);
        k += 1;
    }
    colours
}

/// Okabe and Ito's palette for colour-blind readers; grey replaces their yellow, which is faint on white.
pub const SERIES: [RGBColor; 8] =
    colours([0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, 0x000000, 0x888888]);

/// Paul Tol's muted scheme for colour-blind readers, its pale grey first, and a dark grey.
pub const CLASSES: [RGBColor; 12] = colours([
    0xdddddd, 0xcc6677, 0x882255, 0x88ccee, 0x44aa99, 0x117733, 0xddcc77, 0x999933, 0xaa4499, 0x332288, 0x555555,
    0xee8866,
]);
