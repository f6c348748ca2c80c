//! The section on the method: how points are matched, tested and averaged.

use super::Section;
use crate::compare::Comparison;
use crate::compare::ratio::{Basis, EXACT};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
pub struct Method {
    /// Bases of the points' intervals, as sentences.
    pub bases: Vec<String>,
    pub has_terms: bool,
    pub has_check: bool,
}

impl Section for Method {
    const HEADING: Option<[&'static str; 2]> = Some(["method", "Method"]);
    const TEMPLATE: &'static str = include_str!("method.html");
}

/// Returns the bases of the matched points' intervals, one sentence per machine.
pub fn bases(comparison: &Comparison) -> Vec<String> {
    let mut sentences = Vec::new();
    for machine in 1..comparison.machines.len() {
        let mut counts: BTreeMap<Basis, usize> = BTreeMap::new();
        for tested in comparison.ratios[machine].ratios.values() {
            *counts.entry(tested.ratio.basis).or_default() += 1;
        }
        if counts.is_empty() {
            continue;
        }
        let describe = |(basis, points): (&Basis, &usize)| match basis {
            Basis::Exact => format!("{points} {EXACT}, simulated or predicted"),
            Basis::Pairs => format!("{points} from launches of one run, compared in pairs"),
            Basis::Launches => format!("{points} from the variation between launches"),
            Basis::Samples => {
                format!(
                    "{points} from the variation within single launches; launch-to-launch variation is not included"
                )
            }
            Basis::Card => format!("{points} from the intervals of the card's numbers"),
            Basis::Nothing => format!("{points} without an interval because of too few samples"),
        };
        let words: Vec<String> = counts.iter().map(describe).collect();
        sentences.push(format!("{}: {}.", comparison.title(machine), words.join("; ")));
    }
    sentences
}
