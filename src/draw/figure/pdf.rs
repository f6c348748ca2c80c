//! PDF documents of one page, with the outlines of glyphs: a figure looks the same everywhere and needs no fonts.

use super::canvas::Painter;
use super::geometry::{Rect, Xy};
use super::sheet::Sheet;
use super::text::{Font, Side};
use apexmap_base::error::{Error, Result};
use pdf_writer::{Content, Finish, Name, Pdf as Document, Rect as Area, Ref, TextStr};
use plotters::style::RGBColor;
use std::collections::HashMap;
use ttf_parser::{Face, GlyphId, OutlineBuilder};

const POINTS: f64 = 72.0;
/// Level of zlib: small files at little time.
const COMPRESSION: u8 = 6;

pub struct Pdf {
    sheet: Sheet,
    content: Content,
    faces: [Face<'static>; 2],
    glyphs: HashMap<(bool, GlyphId), Vec<Stroke>>,
    /// Each has a graphics state of this index.
    opacities: Vec<f64>,
    /// Need not be set again.
    fill: Option<RGBColor>,
}

/// In units of the face.
#[derive(Clone, Copy)]
enum Stroke {
    Move(f64, f64),
    Line(f64, f64),
    Curve([f64; 6]),
    Close,
}

impl Pdf {
    pub fn new(sheet: Sheet) -> Result<Self> {
        let face = |font| Face::parse(font, 0).map_err(|_| Error::internal("the embedded font cannot be read"));
        let mut content = Content::new();
        // Pixels of the sheet, y downwards, become points, y upwards.
        let scale = (POINTS / sheet.inch) as f32;
        content.transform([scale, 0.0, 0.0, -scale, 0.0, sheet.height as f32 * scale]);
        content.set_miter_limit(4.0);
        Ok(Self {
            sheet,
            content,
            faces: [face(dejavu::sans::regular())?, face(dejavu::sans::bold())?],
            glyphs: HashMap::new(),
            opacities: Vec::new(),
            fill: None,
        })
    }

    pub fn finish(self) -> Vec<u8> {
        let [catalogue, pages, page, content, information] = [1, 2, 3, 4, 5].map(Ref::new);
        let points = |pixels: f64| (pixels / self.sheet.inch * POINTS) as f32;
        let mut document = Document::new();
        document.catalog(catalogue).pages(pages);
        document.pages(pages).kids([page]).count(1);
        let mut leaf = document.page(page);
        leaf.parent(pages).media_box(Area::new(0.0, 0.0, points(self.sheet.width), points(self.sheet.height)));
        leaf.contents(content);
        let mut resources = leaf.resources();
        let mut states = resources.ext_g_states();
        for (k, opacity) in self.opacities.iter().enumerate() {
            states
                .insert(Name(&state_name(k)))
                .start::<pdf_writer::writers::ExtGraphicsState>()
                .non_stroking_alpha(*opacity as f32);
        }
        states.finish();
        resources.finish();
        leaf.finish();
        let drawn = miniz_oxide::deflate::compress_to_vec_zlib(&self.content.finish(), COMPRESSION);
        document.stream(content, &drawn).filter(pdf_writer::Filter::FlateDecode);
        document.document_info(information).producer(TextStr(concat!("apexmap ", env!("CARGO_PKG_VERSION"))));
        document.finish()
    }

    fn set_fill(&mut self, colour: RGBColor) {
        if self.fill != Some(colour) {
            let [red, green, blue] = shares(colour);
            self.content.set_fill_rgb(red, green, blue);
            self.fill = Some(colour);
        }
    }

    fn outline(&mut self, points: &[Xy]) {
        let Some((first, rest)) = points.split_first() else { return };
        self.content.move_to(first.0 as f32, first.1 as f32);
        for (x, y) in rest {
            self.content.line_to(*x as f32, *y as f32);
        }
    }

    /// Returns the outline and its width, in units of the face. A missing character is an empty box.
    fn glyph(&mut self, character: char, bold: bool) -> (&[Stroke], f64) {
        let face = &self.faces[usize::from(bold)];
        let glyph = face.glyph_index(character).unwrap_or(GlyphId(0));
        let width = face.glyph_hor_advance(glyph).unwrap_or(0);
        let outline = self.glyphs.entry((bold, glyph)).or_insert_with(|| {
            let mut outline = Outline::default();
            face.outline_glyph(glyph, &mut outline);
            outline.strokes
        });
        (outline, f64::from(width))
    }
}

impl Painter for Pdf {
    fn polygon(&mut self, corners: &[Xy], colour: RGBColor, opacity: f64) -> Result<()> {
        if opacity < 1.0 {
            let index = self.opacities.iter().position(|other| *other == opacity).unwrap_or_else(|| {
                self.opacities.push(opacity);
                self.opacities.len() - 1
            });
            self.content.save_state();
            self.content.set_parameters(Name(&state_name(index)));
        }
        self.set_fill(colour);
        self.outline(corners);
        self.content.close_path();
        self.content.fill_nonzero();
        if opacity < 1.0 {
            self.content.restore_state();
            // `restore_state` has restored an earlier colour.
            self.fill = None;
        }
        Ok(())
    }

    fn line(&mut self, points: &[Xy], colour: RGBColor, width: f64) -> Result<()> {
        let [red, green, blue] = shares(colour);
        self.content.set_stroke_rgb(red, green, blue);
        self.content.set_line_width(width as f32);
        self.outline(points);
        self.content.stroke();
        Ok(())
    }

    fn rect(&mut self, rect: Rect, colour: RGBColor) -> Result<()> {
        self.set_fill(colour);
        self.content.rect(rect.left as f32, rect.top as f32, rect.width() as f32, rect.height() as f32);
        self.content.fill_nonzero();
        Ok(())
    }

    fn disc(&mut self, centre: Xy, radius: f64, colour: RGBColor, outer: f64, rim: RGBColor) -> Result<()> {
        for (radius, colour) in [(outer, rim), (radius, colour)] {
            self.set_fill(colour);
            self.outline(&[(centre.0 + radius, centre.1)]);
            for [x1, y1, x2, y2, x, y] in quarters(centre, radius) {
                self.content.cubic_to(x1, y1, x2, y2, x, y);
            }
            self.content.fill_nonzero();
        }
        Ok(())
    }

    fn text(&mut self, text: &str, (x, y): Xy, side: Side, font: Font, upwards: bool) -> Result<()> {
        self.set_fill(font.colour);
        let scale = font.size / f64::from(self.faces[usize::from(font.bold)].units_per_em());
        let width: f64 = text.chars().map(|character| self.glyph(character, font.bold).1 * scale).sum();
        let mut along = match side {
            Side::Left => 0.0,
            Side::Middle => -width / 2.0,
            Side::Right => -width,
        };
        for character in text.chars() {
            let (outline, width) = self.glyph(character, font.bold);
            let outline = outline.to_vec();
            let place = |u: f64, v: f64| {
                let (along, above) = (along + u * scale, v * scale - font.half_capital());
                let (x, y) = if upwards { (x - above, y - along) } else { (x + along, y - above) };
                (x as f32, y as f32)
            };
            for stroke in outline {
                match stroke {
                    Stroke::Move(u, v) => self.content.move_to(place(u, v).0, place(u, v).1),
                    Stroke::Line(u, v) => self.content.line_to(place(u, v).0, place(u, v).1),
                    Stroke::Curve([a, b, c, d, u, v]) => {
                        let ((a, b), (c, d), (x, y)) = (place(a, b), place(c, d), place(u, v));
                        self.content.cubic_to(a, b, c, d, x, y)
                    }
                    Stroke::Close => self.content.close_path(),
                };
            }
            along += width * scale;
        }
        self.content.fill_nonzero();
        Ok(())
    }
}

fn state_name(index: usize) -> Vec<u8> {
    format!("G{index}").into_bytes()
}

fn shares(RGBColor(red, green, blue): RGBColor) -> [f32; 3] {
    [red, green, blue].map(|channel| f32::from(channel) / 255.0)
}

/// The error of the radius is below 0.03 %.
fn quarters((x, y): Xy, radius: f64) -> [[f32; 6]; 4] {
    /// Distance of a control point, in radii: 4 (sqrt(2) - 1) / 3.
    const REACH: f64 = 0.552_284_75;
    [0.0f64, 90.0, 180.0, 270.0].map(|degrees| {
        let (sin, cos) = degrees.to_radians().sin_cos();
        let turn =
            |u: f64, v: f64| ((x + radius * (u * cos - v * sin)) as f32, (y + radius * (u * sin + v * cos)) as f32);
        let ((a, b), (c, d), (e, f)) = (turn(1.0, REACH), turn(REACH, 1.0), turn(0.0, 1.0));
        [a, b, c, d, e, f]
    })
}

#[derive(Default)]
struct Outline {
    strokes: Vec<Stroke>,
    at: Xy,
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.at = (x.into(), y.into());
        self.strokes.push(Stroke::Move(x.into(), y.into()));
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.at = (x.into(), y.into());
        self.strokes.push(Stroke::Line(x.into(), y.into()));
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        // The same curve with two control points.
        let (control, end) = ((f64::from(x1), f64::from(y1)), (f64::from(x), f64::from(y)));
        let towards = |from: Xy| (from.0 + 2.0 / 3.0 * (control.0 - from.0), from.1 + 2.0 / 3.0 * (control.1 - from.1));
        let (first, second) = (towards(self.at), towards(end));
        self.at = end;
        self.strokes.push(Stroke::Curve([first.0, first.1, second.0, second.1, end.0, end.1]));
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.at = (x.into(), y.into());
        self.strokes.push(Stroke::Curve([x1, y1, x2, y2, x, y].map(f64::from)));
    }

    fn close(&mut self) {
        self.strokes.push(Stroke::Close);
    }
}
