//! The legend of curves: what all names have in common stands once above it, long names are broken into lines.

use super::geometry::Xy;
use super::text;

/// What the names have in common, and what is left of each.
#[derive(Clone, Debug, PartialEq)]
pub struct Names {
    pub common: String,
    pub own: Vec<String>,
}

/// Takes from names of the form `a, b = 1, c` the parts that all share at the same place.
pub fn names(labels: &[&str]) -> Names {
    let parts: Vec<Vec<&str>> = labels.iter().map(|label| label.split(", ").collect()).collect();
    let kept = Names { common: String::new(), own: labels.iter().map(|label| label.to_string()).collect() };
    let Some(first) = parts.first() else { return kept };
    if parts.len() < 2 || parts.iter().any(|other| other.len() != first.len()) {
        return kept;
    }
    let shared = |k: &usize| parts.iter().all(|other| other[*k] == first[*k]);
    let (shared, own): (Vec<usize>, Vec<usize>) = (0..first.len()).partition(shared);
    if own.is_empty() {
        return kept;
    }
    let join = |of: &[&str], which: &[usize]| which.iter().map(|&k| of[k]).collect::<Vec<_>>().join(", ");
    Names { common: join(first, &shared), own: parts.iter().map(|of| join(of, &own)).collect() }
}

/// A curve's name, broken into lines, and where its sample of the curve is centred, from the legend's corner.
#[derive(Clone, Debug, PartialEq)]
pub struct LegendEntry {
    pub lines: Vec<String>,
    pub sample: Xy,
}

/// A legend laid out; empty if no curve has a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Legend {
    /// What all have in common, in lines.
    pub title: Vec<String>,
    pub entries: Vec<LegendEntry>,
    pub size: Xy,
}

/// From the middle of the sample of a curve to the name.
pub const NAME_AT: f64 = 22.0;
/// Half of the sample's length.
pub const SAMPLE: f64 = 14.0;
/// The most that names may take beside the axes, and what they take before being broken.
const WIDEST: f64 = 300.0;
const WIDE: f64 = 230.0;

impl Legend {
    fn named(labels: &[&str]) -> Option<Names> {
        // A single curve is what the title says.
        labels.iter().any(|label| !label.is_empty()).then(|| names(labels))
    }

    fn none() -> Self {
        Self { title: Vec::new(), entries: Vec::new(), size: (0.0, 0.0) }
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn height(&self) -> f64 {
        self.size.1
    }

    /// One column beside the axes, at most `height` high. Names that need more lines than there is room for lose their
    /// middle: what tells curves apart is mostly at an end.
    pub fn beside(labels: &[&str], height: f64) -> Self {
        let Some(names) = Self::named(labels) else { return Self::none() };
        let width = |text: &String| text::width(text, text::TICK, false);
        let widest = names.own.iter().map(width).fold(0.0, f64::max);
        let count = names.own.len() as f64;
        let line = (height / count).clamp(15.0, 22.0);
        let lined = |room: f64| -> Vec<Vec<String>> {
            names.own.iter().map(|name| text::wrapped(name, text::TICK, false, room, usize::MAX)).collect()
        };
        let title_in = |room: f64| match names.common.is_empty() {
            true => Vec::new(),
            false => text::wrapped(&names.common, text::TICK, false, room + NAME_AT + SAMPLE, 6),
        };
        // Broken lines stand closer than names.
        let tall = |lines: &[Vec<String>], title: &[String]| {
            lines.iter().map(|of| line + (of.len().max(1) - 1) as f64 * CLOSE).sum::<f64>() + titled(title)
        };
        let mut room = widest.max(text::width(&names.common, text::TICK, false) / 4.0).min(WIDE);
        let fits = |room: f64| tall(&lined(room), &title_in(room)) <= height;
        if !fits(room) && widest > WIDE {
            room = widest.min(WIDEST);
        }
        let title = title_in(room);
        let own = match fits(room) {
            true => lined(room),
            false => names.own.iter().map(|name| vec![text::cut_inside(name, text::TICK, false, room)]).collect(),
        };
        let mut y = titled(&title);
        let mut entries = Vec::new();
        for lines in own {
            entries.push(LegendEntry { sample: (SAMPLE, y + line / 2.0), lines });
            y += line + (entries[entries.len() - 1].lines.len().max(1) - 1) as f64 * CLOSE;
        }
        Self { title, entries, size: (room + NAME_AT + SAMPLE, y) }
    }

    /// As many columns as fit below axes of this width.
    pub fn below(labels: &[&str], width: f64) -> Self {
        let Some(names) = Self::named(labels) else { return Self::none() };
        let width_of = |text: &String| text::width(text, text::TICK, false);
        let widest = names.own.iter().map(width_of).fold(0.0, f64::max) + NAME_AT + SAMPLE + 12.0;
        let columns = ((width / widest) as usize).clamp(1, names.own.len());
        let room = width / columns as f64;
        let title = match names.common.is_empty() {
            true => Vec::new(),
            false => text::wrapped(&names.common, text::TICK, false, width, 3),
        };
        let own: Vec<Vec<String>> = names
            .own
            .iter()
            .map(|name| text::wrapped(name, text::TICK, false, room - NAME_AT - SAMPLE - 4.0, usize::MAX))
            .collect();
        let mut y = titled(&title);
        let mut entries = Vec::new();
        for row in own.chunks(columns) {
            for (k, lines) in row.iter().enumerate() {
                entries.push(LegendEntry { sample: (k as f64 * room + SAMPLE, y + BELOW / 2.0), lines: lines.clone() });
            }
            y += BELOW + (row.iter().map(Vec::len).max().unwrap_or(1).max(1) - 1) as f64 * CLOSE;
        }
        Self { title, entries, size: (width, y) }
    }
}

/// Distance of the lines of one name.
pub const CLOSE: f64 = 15.0;
/// Distance of names in a legend below the axes.
const BELOW: f64 = 18.0;

/// Height of the title.
fn titled(lines: &[String]) -> f64 {
    if lines.is_empty() { 0.0 } else { lines.len() as f64 * CLOSE + 6.0 }
}
