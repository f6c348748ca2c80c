//! Two commands as sides of a comparison.

use super::Side;
use super::sides::{Check, SideRun, Sides, require_success};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::{Point, Value};
use apexmap_measure::kernels::command::{COMMAND, Specification};
use apexmap_measure::kernels::{self};
use apexmap_run::campaign::requested_runs::RequestedRuns;
use apexmap_run::drive::plan::Entry;

/// The key of a command's samples, besides their side.
const KEY: &str = "command";

/// Two commands, and the value that is compared.
pub struct Commands {
    points: [Point; 2],
    column: String,
    is_smaller_better: bool,
    runs: Option<RequestedRuns>,
}

impl Commands {
    /// The first value of the first command is compared.
    pub fn new(commands: [Specification; 2]) -> Result<Self> {
        let value = commands[0].value.first().cloned().unwrap_or_default();
        let [a, b] = commands.map(|command| {
            let point = Point::new("command", 1).with_parameter(COMMAND, command.to_json().as_str());
            kernels::complete(point).map_err(|refusal| Error::input(refusal.message, ""))
        });
        let is_smaller_better = value.is_smaller_better();
        Ok(Self { points: [a?, b?], column: value.column(), is_smaller_better, runs: None })
    }
}

impl Sides for Commands {
    fn points(&self) -> [Vec<Entry>; 2] {
        let entry = |point: Point| Entry { key: KEY.into(), costs: None, resampled_costs: Vec::new(), point };
        self.points.clone().map(|point| vec![entry(point)])
    }

    fn column(&self) -> Option<&str> {
        Some(&self.column)
    }

    /// Runs both sides once, which fills the caches of the system.
    fn prepare(&mut self, compared: [Side; 2], check: &Check) -> Result<()> {
        self.runs = Some(RequestedRuns::start(&self.points)?);
        compared.into_iter().try_for_each(|side| require_success(&self.run(side, check)?.samples))
    }

    fn run(&mut self, side: Side, check: &Check) -> Result<SideRun> {
        let runs = self.runs.as_mut().ok_or_else(|| Error::internal("a run without its worker"))?;
        let (launch, mut sample) = runs.run(side as usize, check)?;
        sample.key = KEY.into();
        let value = sample.outputs.get(&self.column).and_then(Value::as_f64).or(sample.seconds).unwrap_or(f64::NAN);
        let is_smaller_better = self.is_smaller_better;
        Ok(SideRun { launch, samples: vec![sample], is_whole_launch: false, value, is_smaller_better })
    }
}
