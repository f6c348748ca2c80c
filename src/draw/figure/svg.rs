//! Compact SVG: a surface has thousands of patches, and a page many figures. Neighbouring shapes of one look become one path.

use super::canvas::Painter;
use super::geometry::{Rect, Xy};
use super::text::{Font, Side};
use apexmap_base::error::Result;
use plotters::style::RGBColor;
use std::fmt::Write;

/// Units of the view box per pixel: coordinates are whole tenths of pixels.
const FINER: f64 = 10.0;
/// Distance of the anchor of a text from its base line below, in font sizes.
const BASELINE: f64 = 0.76;

type Corner = (i64, i64);

pub struct Svg {
    document: String,
    /// Attributes of the open path; empty without one.
    look: String,
}

impl Svg {
    /// `printed` are the displayed width and height, with units or in pixels.
    pub fn new((width, height): (f64, f64), printed: [String; 2]) -> Self {
        let (across, down) = corner((width, height));
        let [width, height] = printed;
        let document = format!(
            "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {across} {down}\" xmlns=\"http://www.w3.org/2000/svg\">\n"
        );
        Self { document, look: String::new() }
    }

    pub fn finish(mut self) -> String {
        self.end_path();
        self.document.push_str("</svg>\n");
        self.document
    }

    fn end_path(&mut self) {
        if !self.look.is_empty() {
            self.document.push_str("\"/>\n");
            self.look.clear();
        }
    }

    fn path(&mut self, look: String, corners: &[Corner], closed: bool) {
        if self.look != look {
            self.end_path();
            let _ = write!(self.document, "<path {look} d=\"");
            self.look = look;
        }
        outline(&mut self.document, corners, closed);
    }

    fn element(&mut self, element: std::fmt::Arguments) {
        self.end_path();
        let _ = self.document.write_fmt(element);
        self.document.push('\n');
    }
}

impl Painter for Svg {
    fn polygon(&mut self, corners: &[Xy], colour: RGBColor, opacity: f64) -> Result<()> {
        let (corners, colour) = (corners.iter().map(|point| corner(*point)), hexadecimal(colour));
        if opacity == 1.0 {
            self.path(format!("fill=\"{colour}\""), &corners.collect::<Vec<_>>(), true);
        } else {
            let points: String = corners.map(|(x, y)| format!("{x},{y} ")).collect();
            self.element(format_args!("<polygon opacity=\"{opacity}\" fill=\"{colour}\" points=\"{points}\"/>"));
        }
        Ok(())
    }

    fn line(&mut self, points: &[Xy], colour: RGBColor, width: f64) -> Result<()> {
        let look = format!(
            "fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"",
            hexadecimal(colour),
            (width * FINER).round().max(1.0)
        );
        self.path(look, &points.iter().map(|point| corner(*point)).collect::<Vec<_>>(), false);
        Ok(())
    }

    fn rect(&mut self, rect: Rect, colour: RGBColor) -> Result<()> {
        let ((left, top), (right, bottom)) = (corner((rect.left, rect.top)), corner((rect.right, rect.bottom)));
        let (width, height, colour) = (right - left, bottom - top, hexadecimal(colour));
        self.element(format_args!(
            "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"{colour}\" stroke=\"none\"/>"
        ));
        Ok(())
    }

    fn disc(&mut self, centre: Xy, radius: f64, colour: RGBColor, outer: f64, rim: RGBColor) -> Result<()> {
        let ((x, y), [small, large]) = (corner(centre), [radius, outer].map(|radius| (radius * FINER).round()));
        // The rim is centred on its radius, so half of its width lies inside.
        let (wide, middle) = (large - small, (large + small) / 2.0);
        let (colour, rim) = (hexadecimal(colour), hexadecimal(rim));
        self.element(format_args!(
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{middle}\" fill=\"{colour}\" stroke=\"{rim}\" stroke-width=\"{wide}\"/>"
        ));
        Ok(())
    }

    fn text(&mut self, text: &str, (x, y): Xy, side: Side, font: Font, upwards: bool) -> Result<()> {
        let down = font.half_capital() - BASELINE * font.size;
        let (x, y) = corner(if upwards { (x + down, y) } else { (x, y + down) });
        let anchor = match side {
            Side::Left => "start",
            Side::Middle => "middle",
            Side::Right => "end",
        };
        let (size, colour) = (font.size * FINER, hexadecimal(font.colour));
        let weight = if font.bold { " font-weight=\"bold\"" } else { "" };
        let rotation = if upwards { format!(" transform=\"rotate(270, {x}, {y})\"") } else { String::new() };
        self.element(format_args!(
            "<text x=\"{x}\" y=\"{y}\" dy=\"{BASELINE}em\" text-anchor=\"{anchor}\" font-family=\"sans-serif\" \
             font-size=\"{size}\" fill=\"{colour}\"{weight}{rotation}>\n{}\n</text>",
            escape(text)
        ));
        Ok(())
    }
}

fn corner((x, y): Xy) -> Corner {
    ((x * FINER).round() as i64, (y * FINER).round() as i64)
}

fn hexadecimal(RGBColor(red, green, blue): RGBColor) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// All polygons run in the same direction, because overlapping ones of opposite direction would cancel.
fn outline(path: &mut String, corners: &[Corner], closed: bool) {
    let next = |k: usize| corners[(k + 1) % corners.len()];
    let twice: i64 = corners.iter().enumerate().map(|(k, a)| a.0 * next(k).1 - next(k).0 * a.1).sum();
    let mut corners = corners.to_vec();
    if closed && twice < 0 {
        corners.reverse();
    }
    let Some((first, rest)) = corners.split_first() else { return };
    let _ = write!(path, "M{} {}l", first.0, first.1);
    let mut position = *first;
    for (k, corner) in rest.iter().enumerate() {
        // A minus sign separates numbers as well as a space does.
        for (distance, leads) in [(corner.0 - position.0, k == 0), (corner.1 - position.1, false)] {
            let _ = write!(path, "{}{distance}", if leads || distance < 0 { "" } else { " " });
        }
        position = *corner;
    }
    if closed {
        path.push('z');
    }
}
