//! Tests of figures as PDF files and slides, of the colours of many curves, and of the first view of surfaces.

use crate::common::{Scratch, output};
use crate::page::quantity;
use apexmap_base::units::Unit;
use apexmap_draw::figure::*;
use ndarray::Array2;
use std::collections::HashSet;
use std::process::Command;

/// Returns a grid over alpha and L whose value is lowest at alpha = 1, L = 1.
fn grid() -> Grid {
    let (x, y) = (vec![0.001, 0.01, 0.1, 1.0], vec![1.0, 16.0, 256.0, 4096.0]);
    let values = Array2::from_shape_fn((4, 4), |(j, i)| 8.0 * y[j] / (1e-9 + 4e-7 * x[i] + 5e-10 * y[j]));
    Grid {
        title: "Bandwidth".into(),
        subtitle: "a machine, synthetic\nDISTURBED (3 of 16 samples)".into(),
        x: Axis { quantity: quantity("alpha (temporal locality)", Unit::None), values: x },
        y: Axis { quantity: quantity("L (spatial locality)", Unit::Words), values: y },
        z: quantity("bandwidth", Unit::BytesPerSecond),
        values,
        failed: vec![(1, 1)],
    }
}

fn curves(count: usize, ordered: bool) -> Curves {
    let point = |k: usize, x: f64| {
        let y = (k + 1) as f64 * x * 1e6;
        CurvePoint { x, y, low: 0.9 * y, high: 1.1 * y }
    };
    let series = |k: usize| Series {
        label: format!("alpha = 0.{k}"),
        points: [1.0, 8.0, 64.0].iter().map(|&x| point(k, x)).collect(),
    };
    Curves {
        title: "Bandwidth".into(),
        subtitle: "synthetic".into(),
        x: quantity("L", Unit::Words),
        y: quantity("bandwidth", Unit::BytesPerSecond),
        series: (0..count).map(series).collect(),
        marks: Vec::new(),
        ordered,
    }
}

fn figures() -> Vec<(&'static str, Figure)> {
    vec![
        ("surface", Figure::Surface(grid(), View::of_grid(&grid()))),
        ("contour", Figure::Contour(grid())),
        ("heat", Figure::Heat(grid())),
        ("curves", Figure::Curves(curves(5, true))),
        ("many", Figure::Curves(curves(15, true))),
    ]
}

/// The pixels of a PNG file: width, height and bytes of red, green and blue.
pub fn pixels(png_file: &[u8]) -> (usize, usize, Vec<u8>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(png_file)).read_info().expect("a PNG file");
    let mut bytes = vec![0; reader.output_buffer_size()];
    let frame = reader.next_frame(&mut bytes).expect("pixels");
    assert_eq!(frame.color_type, png::ColorType::Rgb);
    (frame.width as usize, frame.height as usize, bytes)
}

/// Returns a picture in blocks of `size` by `size` pixels: the mean of red, green and blue in each.
pub fn blocks((width, height, bytes): &(usize, usize, Vec<u8>), size: usize) -> Vec<f64> {
    let mean = |top: usize, left: usize| {
        let inside = (top..top + size).flat_map(|y| (left..left + size).map(move |x| (y, x)));
        let sum: f64 =
            inside.map(|(y, x)| (0..3).map(|c| f64::from(bytes[(y * width + x) * 3 + c])).sum::<f64>()).sum();
        sum / (3 * size * size) as f64
    };
    let along = |length: usize| (0..length / size).map(move |k| k * size);
    along(*height)
        .flat_map(|top| along(*width).map(move |left| (top, left)))
        .map(|(top, left)| mean(top, left))
        .collect()
}

#[test]
fn a_pdf_shows_the_same_picture_as_the_png() {
    needs!(Poppler);
    let scratch = Scratch::new();
    for ((style_name, style), half_a_letter) in Style::ALL.into_iter().zip([8, 29, 20, 20]) {
        // All kinds of figures for a screen, and two in each other style, because large pictures take seconds.
        let drawn = |name: &str| style == Style::Screen || ["contour", "curves"].contains(&name);
        for (name, figure) in figures().into_iter().filter(|(name, _)| drawn(name)) {
            let file = scratch.join("figure.pdf");
            save_in_style(&figure, style, &file).unwrap();
            let png = png_bytes(&figure, style).unwrap();
            let wanted = pixels(&png);
            let (width, height) = (wanted.0.to_string(), wanted.1.to_string());
            let rendered = output(
                Command::new("pdftoppm")
                    .args(["-png", "-scale-to-x", &width, "-scale-to-y", &height, "-singlefile"])
                    .args([&file, &scratch.join("rendered")]),
            );
            assert!(rendered.status.success(), "{}", String::from_utf8_lossy(&rendered.stderr));
            let rendered_pixels = pixels(&std::fs::read(scratch.join("rendered.png")).unwrap());
            assert_eq!((rendered_pixels.0, rendered_pixels.1), (wanted.0, wanted.1), "{style_name} {name}");
            let (mean, most) = difference(&wanted, &rendered_pixels, half_a_letter);
            assert!(mean < 3.0 && most < 70.0, "{style_name} {name}: mean {mean:.2}, most {most:.1} of 255");
        }
    }
    // One other letter in a title is a difference.
    let [first, other] = ["Bandwidth", "Bandwodth"].map(|title| {
        pixels(&png_bytes(&Figure::Contour(Grid { title: title.into(), ..grid() }), Style::Screen).unwrap())
    });
    assert!(difference(&first, &other, 8).1 > 70.0, "{:?}", difference(&first, &other, 8));
}

/// Returns the mean and the largest difference of two pictures in blocks of `size` by `size` pixels, of 255.
fn difference(first: &(usize, usize, Vec<u8>), other: &(usize, usize, Vec<u8>), size: usize) -> (f64, f64) {
    let (a, b) = (blocks(first, size), blocks(other, size));
    let differences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).collect();
    let most = differences.iter().copied().fold(0.0, f64::max);
    (differences.iter().sum::<f64>() / differences.len() as f64, most)
}

#[test]
fn a_pdf_has_the_size_of_its_sheet_and_needs_no_fonts() {
    for (style, area) in
        [(Style::Screen, "[0 0 675 480]"), (Style::Slide, "[0 0 960 540]"), (Style::Paper, "[0 0 237.6 161.568]")]
    {
        let bytes = pdf_bytes(&Figure::Contour(grid()), style).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.starts_with("%PDF-1.7") && text.contains(area), "{style:?}: {}", &text[..400.min(text.len())]);
        assert!(!text.contains("/Font") && text.contains("/Producer (apexmap"), "{style:?}");
        assert!(bytes.len() < 120_000, "{style:?}: {} bytes", bytes.len());
        assert_eq!(bytes, pdf_bytes(&Figure::Contour(grid()), style).unwrap(), "the same data give the same file");
    }
}

#[test]
fn a_slide_has_1920_by_1080_pixels_and_24_point_type() {
    for style in [Style::Slide, Style::SlideDark] {
        for (name, figure) in figures() {
            let png = png_bytes(&figure, style).unwrap();
            assert_eq!((&png[16..20], &png[20..24]), (&1920u32.to_be_bytes()[..], &1080u32.to_be_bytes()[..]));
            let drawn = drawing(&figure, style).unwrap();
            assert!(drawn.svg.starts_with("<svg width=\"1920\" height=\"1080\""), "{}", &drawn.svg[..80]);
            // A slide is 13.33 inches wide; the view box has ten units per pixel.
            let points = |line: &str| {
                let size: f64 = line.split_once("font-size=\"").unwrap().1.split('"').next().unwrap().parse().unwrap();
                size / (10.0 * drawn.size.0) * 960.0
            };
            let sizes: Vec<f64> = drawn.svg.lines().filter(|line| line.starts_with("<text")).map(points).collect();
            assert!(sizes.iter().any(|size| (size - 24.0).abs() < 0.05), "{name}: {sizes:?}");
            let cells = if name == "heat" { 16.0 } else { 20.0 };
            assert!(sizes.iter().all(|size| (cells..29.0).contains(size)), "{name}: {sizes:?}");
            assert!(drawn.svg.contains("DISTURBED") || name == "curves" || name == "many", "{name} has no warning");
        }
    }
}

#[test]
fn a_dark_slide_has_a_dark_ground_and_light_text() {
    for (name, figure) in figures() {
        let [light, dark] = [Style::Slide, Style::SlideDark].map(|style| drawing(&figure, style).unwrap().svg);
        let ground = |svg: &str| svg.lines().nth(1).unwrap().split("fill=\"").nth(1).unwrap()[..7].to_owned();
        assert_eq!((ground(&light), ground(&dark)), ("#FFFFFF".into(), "#14171C".into()), "{name}");
        assert!(
            light.contains("fill=\"#222222\"") && !dark.contains("#222222"),
            "{name} has dark text on a dark ground"
        );
        assert!(!dark.contains("#FFFFFF"), "{name} has white areas");
    }
}

#[test]
fn many_curves_have_different_looks() {
    for ordered in [true, false] {
        let document = svg(&Figure::Curves(curves(15, ordered))).unwrap();
        let strokes = document.lines().filter(|line| line.starts_with("<path fill=\"none\" stroke=\"#"));
        let strokes: Vec<(&str, usize)> = strokes
            .map(|line| (&line[26..33], line.matches('M').count()))
            .filter(|(c, _)| *c != "#222222" && *c != "#DEDEDE")
            .collect();
        let colours: HashSet<&str> = strokes.iter().map(|(colour, _)| *colour).collect();
        assert_eq!(colours.len(), if ordered { 15 } else { 8 }, "{colours:?}");
        if !ordered {
            let dashed = strokes.iter().filter(|(_, pieces)| *pieces > 3).count();
            assert!(dashed >= 7, "the second use of a colour is dashed: {strokes:?}");
        }
    }
}

#[test]
fn the_first_view_shows_the_low_end_in_front() {
    let mut turned = grid();
    assert_eq!(View::of_grid(&turned), View::default(), "alpha at the left, L at the right");
    let lowest_is_near = |grid: &Grid| {
        let view = View::of_grid(grid);
        let (rows, columns) = grid.values.dim();
        let corner = |(j, i): (usize, usize)| {
            let depth = view.project([i as f64 / (columns - 1) as f64, j as f64 / (rows - 1) as f64, 0.0]).depth;
            (grid.values[(j, i)], depth)
        };
        let corners = [(0, 0), (0, columns - 1), (rows - 1, 0), (rows - 1, columns - 1)].map(corner);
        let lowest = corners.iter().min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        corners.iter().all(|(_, depth)| *depth <= lowest.1)
    };
    assert!(lowest_is_near(&turned));
    turned.values.invert_axis(ndarray::Axis(0));
    assert!(lowest_is_near(&turned) && View::of_grid(&turned).azimuth == 38.0);
    turned.values.invert_axis(ndarray::Axis(1));
    assert!(lowest_is_near(&turned));
    let azimuth = View::of_grid(&turned).azimuth;
    turned.values[(3, 0)] = f64::NAN;
    assert_eq!(View::of_grid(&turned).azimuth, azimuth, "a point that failed does not turn the surface");
    turned.values.fill(f64::NAN);
    assert_eq!(View::of_grid(&turned), View::default());
}

#[test]
fn a_picture_in_an_unknown_format_is_refused() {
    let error = save(&Figure::Contour(grid()), std::path::Path::new("figure.jpeg")).unwrap_err();
    assert!(error.message.contains(".svg, .png and .pdf"), "{error}");
}
