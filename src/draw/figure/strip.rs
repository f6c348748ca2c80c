//! Strips: one dot with its interval for each of many named items, such as the nodes of a cluster, in order of their values.

use super::frame::{self, Frame, FrameAxis};
use super::prelude::*;

#[derive(Clone, Debug, PartialEq)]
pub struct Strip {
    pub title: String,
    /// Text after a line break is a warning.
    pub subtitle: String,
    pub items_label: String,
    pub value: Quantity,
    pub items: Vec<StripItem>,
    pub median: f64,
    pub expected: (f64, f64),
}

#[derive(Clone, Debug, PartialEq)]
pub struct StripItem {
    pub name: String,
    pub value: f64,
    /// 95 % interval.
    pub interval: Option<(f64, f64)>,
    pub marked: bool,
}

/// Largest number of items that all have their names.
const MAX_NAMED: usize = 12;
/// Largest number of names of items that stand out.
const MAX_MARKED_NAMES: usize = 24;

impl Strip {
    fn scales(&self) -> Result<(Scale, Scale)> {
        let ends = self.items.iter().filter_map(|item| item.interval).flat_map(|(low, high)| [low, high]);
        let values = self.items.iter().map(|item| item.value).chain(ends.filter(|end| end.is_finite()));
        let values = values.chain([self.median, self.expected.0, self.expected.1]);
        let y = Scale::from_values(values, self.value.log, &self.value.label)?.pad(0.06);
        Ok((Scale { low: 0.5, high: self.items.len() as f64 + 0.5, log: false }, y))
    }

    fn draw_items(&self, canvas: &mut Canvas, frame: &Frame) -> Result<()> {
        let size = canvas.sheet.mark_size;
        for (index, item) in self.items.iter().enumerate() {
            let x = index as f64 + 1.0;
            let colour = if item.marked { SERIES[1] } else { SERIES[0] };
            if let Some((low, high)) = item.interval {
                let [low, high] = [low, high].map(|end| frame.point(x, end.clamp(frame.y.low, frame.y.high)));
                canvas.line(&[low, high], colour, 1.6 * size)?;
            }
            let centre = frame.point(x, item.value);
            // A diamond distinguishes items that stand out without colour.
            if item.marked {
                let (radius, (x, y)) = (6.0 * size, centre);
                canvas.polygon(&[(x + radius, y), (x, y + radius), (x - radius, y), (x, y - radius)], colour, 1.0)?;
            } else {
                canvas.dot(centre, 3.4 * size, colour)?;
            }
            canvas.spot(centre, index);
        }
        Ok(())
    }

    /// All names if they are few, else those of items that stand out. A name that would cover another one moves away.
    fn draw_names(&self, canvas: &mut Canvas, frame: &Frame) -> Result<()> {
        let is_named = |item: &StripItem| item.marked || self.items.len() <= MAX_NAMED;
        let font = Font::new(text::TICK);
        let (line, mut taken) = (text::TICK * 1.3, Vec::<Rect>::new());
        let named = self.items.iter().enumerate().filter(|(_, item)| is_named(item)).take(MAX_MARKED_NAMES);
        for (index, item) in named {
            let (x, y) = frame.point(index as f64 + 1.0, item.value);
            let name = text::cut(&item.name, text::TICK, item.marked, 0.4 * frame.area.width());
            let font = Font { bold: item.marked, ..font };
            let width = font.width(&name);
            let is_right = x + 12.0 + width <= frame.area.right;
            let left = if is_right { x + 10.0 } else { x - 10.0 - width };
            let rect = |top: f64| Rect { left, right: left + width, top, bottom: top + line };
            let mut place = rect(y - line / 2.0);
            while taken.iter().any(|other| other.overlaps(&place)) && place.bottom < frame.area.bottom {
                place = rect(place.top + 2.0);
            }
            if taken.iter().any(|other| other.overlaps(&place)) {
                continue;
            }
            canvas.text(&name, (left, place.top + line / 2.0), Side::Left, font)?;
            taken.push(place);
        }
        Ok(())
    }
}

impl Drawable for &Strip {
    fn draw(&self, canvas: &mut Canvas) -> Result<()> {
        let (x, y) = self.scales()?;
        let top = canvas.header(&self.title, &self.subtitle)?;
        let quantity = Quantity::linear(self.items_label.clone(), Unit::None);
        let x = FrameAxis { quantity: &quantity, scale: x, measured: &[], only_measured: false };
        let y = FrameAxis { quantity: &self.value, scale: y, measured: &[], only_measured: false };
        let right = canvas.sheet.width - canvas.sheet.margin - 10.0;
        let frame = frame::draw_axes(canvas, top, right, &x, &y, false)?;
        let Rect { left, right, .. } = frame.area;
        let [low, high] = [self.expected.0, self.expected.1].map(|value| frame.point(x.scale.low, value).1);
        canvas.veil(Rect { left, right, top: high, bottom: low }, PALE, 0.5)?;
        let middle = frame.point(x.scale.low, self.median).1;
        canvas.dashed_line(&[(left, middle), (right, middle)], GREY, 1.2, &[6.0, 4.0])?;
        self.draw_items(canvas, &frame)?;
        self.draw_names(canvas, &frame)?;
        canvas.outline(frame.area, INK, 1.0)
    }

    fn table(&self) -> FigureTable {
        let values: Vec<f64> = self.items.iter().map(|item| item.value).collect();
        let (head, write) = column(&self.value, &values);
        let row = |item: &StripItem| {
            let [low, high] = interval_cells(item.interval.unwrap_or((f64::NAN, f64::NAN)), &write);
            let marked = if item.marked { "slow" } else { "" };
            vec![item.name.clone(), write(item.value), low, high, marked.to_owned()]
        };
        let head = vec!["name".into(), head, "95 % low".into(), "to".into(), "verdict".into()];
        FigureTable { head, rows: self.items.iter().map(row).collect() }
    }

    fn description(&self) -> String {
        let (Some(first), Some(last)) = (self.items.first(), self.items.last()) else { return "No values.".into() };
        let describe = |item: &StripItem| format!("{} on {}", in_words(item.value, &self.value), item.name);
        let marked: Vec<&str> = self.items.iter().filter(|item| item.marked).map(|item| item.name.as_str()).collect();
        let slow = if marked.is_empty() { String::new() } else { format!(" Slow: {}.", marked.join(", ")) };
        let count = plural(self.items.len(), "value");
        format!("{} of {count}, from {} to {}.{slow}", self.value.label, describe(first), describe(last))
    }
}
