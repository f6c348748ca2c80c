//! The second stage of a calibration: its points depend on the samples of the first.

use super::{Probe, derived_numbers, ladders, levels, previous_power_of_two, set_numbers};
use apexmap_base::error::Result;
use apexmap_base::provenance::Host;
use apexmap_results::samples::Samples;
use apexmap_theory::machine::{Card, catalogue};
use std::collections::HashSet;

/// Returns the second stage: points around the steps of the latency staircase that the first stage shows, and the
/// levels whose regions move because of these steps. Equal samples give an equal second stage.
pub fn second_stage(probes: &[Probe], samples: &Samples, host: &Host) -> Result<Vec<Probe>> {
    let mut card = Card::default();
    let of_staircase = |probe: &&Probe| {
        [catalogue::READ_SECONDS.name, catalogue::PAGE_READ_SECONDS.name].contains(&probe.number.entry.name)
    };
    set_numbers(&mut card, probes.iter().filter(of_staircase), samples)?;
    let mut further = ladders::refine(&card, previous_power_of_two(levels::memory_bytes(host) / 8));
    let levels = levels::probes(host, derived_numbers::sizes(&card, levels::reported_sizes(host)));
    further.extend(levels.into_iter().filter(|probe| !probes.contains(probe)));
    Ok(further)
}

/// Merges both stages. A number that the second stage measures again replaces that of the first.
pub fn merge_stages(first: Vec<Probe>, second: Vec<Probe>) -> Vec<Probe> {
    let is_remeasured = |probe: &Probe| second.iter().any(|other| other.number == probe.number);
    let mut probes: Vec<Probe> = first.into_iter().filter(|probe| !is_remeasured(probe)).collect();
    probes.extend(second);
    probes
}

/// Returns the samples of the first stage that were measured before the second one began. The second stage may add samples to
/// points of the first, and a resumed run must choose the same second stage. Expects all samples of the result while its plan is
/// that of the first stage.
pub fn first_stage_samples(samples: &Samples) -> Samples {
    let (table, current) = (samples.table(), samples.current());
    let (is_current, build): (HashSet<usize>, &str) =
        (current.rows().iter().copied().collect(), current.first_word("build"));
    let is_later_stage = |row: &&usize| !is_current.contains(*row) && table.word("build", **row) == build;
    let ends = samples.rows().iter().filter(is_later_stage).map(|&row| table.number("unix_seconds", row));
    let begun = ends.fold(f64::INFINITY, f64::min);
    let before = current.filter_rows(|row| table.number("unix_seconds", row) < begun);
    // An earlier calibration with other points of the first stage may be in the same result.
    let points = |samples: &Samples| samples.words("key").len();
    if points(&before) == points(&current) { before } else { current }
}
