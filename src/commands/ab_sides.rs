//! The two sides of `apexmap ab`: their runs and results.

use apexmap_base::error::{Error, Result};
use apexmap_base::sample::{Launch, Sample};
use apexmap_results::table::quietness::{ReferenceValues, causes};
use apexmap_study::paired::{self, Limits, Pairs, Run, Side};
use std::sync::Arc;
use std::time::Instant;

/// The runs of a comparison.
#[derive(Default)]
pub struct Measured {
    pub pairs: Pairs,
    /// The launch and the samples of each run, in the order of the runs.
    pub runs: Vec<(Arc<Launch>, Vec<Sample>)>,
    /// The compared value of each run, by side.
    pub values: [Vec<f64>; 2],
}

/// One run of a side.
pub struct SideRun {
    pub launch: Arc<Launch>,
    pub samples: Vec<Sample>,
    /// The value that is compared, and whether smaller ones are better.
    pub value: f64,
    pub is_smaller_better: bool,
}

/// Runs both sides in blocks.
///
/// # Errors
/// If a run fails.
pub fn measure(limits: &Limits, run: &mut dyn FnMut(Side) -> Result<SideRun>) -> Result<Measured> {
    let (mut measured, mut reference, started) = (Measured::default(), ReferenceValues::default(), Instant::now());
    let mut run_once = |side: Side| {
        let SideRun { launch, samples, value, is_smaller_better } = run(side)?;
        if !value.is_finite() || value <= 0.0 {
            let message = format!("a run of {} has the value {value}, which has no ratio", side.name());
            return Err(Error::measurement(message, "run it alone to see what it does"));
        }
        samples.iter().for_each(|sample| reference.add(&sample.disturbance));
        let reference = reference.clone().reference();
        let is_disturbed = |sample: &Sample| {
            causes(&sample.disturbance, &reference, launch.oversubscribed).is_some_and(|causes| !causes.is_empty())
        };
        let is_disturbed = samples.iter().any(is_disturbed);
        measured.values[side as usize].push(value);
        measured.runs.push((launch, samples));
        Ok(Run { speed: if is_smaller_better { 1.0 / value } else { value }, is_disturbed })
    };
    let pairs = paired::measure(limits, &mut || started.elapsed().as_secs_f64(), &mut run_once)?;
    measured.pairs = pairs;
    Ok(measured)
}
