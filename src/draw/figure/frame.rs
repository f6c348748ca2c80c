//! The frame of a two-dimensional figure: its axes, the colour bar and the key of marks.

use super::prelude::*;

pub struct Ticks {
    pub values: Vec<f64>,
    pub labels: Vec<String>,
}

pub fn choose(
    sets: Vec<Vec<f64>>,
    quantity: &Quantity,
    binary: bool,
    fits: impl Fn(&[f64], &[String]) -> bool,
) -> Ticks {
    let mut last = Ticks { values: Vec::new(), labels: Vec::new() };
    for values in sets {
        let labels = ticks::labels(&values, quantity.unit, binary);
        if fits(&values, &labels) {
            return Ticks { values, labels };
        }
        last = Ticks { values, labels };
    }
    // No set fits. One label is more readable than overlapping ones.
    last.values.truncate(1);
    last.labels.truncate(1);
    last
}

pub struct FrameAxis<'a> {
    pub quantity: &'a Quantity,
    pub scale: Scale,
    /// Small ticks mark these values, which are labelled where space allows.
    pub measured: &'a [f64],
    pub only_measured: bool,
}

impl<'a> FrameAxis<'a> {
    pub fn new(axis: &'a Axis, scale: Scale) -> Self {
        Self { quantity: &axis.quantity, scale, measured: &axis.values, only_measured: false }
    }

    /// The densest ticks whose labels are at least `gap` apart.
    pub fn ticks(&self, length: f64, gap: f64, extent: impl Fn(&str) -> f64) -> Ticks {
        // Label sizes on a log scale in KiB and MiB, even if some lie between powers of two.
        let sizes = self.quantity.unit == Unit::Bytes && self.scale.log && self.scale.low >= 1.0;
        let binary = sizes || ticks::is_binary(self.measured);
        let sets = if self.only_measured {
            ticks::every_nth(self.measured)
        } else {
            ticks::tick_sets(&self.scale, self.measured, self.quantity.unit, binary)
        };
        choose(sets, self.quantity, binary, |values, labels| {
            let position = |k: usize| self.scale.place(values[k]) * length;
            (1..values.len())
                .all(|k| position(k) - position(k - 1) > (extent(&labels[k]) + extent(&labels[k - 1])) / 2.0 + gap)
        })
    }
}

pub struct Frame {
    pub area: Rect,
    pub x: Scale,
    pub y: Scale,
}

impl Frame {
    /// At positions along the axes, 0 to 1 each.
    pub fn pixel(&self, x: f64, y: f64) -> Xy {
        (self.area.left + x * self.area.width(), self.area.bottom - y * self.area.height())
    }

    pub fn point(&self, x: f64, y: f64) -> Xy {
        self.pixel(self.x.place(x), self.y.place(y))
    }

    /// The position of a cell (row, column).
    pub fn cell(&self, grid: &Grid, (j, i): (usize, usize)) -> Xy {
        self.point(grid.x.values[i], grid.y.values[j])
    }
}

const TICK_LENGTH: f64 = 6.0;

pub fn draw_axes(
    canvas: &mut Canvas,
    top: f64,
    right: f64,
    x: &FrameAxis,
    y: &FrameAxis,
    grid_lines: bool,
) -> Result<Frame> {
    let tick = Font::new(text::TICK);
    let Sheet { height, margin, below, .. } = canvas.sheet;
    let bottom = height - below;
    let y_ticks = y.ticks(bottom - top, 7.0, |_| text::TICK);
    let widest = y_ticks.labels.iter().map(|label| tick.width(label)).fold(0.0, f64::max);
    let left = margin + text::AXIS + margin + widest + TICK_LENGTH + 4.0;
    let area = Rect { left, top, right, bottom };
    let frame = Frame { area, x: x.scale, y: y.scale };
    let x_ticks = x.ticks(area.width(), 7.0, |label| tick.width(label));
    for (value, label) in x_ticks.values.iter().zip(&x_ticks.labels) {
        let (tick_x, _) = frame.point(*value, y.scale.low);
        if grid_lines {
            canvas.line(&[(tick_x, top), (tick_x, bottom)], PALE, 1.0)?;
        }
        canvas.line(&[(tick_x, bottom), (tick_x, bottom + TICK_LENGTH)], INK, 1.0)?;
        canvas.text(label, (tick_x, bottom + TICK_LENGTH + 10.0), Side::Middle, tick)?;
    }
    for (value, label) in y_ticks.values.iter().zip(&y_ticks.labels) {
        let (_, tick_y) = frame.point(x.scale.low, *value);
        if grid_lines {
            canvas.line(&[(left, tick_y), (right, tick_y)], PALE, 1.0)?;
        }
        canvas.line(&[(left - TICK_LENGTH, tick_y), (left, tick_y)], INK, 1.0)?;
        canvas.text(label, (left - TICK_LENGTH - 4.0, tick_y), Side::Right, tick)?;
    }
    draw_small_ticks(canvas, &frame, x.measured, y.measured)?;
    let title = |quantity: &Quantity, room| {
        let whole = quantity.title();
        let fits = text::width(&whole, text::AXIS, false) <= room;
        // A long title keeps its first clause.
        let words = if fits { whole.as_str() } else { whole.split(", ").next().unwrap_or_default() };
        text::cut(words, text::AXIS, false, room)
    };
    let font = Font::new(text::AXIS);
    let (middle_x, middle_y) = area.centre();
    let below_x = (middle_x, bottom + canvas.sheet.name_offset);
    canvas.text(&title(x.quantity, area.width()), below_x, Side::Middle, font)?;
    canvas.upward_text(&title(y.quantity, area.height()), (margin + text::AXIS / 2.0, middle_y), font)?;
    Ok(frame)
}

fn draw_small_ticks(canvas: &mut Canvas, frame: &Frame, x: &[f64], y: &[f64]) -> Result<()> {
    let Rect { left, bottom, .. } = frame.area;
    for value in x {
        let (tick_x, _) = frame.point(*value, frame.y.low);
        canvas.line(&[(tick_x, bottom), (tick_x, bottom + 3.0)], INK, 1.0)?;
    }
    for value in y {
        let (_, tick_y) = frame.point(frame.x.low, *value);
        canvas.line(&[(left - 3.0, tick_y), (left, tick_y)], INK, 1.0)?;
    }
    Ok(())
}

/// `parts` holds the positions, 0 to 1, where colours begin; `ticks` those of labels. The title reads upwards.
pub struct ColourBar {
    pub parts: Vec<(f64, RGBColor)>,
    pub ticks: Vec<(f64, String)>,
    pub title: String,
}

impl ColourBar {
    /// Colours change evenly along a scale. Ticks are the first of `sets` whose labels fit the height of the frame.
    pub fn gradient(
        z: &Scale,
        colour: impl Fn(f64) -> RGBColor,
        (sets, quantity): (Vec<Vec<f64>>, &Quantity),
        title: String,
        frame: &Rect,
    ) -> Self {
        const PARTS: usize = 120;
        let share = |k: f64| k / PARTS as f64;
        let parts = (0..PARTS).map(|k| (share(k as f64), colour(share(k as f64 + 0.5)))).collect();
        let labels_fit = |values: &[f64], _: &[String]| {
            values.windows(2).all(|pair| (z.place(pair[1]) - z.place(pair[0])) * frame.height() > 2.0 * text::TICK)
        };
        let ticks = choose(sets, quantity, false, labels_fit);
        let ticks = ticks.values.iter().map(|v| z.place(*v)).zip(ticks.labels).collect();
        Self { parts, ticks, title }
    }

    pub fn draw(&self, canvas: &mut Canvas, frame: &Rect, key_lines: usize) -> Result<()> {
        let bottom = frame.bottom - key_lines as f64 * KEY_LINE - if key_lines > 0 { 12.0 } else { 0.0 };
        let gap = canvas.sheet.margin + 8.0;
        let bar = Rect { left: frame.right + gap, right: frame.right + gap + 18.0, top: frame.top, bottom };
        let bar_y = |place: f64| bar.bottom - place * bar.height();
        // Fill each part up to the top, so that no seam shows below the next part.
        for (low, colour) in &self.parts {
            canvas.fill(Rect { bottom: bar_y(*low), ..bar }, *colour)?;
        }
        canvas.outline(bar, INK, 1.0)?;
        let tick = Font::new(text::TICK);
        let mut widest = 0.0;
        for (place, label) in &self.ticks {
            canvas.line(&[(bar.right, bar_y(*place)), (bar.right + 4.0, bar_y(*place))], INK, 1.0)?;
            canvas.text(label, (bar.right + 7.0, bar_y(*place)), Side::Left, tick)?;
            widest = tick.width(label).max(widest);
        }
        let title = text::cut(&self.title, text::AXIS, false, bar.height());
        let x = (bar.right + 7.0 + widest + 8.0 + text::AXIS / 2.0).min(canvas.sheet.width - text::AXIS * 0.7);
        canvas.upward_text(&title, (x, bar.centre().1), Font::new(text::AXIS))
    }
}

const KEY_LINE: f64 = 20.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mark {
    Measured,
    Faster,
    Slower,
    Undecided,
    Failed,
    Gap,
    Estimate,
}

pub fn draw_key(canvas: &mut Canvas, frame: &Rect, marks: &[Mark]) -> Result<()> {
    for (k, kind) in marks.iter().rev().enumerate() {
        let centre = (frame.right + canvas.sheet.margin + 17.0, frame.bottom - KEY_LINE * (k as f64 + 0.5) + 2.0);
        draw_mark(canvas, centre, *kind)?;
        canvas.text(kind.words(), (centre.0 + 16.0, centre.1), Side::Left, Font::new(text::TICK))?;
    }
    Ok(())
}

impl Mark {
    /// Points are (row, column).
    pub fn find(special: &[((usize, usize), Mark)], point: (usize, usize)) -> Self {
        special.iter().find(|(cell, _)| *cell == point).map_or(Mark::Measured, |(_, mark)| *mark)
    }

    fn words(self) -> &'static str {
        match self {
            Mark::Measured => "point",
            Mark::Faster => "faster",
            Mark::Slower => "slower",
            Mark::Undecided => "not certain",
            Mark::Failed => "failed",
            Mark::Gap => "no value",
            Mark::Estimate => "estimate",
        }
    }
}

pub fn draw_mark(canvas: &mut Canvas, centre: Xy, mark: Mark) -> Result<()> {
    match mark {
        Mark::Measured => draw_dot(canvas, centre),
        // Triangles distinguish faster and slower without colour.
        Mark::Faster => draw_triangle(canvas, centre, -1.0),
        Mark::Slower => draw_triangle(canvas, centre, 1.0),
        Mark::Undecided => {
            let size = canvas.sheet.mark_size;
            canvas.dot(centre, 4.2 * size, INK)?;
            canvas.dot(centre, 2.2 * size, WHITE)
        }
        Mark::Failed => canvas.cross(centre),
        Mark::Gap => hatch(canvas, Rect::from_centre(centre, 18.0, 12.0)),
        Mark::Estimate => draw_diamond(canvas, centre),
    }
}

pub const ESTIMATE_RADIUS: f64 = 5.0;

fn draw_diamond(canvas: &mut Canvas, (x, y): Xy) -> Result<()> {
    for (radius, colour) in [(ESTIMATE_RADIUS + 1.5, WHITE), (ESTIMATE_RADIUS, INK), (ESTIMATE_RADIUS - 2.2, WHITE)] {
        canvas.polygon(&[(x + radius, y), (x, y + radius), (x - radius, y), (x, y - radius)], colour, 1.0)?;
    }
    Ok(())
}

pub fn draw_dot(canvas: &mut Canvas, centre: Xy) -> Result<()> {
    canvas.dot(centre, 1.8, INK)
}

/// With a white rim; points up for -1 and down for 1.
fn draw_triangle(canvas: &mut Canvas, (x, y): Xy, direction: f64) -> Result<()> {
    let factor = canvas.sheet.mark_size;
    for (size, colour) in [(6.4 * factor, WHITE), (4.6 * factor, INK)] {
        let corners = [
            (x, y + direction * size),
            (x - 0.95 * size, y - direction * 0.7 * size),
            (x + 0.95 * size, y - direction * 0.7 * size),
        ];
        canvas.polygon(&corners, colour, 1.0)?;
    }
    Ok(())
}

/// The sign of an unknown value.
pub fn hatch(canvas: &mut Canvas, rect: Rect) -> Result<()> {
    canvas.fill(rect, HATCH)?;
    slanted_lines(canvas, rect, 7.0, HATCH_LINE)?;
    canvas.outline(rect, HATCH_LINE, 0.7)
}

/// `step` pixels apart along the sides.
pub fn slanted_lines(canvas: &mut Canvas, rect: Rect, step: f64, colour: RGBColor) -> Result<()> {
    // Lines x + y = c, clipped to the rectangle.
    let (first, last) = (rect.left + rect.top, rect.right + rect.bottom);
    let mut c = (first / step).ceil() * step;
    while c < last {
        let (from, to) = ((c - rect.left).min(rect.bottom), (c - rect.right).max(rect.top));
        canvas.line(&[(c - from, from), (c - to, to)], colour, 1.0)?;
        c += step;
    }
    Ok(())
}

pub fn remark(canvas: &mut Canvas, frame: &Rect, words: &str) -> Result<()> {
    canvas.text(words, frame.centre(), Side::Middle, Font::new(text::AXIS).with_colour(GREY))
}
