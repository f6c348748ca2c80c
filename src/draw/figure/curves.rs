//! Curves over one axis: lines with markers, and 95 % intervals as bands.

use super::frame::{self, Frame, FrameAxis};
use super::legend::{self, Item, Legend};
use super::place::Landmark;
use super::prelude::*;
use super::series_style::{Distinction, Part, SeriesStyle};
use apexmap_base::units::is_informative;

/// The legend has no space for more, and readers could not distinguish them.
const MAX_SERIES: usize = 21;
const ARROWS: &str = "arrows: intervals that continue beyond the axis";

/// Quantities as curves over one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    /// Title of the figure.
    pub title: String,
    /// Line below the title: machine, kernel, number of samples. May be empty.
    pub subtitle: String,
    /// Quantity of the horizontal axis. Its scale spans the points that have a value.
    pub x: Quantity,
    /// Quantity of the vertical axis. Its scale spans the points, and their intervals up to a factor of 3 beyond.
    pub y: Quantity,
    /// Curves in the order of the legend; more than 21 are an error.
    pub series: Vec<Series>,
    /// Values of x that are drawn as lines, such as cache sizes. Those outside the points' range are left out.
    pub marks: Vec<Landmark>,
    /// Whether the series are in the order of a number. More than 8 then have the colours of a ramp.
    pub ordered: bool,
}

/// One curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name in the legend; empty for a single curve.
    pub label: String,
    /// Points in any order; they are drawn by ascending x.
    pub points: Vec<CurvePoint>,
}

/// A point of a curve with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// Position on the x axis, in the unit of [`Curves::x`].
    pub x: f64,
    /// Position on the y axis, in the unit of [`Curves::y`]. NaN is a gap: the line breaks.
    pub y: f64,
    /// Lower end of the 95 % interval; NaN if there is none.
    pub low: f64,
    /// Upper end of the 95 % interval; NaN if there is none.
    pub high: f64,
}

impl Curves {
    /// Creates curves without landmarks, whose series have no order.
    pub fn new(
        title: impl Into<String>,
        subtitle: impl Into<String>,
        x: Quantity,
        y: Quantity,
        series: Vec<Series>,
    ) -> Self {
        Self { title: title.into(), subtitle: subtitle.into(), x, y, series, marks: Vec::new(), ordered: false }
    }
}

impl CurvePoint {
    /// Creates a point, with its 95 % interval if there is one.
    pub fn new(x: f64, y: f64, interval: Option<(f64, f64)>) -> Self {
        let (low, high) = interval.unwrap_or((f64::NAN, f64::NAN));
        Self { x, y, low, high }
    }

    fn has_interval(&self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }

    /// Returns the ratio to `factor` times the other value. Half-widths of logarithms add in quadrature, as for independent estimates: too
    /// wide if both come from the same launches. The ratio of a value to itself is certain.
    pub fn ratio_to(&self, base: &Self, factor: f64) -> Self {
        let y = self.y / (factor * base.y);
        if self == base {
            return Self { y, low: y, high: y, ..*self };
        }
        let down = (self.y / self.low).ln().hypot((base.high / base.y).ln());
        let up = (self.high / self.y).ln().hypot((base.y / base.low).ln());
        Self { x: self.x, y, low: y * (-down).exp(), high: y * up.exp() }
    }
}

pub struct CurvePlot<'a> {
    pub curves: &'a Curves,
    /// Consecutive series of one colour: a measurement, its model or limit, and the attainable rate.
    pub group_size: usize,
    pub level: Option<f64>,
}

impl Drawable for CurvePlot<'_> {
    fn draw(&self, canvas: &mut Canvas) -> Result<()> {
        let CurvePlot { curves, level, .. } = *self;
        if curves.series.len() > MAX_SERIES {
            return Err(Error::input(
                format!("{} curves in one figure, but at most {MAX_SERIES} can be distinguished", curves.series.len()),
                "select fewer of them, or draw a heat map",
            ));
        }
        let points = || curves.series.iter().flat_map(|s| &s.points).filter(|p| !p.y.is_nan());
        let mut measured: Vec<f64> = points().map(|p| p.x).collect();
        let x = Scale::from_values(measured.iter().copied(), curves.x.log, &curves.x.label)?.pad(0.03);
        // An axis from zero shows a small difference as a small slope. Pure numbers are often ratios, which are read relative to 1.
        let zero = (!curves.y.log && curves.y.unit != Unit::None && points().all(|p| p.y >= 0.0)).then_some(0.0);
        let values = axis_values(points(), curves.y.log).into_iter().chain(level).chain(zero);
        let y = Scale::from_values(values, curves.y.log, &curves.y.label)?.pad(0.05);
        let y = Scale { low: zero.unwrap_or(y.low), ..y };
        measured.sort_by(f64::total_cmp);
        measured.dedup();
        let beyond = points().any(|point| is_beyond(point, &y) != (false, false));
        let top = canvas.header(
            &curves.title,
            &if beyond { text::add_remark(&curves.subtitle, ARROWS) } else { curves.subtitle.clone() },
        )?;
        let sheet = canvas.sheet;
        let items = self.items(sheet.style);
        let labels: Vec<&str> = items.iter().map(|item| item.name.as_str()).collect();
        let legend = match sheet.legend_below {
            true => Legend::rows(&labels, sheet.legend_width()),
            false => Legend::column(&labels, sheet.height - sheet.below - top),
        };
        let right_margin =
            if sheet.legend_below || legend.is_empty() { 10.0 + sheet.margin } else { legend.size.0 + 30.0 };
        let x = FrameAxis { quantity: &curves.x, scale: x, measured: &measured, only_measured: false };
        let y = FrameAxis { quantity: &curves.y, scale: y, measured: &[], only_measured: false };
        let frame = frame::draw_axes(canvas, top, sheet.width - right_margin, &x, &y, true)?;
        if let Some(level) = level {
            let across = [x.scale.low, x.scale.high].map(|x| frame.point(x, level));
            canvas.line(&across, INK, 1.4)?;
        }
        let spanned = |mark: &&Landmark| measured.first() <= Some(&mark.x) && Some(&mark.x) <= measured.last();
        for mark in curves.marks.iter().filter(spanned) {
            mark.draw(canvas, &frame)?;
        }
        let sorted: Vec<Vec<CurvePoint>> = curves.series.iter().map(|series| sort_by_x(&series.points)).collect();
        let styles = self.styles(sheet.style);
        for (points, style) in sorted.iter().zip(&styles) {
            draw_intervals(canvas, &frame, points, *style)?;
        }
        for (points, style) in sorted.iter().zip(&styles) {
            draw_line(canvas, &frame, points, *style)?;
            draw_arrows(canvas, &frame, points, *style)?;
        }
        canvas.outline(frame.area, INK, 1.0)?;
        let shown = sorted.iter().flatten().filter(|point| !point.y.is_nan());
        for (row, point) in shown.enumerate() {
            canvas.spot(frame.point(point.x, point.y), row);
        }
        let corner = match sheet.legend_below {
            true => (sheet.margin, sheet.height - legend.size.1),
            false => (frame.area.right + 14.0, frame.area.top),
        };
        let with_style = |item: Item| {
            let style = styles[item.series];
            (curves.series[item.series].has_intervals(), if item.is_shared { style.with_colour(GREY) } else { style })
        };
        draw_legend(canvas, &items.into_iter().map(with_style).collect::<Vec<_>>(), &legend, corner)
    }

    fn table(&self) -> FigureTable {
        let curves = self.curves;
        let points: Vec<(&str, CurvePoint)> = curves
            .series
            .iter()
            .flat_map(|series| sort_by_x(&series.points).into_iter().map(|point| (series.label.as_str(), point)))
            .filter(|(_, point)| !point.y.is_nan())
            .collect();
        let values =
            |coordinate: fn(&CurvePoint) -> f64| points.iter().map(|(_, p)| coordinate(p)).collect::<Vec<f64>>();
        let (x, write_x) = column(&curves.x, &values(|p| p.x));
        let (y, write_y) = column(&curves.y, &values(|p| p.y));
        let has_labels = curves.series.iter().any(|series| !series.label.is_empty());
        let has_intervals = points.iter().any(|(_, point)| point.has_interval());
        let mut head = vec![x, y];
        if has_labels {
            head.insert(0, "curve".into());
        }
        if has_intervals {
            head.extend(["95 % low".to_owned(), "to".to_owned()]);
        }
        let row = |(label, point): &(&str, CurvePoint)| {
            let mut row = vec![write_x(point.x), write_y(point.y)];
            if has_labels {
                row.insert(0, (*label).to_owned());
            }
            if has_intervals {
                row.extend(interval_cells((point.low, point.high), &write_y));
            }
            row
        };
        FigureTable { head, rows: points.iter().map(row).collect() }
    }

    fn description(&self) -> String {
        let curves = self.curves;
        let points = || curves.series.iter().flat_map(|series| &series.points).filter(|p| !p.y.is_nan());
        let least = points().min_by(|a, b| a.y.total_cmp(&b.y));
        let most = points().max_by(|a, b| a.y.total_cmp(&b.y));
        let (Some(least), Some(most)) = (least, most) else { return "No values.".into() };
        let describe = |p: &CurvePoint| format!("{} at {}", in_words(p.y, &curves.y), in_words(p.x, &curves.x));
        let count = curves.series.len();
        format!(
            "{count} curve{} of {} over {}, from {} to {}.",
            if count == 1 { "" } else { "s" },
            curves.y.label,
            curves.x.label,
            describe(least),
            describe(most)
        )
    }

    fn room(&self, width: f64, style: Style) -> Room {
        let items = self.items(style);
        let labels: Vec<&str> = items.iter().map(|item| item.name.as_str()).collect();
        // Its names are then as close as they may be.
        let column = Legend::column(&labels, 0.0);
        Room::Legend { height: Legend::rows(&labels, width).size.1, column: column.size }
    }
}

impl CurvePlot<'_> {
    fn styles(&self, style: Style) -> Vec<SeriesStyle> {
        let count = self.curves.series.len();
        let distinction = Distinction { count, group_size: self.group_size, ordered: self.curves.ordered };
        (0..count).map(|k| SeriesStyle::new(k, distinction, style)).collect()
    }

    /// On paper, lines of one kind differ in dashes, so each has its own item.
    fn items(&self, style: Style) -> Vec<Item> {
        let labels: Vec<&str> = self.curves.series.iter().map(|series| series.label.as_str()).collect();
        legend::items(&labels, if style == Style::Paper { 1 } else { self.group_size })
    }
}

impl Series {
    fn has_intervals(&self) -> bool {
        self.points.iter().any(CurvePoint::has_interval)
    }
}

fn sort_by_x(points: &[CurvePoint]) -> Vec<CurvePoint> {
    let mut sorted: Vec<CurvePoint> = points.iter().copied().filter(|p| p.x.is_finite()).collect();
    sorted.sort_by(|a, b| a.x.total_cmp(&b.x));
    sorted
}

fn stretches(points: &[CurvePoint], pass: impl Fn(&CurvePoint) -> bool) -> Vec<Vec<CurvePoint>> {
    points.split(|p| !pass(p)).filter(|s| !s.is_empty()).map(<[CurvePoint]>::to_vec).collect()
}

fn draw_intervals(canvas: &mut Canvas, frame: &Frame, points: &[CurvePoint], style: SeriesStyle) -> Result<()> {
    let pixel = |x: f64, y: f64| frame.point(x, y.clamp(frame.y.low, frame.y.high));
    for stretch in stretches(points, |p| !p.y.is_nan() && p.has_interval()) {
        if let [p] = stretch[..] {
            let ((x, low), (_, high)) = (pixel(p.x, p.low), pixel(p.x, p.high));
            canvas.line(&[(x, low), (x, high)], style.colour, 1.2)?;
            for y in [low, high] {
                canvas.line(&[(x - 4.0, y), (x + 4.0, y)], style.colour, 1.2)?;
            }
            continue;
        }
        let upper = stretch.iter().map(|p| pixel(p.x, p.high));
        let band: Vec<Xy> = upper.chain(stretch.iter().rev().map(|p| pixel(p.x, p.low))).collect();
        canvas.polygon(&band, style.colour, 0.2)?;
    }
    Ok(())
}

fn draw_arrows(canvas: &mut Canvas, frame: &Frame, points: &[CurvePoint], style: SeriesStyle) -> Result<()> {
    for point in points.iter().filter(|point| !point.y.is_nan()) {
        let (below, above) = is_beyond(point, &frame.y);
        let (x, _) = frame.point(point.x, point.y);
        for (_, tip, direction) in
            [(below, frame.area.bottom, -1.0), (above, frame.area.top, 1.0)].into_iter().filter(|(is, ..)| *is)
        {
            canvas.polygon(
                &[(x, tip), (x - 4.0, tip + direction * 8.0), (x + 4.0, tip + direction * 8.0)],
                style.colour,
                1.0,
            )?;
        }
    }
    Ok(())
}

fn draw_line(canvas: &mut Canvas, frame: &Frame, points: &[CurvePoint], style: SeriesStyle) -> Result<()> {
    for stretch in stretches(points, |p| !p.y.is_nan()) {
        let pixels: Vec<Xy> = stretch.iter().map(|p| frame.point(p.x, p.y)).collect();
        if pixels.len() > 1 && style.part != Part::Markers {
            style.line(canvas, &pixels)?;
        }
        // A line of one point would be invisible.
        if pixels.len() > 1 && matches!(style.part, Part::Line | Part::Dots) {
            continue;
        }
        for position in pixels {
            style.marker(canvas, position)?;
        }
    }
    Ok(())
}

/// Each entry has the style of a curve, and whether it has intervals.
fn draw_legend(canvas: &mut Canvas, styles: &[(bool, SeriesStyle)], legend: &Legend, corner: Xy) -> Result<()> {
    let font = Font::new(text::TICK);
    for (k, line) in legend.title.iter().enumerate() {
        let position = (corner.0, corner.1 + legend::LINE_HEIGHT * (k as f64 + 0.5));
        canvas.text(line, position, Side::Left, font.with_colour(GREY))?;
    }
    for (entry, (has_intervals, style)) in legend.entries.iter().zip(styles) {
        let position = (corner.0 + entry.sample.0, corner.1 + entry.sample.1);
        if *has_intervals {
            canvas.veil(Rect::from_centre(position, 2.0 * legend::HALF_SAMPLE, 12.0), style.colour, 0.2)?;
        }
        if style.part != Part::Markers {
            let ends = [(position.0 - legend::HALF_SAMPLE, position.1), (position.0 + legend::HALF_SAMPLE, position.1)];
            style.line(canvas, &ends)?;
        }
        if matches!(style.part, Part::Both | Part::Markers) {
            style.marker(canvas, position)?;
        }
        for (k, line) in entry.lines.iter().enumerate() {
            canvas.text(
                line,
                (position.0 + legend::NAME_OFFSET, position.1 + legend::LINE_HEIGHT * k as f64),
                Side::Left,
                font,
            )?;
        }
    }
    Ok(())
}

/// Intervals widen the axis by at most this factor beyond all values.
const ROOM: f64 = 3.0;

/// All points, and the ends of known intervals up to a factor of `ROOM` beyond; on a log axis only positive ends.
fn axis_values<'a>(points: impl Iterator<Item = &'a CurvePoint> + Clone, log: bool) -> Vec<f64> {
    let mut values: Vec<f64> = points.clone().map(|point| point.y).collect();
    let (least, most) = values.iter().fold((f64::INFINITY, 0.0_f64), |(l, m), y| (l.min(*y), m.max(*y)));
    let bounded = points.filter(|point| is_informative((point.low, point.high)));
    let ends = bounded.flat_map(|point| [point.low, point.high]).filter(|end| end.is_finite() && (!log || *end > 0.0));
    values.extend(ends.map(|end| if least > 0.0 { end.clamp(least / ROOM, most * ROOM) } else { end }));
    values
}

/// Whether the lower end is below the axis, and the upper end above it.
fn is_beyond(point: &CurvePoint, y: &Scale) -> (bool, bool) {
    let has_interval = point.has_interval();
    (has_interval && point.low < y.low, has_interval && point.high > y.high)
}
