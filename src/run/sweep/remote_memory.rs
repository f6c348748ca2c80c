//! Finds the points that access other ranks' memory through a window. Not every network and MPI library supports that.
//!
//! This list is not part of the kernels, because their sources determine the fingerprint: a change there makes samples stale.

use apexmap_base::point::{Point, Value};
use apexmap_results::samples::Samples;

/// Kernels that always use a window.
const ALWAYS: [&str; 4] = ["apex_map.one_sided", "random_access.one_sided", "calibrate.get", "calibrate.barrier"];

/// Returns true if a run of this point gets, puts or accumulates in a window. Memory shared by the ranks of one node is not a
/// window.
pub fn is_used(point: &Point) -> bool {
    let is_set_to = |name: &str, word: &str| matches!(point.params.get(name), Some(Value::Text(text)) if text == word);
    match point.kernel.as_str() {
        kernel if ALWAYS.contains(&kernel) => true,
        "calibrate.request" => is_set_to("by", "gets"),
        _ => is_set_to("operation", "put"),
    }
}

/// Returns true if one of these samples belongs to such a point.
pub fn is_used_in(samples: &Samples) -> bool {
    let contains = |column: &str, word: &str| samples.words(column).contains(&word);
    ALWAYS.iter().any(|kernel| contains("kernel", kernel))
        || contains("operation", "put")
        || contains("remote_by", "gets")
}
