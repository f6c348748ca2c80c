//! The table of simulated ranks. Its contents take memory but no virtual time: the driver charges the updates of the whole table.
//! Ranks therefore store only a part of it. They make the updates of the whole table, divided among ranks in the same way.

use super::*;

const MAX_WORDS_PER_RANK: u64 = 256;

/// The number of updates stays the same. `parts` is the number of parts of the table.
pub(super) fn shrink(point: &Point, parts: usize) -> Point {
    let words = N_WORDS.of(point);
    let stored = words.min(MAX_WORDS_PER_RANK * parts.next_power_of_two() as u64);
    // Both are powers of two, so the product of words and updates per word stays the same.
    let updates = UPDATES.of(point) * (words / stored) as f64;
    point.clone().with_parameter("N_words", stored).with_parameter("updates", updates)
}

/// A simulation does not show the share of a node's memory, nor whether a run would follow the rules.
pub(super) fn restrict_outputs(outcome: &mut Outcome) {
    outcome.outputs.remove("memory_share");
    outcome.outputs.insert("conformant", Value::Integer(0));
    outcome.outputs.insert("rules_broken", Value::Text("simulated".into()));
}
