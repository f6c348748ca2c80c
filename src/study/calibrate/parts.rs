//! The remark in a card's origins about runs in parts that never took the same time twice in a row.

use apexmap_results::samples::Samples;

/// Returns the remark for the origin of a number, if some of its runs were like that.
pub fn never_alike(samples: &Samples) -> Option<String> {
    let alike = samples.numbers("parts_alike");
    let never = alike.iter().filter(|&&alike| alike == 0.0).count();
    (never > 0).then(|| format!("{MARK}{never} of {}", alike.len()))
}

const MARK: &str = "; no two parts in a row took the same time in ";

/// Reads the remark back from an origin: how many of how many runs.
pub fn count_of_runs(how: &str) -> Option<&str> {
    how.split_once(MARK).map(|(_, runs)| runs)
}
