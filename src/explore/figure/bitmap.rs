//! PNG files with their resolution.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// Writes RGB pixels of this width and height; `dots` to the inch.
pub fn write(path: &Path, (width, height): (usize, usize), pixels: &[u8], dots: f64) -> Result<()> {
    const INCHES_PER_METRE: f64 = 39.370_078_74;
    let file = File::create(path).map_err(|e| Error::file("write", path, e))?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_adaptive_filter(png::AdaptiveFilterType::Adaptive);
    let a_metre = (dots * INCHES_PER_METRE).round() as u32;
    encoder.set_pixel_dims(Some(png::PixelDimensions { xppu: a_metre, yppu: a_metre, unit: png::Unit::Meter }));
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(pixels)?;
        writer.finish()
    });
    written.map_err(|e| Error::file("write", path, std::io::Error::other(e)))
}
