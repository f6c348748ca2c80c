//! SVG made shorter: neighbouring polygons or lines of one look become one path with short steps from corner to corner, a
//! disc on a larger one a disc with a rim.
//!
//! A surface or a contour plot is made of thousands of patches, and a page holds many figures.

use std::fmt::Write;

type Corner = (i64, i64);

/// What can be written shorter; `look` is how it is painted.
enum Part<'a> {
    Patch { look: &'a str, corners: Vec<Corner> },
    Line { look: &'a str, corners: Vec<Corner> },
    Disc { at: &'a str, radius: i64, colour: &'a str },
    Other(&'a str),
}

/// The same picture in fewer bytes.
pub fn compact(document: &str) -> String {
    let parts: Vec<Part> = document.lines().map(part).collect();
    let mut shorter = String::with_capacity(document.len());
    let mut at = 0;
    while at < parts.len() {
        at += match &parts[at] {
            Part::Other(line) => {
                // What is said of opaque things goes without saying.
                let _ = writeln!(shorter, "{}", line.replacen(" opacity=\"1\"", "", 1));
                1
            }
            Part::Disc { .. } => discs(&mut shorter, &parts[at..]),
            Part::Patch { look, .. } => {
                let alike = |part: &&Part| matches!(part, Part::Patch { look: other, .. } if other == look);
                path(&mut shorter, look, parts[at..].iter().take_while(alike), true)
            }
            Part::Line { look, .. } => {
                let alike = |part: &&Part| matches!(part, Part::Line { look: other, .. } if other == look);
                path(&mut shorter, look, parts[at..].iter().take_while(alike), false)
            }
        };
    }
    shorter
}

fn part(line: &str) -> Part<'_> {
    patch(line).or_else(|| bent(line)).or_else(|| disc(line)).unwrap_or(Part::Other(line))
}

fn patch(line: &str) -> Option<Part<'_>> {
    let (look, points) = line.strip_prefix("<polygon opacity=\"1\" ")?.split_once(" points=\"")?;
    Some(Part::Patch { look, corners: corners(points)? })
}

fn bent(line: &str) -> Option<Part<'_>> {
    let (look, points) = line.strip_prefix("<polyline fill=\"none\" opacity=\"1\" ")?.split_once(" points=\"")?;
    Some(Part::Line { look, corners: corners(points)? })
}

fn disc(line: &str) -> Option<Part<'_>> {
    let (at, rest) = line.strip_prefix("<circle ")?.split_once(" r=\"")?;
    let (radius, rest) = rest.split_once("\" opacity=\"1\" fill=\"")?;
    let (colour, _) = rest.split_once("\" stroke=\"none\"")?;
    Some(Part::Disc { at, radius: radius.parse().ok()?, colour })
}

fn corners(points: &str) -> Option<Vec<Corner>> {
    let corner = |pair: &str| {
        let (x, y) = pair.split_once(',')?;
        Some((x.parse().ok()?, y.parse().ok()?))
    };
    points.strip_suffix("\"/>")?.split_whitespace().map(corner).collect()
}

/// Writes parts of one look; returns how many.
fn path<'a>(shorter: &mut String, look: &str, parts: impl Iterator<Item = &'a Part<'a>>, closed: bool) -> usize {
    let mut count = 0;
    let hollow = if closed { "" } else { "fill=\"none\" " };
    let _ = write!(shorter, "<path {hollow}{look} d=\"");
    for part in parts {
        if let Part::Patch { corners, .. } | Part::Line { corners, .. } = part {
            outline(shorter, corners, closed);
        }
        count += 1;
    }
    shorter.push_str("\"/>\n");
    count
}

/// A disc, or a disc and a smaller one on it; returns how many parts that were.
fn discs(shorter: &mut String, parts: &[Part]) -> usize {
    match parts {
        [Part::Disc { at, radius: large, colour: rim }, Part::Disc { at: same, radius: small, colour }, ..]
            if at == same && small < large =>
        {
            // Half of a rim lies within the radius.
            let (wide, middle) = (large - small, (large + small) as f64 / 2.0);
            let _ = writeln!(
                shorter,
                "<circle {at} r=\"{middle}\" fill=\"{colour}\" stroke=\"{rim}\" stroke-width=\"{wide}\"/>"
            );
            2
        }
        [Part::Disc { at, radius, colour }, ..] => {
            let _ = writeln!(shorter, "<circle {at} r=\"{radius}\" fill=\"{colour}\"/>");
            1
        }
        _ => 1,
    }
}

/// Adds a polygon or line to a path. Polygons always run in the same sense: where two overlap, they must not cancel.
fn outline(path: &mut String, corners: &[Corner], closed: bool) {
    let next = |k: usize| corners[(k + 1) % corners.len()];
    let twice: i64 = corners.iter().enumerate().map(|(k, a)| a.0 * next(k).1 - next(k).0 * a.1).sum();
    let mut corners = corners.to_vec();
    if closed && twice < 0 {
        corners.reverse();
    }
    let Some((first, rest)) = corners.split_first() else { return };
    let _ = write!(path, "M{} {}l", first.0, first.1);
    let mut at = *first;
    for (k, corner) in rest.iter().enumerate() {
        // A sign separates numbers as well as a space does.
        for (distance, leads) in [(corner.0 - at.0, k == 0), (corner.1 - at.1, false)] {
            let _ = write!(path, "{}{distance}", if leads || distance < 0 { "" } else { " " });
        }
        at = *corner;
    }
    if closed {
        path.push('z');
    }
}
