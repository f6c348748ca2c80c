//! Commands as sides of a comparison.

use super::sides::{Check, SideRun, Sides, require_success};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::{Point, Value};
use apexmap_measure::kernels::command::{COMMAND, Specification};
use apexmap_measure::kernels::{self};
use apexmap_run::campaign::requested_runs::RequestedRuns;
use apexmap_run::drive::plan::Entry;

/// The key of a command's samples, besides their side.
const KEY: &str = "command";

pub struct Commands {
    points: Vec<Point>,
    warm_up: u32,
    column: String,
    is_smaller_better: bool,
    runs: Option<RequestedRuns>,
}

impl Commands {
    /// The first value of the first command is compared.
    pub fn new(commands: Vec<Specification>, warm_up: u32) -> Result<Self> {
        let value = commands.first().and_then(|command| command.value.first()).cloned().unwrap_or_default();
        let points = commands.into_iter().map(|command| {
            let point = Point::new("command", 1).with_parameter(COMMAND, command.with_locale().to_json().as_str());
            kernels::complete(point).map_err(|refusal| Error::input(refusal.message, ""))
        });
        let (points, is_smaller_better) = (points.collect::<Result<_>>()?, value.is_smaller_better());
        Ok(Self { points, warm_up, column: value.column(), is_smaller_better, runs: None })
    }
}

impl Sides for Commands {
    fn points(&self) -> Vec<Vec<Entry>> {
        let entry = |point: Point| Entry { key: KEY.into(), costs: None, resampled_costs: Vec::new(), point };
        self.points.iter().map(|point| vec![entry(point.clone())]).collect()
    }

    fn column(&self) -> Option<&str> {
        Some(&self.column)
    }

    /// The first runs fill the caches of the system.
    fn prepare(&mut self, compared: &[usize], check: &Check) -> Result<()> {
        self.runs = Some(RequestedRuns::start(&self.points)?);
        let runs = compared.repeat(self.warm_up as usize);
        runs.into_iter().try_for_each(|side| require_success(&self.run(side, check)?.samples))
    }

    fn run(&mut self, side: usize, check: &Check) -> Result<SideRun> {
        let runs = self.runs.as_mut().ok_or_else(|| Error::internal("a run without its worker"))?;
        let (launch, mut sample) = runs.run(side, check)?;
        sample.key = KEY.into();
        let value = sample.outputs.get(&self.column).and_then(Value::as_f64).or(sample.seconds).unwrap_or(f64::NAN);
        let is_smaller_better = self.is_smaller_better;
        Ok(SideRun { launch, samples: vec![sample], is_whole_launch: false, value, is_smaller_better })
    }
}
