//! Combinations of variables that no run can have: each point of a prediction is checked here; those of results were run.

use super::{About, RANKS};
use apexmap_base::error::{Error, Result};
use apexmap_base::reservation::Reservation;
use apexmap_base::units::{WORD_BYTES, exact_number};

/// A point, with the names of its variables.
struct Combination<'a> {
    about: &'a About,
    x: &'a mut [f64],
    reductions: Vec<Reservation>,
}

/// Rejects invalid values and combinations that no run can have, such as a block longer than a rank's memory. Numbers that only
/// exceed what others leave are reduced: a node of 16 ranks has 4 if P is 4. Returns the reductions.
pub fn check(about: &About, x: &mut [f64]) -> Result<Vec<Reservation>> {
    for (variable, value) in about.variables.iter().zip(x.iter()) {
        variable.valid.check(*value).map_err(|(condition, next)| {
            let (name, value) = (variable.name, exact_number(*value));
            Error::input(format!("{name} must be {condition}, found {value}"), next)
        })?;
    }
    let mut point = Combination { about, x, reductions: Vec::new() };
    if let Some(ranks) = point.get(RANKS.name) {
        point.reduce("ranks_per_node", ranks, ranks);
        // An exchange in as many dimensions as the hypercube of P ranks is that hypercube, which is d = 0. There are no more dimensions.
        if let Some(index) = about.variable_index("d").filter(|&index| point.x[index] == ranks.log2()) {
            point.x[index] = 0.0;
        }
        point.reduce("d", ranks.log2().floor(), 0.0);
        if ranks == 1.0 && point.get("given_remote_share").is_some() {
            return Err(point.refuse("one rank has no remote accesses", "give at least two ranks"));
        }
    }
    let words = point.get("M").map(|words| (words / point.get(RANKS.name).unwrap_or(1.0), "the memory of a rank"));
    let region = point.get("region_bytes").map(|bytes| (bytes / WORD_BYTES as f64, "the region"));
    if let (Some(block), Some((words, place))) = (point.get("L"), words.or(region))
        && block > words
    {
        let [block, words] = [block, words].map(exact_number);
        return Err(point.refuse(
            &format!("a block of L = {block} words does not fit into {place}, {words} words"),
            "give a smaller L, or more memory",
        ));
    }
    Ok(point.reductions)
}

impl Combination<'_> {
    fn get(&self, name: &str) -> Option<f64> {
        self.about.variable_index(name).map(|index| self.x[index])
    }

    fn reduce(&mut self, name: &'static str, most: f64, value: f64) {
        let Some(index) = self.about.variable_index(name).filter(|&index| self.x[index] > most) else { return };
        let ranks = self.get(RANKS.name).unwrap_or(f64::NAN);
        self.reductions.push(Reservation::Reduced {
            variable: name.to_owned(),
            from: self.x[index],
            to: value,
            because: format!("P = {}", exact_number(ranks)),
        });
        self.x[index] = value;
    }

    fn refuse(&self, message: &str, next: &str) -> Error {
        Error::input(format!("{}: {message}", self.about.id), next)
    }
}
