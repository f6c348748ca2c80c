//! Steps in the latency of random reads over the size of their region: where a cache, or the reach of address translation, ends.
//!
//! Something of C bytes serves C of R bytes that are read uniformly, at `inner` seconds, and the rest takes `outer`. So t R, the time
//! times the size, grows by `inner` up to C and by `outer` beyond: a straight line with a bend at C, whatever lies nearer. A
//! rounded step, as of a cache whose lines compete for places before it is full, has its bend where it serves half of what it ends
//! up serving.

use apexmap_theory::machine::{Card, NumberName, Word};
use apexmap_theory::statistics::distributions::f_quantile_beyond;
use nalgebra::{DMatrix, DVector};

/// The mean time of random reads in a region.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rung {
    pub size: f64,
    pub seconds: f64,
    /// Its 95 % interval.
    pub low: f64,
    pub high: f64,
    /// The part of it that steps are sought in; all, or the part of address translation.
    pub part: f64,
}

/// Where something ends, with a 95 % range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub size: f64,
    pub low: f64,
    pub high: f64,
    /// Regions that it was found from, the smallest and the largest.
    pub regions: usize,
    pub from: f64,
    pub to: f64,
}

/// A step adds at least this share of the time,
const RISE: f64 = 0.25;
/// and where only sizes a factor of two apart are known, multiplies the slope by this at least, from each to the next.
const STEEPER: f64 = 1.5;
/// Regions between one over this of a step's size and this times it tell of it. Where the step is not what it is taken to be, say
/// rounded, fewer of them tell another size; where it is, the same.
const REACHES: [f64; 3] = [4.0, 2.8, 2.0];
/// Sizes at which a bend is sought, evenly spread over them on a log scale: less than 1 % apart.
const CANDIDATES: usize = 400;
/// Parameters of a step: the bend, both slopes, and what lies nearer.
const PARAMETERS: usize = 4;
/// A range that is wider tells no size.
const WIDEST: f64 = 2.0;

/// The numbers `NAME--SIZE` of a card whose further words are these, by size.
pub fn rungs(card: &Card, number: &str, further: &[Word]) -> Vec<Rung> {
    let rung = |name: NumberName| match name.qualifier.as_slice() {
        [Word::Bytes(bytes), rest @ ..] if rest == further => {
            let seconds = card.get(&name.to_string())?;
            let (low, high) = card.interval(&name.to_string()).unwrap_or((seconds, seconds));
            Some(Rung { size: *bytes as f64, seconds, low, high, part: seconds })
        }
        _ => None,
    };
    let mut rungs: Vec<Rung> = card.variants(number).into_iter().filter_map(rung).collect();
    rungs.sort_by(|a, b| a.size.total_cmp(&b.size));
    rungs
}

/// Where steps may be, by the rungs whose sizes are powers of two: the first stage. Between two of them t R grows by some slope;
/// where slopes rise, one rung after the other, the bend lies where two straight lines, of the slopes before and after, have
/// the same growth.
pub fn places(rungs: &[Rung]) -> Vec<f64> {
    let coarse: Vec<Rung> = rungs.iter().copied().filter(coarse).collect();
    let total = |rung: &Rung| rung.part * rung.size;
    let slope = |k: usize| match k {
        0 => coarse[0].part,
        _ => (total(&coarse[k]) - total(&coarse[k - 1])) / (coarse[k].size - coarse[k - 1].size),
    };
    let rises = |k: usize| {
        k + 1 < coarse.len() && slope(k + 1) - slope(k) > RISE * coarse[k].seconds && slope(k + 1) > STEEPER * slope(k)
    };
    let (mut found, mut first) = (Vec::new(), 0);
    while first + 1 < coarse.len() {
        let last = (first..).find(|&k| !rises(k)).unwrap_or(first);
        if last > first {
            let (inner, outer) = (slope(first), slope(last));
            let grown = total(&coarse[last]) - total(&coarse[first]);
            let bend = (outer * coarse[last].size - inner * coarse[first].size - grown) / (outer - inner);
            found.push(bend.clamp(coarse[first].size, coarse[last].size));
        }
        first = last.max(first + 1);
    }
    found
}

/// The step near a place, from the rungs of the second stage around it, up to half way to other places; those of the first were
/// measured in another launch, with other frames of memory. Times are fitted by least squares of their relative errors for each
/// possible bend. The 95 % range holds every bend whose sum of squares is within F of the least (profile likelihood, F with 1 and
/// n - 4 degrees of freedom): it is as wide as the scatter around the bent line asks for. SOURCE: Seber and Wild, Nonlinear
/// Regression, 1989, Section 9.3. That of all regions up to 4 times away is joined with those of fewer regions, up to 2.8 and 2 times
/// away, where these show a step, too.
///
/// `None` if no bend is visible: without one, times are fitted as well as chance (0.1 %) makes it; the step is low; or its range
/// reaches the ends or more than a factor of two.
pub fn step(rungs: &[Rung], near: f64, places: &[f64]) -> Option<Step> {
    let half_way = |other: f64| (other * near).sqrt();
    let nearer = places.iter().copied().filter(|&place| place < near).fold(0.0, f64::max);
    let farther = places.iter().copied().filter(|&place| place > near).fold(f64::INFINITY, f64::min);
    let within = |reach: f64| {
        let within = half_way(nearer).max(near / reach)..=half_way(farther).min(near * reach);
        rungs.iter().copied().filter(|rung| !coarse(rung) && within.contains(&rung.size)).collect::<Vec<Rung>>()
    };
    let mut found = bend(&within(REACHES[0]))?;
    for fewer in REACHES[1..].iter().filter_map(|&reach| bend(&within(reach))) {
        (found.low, found.high) = (found.low.min(fewer.low), found.high.max(fewer.high));
    }
    (found.high < WIDEST * found.low).then_some(found)
}

/// The bend in these rungs, and its range.
fn bend(rungs: &[Rung]) -> Option<Step> {
    let freedom = rungs.len().checked_sub(PARAMETERS).filter(|&freedom| freedom > 0)?;
    let (first, last) = rungs.first().zip(rungs.last())?;
    let (without, _) = fitted(rungs, None)?;
    let ratio = (last.size / first.size).powf(1.0 / CANDIDATES as f64);
    let bends = (1..CANDIDATES).map(|k| first.size * ratio.powi(k as i32));
    let fits: Vec<(f64, f64, f64)> =
        bends.filter_map(|bend| fitted(rungs, Some(bend)).map(|(squares, rise)| (bend, squares, rise))).collect();
    let &(size, least, rise) = fits.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let chance = 2.0 * f_quantile_beyond(2, freedom, 0.001) / freedom as f64;
    let at = rungs.iter().find(|rung| rung.size >= size)?.seconds;
    if without <= least * (1.0 + chance) || rise < RISE * at / 2.0 {
        return None;
    }
    let most = least * (1.0 + f_quantile_beyond(1, freedom, 0.05) / freedom as f64);
    let mut possible = fits.iter().filter(|(_, squares, _)| *squares <= most).map(|(bend, ..)| *bend);
    let low = possible.next()?;
    // Between candidates, too.
    let (low, high) = (low / ratio, possible.next_back().unwrap_or(low) * ratio);
    let sound = low > first.size * ratio && high < last.size / ratio && high < WIDEST * low;
    sound.then_some(Step { size, low, high, regions: rungs.len(), from: first.size, to: last.size })
}

/// Of the first stage.
fn coarse(rung: &Rung) -> bool {
    rung.size.log2().fract() == 0.0
}

/// Sum of squares of the relative errors, and by how much the slope rises; `None` if it does not.
fn fitted(rungs: &[Rung], bend: Option<f64>) -> Option<(f64, f64)> {
    let columns = if bend.is_some() { 3 } else { 2 };
    let scale = rungs[0].size;
    let terms = DMatrix::from_fn(rungs.len(), columns, |row, column| {
        let rung = &rungs[row];
        let term = match column {
            0 => 1.0,
            1 => scale / rung.size,
            _ => (1.0 - bend.unwrap_or(0.0) / rung.size).max(0.0),
        };
        term / rung.seconds
    });
    let values = DVector::from_iterator(rungs.len(), rungs.iter().map(|rung| rung.part / rung.seconds));
    let found = terms.clone().svd(true, true).solve(&values, 1e-12).ok()?;
    let squares = (values - terms * &found).norm_squared();
    let rise = found.get(2).copied().unwrap_or(0.0);
    (bend.is_none() || rise > 0.0).then_some((squares, rise))
}
