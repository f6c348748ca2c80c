//! Runs in parts that never took the same time twice in a row: what a card says of them.

use apexmap_results::samples::Samples;

/// For the origin of a number, where that happened to some of its runs.
pub fn never_alike(samples: &Samples) -> Option<String> {
    let alike = samples.numbers("parts_alike");
    let never = alike.iter().filter(|&&alike| alike == 0.0).count();
    (never > 0).then(|| format!("{MARK}{never} of {}", alike.len()))
}

const MARK: &str = "; no two parts in a row took the same time in ";

/// The same from the origin of a number: how many of how many runs.
pub fn count_of_runs(how: &str) -> Option<&str> {
    how.split_once(MARK).map(|(_, runs)| runs)
}
