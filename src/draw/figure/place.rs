//! Named places on a map, such as those of known codes, and vertical lines at values of x, such as cache sizes.

use super::frame::{self, ESTIMATE_RADIUS, Frame, Mark};
use super::prelude::*;

#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    pub x: f64,
    pub y: f64,
    pub label: String,
}

impl Place {
    pub fn is_within(&self, grid: &Grid) -> bool {
        let within = |values: &[f64], place: f64| {
            let (Some(first), Some(last)) = (values.first(), values.last()) else { return false };
            // Values such as 0.001 are rounded where they are computed from powers.
            place >= first * (1.0 - 1e-9) && place <= last * (1.0 + 1e-9)
        };
        within(&grid.x.values, self.x) && within(&grid.y.values, self.y)
    }
}

const RADIUS: f64 = ESTIMATE_RADIUS;
const LABEL: f64 = text::TICK;
/// Width of a label relative to the map.
const WIDEST: f64 = 0.8;

pub struct Placed {
    centre: Xy,
    label: String,
    pub rect: Rect,
}

impl Placed {
    pub fn rects(places: &[Placed]) -> Vec<Rect> {
        places.iter().flat_map(|place| [mark_rect(place.centre), place.rect]).collect()
    }
}

/// Each label is next to its mark and clear of the others.
pub fn lay_out(grid: &Grid, frame: &Frame, places: &[Place]) -> Vec<Placed> {
    let mut shown: Vec<(Xy, &str)> = places
        .iter()
        .filter(|place| place.is_within(grid))
        .map(|place| (frame.point(place.x, place.y), place.label.as_str()))
        .collect();
    shown.sort_by(|(a, _), (b, _)| a.0.total_cmp(&b.0));
    let mut taken: Vec<Rect> = shown.iter().map(|(centre, _)| mark_rect(*centre)).collect();
    let mut placed = Vec::new();
    for (centre, name) in shown {
        let label = text::cut(name, LABEL, true, WIDEST * frame.area.width());
        let rect = label_rect(centre, Font::bold(LABEL).width(&label) + 6.0, &frame.area, &taken);
        taken.push(rect);
        placed.push(Placed { centre, label, rect });
    }
    placed
}

pub fn draw_places(canvas: &mut Canvas, places: &[Placed]) -> Result<()> {
    for place in places {
        canvas.veil(place.rect, WHITE, 0.9)?;
        canvas.text(&place.label, place.rect.centre(), Side::Middle, Font::bold(LABEL))?;
    }
    places.iter().try_for_each(|place| frame::draw_mark(canvas, place.centre, Mark::Estimate))
}

fn mark_rect(centre: Xy) -> Rect {
    Rect::from_centre(centre, 2.0 * RADIUS + 4.0, 2.0 * RADIUS + 4.0)
}

/// Covers as little of the rectangles `taken` as possible.
fn label_rect((x, y): Xy, width: f64, area: &Rect, taken: &[Rect]) -> Rect {
    let height = LABEL * 1.3;
    let right = RADIUS + 4.0 + width / 2.0;
    let down = RADIUS + 3.0 + height / 2.0;
    let sides = [(right, 0.0), (-right, 0.0), (0.0, down), (0.0, -down)];
    let corners = [(right, down), (right, -down), (-right, down), (-right, -down)];
    let far = corners.map(|(dx, dy)| (dx, 2.0 * dy)).into_iter().chain([(0.0, 2.2 * down), (0.0, -2.2 * down)]);
    // A label at the edge of the map is moved into it.
    let moved_inside = |(dx, dy): (f64, f64)| {
        let within =
            |place: f64, low: f64, high: f64, size: f64| place.min(high - size / 2.0 - 2.0).max(low + size / 2.0 + 2.0);
        let centre = (within(x + dx, area.left, area.right, width), within(y + dy, area.top, area.bottom, height));
        Rect::from_centre(centre, width, height)
    };
    let covered = |rect: &Rect| taken.iter().map(|other| rect.shared_area(other)).sum::<f64>();
    let candidates = sides.into_iter().chain(corners).chain(far).map(moved_inside);
    candidates.min_by(|a, b| covered(a).total_cmp(&covered(b))).unwrap_or_else(|| moved_inside((right, 0.0)))
}

/// A value of x that a vertical line marks, such as the size of a cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Landmark {
    /// Position on the x axis, in its unit.
    pub x: f64,
    /// Label of the line: "L2".
    pub label: String,
    /// Style of the line.
    pub style: LandmarkStyle,
}

/// The style of a [`Landmark`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum LandmarkStyle {
    /// A dashed line with its label at the lower end.
    #[default]
    Line,
    /// A line within a band that spans its 95 % interval, with its label at the upper end.
    Range(f64, f64),
    /// A tick above the axis, without a label.
    Tick,
}

impl Landmark {
    pub(super) fn draw(&self, canvas: &mut Canvas, frame: &Frame) -> Result<()> {
        const DASH: f64 = 5.0;
        const TICK: f64 = 12.0;
        let (top, bottom) = (frame.area.top, frame.area.bottom);
        let (x, _) = frame.point(self.x, frame.y.low);
        let font = Font::new(text::TICK).with_colour(GREY);
        let half = font.width(&self.label) / 2.0;
        match self.style {
            LandmarkStyle::Tick => canvas.line(&[(x, bottom - TICK), (x, bottom)], INK, 2.5),
            LandmarkStyle::Range(low, high) => {
                let [left, right] =
                    [low.max(frame.x.low), high.min(frame.x.high)].map(|end| frame.point(end, frame.y.low).0);
                canvas.veil(Rect { left, top, right, bottom }, GREY, 0.2)?;
                canvas.line(&[(x, top), (x, bottom)], GREY, 1.0)?;
                canvas.upward_text(&self.label, (left.min(x) - 9.0, top + 8.0 + half), font)
            }
            LandmarkStyle::Line => {
                let mut y = top;
                while y < bottom {
                    canvas.line(&[(x, y), (x, (y + DASH).min(bottom))], GREY, 1.0)?;
                    y += 2.0 * DASH;
                }
                canvas.upward_text(&self.label, (x - 9.0, bottom - 8.0 - half), font)
            }
        }
    }
}
