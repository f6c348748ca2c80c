//! SVG made shorter: neighbouring polygons of one colour become one path, with short steps from corner to corner.
//!
//! A surface or a contour plot is made of thousands of patches, and a page holds many figures.

use std::fmt::Write;

/// The same picture in fewer bytes.
pub fn compact(document: &str) -> String {
    let mut shorter = String::with_capacity(document.len());
    let mut run: Option<(&str, String)> = None;
    for line in document.lines() {
        match patch(line) {
            Some((colour, corners)) => {
                if let Some((open, path)) = run.as_mut().filter(|(open, _)| *open == colour) {
                    let _ = open;
                    outline(path, corners);
                    continue;
                }
                close(&mut shorter, run.take());
                let mut path = String::new();
                outline(&mut path, corners);
                run = Some((colour, path));
            }
            None => {
                close(&mut shorter, run.take());
                // What is said of opaque things goes without saying.
                shorter.push_str(&line.replacen(" opacity=\"1\"", "", 1));
                shorter.push('\n');
            }
        }
    }
    close(&mut shorter, run);
    shorter
}

fn close(document: &mut String, run: Option<(&str, String)>) {
    if let Some((colour, path)) = run {
        let _ = writeln!(document, "<path fill=\"{colour}\" d=\"{path}\"/>");
    }
}

/// Colour and corners of an opaque polygon.
fn patch(line: &str) -> Option<(&str, Vec<(i64, i64)>)> {
    let rest = line.strip_prefix("<polygon opacity=\"1\" fill=\"")?;
    let (colour, rest) = rest.split_once("\" points=\"")?;
    let points = rest.strip_suffix("\"/>")?;
    let corner = |pair: &str| {
        let (x, y) = pair.split_once(',')?;
        Some((x.parse().ok()?, y.parse().ok()?))
    };
    Some((colour, points.split_whitespace().map(corner).collect::<Option<_>>()?))
}

/// Adds a polygon to a path, always in the same sense of rotation: where two overlap, they must not cancel.
fn outline(path: &mut String, mut corners: Vec<(i64, i64)>) {
    let next = |k: usize| corners[(k + 1) % corners.len()];
    let twice: i64 = corners.iter().enumerate().map(|(k, a)| a.0 * next(k).1 - next(k).0 * a.1).sum();
    if twice < 0 {
        corners.reverse();
    }
    let Some((first, rest)) = corners.split_first() else { return };
    let _ = write!(path, "M{} {}l", first.0, first.1);
    let (mut at, mut begun) = (*first, false);
    for corner in rest {
        let (dx, dy) = (corner.0 - at.0, corner.1 - at.1);
        // A sign separates numbers as well as a space does.
        let _ = write!(path, "{}{dx}{}{dy}", if begun && dx >= 0 { " " } else { "" }, if dy >= 0 { " " } else { "" });
        (at, begun) = (*corner, true);
    }
    path.push('z');
}
