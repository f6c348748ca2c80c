//! The 3-D performance surface (Apex-Map paper, Figures 3 to 6): back panels first, then its cells, labels last.

use super::frame::{self, Ticks};
use super::prelude::*;
use super::solid::{self, Look, Solid};
use super::view::{BOX_HEIGHT, Camera, View};

const TICK_LENGTH: f64 = 6.0;

struct BoxAxis<'a> {
    title: String,
    quantity: &'a Quantity,
    scale: Scale,
    values: &'a [f64],
}

pub struct Surface<'a> {
    pub grid: &'a Grid,
    pub bounds: Option<&'a Array2<f64>>,
    pub view: View,
    pub range: Option<(f64, f64)>,
}

impl Drawable for Surface<'_> {
    fn draw(&self, canvas: &mut Canvas) -> Result<()> {
        let bound_values = || self.bounds.into_iter().flatten().copied().filter(|bound| !bound.is_nan());
        let range = bound_values().reduce(f64::min).zip(bound_values().reduce(f64::max)).or(self.range);
        let look = Look { bounds: self.bounds, ..Look::magnitude() };
        draw_coloured(canvas, self.grid, self.view, self.grid.scales(range)?, look)
    }

    fn table(&self) -> FigureTable {
        FigureTable::from_grid(self.grid)
    }

    fn description(&self) -> String {
        let below = if self.bounds.is_some() { " below the machine's bound" } else { "" };
        format!("3-D surface{below}. {}", table::extremes(self.grid))
    }

    fn room(&self, _width: f64, _style: Style) -> Room {
        Room::Solid
    }
}

pub fn draw_coloured(canvas: &mut Canvas, grid: &Grid, view: View, [x, y, z]: [Scale; 3], look: Look) -> Result<()> {
    view.check()?;
    let solid = Solid {
        x: grid.x.values.iter().map(|v| x.place(*v)).collect(),
        y: grid.y.values.iter().map(|v| y.place(*v)).collect(),
        heights: solid::heights(&grid.values, &z),
        failed: grid.failed.iter().map(|(j, i)| (*i, *j)).collect(),
        look,
    };
    // On a slide, long titles would leave little space for the surface.
    let title = |quantity: &Quantity| if canvas.sheet.is_wide() { quantity.short_title() } else { quantity.title() };
    let axes = [
        BoxAxis { title: title(&grid.x.quantity), quantity: &grid.x.quantity, scale: x, values: &grid.x.values },
        BoxAxis { title: title(&grid.y.quantity), quantity: &grid.y.quantity, scale: y, values: &grid.y.values },
        BoxAxis { title: title(&grid.z), quantity: &grid.z, scale: z, values: &[] },
    ];
    let edge = canvas.sheet.margin - 4.0;
    let (width, height) = (canvas.sheet.width, canvas.sheet.height);
    // A slide is wide, and the surface is limited by its height: the text is beside it.
    let (left, top, below_text) = if canvas.sheet.is_wide() {
        let column = 0.28 * width;
        let below_text = canvas.narrow_header(&grid.title, &grid.subtitle, (column, 8))?;
        (column + canvas.sheet.margin, edge, below_text)
    } else {
        let below_text = canvas.header(&grid.title, &grid.subtitle)? + 4.0;
        (edge, below_text, below_text)
    };
    let room = Rect { left, top, right: width - edge, bottom: height - edge };
    let (camera, edges) = fit_box(view, &axes, room);
    draw_panels(canvas, &camera, &axes, &edges)?;
    solid::draw(canvas, &camera, &solid)?;
    if let Some(bounds) = solid.look.bounds {
        solid::draw_net(canvas, &camera, below_text, (&solid.x, &solid.y, &solid::heights(bounds, &z)))?;
    }
    for side in &edges {
        side.draw(canvas, &camera)?;
    }
    for (row, (j, i)) in grid.filled_cells().into_iter().enumerate() {
        let z = solid.heights[j][i];
        let point = if z.is_finite() { [solid.x[i], solid.y[j], z] } else { solid.estimate_point(i, j) };
        canvas.spot(camera.pixel(point), row);
    }
    if !grid.failed.is_empty() {
        let position = (width - 80.0, height - 18.0);
        canvas.cross(position)?;
        canvas.text("failed", (position.0 + 14.0, position.1), Side::Left, Font::new(text::TICK))?;
    }
    Ok(())
}

struct LabelledEdge {
    axis: usize,
    start: [f64; 3],
    end: [f64; 3],
    /// Away from the box, in pixels.
    outward: Xy,
    scale: Scale,
    ticks: Ticks,
    /// `None` for a label that is left out.
    labels: Vec<Option<Rect>>,
    title: String,
    title_rect: Rect,
}

impl LabelledEdge {
    fn point(&self, value: f64) -> [f64; 3] {
        let mut point = self.start;
        point[self.axis] = self.scale.place(value) * self.end[self.axis];
        point
    }

    fn rects(&self) -> impl Iterator<Item = &Rect> {
        self.labels.iter().flatten().chain((!self.title.is_empty()).then_some(&self.title_rect))
    }

    fn draw(&self, canvas: &mut Canvas, camera: &Camera) -> Result<()> {
        canvas.line(&[camera.pixel(self.start), camera.pixel(self.end)], INK, 1.2)?;
        for ((value, label), rect) in self.ticks.values.iter().zip(&self.ticks.labels).zip(&self.labels) {
            let (x, y) = camera.pixel(self.point(*value));
            let end = (x + TICK_LENGTH * self.outward.0, y + TICK_LENGTH * self.outward.1);
            canvas.line(&[(x, y), end], INK, 1.0)?;
            if let Some(rect) = rect {
                canvas.text(label, rect.centre(), Side::Middle, Font::new(text::TICK))?;
            }
        }
        if self.axis == 2 {
            return canvas.upward_text(&self.title, self.title_rect.centre(), Font::new(text::AXIS));
        }
        canvas.text(&self.title, self.title_rect.centre(), Side::Middle, Font::new(text::AXIS))
    }
}

fn fit_box(view: View, axes: &[BoxAxis; 3], room: Rect) -> (Camera, Vec<LabelledEdge>) {
    let mut pixels = room.width();
    loop {
        let camera = Camera { view, pixels, centre: room.centre() };
        let bounds = bounds(&camera, &label_edges(&camera, axes));
        if (bounds.width() <= room.width() && bounds.height() <= room.height()) || pixels < 50.0 {
            let (from, to) = (bounds.centre(), room.centre());
            let centre = (camera.centre.0 + to.0 - from.0, camera.centre.1 + to.1 - from.1);
            let camera = Camera { centre, ..camera };
            let edges = label_edges(&camera, axes);
            return (camera, edges);
        }
        pixels *= 0.97;
    }
}

fn bounds(camera: &Camera, edges: &[LabelledEdge]) -> Rect {
    let corners = (0..8).map(|k| camera.pixel([(k & 1) as f64, (k >> 1 & 1) as f64, (k >> 2) as f64 * BOX_HEIGHT]));
    let corners = corners.map(|pixel| Rect::from_centre(pixel, 4.0, 4.0));
    let rects = corners.chain(edges.iter().flat_map(|edge| edge.rects().copied()));
    let empty = Rect { left: f64::MAX, top: f64::MAX, right: f64::MIN, bottom: f64::MIN };
    rects.fold(empty, |a, b| Rect {
        left: a.left.min(b.left),
        top: a.top.min(b.top),
        right: a.right.max(b.right),
        bottom: a.bottom.max(b.bottom),
    })
}

/// Places the labels of each axis clear of the earlier ones.
fn label_edges(camera: &Camera, axes: &[BoxAxis; 3]) -> Vec<LabelledEdge> {
    let mut edges: Vec<LabelledEdge> = Vec::new();
    for (axis, box_axis) in axes.iter().enumerate() {
        let taken: Vec<Rect> = edges.iter().flat_map(|edge| edge.rects().copied()).collect();
        edges.push(label_edge(camera, axis, box_axis, &taken));
    }
    edges
}

/// For x and y the lowest outer edge, for z the leftmost.
fn best_edge(camera: &Camera, axis: usize) -> ([f64; 3], [f64; 3]) {
    let rank = |(start, end): &([f64; 3], [f64; 3])| {
        let (a, b) = (camera.pixel(*start), camera.pixel(*end));
        if axis == 2 { a.0 + b.0 } else { -(a.1 + b.1) }
    };
    let mut edges = camera.view.outer_edges(axis);
    edges.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
    edges[0]
}

fn label_edge(camera: &Camera, axis: usize, box_axis: &BoxAxis, taken: &[Rect]) -> LabelledEdge {
    let (start, end) = best_edge(camera, axis);
    let outward = outward(camera, axis, camera.pixel(start), camera.pixel(end));
    let mut edge = LabelledEdge {
        axis,
        start,
        end,
        outward,
        scale: box_axis.scale,
        ticks: Ticks { values: Vec::new(), labels: Vec::new() },
        labels: Vec::new(),
        title: text::cut(&box_axis.title, text::AXIS, false, 340.0),
        title_rect: Rect::from_centre((0.0, 0.0), 0.0, 0.0),
    };
    let rect = |value: f64, label: &str| {
        let size = (Font::new(text::TICK).width(label), text::TICK);
        rect_outside(camera.pixel(edge.point(value)), outward, TICK_LENGTH + 4.0, size)
    };
    let apart = |values: &[f64], labels: &[String]| {
        let rects: Vec<Rect> = values.iter().zip(labels).map(|(v, l)| rect(*v, l)).collect();
        rects.len() <= 10 && rects.windows(2).all(|pair| !pair[0].overlaps(&pair[1].inflate(3.0)))
    };
    let binary = ticks::is_binary(box_axis.values);
    let sets = ticks::tick_sets(&box_axis.scale, box_axis.values, box_axis.quantity.unit, binary);
    let chosen = frame::choose(sets, box_axis.quantity, binary, apart);
    let wanted: Vec<Rect> = chosen.values.iter().zip(&chosen.labels).map(|(v, l)| rect(*v, l)).collect();
    edge.labels = nudge(&wanted, taken, (camera.pixel(start), camera.pixel(end)));
    edge.ticks = chosen;
    edge.title_rect = title_place(camera, &edge, taken);
    edge
}

/// Moves overlapping labels towards the middle of their edge. Drops them if that is not enough, as on an edge that points at the viewer.
fn nudge(wanted: &[Rect], taken: &[Rect], (a, b): (Xy, Xy)) -> Vec<Option<Rect>> {
    let middle = ((a.0 + b.0) / 2.0, (a.1 + b.1) / 2.0);
    let mut placed: Vec<Rect> = Vec::new();
    let mut place = |rect: &Rect| {
        let away = (middle.0 - rect.centre().0, middle.1 - rect.centre().1);
        let length = away.0.hypot(away.1).max(1.0);
        let shift = |distance: f64| {
            let centre = (rect.centre().0 + away.0 / length * distance, rect.centre().1 + away.1 / length * distance);
            Rect::from_centre(centre, rect.width(), rect.height())
        };
        // Two numbers at a corner of two axes would read as one.
        let free = |rect: &Rect| {
            placed.iter().all(|other| !other.overlaps(&rect.inflate(3.0)))
                && taken.iter().all(|other| !other.overlaps(&rect.inflate(9.0)))
        };
        let position = [0.0, 4.0, 8.0, 12.0].map(shift).into_iter().find(free);
        placed.extend(position);
        position
    };
    wanted.iter().map(&mut place).collect()
}

fn title_place(camera: &Camera, edge: &LabelledEdge, taken: &[Rect]) -> Rect {
    let (a, b) = (camera.pixel(edge.start), camera.pixel(edge.end));
    let middle = ((a.0 + b.0) / 2.0, (a.1 + b.1) / 2.0);
    let (long, high) = (Font::new(text::AXIS).width(&edge.title), text::AXIS);
    let size = if edge.axis == 2 { (high, long) } else { (long, high) };
    let mut gap = TICK_LENGTH + 8.0;
    loop {
        let rect = rect_outside(middle, edge.outward, gap, size);
        let free = edge.labels.iter().flatten().chain(taken).all(|other| !other.overlaps(&rect.inflate(9.0)));
        if free || gap > 400.0 {
            return rect;
        }
        gap += 3.0;
    }
}

/// Unit vector away from the middle of the box. Labels of z are always to the left or right of their edge.
fn outward(camera: &Camera, axis: usize, a: Xy, b: Xy) -> Xy {
    let away = ((a.0 + b.0) / 2.0 - camera.centre.0, (a.1 + b.1) / 2.0 - camera.centre.1);
    let (along, length) = ((b.0 - a.0, b.1 - a.1), (b.0 - a.0).hypot(b.1 - a.1));
    if axis == 2 {
        return (away.0.signum(), 0.0);
    }
    if length < 1e-6 {
        return (0.0, 1.0);
    }
    let square = (-along.1 / length, along.0 / length);
    let side = (square.0 * away.0 + square.1 * away.1).signum();
    (square.0 * side, square.1 * side)
}

/// No part of the rectangle is nearer to `anchor` than `gap` along `outward`.
fn rect_outside(anchor: Xy, outward: Xy, gap: f64, (width, height): (f64, f64)) -> Rect {
    let reach = gap + outward.0.abs() * width / 2.0 + outward.1.abs() * height / 2.0;
    Rect::from_centre((anchor.0 + outward.0 * reach, anchor.1 + outward.1 * reach), width, height)
}

fn draw_panels(canvas: &mut Canvas, camera: &Camera, axes: &[BoxAxis; 3], edges: &[LabelledEdge]) -> Result<()> {
    let size = [1.0, 1.0, BOX_HEIGHT];
    for axis in 0..3 {
        let high = !camera.view.faces_viewer(axis, true);
        let (p, q) = ((axis + 1) % 3, (axis + 2) % 3);
        let point = |at_p: f64, at_q: f64| {
            let mut point = [0.0; 3];
            point[axis] = if high { size[axis] } else { 0.0 };
            point[p] = at_p * size[p];
            point[q] = at_q * size[q];
            camera.pixel(point)
        };
        let corners = [point(0.0, 0.0), point(1.0, 0.0), point(1.0, 1.0), point(0.0, 1.0)];
        canvas.polygon(&corners, PANEL, 1.0)?;
        for value in &edges[p].ticks.values {
            let share = axes[p].scale.place(*value);
            canvas.line(&[point(share, 0.0), point(share, 1.0)], PALE, 1.0)?;
        }
        for value in &edges[q].ticks.values {
            let share = axes[q].scale.place(*value);
            canvas.line(&[point(0.0, share), point(1.0, share)], PALE, 1.0)?;
        }
        canvas.line(&[corners[0], corners[1], corners[2], corners[3], corners[0]], GREY, 0.8)?;
    }
    Ok(())
}
