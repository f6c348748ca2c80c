//! Warnings to read before using a number.

use super::placement;
use super::prelude::*;
use apexmap_base::other_output::OtherOutput;
use apexmap_base::units::MAX_INTERVAL_RATIO;
use apexmap_results::disk::record::Damage;
use apexmap_results::samples::distance;

const CALIBRATION: &str = "calibrate";

pub struct Remarks {
    pub placement: Vec<String>,
    pub samples: Vec<String>,
}

impl Remarks {
    pub fn new(manifest: &Manifest, samples: &Samples) -> Self {
        Self { placement: placement::warnings(manifest, samples), samples: samples.remarks(&manifest.plain_node()) }
    }
}

/// `stale`: samples that the report excludes.
pub fn list(manifest: &Manifest, samples: &Samples, remarks: &Remarks, stale: usize) -> Vec<String> {
    let mut warnings = Vec::new();
    if samples.is_oversubscribed() {
        warnings.push(
            "Oversubscribed: some launches had more ranks than hardware threads. Their times do not represent a \
             machine with a hardware thread for each rank."
                .into(),
        );
    }
    warnings.extend(remarks.placement.iter().cloned());
    if manifest.launches.iter().any(|l| l.launch.transport == "threads") {
        warnings.push(
            "Ranks were threads of one process and exchanged messages through shared memory. No network \
             was measured."
                .into(),
        );
    }
    if manifest.is_measured() {
        warnings.extend(manifest.worker.cautions());
    }
    warnings.extend(unsteady(samples));
    warnings.extend(remarks.samples.iter().cloned());
    if stale > 0 && manifest.name == CALIBRATION {
        warnings.push(format!(
            "The result also has {} that the card does not use: the second stage of a calibration measures some numbers again, at \
             the edges of caches that the first stage finds. Earlier calibrations in the same folder may have left others.",
            plural(stale, "sample")
        ));
    } else if stale > 0 {
        warnings.push(format!(
            "The result also has {} of another build, machine or plan, which this report excludes.",
            plural(stale, "sample")
        ));
    }
    warnings.extend(manifest.compaction.iter().flat_map(|made| &made.damages).map(Damage::sentence));
    warnings.extend(OtherOutput::total(manifest.launches.iter().map(|end| &end.output)).sentences());
    if manifest.launches.iter().any(|l| l.budget_spent) {
        warnings.push(
            "The time budget was used up before every point reached the requested precision. The columns n and \
             95 % CI show the precision of each point."
                .into(),
        );
    }
    warnings
}

pub fn list_for_card(folder: &Folder, samples: &Samples) -> Result<Vec<String>> {
    let Some(card) = folder.card()? else { return Ok(Vec::new()) };
    let network = folder.trial()?.and_then(|trial| trial.describe_network_mismatch(&card));
    Ok(network.into_iter().chain(distance::card_warning(samples, &card)).chain(uncertain(&card)).collect())
}

const MAX_NAMES: usize = 4;

fn uncertain(card: &Card) -> Option<String> {
    let names = card.uncertain_numbers();
    let further = names.len().saturating_sub(MAX_NAMES);
    let further = if further > 0 { format!(" and {further} more") } else { String::new() };
    (!names.is_empty()).then(|| {
        format!(
            "The card of {} does not determine {}{further}: their 95 % intervals span at least a factor of {MAX_INTERVAL_RATIO}. \
             Limits and attainable rates do not use them; models that predict from the card use their medians.",
            card.name,
            names[..names.len().min(MAX_NAMES)].join(", ")
        )
    })
}

/// Fraction of drifting samples above which the report warns.
const UNSTEADY: f64 = 0.1;

fn unsteady(samples: &Samples) -> Option<String> {
    let steady = samples.good().numbers("steady");
    let drifted = steady.iter().filter(|&&steady| steady == 0.0).count();
    (drifted as f64 > UNSTEADY * steady.len() as f64).then(|| {
        format!(
            "In {drifted} of {} the last quarter of the run was more than 10 % faster or slower than the first (column drift): \
             caches that were not yet warm, ranks that ended at different times, or a disturbance.",
            plural(steady.len(), "sample")
        )
    })
}
