//! Finds steps in the latency of random reads over the size of their region: the size of a cache, or the reach of translation.
//!
//! A level of C bytes serves C of R bytes that are read uniformly, at `inner` seconds; the rest takes `outer`. Time
//! times size, t R, therefore grows by `inner` up to C and by `outer` beyond it: a straight line with a bend at C,
//! whatever the nearer levels do. A rounded step, as of a cache whose lines compete for places before it is full, has
//! its bend where the cache serves half of its final amount.

use apexmap_theory::machine::{Card, NumberName, Word};
use apexmap_theory::statistics::distributions::f_quantile_beyond;
use nalgebra::{DMatrix, DVector};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rung {
    pub size: f64,
    pub seconds: f64,
    pub low: f64,
    pub high: f64,
    /// Time that is searched for steps: all of it, or the part of address translation.
    pub part: f64,
}

/// Where a level ends, with a 95 % range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub size: f64,
    pub low: f64,
    pub high: f64,
    /// Number of regions used, with the smallest and the largest.
    pub regions: usize,
    pub from: f64,
    pub to: f64,
}

/// Minimum rise at a step, as a share of the time.
const MIN_RISE: f64 = 0.25;
/// Minimum ratio of successive slopes where only sizes a factor of two apart are known.
const MIN_SLOPE_RATIO: f64 = 1.5;
/// Fits use regions from 1/REACH to REACH times the size of the step. If the step differs from the model, for example
/// because it is rounded, narrower fits give another size; otherwise they give the same.
const REACHES: [f64; 3] = [4.0, 2.8, 2.0];
/// Number of sizes at which a bend is tried, evenly spaced on a log scale, less than 1 % apart.
const CANDIDATES: usize = 400;
/// Parameters of a step: the bend, both slopes, and the effect of nearer levels.
const PARAMETERS: usize = 4;
/// Maximum ratio of the ends of a range; a wider range does not determine a size.
const MAX_RANGE: f64 = 2.0;

/// The numbers `NAME--SIZE` of a card that have these further words, by size.
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

/// A bend of t R.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bend {
    pub size: f64,
    /// The rung before the first rise of the slope, and the two rungs between which its last rise ends.
    pub from: f64,
    pub to: [f64; 2],
}

pub fn places(rungs: &[Rung]) -> Vec<f64> {
    bends(rungs, MIN_SLOPE_RATIO).into_iter().map(|bend| bend.size).collect()
}

/// The bends of the first stage, whose sizes are powers of two. Between two rungs t R grows with some slope. Where slopes rise from
/// rung to rung by `min_ratio` or more, the bend is where two straight lines with the slopes before and after meet, which have the
/// same total growth.
pub fn bends(rungs: &[Rung], min_ratio: f64) -> Vec<Bend> {
    let coarse: Vec<Rung> = rungs.iter().copied().filter(is_coarse).collect();
    let total = |rung: &Rung| rung.part * rung.size;
    let slope = |k: usize| match k {
        0 => coarse[0].part,
        _ => (total(&coarse[k]) - total(&coarse[k - 1])) / (coarse[k].size - coarse[k - 1].size),
    };
    let rises = |k: usize| {
        k + 1 < coarse.len()
            && slope(k + 1) - slope(k) > MIN_RISE * coarse[k].seconds
            && slope(k + 1) > min_ratio * slope(k)
    };
    let (mut bends, mut first) = (Vec::new(), 0);
    while first + 1 < coarse.len() {
        let last = (first..).find(|&k| !rises(k)).unwrap_or(first);
        if last > first {
            let (inner, outer) = (slope(first), slope(last));
            let grown = total(&coarse[last]) - total(&coarse[first]);
            let bend = (outer * coarse[last].size - inner * coarse[first].size - grown) / (outer - inner);
            let (from, to) = (coarse[first].size, [coarse[last - 1].size, coarse[last].size]);
            bends.push(Bend { size: bend.clamp(from, to[1]), from, to });
        }
        first = last.max(first + 1);
    }
    bends
}

/// The step near a place, from the rungs of the second stage around it, halfway to the neighbouring places. Those of the first stage
/// were measured in another launch, with other physical pages.
///
/// For each possible bend, times are fitted by least squares of their relative errors. The 95 % range holds every bend whose sum of
/// squares is within F of the least (profile likelihood, F with 1 and n - 4 degrees of freedom). SOURCE: Seber and Wild, Nonlinear
/// Regression, 1989, Section 9.3. The range from regions up to 4 times away is joined with those up to 2.8 and 2 times away.
///
/// `None` if a straight line fits as well, except by chance (0.1 %), if the step is low, or if its range reaches the ends or exceeds
/// a factor of two.
pub fn step(rungs: &[Rung], near: f64, places: &[f64]) -> Option<Step> {
    let half_way = |other: f64| (other * near).sqrt();
    let nearer = places.iter().copied().filter(|&place| place < near).fold(0.0, f64::max);
    let farther = places.iter().copied().filter(|&place| place > near).fold(f64::INFINITY, f64::min);
    let rungs_up_to = |reach: f64| {
        let range = half_way(nearer).max(near / reach)..=half_way(farther).min(near * reach);
        rungs.iter().copied().filter(|rung| !is_coarse(rung) && range.contains(&rung.size)).collect::<Vec<Rung>>()
    };
    let mut step = bend(&rungs_up_to(REACHES[0]))?;
    for fewer in REACHES[1..].iter().filter_map(|&reach| bend(&rungs_up_to(reach))) {
        (step.low, step.high) = (step.low.min(fewer.low), step.high.max(fewer.high));
    }
    (step.high < MAX_RANGE * step.low).then_some(step)
}

fn bend(rungs: &[Rung]) -> Option<Step> {
    let freedom = rungs.len().checked_sub(PARAMETERS).filter(|&freedom| freedom > 0)?;
    let (first, last) = rungs.first().zip(rungs.last())?;
    let (straight, _) = fit_bend(rungs, None)?;
    let ratio = (last.size / first.size).powf(1.0 / CANDIDATES as f64);
    let bends = (1..CANDIDATES).map(|k| first.size * ratio.powi(k as i32));
    let fits: Vec<(f64, f64, f64)> =
        bends.filter_map(|bend| fit_bend(rungs, Some(bend)).map(|(squares, rise)| (bend, squares, rise))).collect();
    let &(size, least, rise) = fits.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let chance = 2.0 * f_quantile_beyond(2, freedom, 0.001) / freedom as f64;
    let seconds = rungs.iter().find(|rung| rung.size >= size)?.seconds;
    if straight <= least * (1.0 + chance) || rise < MIN_RISE * seconds / 2.0 {
        return None;
    }
    let most = least * (1.0 + f_quantile_beyond(1, freedom, 0.05) / freedom as f64);
    let mut possible = fits.iter().filter(|(_, squares, _)| *squares <= most).map(|(bend, ..)| *bend);
    let low = possible.next()?;
    // The ends may also lie between candidates.
    let (low, high) = (low / ratio, possible.next_back().unwrap_or(low) * ratio);
    let sound = low > first.size * ratio && high < last.size / ratio && high < MAX_RANGE * low;
    sound.then_some(Step { size, low, high, regions: rungs.len(), from: first.size, to: last.size })
}

fn is_coarse(rung: &Rung) -> bool {
    rung.size.log2().fract() == 0.0
}

/// The sum of squares of the relative errors, and the rise of the slope, if it rises.
fn fit_bend(rungs: &[Rung], bend: Option<f64>) -> Option<(f64, f64)> {
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
    let solution = terms.clone().svd(true, true).solve(&values, 1e-12).ok()?;
    let squares = (values - terms * &solution).norm_squared();
    let rise = solution.get(2).copied().unwrap_or(0.0);
    (bend.is_none() || rise > 0.0).then_some((squares, rise))
}
