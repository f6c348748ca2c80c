//! Named places on a map, such as those of known codes.

use super::canvas::Canvas;
use super::colour::{INK, WHITE};
use super::frame::Frame;
use super::geometry::{Rect, Xy};
use super::grid::Grid;
use super::text::{self, Font, Side};
use apexmap_base::error::Result;

/// A place on a map, with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Position on the x axis, in its unit.
    pub x: f64,
    /// Position on the y axis, in its unit.
    pub y: f64,
    /// Label of the place.
    pub label: String,
}

impl Place {
    /// Returns whether the place is within the values of both axes.
    pub fn is_within(&self, grid: &Grid) -> bool {
        let within = |values: &[f64], place: f64| {
            let (Some(first), Some(last)) = (values.first(), values.last()) else { return false };
            // Values such as 0.001 are rounded where they are computed from powers.
            place >= first * (1.0 - 1e-9) && place <= last * (1.0 + 1e-9)
        };
        within(&grid.x.values, self.x) && within(&grid.y.values, self.y)
    }
}

/// Radius of a mark.
const RADIUS: f64 = 5.0;
const LABEL: f64 = text::TICK;

/// Draws the places that are within the axes of a grid, with their labels. Returns the rectangles of the marks and labels, which
/// other labels should avoid.
pub fn draw_places(canvas: &mut Canvas, grid: &Grid, frame: &Frame, places: &[Place]) -> Result<Vec<Rect>> {
    let shown: Vec<(Xy, &str)> = places
        .iter()
        .filter(|place| place.is_within(grid))
        .map(|place| (frame.point(place.x, place.y), place.label.as_str()))
        .collect();
    let mark = |(x, y): Xy| Rect::from_centre((x, y), 2.0 * RADIUS + 4.0, 2.0 * RADIUS + 4.0);
    let mut taken: Vec<Rect> = shown.iter().map(|(centre, _)| mark(*centre)).collect();
    let mut labels = Vec::new();
    for (centre, name) in &shown {
        let name = text::cut(name, LABEL, true, frame.area.width() / 2.0);
        let own = mark(*centre);
        let rect = label_rect(*centre, Font::bold(LABEL).width(&name) + 6.0, &frame.area, |rect| {
            taken.iter().filter(|other| **other != own).all(|other| !other.overlaps(rect))
        });
        taken.push(rect);
        labels.push((rect, name));
    }
    for (rect, name) in labels {
        canvas.veil(rect, WHITE, 0.9)?;
        canvas.text(&name, rect.centre(), Side::Middle, Font::bold(LABEL))?;
    }
    for (centre, _) in shown {
        for (radius, colour) in [(RADIUS + 1.5, WHITE), (RADIUS, INK), (RADIUS - 2.2, WHITE)] {
            canvas.polygon(&diamond(centre, radius), colour, 1.0)?;
        }
    }
    Ok(taken)
}

fn diamond((x, y): Xy, radius: f64) -> [Xy; 4] {
    [(x + radius, y), (x, y + radius), (x - radius, y), (x, y - radius)]
}

/// Returns the rectangle of a label next to a mark: within the area and free, or else the first that is within the area.
fn label_rect((x, y): Xy, width: f64, area: &Rect, is_free: impl Fn(&Rect) -> bool) -> Rect {
    let height = LABEL * 1.3;
    let sideways = RADIUS + 4.0 + width / 2.0;
    let upwards = RADIUS + 3.0 + height / 2.0;
    let moved = |dx: f64, dy: f64| Rect::from_centre((x + dx, y + dy), width, height);
    let near = [(sideways, 0.0), (-sideways, 0.0), (0.0, -upwards), (0.0, upwards)];
    let corners = [(sideways, -upwards), (sideways, upwards), (-sideways, -upwards), (-sideways, upwards)]
        .map(|(dx, dy)| (0.7 * dx, dy));
    let far = [
        (sideways, -2.0 * upwards),
        (sideways, 2.0 * upwards),
        (-sideways, -2.0 * upwards),
        (-sideways, 2.0 * upwards),
    ];
    let within: Vec<Rect> = near
        .into_iter()
        .chain(corners)
        .chain(far)
        .map(|(dx, dy)| moved(dx, dy))
        .filter(|rect| area.inflate(-2.0).contains(rect))
        .collect();
    within.iter().find(|rect| is_free(rect)).or(within.first()).copied().unwrap_or_else(|| moved(0.0, -upwards))
}
