//! The sides of a comparison, and their runs.

use super::{Limits, Pairs, Run, Turn, side_name};
use apexmap_base::error::{Error, Result};
use apexmap_base::sample::{Launch, Sample, Status};
use apexmap_base::shell::quote_words;
use apexmap_measure::kernels::command;
use apexmap_results::table::quietness::{ReferenceValues, causes};
use apexmap_run::drive::plan::Entry;
use std::time::Instant;

pub struct SideRun {
    pub launch: Launch,
    pub samples: Vec<Sample>,
    /// Whether the launch has no other run.
    pub is_whole_launch: bool,
    /// The value that is compared, and whether smaller ones are better.
    pub value: f64,
    pub is_smaller_better: bool,
}

/// Fails on a signal.
pub type Check<'a> = dyn Fn() -> Result<()> + 'a;

pub trait Sides {
    fn points(&self) -> Vec<Vec<Entry>>;

    /// The compared column; `None` for the mean over all points.
    fn column(&self) -> Option<&str>;

    fn prepare(&mut self, compared: &[usize], check: &Check) -> Result<()>;

    fn run(&mut self, side: usize, check: &Check) -> Result<SideRun>;
}

pub struct Measured {
    pub pairs: Pairs,
    /// The compared value of each run, by side.
    pub values: Vec<Vec<f64>>,
    reference: ReferenceValues,
}

impl Measured {
    /// Continues an earlier comparison.
    pub fn new(pairs: Pairs, values: Vec<Vec<f64>>) -> Self {
        Self { pairs, values, reference: ReferenceValues::default() }
    }

    /// `keep` stores a run before the next one is measured, and `show` gets the pairs before each block.
    pub fn measure(
        &mut self,
        sides: &mut dyn Sides,
        compared: &[usize],
        limits: &Limits,
        keep: &mut dyn FnMut(Turn, &SideRun) -> Result<()>,
        check: &Check,
        show: &mut dyn FnMut(&Pairs),
    ) -> Result<()> {
        sides.prepare(compared, check)?;
        let (Self { pairs, values, reference }, started) = (self, Instant::now());
        let mut run_once = |turn: Turn| {
            let run = sides.run(compared[turn.side], check)?;
            keep(turn, &run)?;
            require_success(&run.samples)?;
            let SideRun { launch, samples, value, is_smaller_better, .. } = run;
            if !(value.is_finite() && value > 0.0) {
                let message = format!("a run of {} has the value {value}, which has no ratio", side_name(turn.side));
                return Err(Error::measurement(message, "run it alone to see what it does"));
            }
            samples.iter().for_each(|sample| reference.add(&sample.disturbance));
            let reference = reference.clone().reference();
            let is_disturbed = samples.iter().any(|sample| {
                causes(&sample.disturbance, &reference, launch.oversubscribed).is_some_and(|causes| !causes.is_empty())
            });
            values[turn.side].push(value);
            Ok(Run { speed: if is_smaller_better { 1.0 / value } else { value }, is_disturbed })
        };
        super::measure(pairs, limits, &mut || started.elapsed().as_secs_f64(), &mut run_once, show)
    }
}

pub fn require_success(samples: &[Sample]) -> Result<()> {
    let Some(failed) = samples.iter().find(|sample| sample.status != Status::Ok) else { return Ok(()) };
    let command = command::specification(&failed.point).map(|command| quote_words(command.command));
    let name = command.unwrap_or_else(|_| failed.point.kernel.clone());
    let help = "run the command itself to see its whole output";
    Err(Error::measurement(format!("{name}: {}", failed.message), help))
}
