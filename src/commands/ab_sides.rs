//! The two sides of `apexmap ab`: their runs and results.

use apexmap_base::error::{Error, Result};
use apexmap_base::sample::{Launch, Sample};
use apexmap_results::table::quietness::{ReferenceValues, causes};
use apexmap_study::paired::{self, Limits, Pairs, Run, Turn};
use std::time::Instant;

/// The runs of a comparison so far.
#[derive(Default)]
pub struct Measured {
    pub pairs: Pairs,
    /// The compared value of each run, by side.
    pub values: [Vec<f64>; 2],
    reference: ReferenceValues,
}

/// One run of a side.
pub struct SideRun {
    pub launch: Launch,
    pub samples: Vec<Sample>,
    /// Whether the launch has no other run.
    pub is_whole_launch: bool,
    /// The value that is compared, and whether smaller ones are better.
    pub value: f64,
    pub is_smaller_better: bool,
}

/// Keeps a run before the next one is measured.
pub type Keep<'a> = dyn FnMut(Turn, &SideRun) -> Result<()> + 'a;

impl Measured {
    /// Runs both sides in blocks.
    ///
    /// # Errors
    /// If a run fails, or cannot be kept. The complete pairs stay.
    pub fn measure(&mut self, limits: &Limits, run: &mut dyn FnMut(Turn) -> Result<SideRun>) -> Result<()> {
        let (Self { pairs, values, reference }, started) = (self, Instant::now());
        let mut run_once = |turn: Turn| {
            let SideRun { launch, samples, value, is_smaller_better, .. } = run(turn)?;
            if !(value.is_finite() && value > 0.0) {
                let message = format!("a run of {} has the value {value}, which has no ratio", turn.side.name());
                return Err(Error::measurement(message, "run it alone to see what it does"));
            }
            samples.iter().for_each(|sample| reference.add(&sample.disturbance));
            let reference = reference.clone().reference();
            let is_disturbed = |sample: &Sample| {
                causes(&sample.disturbance, &reference, launch.oversubscribed).is_some_and(|causes| !causes.is_empty())
            };
            let is_disturbed = samples.iter().any(is_disturbed);
            values[turn.side as usize].push(value);
            Ok(Run { speed: if is_smaller_better { 1.0 / value } else { value }, is_disturbed })
        };
        paired::measure(pairs, limits, &mut || started.elapsed().as_secs_f64(), &mut run_once)
    }
}
