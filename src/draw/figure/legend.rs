//! The legend of curves. The parts that all names share appear once, above the legend; long names are wrapped.

use super::geometry::Xy;
use super::text;

#[derive(Clone, Debug, PartialEq)]
pub struct Names {
    pub common: String,
    pub own: Vec<String>,
}

impl Names {
    fn widest(&self) -> f64 {
        self.own.iter().map(|name| text::width(name, text::TICK, false)).fold(0.0, f64::max)
    }

    fn wrap(&self, room: f64) -> Vec<Vec<String>> {
        self.own.iter().map(|name| text::wrap(name, text::TICK, false, room, usize::MAX)).collect()
    }
}

/// Splits names such as `a, b = 1, c`; parts that all share in the same place are common.
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
    let join = |parts: &[&str], indices: &[usize]| indices.iter().map(|&k| parts[k]).collect::<Vec<_>>().join(", ");
    Names { common: join(first, &shared), own: parts.iter().map(|label| join(label, &own)).collect() }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub series: usize,
    pub name: String,
    pub is_shared: bool,
}

/// The words after the first name of the group; `None` if another word comes first.
fn added_name(group: &[&str], index: usize) -> Option<String> {
    let rest = group.get(index)?.strip_prefix(group[0])?.trim_start_matches([',', ' ']);
    (!rest.is_empty()).then(|| rest.to_owned())
}

/// If curves come in groups that are called `NAME`, `NAME limit` and `NAME model`, each name gets one item, and so does each part.
pub fn items(labels: &[&str], group_size: usize) -> Vec<Item> {
    let item = |series: usize, name: &str, is_shared| Item { series, name: name.to_owned(), is_shared };
    let each = || labels.iter().enumerate().map(|(series, name)| item(series, name, false)).collect();
    let mut groups = labels.chunks(group_size);
    let parts = |group: &[&'_ str]| (1..group_size).map(|k| added_name(group, k)).collect::<Option<Vec<String>>>();
    let Some(shared) = groups.next().and_then(parts).filter(|shared| !shared.is_empty()) else { return each() };
    if groups.len() == 0 || groups.any(|group| parts(group).as_ref() != Some(&shared)) {
        return each();
    }
    let names = labels.iter().enumerate().step_by(group_size).map(|(series, name)| item(series, name, false));
    names.chain(shared.iter().enumerate().map(|(k, name)| item(k + 1, name, true))).collect()
}

/// `sample` is the centre of the line sample, relative to the legend's corner.
#[derive(Clone, Debug, PartialEq)]
pub struct LegendEntry {
    pub lines: Vec<String>,
    pub sample: Xy,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Legend {
    pub title: Vec<String>,
    pub entries: Vec<LegendEntry>,
    pub size: Xy,
}

/// Distance from the middle of a line sample to the name.
pub const NAME_OFFSET: f64 = 22.0;
/// Half of the sample's length.
pub const HALF_SAMPLE: f64 = 14.0;
/// Maximum width of names next to the axes, and the width at which they wrap.
const MAX_WIDTH: f64 = 300.0;
const WRAP_WIDTH: f64 = 230.0;

impl Legend {
    fn split_labels(labels: &[&str]) -> Option<Names> {
        // The title already describes a single curve.
        labels.iter().any(|label| !label.is_empty()).then(|| names(labels))
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// One column next to the axes. Names that need too many lines are cut in the middle, because they usually differ at their ends.
    pub fn column(labels: &[&str], height: f64) -> Self {
        let Some(names) = Self::split_labels(labels) else { return Self::default() };
        let widest = names.widest();
        let count = names.own.len() as f64;
        let line = (height / count).clamp(15.0, 22.0);
        let title_in = |room: f64| text::wrap(&names.common, text::TICK, false, room + NAME_OFFSET + HALF_SAMPLE, 6);
        let mut room = widest.max(text::width(&names.common, text::TICK, false) / 4.0).min(WRAP_WIDTH);
        let fits = |room: f64| {
            let entries = names.wrap(room).iter().map(|lines| line + further_lines_height(lines)).sum::<f64>();
            title_height(&title_in(room)) + entries <= height
        };
        if !fits(room) && widest > WRAP_WIDTH {
            room = widest.min(MAX_WIDTH);
        }
        let title = title_in(room);
        let own = match fits(room) {
            true => names.wrap(room),
            false => names.own.iter().map(|name| vec![text::cut_inside(name, text::TICK, false, room)]).collect(),
        };
        let mut y = title_height(&title);
        let mut entries = Vec::new();
        for lines in own {
            let further = further_lines_height(&lines);
            entries.push(LegendEntry { sample: (HALF_SAMPLE, y + line / 2.0), lines });
            y += line + further;
        }
        Self { title, entries, size: (room + NAME_OFFSET + HALF_SAMPLE, y) }
    }

    /// The largest number of columns that fits below axes of this width.
    pub fn rows(labels: &[&str], width: f64) -> Self {
        let Some(names) = Self::split_labels(labels) else { return Self::default() };
        let widest = names.widest() + NAME_OFFSET + HALF_SAMPLE + 12.0;
        let columns = ((width / widest) as usize).clamp(1, names.own.len());
        let room = width / columns as f64;
        let title = text::wrap(&names.common, text::TICK, false, width, 3);
        let own = names.wrap(room - NAME_OFFSET - HALF_SAMPLE - 4.0);
        let mut y = title_height(&title);
        let mut entries = Vec::new();
        for row in own.chunks(columns) {
            for (k, lines) in row.iter().enumerate() {
                entries.push(LegendEntry {
                    sample: (k as f64 * room + HALF_SAMPLE, y + ROW_HEIGHT / 2.0),
                    lines: lines.clone(),
                });
            }
            y += ROW_HEIGHT + row.iter().map(|lines| further_lines_height(lines)).fold(0.0, f64::max);
        }
        Self { title, entries, size: (width, y) }
    }
}

/// Distance between the lines of one name, which are closer to each other than names are.
pub const LINE_HEIGHT: f64 = 15.0;
const ROW_HEIGHT: f64 = 18.0;

fn further_lines_height(lines: &[String]) -> f64 {
    lines.len().saturating_sub(1) as f64 * LINE_HEIGHT
}

fn title_height(lines: &[String]) -> f64 {
    if lines.is_empty() { 0.0 } else { lines.len() as f64 * LINE_HEIGHT + 6.0 }
}
