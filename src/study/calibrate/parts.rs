//! The remark in a card's origins about runs in parts that never took the same time twice in a row.

use apexmap_results::samples::Samples;

/// Returns the remark for the origin of a number, if some of its runs were like that.
pub fn unsteady_remark(samples: &Samples) -> Option<String> {
    let pairs = samples.numbers("parts_alike");
    let never = pairs.iter().filter(|&&pairs| pairs == 0.0).count();
    (never > 0).then(|| format!("{MARK}{never} of {}", pairs.len()))
}

const MARK: &str = "; no two parts in a row took the same time in ";

/// Reads the remark back from an origin: how many of how many runs.
pub fn unsteady_runs(how: &str) -> Option<&str> {
    how.split_once(MARK).map(|(_, runs)| runs)
}
