//! The section on the method: how points are matched, tested and averaged.

use crate::compare::comparison::Comparison;
use crate::compare::verdict::BasisWords;
use apexmap_theory::statistics::Basis;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub fn section(comparison: &Comparison, has_terms: bool, has_check: bool) -> Value {
    let bases: Vec<String> = (1..comparison.machines.len()).filter_map(|machine| bases(comparison, machine)).collect();
    json!({ "bases": bases, "has_terms": has_terms, "has_check": has_check })
}

/// Returns a sentence with the bases of a machine's intervals; `None` without a ratio.
fn bases(comparison: &Comparison, machine: usize) -> Option<String> {
    let mut counts: BTreeMap<Basis, usize> = BTreeMap::new();
    for tested in comparison.ratios[machine].ratios.values() {
        *counts.entry(tested.ratio.basis).or_default() += 1;
    }
    let describe = |(basis, points): (&Basis, &usize)| format!("{points} {}", BasisWords::new(*basis).points);
    let words: Vec<String> = counts.iter().map(describe).collect();
    (!words.is_empty()).then(|| format!("{}: {}.", comparison.title(machine), words.join("; ")))
}
