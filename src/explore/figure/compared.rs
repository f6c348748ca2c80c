//! Machines against each other: maps, contours and surfaces of a ratio (Apex-Map paper, Figures 5 and 6), and who wins where.

use ndarray::Array2;
use plotters::backend::DrawingBackend;
use plotters::style::RGBColor;

use super::canvas::{Canvas, INK, Rect, Side, Type, WHITE, Xy};
use super::colour::{SERIES, diverging, readable_on};
use super::contour::{self, Bands};
use super::frame::{self, ColourBar, Mark};
use super::heat::Cells;
use super::solid::Look;
use super::ticks::{self, Scale};
use super::view::View;
use super::{Axis, Grid, Quantity, surface, text};
use crate::error::{Error, Result};
use crate::units::Unit;

/// The ratio of one machine to another over two parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratios {
    /// `z` is the ratio; `failed` are points that one of the two did not finish.
    pub grid: Grid,
    /// Cells (row, column) whose 95 % interval includes 1, or that have none.
    pub undecided: Vec<(usize, usize)>,
    /// Who did not finish, in the order of the grid's `failed`.
    pub unfinished: Vec<String>,
}

/// Which machine is fastest over two parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Winners {
    pub title: String,
    pub subtitle: String,
    pub x: Axis,
    pub y: Axis,
    pub names: Vec<String>,
    /// The fastest at [y, x]; `None` where nobody has a value.
    pub fastest: Array2<Option<usize>>,
    /// By how much the fastest beats the next; NaN where it has no other.
    pub lead: Array2<f64>,
    /// Cells (row, column) where a 95 % interval does not tell the fastest from the next.
    pub undecided: Vec<(usize, usize)>,
    /// Cells that someone did not finish.
    pub failed: Vec<(usize, usize)>,
}

impl Ratios {
    /// What the 95 % interval of each cell says (row, column).
    fn marks(&self) -> Vec<((usize, usize), Mark)> {
        let mark = |at: (usize, usize), ratio: f64| match ratio > 1.0 {
            _ if self.undecided.contains(&at) => Mark::Undecided,
            true => Mark::Faster,
            false => Mark::Slower,
        };
        self.grid.values.indexed_iter().filter(|(_, v)| !v.is_nan()).map(|(at, v)| (at, mark(at, *v))).collect()
    }
}

impl Winners {
    /// Cells (row, column) that have a fastest machine, and which.
    pub fn listed(&self) -> Vec<((usize, usize), usize)> {
        self.fastest.indexed_iter().filter_map(|(at, who)| Some((at, (*who)?))).collect()
    }
}

/// A scale that reaches as far above 1 as below, by doublings where the ratios need that.
fn symmetric(grid: &Grid) -> Result<Scale> {
    let known = grid.values.iter().copied().filter(|ratio| !ratio.is_nan());
    let seen = Scale::spanning(known.chain([1.0]), true, &grid.z.label)?;
    let farthest = seen.high.max(1.0 / seen.low);
    let near = [1.1, 1.25, 1.5].into_iter().find(|end| farthest <= *end);
    // Up to 4 by roots of doublings: a scale that is twice as long as need be leaves pale colours.
    let step = if farthest <= 4.0 { 0.5 } else { 1.0 };
    let high = near.unwrap_or_else(|| (((farthest.log2() - 1e-9) / step).ceil() * step).exp2());
    Ok(Scale { low: 1.0 / high, high, log: true })
}

/// Levels at powers of a root of two, 1 among them, in at most twelve bands.
fn levels(scale: &Scale) -> Vec<f64> {
    let reach = scale.high.log2();
    let steps = [0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
    let step = steps.into_iter().find(|step| (reach / step - 1e-9).ceil() <= 6.0).unwrap_or(128.0);
    let most = (reach / step - 1e-9).ceil() as i32;
    (-most..=most).map(|k| (f64::from(k) * step).exp2()).collect()
}

pub fn draw_contour<DB: DrawingBackend>(canvas: &mut Canvas<DB>, ratios: &Ratios) -> Result<()> {
    ratios.grid.check()?;
    let levels = levels(&symmetric(&ratios.grid)?);
    let z = Scale { low: levels[0], high: levels[levels.len() - 1], log: true };
    let bands = Bands { z, levels, colour: diverging, marks: ratios.marks() };
    contour::draw_bands(canvas, &ratios.grid, &bands)
}

pub fn draw_surface<DB: DrawingBackend>(canvas: &mut Canvas<DB>, ratios: &Ratios, view: View) -> Result<()> {
    let [x, y, _] = ratios.grid.scales(None)?;
    let marks = ratios.marks();
    let look = Look { colour: diverging, bounds: None, level: Some(0.5), marks: &marks };
    surface::draw_coloured(canvas, &ratios.grid, view, [x, y, symmetric(&ratios.grid)?], look)
}

/// The ratio of every cell; hatched where it may be 1.
pub fn draw_map<DB: DrawingBackend>(canvas: &mut Canvas<DB>, ratios: &Ratios) -> Result<()> {
    let grid = &ratios.grid;
    grid.check()?;
    let z = symmetric(grid)?;
    let area = Cells::new(canvas, (&grid.title, &grid.subtitle), (&grid.x, &grid.y))?;
    let (frame, cell) = (&area.frame, |j: usize, i: usize| area.at(j, i));
    let written = |ratio: f64| ticks::short(ratio, Unit::None);
    let known = || grid.values.indexed_iter().filter(|(_, ratio)| !ratio.is_nan());
    let size = type_size(known().map(|((j, i), ratio)| (written(*ratio), cell(j, i))));
    let mut small = false;
    for ((j, i), ratio) in grid.values.indexed_iter() {
        let rect = cell(j, i);
        if ratio.is_nan() {
            frame::hatch(canvas, rect)?;
            continue;
        }
        let colour = diverging(z.place(*ratio));
        let undecided = ratios.undecided.contains(&(j, i));
        tile(canvas, rect, colour, undecided)?;
        if !label(canvas, rect, colour, &written(*ratio), size)? && !undecided {
            frame::mark(canvas, rect.centre(), if *ratio > 1.0 { Mark::Faster } else { Mark::Slower })?;
            small = true;
        }
    }
    for (row, (j, i)) in grid.listed().into_iter().enumerate() {
        canvas.spot(cell(j, i).centre(), row);
    }
    for ((j, i), who) in grid.failed.iter().zip(&ratios.unfinished) {
        unfinished(canvas, cell(*j, *i), who)?;
    }
    canvas.outline(frame.area, INK, 1.0)?;
    let mut key: Vec<Key> = if small { vec![Key::Faster, Key::Slower] } else { Vec::new() };
    if !ratios.undecided.is_empty() {
        key.push(Key::Undecided("may be 1"));
    }
    if !grid.failed.is_empty() {
        key.push(Key::Unfinished);
    }
    let open = grid.values.indexed_iter().any(|(at, ratio)| ratio.is_nan() && !grid.failed.contains(&at));
    if open {
        key.push(Key::Missing);
    }
    const PARTS: usize = 120;
    let share = |k: f64| k / PARTS as f64;
    let parts = (0..PARTS).map(|k| (share(k as f64), diverging(share(k as f64 + 0.5)))).collect();
    let apart = |values: &[f64], _: &[String]| {
        values.windows(2).all(|pair| (z.place(pair[1]) - z.place(pair[0])) * frame.area.height() > 2.0 * text::TICK)
    };
    let ticks = frame::choose(ticks::tick_sets(&z, &[], Unit::None, z.high >= 4.0), &plain(), false, apart);
    let ticks = ticks.values.iter().map(|v| z.place(*v)).zip(ticks.labels).collect();
    ColourBar { parts, ticks, title: grid.z.title() }.draw(canvas, &frame.area, key.len())?;
    draw_key(canvas, &frame.area, &key)
}

/// Ticks of ratios are plain numbers.
fn plain() -> Quantity {
    Quantity { label: String::new(), unit: Unit::None, log: true }
}

/// Who is fastest in every cell, and by how much; hatched where the next may be as fast.
pub fn draw_winners<DB: DrawingBackend>(canvas: &mut Canvas<DB>, winners: &Winners) -> Result<()> {
    winners.x.check()?;
    winners.y.check()?;
    let shape = (winners.y.values.len(), winners.x.values.len());
    if winners.fastest.dim() != shape || winners.lead.dim() != shape || winners.names.len() > MOST_WINNERS {
        return Err(Error::internal("a map of winners got parts that do not belong together"));
    }
    let area = Cells::new(canvas, (&winners.title, &winners.subtitle), (&winners.x, &winners.y))?;
    let (frame, cell) = (&area.frame, |j: usize, i: usize| area.at(j, i));
    let kind = Type::new(text::TICK);
    let room = canvas.sheet.bar - 50.0;
    let names: Vec<String> = winners.names.iter().map(|name| text::cut(name, text::TICK, false, room)).collect();
    let written = |who: usize, lead: f64| match lead.is_nan() {
        true => letter(who).to_owned(),
        false => format!("{} {}", letter(who), ticks::short(lead, Unit::None)),
    };
    let listed = winners.listed();
    let all = || listed.iter().map(|((j, i), who)| (written(*who, winners.lead[(*j, *i)]), cell(*j, *i)));
    let size = type_size(all());
    // Numbers in all cells or in none.
    let numbers = all().all(|(words, rect)| Type::new(size).width(&words) + 8.0 <= rect.width());
    for ((j, i), who) in winners.fastest.indexed_iter() {
        let rect = cell(j, i);
        let Some(who) = *who else {
            frame::hatch(canvas, rect)?;
            continue;
        };
        let undecided = winners.undecided.contains(&(j, i));
        let colour = if undecided { pale(SERIES[who]) } else { SERIES[who] };
        tile(canvas, rect, colour, undecided)?;
        let words = if numbers { written(who, winners.lead[(j, i)]) } else { letter(who).to_owned() };
        label(canvas, rect, colour, &words, size)?;
    }
    for (row, ((j, i), _)) in listed.into_iter().enumerate() {
        canvas.spot(cell(j, i).centre(), row);
    }
    for (j, i) in &winners.failed {
        let rect = cell(*j, *i);
        canvas.cross((rect.right - 9.0, rect.top + 9.0))?;
    }
    canvas.outline(frame.area, INK, 1.0)?;
    for (k, name) in names.iter().enumerate() {
        let at = (frame.area.right + 31.0, frame.area.top + 22.0 * (k as f64 + 0.5));
        canvas.fill(Rect::around(at, 18.0, 16.0), SERIES[k])?;
        canvas.text(letter(k), at, Side::Middle, kind.coloured(readable_on(SERIES[k])))?;
        canvas.text(name, (at.0 + 16.0, at.1), Side::Left, kind)?;
    }
    let mut key = Vec::new();
    if !winners.undecided.is_empty() {
        key.push(Key::Undecided("may tie"));
    }
    if !winners.failed.is_empty() {
        key.push(Key::Unfinished);
    }
    if winners.fastest.iter().any(Option::is_none) {
        key.push(Key::Missing);
    }
    draw_key(canvas, &frame.area, &key)
}

/// What stands for a machine in cells and key: colours alone are not told apart in grey.
fn letter(machine: usize) -> &'static str {
    LETTERS[machine]
}

const LETTERS: [&str; 7] = ["A", "B", "C", "D", "E", "F", "G"];
/// Machines that a map of winners can tell apart.
pub const MOST_WINNERS: usize = LETTERS.len();

/// The colour of a machine where it is not known to be the fastest.
fn pale(colour: RGBColor) -> RGBColor {
    let lighter = |c: u8| (f64::from(c) * 0.4 + 255.0 * 0.6) as u8;
    RGBColor(lighter(colour.0), lighter(colour.1), lighter(colour.2))
}

/// The largest type in which everything fits its cell, if any does.
fn type_size(all: impl Iterator<Item = (String, Rect)> + Clone) -> f64 {
    let fits = |size: &f64| all.clone().all(|(words, rect)| Type::new(*size).width(&words) + 8.0 <= rect.width());
    [14.0, 13.0, 12.0, 11.0, 10.0].into_iter().find(fits).unwrap_or(10.0)
}

fn tile<DB: DrawingBackend>(canvas: &mut Canvas<DB>, rect: Rect, colour: RGBColor, undecided: bool) -> Result<()> {
    canvas.fill(rect, colour)?;
    if undecided {
        stripes(canvas, rect, readable_on(colour))?;
    }
    canvas.outline(rect, WHITE, 1.0)
}

/// Slanted lines through a rectangle.
fn stripes<DB: DrawingBackend>(canvas: &mut Canvas<DB>, rect: Rect, colour: RGBColor) -> Result<()> {
    let ground = |c: u8| (f64::from(c) * 0.55 + 140.0 * 0.45) as u8;
    let colour = RGBColor(ground(colour.0), ground(colour.1), ground(colour.2));
    let (first, last) = (rect.left + rect.top, rect.right + rect.bottom);
    let mut c = (first / 8.0).ceil() * 8.0;
    while c < last {
        let (from, to) = ((c - rect.left).min(rect.bottom), (c - rect.right).max(rect.top));
        canvas.line(&[(c - from, from), (c - to, to)], colour, 1.0)?;
        c += 8.0;
    }
    Ok(())
}

/// Words in the middle of a cell on its own colour; whether there was room.
fn label<DB: DrawingBackend>(
    canvas: &mut Canvas<DB>,
    rect: Rect,
    colour: RGBColor,
    words: &str,
    size: f64,
) -> Result<bool> {
    let kind = Type::new(size).coloured(readable_on(colour));
    let width = kind.width(words);
    if width + 4.0 > rect.width() || size * 1.2 > rect.height() {
        return Ok(false);
    }
    canvas.fill(Rect::around(rect.centre(), width + 4.0, size * 1.15), colour)?;
    canvas.text(words, rect.centre(), Side::Middle, kind)?;
    Ok(true)
}

/// A cross, and whose it is where there is room.
fn unfinished<DB: DrawingBackend>(canvas: &mut Canvas<DB>, rect: Rect, who: &str) -> Result<()> {
    let (x, y) = rect.centre();
    let kind = Type::new(11.0);
    let who = text::cut(who, 11.0, false, rect.width() - 6.0);
    if rect.height() < 34.0 || who.chars().count() < 2 {
        return canvas.cross((x, y));
    }
    canvas.cross((x, y - 8.0))?;
    canvas.text(&who, (x, y + 9.0), Side::Middle, kind)
}

#[derive(Clone, Copy)]
enum Key {
    Faster,
    Slower,
    /// With what it may be.
    Undecided(&'static str),
    Unfinished,
    Missing,
}

/// The key in the lower right corner beside the frame.
fn draw_key<DB: DrawingBackend>(canvas: &mut Canvas<DB>, area: &Rect, key: &[Key]) -> Result<()> {
    for (k, mark) in key.iter().rev().enumerate() {
        let at: Xy = (area.right + 31.0, area.bottom - 20.0 * (k as f64 + 0.5) + 2.0);
        let rect = Rect::around(at, 18.0, 13.0);
        let words = match mark {
            Key::Faster => {
                frame::mark(canvas, at, Mark::Faster)?;
                "faster"
            }
            Key::Slower => {
                frame::mark(canvas, at, Mark::Slower)?;
                "slower"
            }
            Key::Undecided(words) => {
                canvas.fill(rect, WHITE)?;
                stripes(canvas, rect, INK)?;
                canvas.outline(rect, INK, 0.7)?;
                words
            }
            Key::Unfinished => {
                canvas.cross(at)?;
                "did not finish"
            }
            Key::Missing => {
                frame::hatch(canvas, rect)?;
                "no value"
            }
        };
        canvas.text(words, (at.0 + 16.0, at.1), Side::Left, Type::new(text::TICK))?;
    }
    Ok(())
}
