//! Which points reach other ranks' memory through a window: not every network and MPI library has that.
//!
//! It is told here and not by the kernels, whose sources distinguish builds: a change there makes samples stale.

use apexmap_base::point::{Point, Value};
use apexmap_results::samples::Samples;

/// Kernels whose runs always do.
const ALWAYS: [&str; 4] = ["apex_map.one_sided", "random_access.one_sided", "calibrate.get", "calibrate.barrier"];

/// Whether a run of this point gets, puts or accumulates in a window. Memory that ranks of one node share is none.
pub fn is_used(point: &Point) -> bool {
    let says = |name: &str, word: &str| matches!(point.params.get(name), Some(Value::Text(text)) if text == word);
    match point.kernel.as_str() {
        kernel if ALWAYS.contains(&kernel) => true,
        "calibrate.request" => says("by", "gets"),
        _ => says("operation", "put"),
    }
}

/// Whether some of these samples are of such points.
pub fn is_in(samples: &Samples) -> bool {
    let says = |column: &str, word: &str| samples.words(column).contains(&word);
    ALWAYS.iter().any(|kernel| says("kernel", kernel)) || says("operation", "put") || says("remote_by", "gets")
}
