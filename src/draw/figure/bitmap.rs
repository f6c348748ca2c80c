//! PNG files: plotters rasterises a larger picture, and each pixel is the mean of several.

use super::canvas::Painter;
use super::geometry::{Rect, Xy};
use super::sheet::Sheet;
use super::text::{self, Font, Side};
use apexmap_base::error::{Error, Result};
use plotters::backend::{BitMapBackend, DrawingBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontTransform, RGBColor, ShapeStyle, TextStyle};

pub struct Bitmap {
    sheet: Sheet,
    pixels: Vec<u8>,
}

impl Bitmap {
    pub fn new(sheet: Sheet) -> Self {
        let (width, height) = sheet.png_size();
        Self { sheet, pixels: vec![255; width * height * sheet.oversampling * sheet.oversampling * 3] }
    }

    pub fn painter(&mut self) -> impl Painter {
        let (width, height) = self.sheet.png_size();
        let size = ((width * self.sheet.oversampling) as u32, (height * self.sheet.oversampling) as u32);
        let backend = BitMapBackend::with_buffer(&mut self.pixels, size);
        BitmapPainter { backend, scale: self.sheet.dots * self.sheet.oversampling as f64 }
    }

    pub fn encode(&self) -> Result<Vec<u8>> {
        const INCHES_PER_METRE: f64 = 39.370_078_74;
        let (width, height) = self.sheet.png_size();
        let pixels = shrink(&self.pixels, width, height, self.sheet.oversampling);
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_adaptive_filter(png::AdaptiveFilterType::Adaptive);
        let per_metre = (self.sheet.dots * self.sheet.inch * INCHES_PER_METRE).round() as u32;
        encoder.set_pixel_dims(Some(png::PixelDimensions { xppu: per_metre, yppu: per_metre, unit: png::Unit::Meter }));
        let result = encoder.write_header().and_then(|mut writer| {
            writer.write_image_data(&pixels)?;
            writer.finish()
        });
        result.map_err(drawing_error)?;
        Ok(bytes)
    }
}

fn shrink(pixels: &[u8], width: usize, height: usize, times: usize) -> Vec<u8> {
    let mut small = Vec::with_capacity(width * height * 3);
    for y in 0..height {
        for x in 0..width {
            for channel in 0..3 {
                let value = |dx, dy| pixels[((y * times + dy) * width * times + x * times + dx) * 3 + channel];
                let sum: usize = (0..times * times).map(|k| usize::from(value(k % times, k / times))).sum();
                small.push((sum / (times * times)) as u8);
            }
        }
    }
    small
}

struct BitmapPainter<'a> {
    backend: BitMapBackend<'a>,
    /// Dots of `backend` per pixel of the sheet.
    scale: f64,
}

/// Distance from the top of a text down to its base line, in line heights, as plotters places text.
const BASELINE: f64 = 0.5;

impl BitmapPainter<'_> {
    fn dots(&self, (x, y): Xy) -> (i32, i32) {
        ((x * self.scale).round() as i32, (y * self.scale).round() as i32)
    }
}

fn fill_style(colour: RGBColor) -> ShapeStyle {
    ShapeStyle { color: colour.to_rgba(), filled: true, stroke_width: 1 }
}

impl Painter for BitmapPainter<'_> {
    fn polygon(&mut self, corners: &[Xy], colour: RGBColor, opacity: f64) -> Result<()> {
        let style = ShapeStyle { color: colour.mix(opacity), filled: true, stroke_width: 1 };
        let corners: Vec<_> = corners.iter().map(|corner| self.dots(*corner)).collect();
        self.backend.fill_polygon(corners, &style).map_err(drawing_error)
    }

    fn line(&mut self, points: &[Xy], colour: RGBColor, width: f64) -> Result<()> {
        let stroke_width = (width * self.scale).round().max(1.0) as u32;
        let style = ShapeStyle { color: colour.to_rgba(), filled: false, stroke_width };
        let points: Vec<_> = points.iter().map(|point| self.dots(*point)).collect();
        // Draw each segment separately: plotters fills the outline of a thick line by the even-odd rule, which leaves
        // holes where a bent line overlaps itself.
        for pair in points.windows(2).filter(|pair| pair[0] != pair[1]) {
            self.backend.draw_path(pair.iter().copied(), &style).map_err(drawing_error)?;
        }
        Ok(())
    }

    fn rect(&mut self, rect: Rect, colour: RGBColor) -> Result<()> {
        let (a, b) = (self.dots((rect.left, rect.top)), self.dots((rect.right, rect.bottom)));
        self.backend.draw_rect(a, b, &fill_style(colour), true).map_err(drawing_error)
    }

    fn disc(&mut self, centre: Xy, radius: f64, colour: RGBColor, outer: f64, rim: RGBColor) -> Result<()> {
        for (radius, colour) in [(outer, rim), (radius, colour)] {
            let radius = (radius * self.scale).round() as u32;
            self.backend.draw_circle(self.dots(centre), radius, &fill_style(colour), true).map_err(drawing_error)?;
        }
        Ok(())
    }

    fn text(&mut self, text: &str, (x, y): Xy, side: Side, font: Font, upwards: bool) -> Result<()> {
        let line = font.size * text::LINE_PER_EM;
        let down = font.half_capital() - BASELINE * line;
        let anchor = self.dots(if upwards { (x + down, y) } else { (x, y + down) });
        let horizontal = match side {
            Side::Left => HPos::Left,
            Side::Middle => HPos::Center,
            Side::Right => HPos::Right,
        };
        let transform = if upwards { FontTransform::Rotate270 } else { FontTransform::None };
        let style = TextStyle {
            font: text::font(line * self.scale, font.bold).transform(transform),
            color: font.colour.to_backend_color(),
            pos: Pos::new(horizontal, VPos::Top),
        };
        self.backend.draw_text(text, &style, anchor).map_err(drawing_error)
    }
}

fn drawing_error(error: impl std::fmt::Display) -> Error {
    Error::internal(format!("cannot draw a figure: {error}"))
}
