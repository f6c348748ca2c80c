//! `apexmap ab A B`: runs of two commands.

use super::ab_sides::{Keep, Measured, SideRun};
use super::run_command::ValueOptions;
use super::shell_words;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::{Point, Value};
use apexmap_base::sample::Status;
use apexmap_measure::kernels;
use apexmap_measure::kernels::command::{self, COMMAND, Specification};
use apexmap_run::campaign::requested_runs::RequestedRuns;
use apexmap_run::sweep::plan::Entry;
use apexmap_study::paired::{Limits, Side};

/// Two commands, and the value that is compared.
pub struct Commands {
    points: [Point; 2],
    pub column: String,
    is_smaller_better: bool,
}

impl Commands {
    /// Reads both commands.
    ///
    /// # Errors
    /// If one is not valid, or a value is not.
    pub fn parse(texts: [&str; 2], values: &ValueOptions, time_limit: f64) -> Result<Self> {
        let [a, b] = texts.map(|text| specification(text, values, time_limit));
        let (a, b) = (a?, b?);
        let value = a.value.first().cloned().unwrap_or_default();
        let [a, b] = [&a, &b].map(|side| {
            let point = Point::new("command", 1).with_parameter(COMMAND, side.to_json().as_str());
            kernels::complete(point).map_err(|refusal| Error::input(refusal.message, ""))
        });
        Ok(Self { points: [a?, b?], column: value.column(), is_smaller_better: value.is_smaller_better() })
    }

    /// Returns the points of both sides.
    pub fn points(&self) -> [Vec<Entry>; 2] {
        let entry = |point: Point| Entry { key: KEY.into(), costs: None, resampled_costs: Vec::new(), point };
        self.points.clone().map(|point| vec![entry(point)])
    }

    /// Measures two of the commands; the same one twice for the null.
    ///
    /// # Errors
    /// If a run fails, or on a signal.
    pub fn measure(
        &self,
        limits: &Limits,
        sides: [Side; 2],
        measured: &mut Measured,
        keep: &mut Keep,
        interrupted: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        let mut runs = RequestedRuns::start(&self.points)?;
        // The first runs fill the caches of the system.
        for side in sides {
            self.require_success(&self.run(side, &mut runs, interrupted)?)?;
        }
        measured.measure(limits, &mut |turn| {
            let run = self.run(sides[turn.side as usize], &mut runs, interrupted)?;
            keep(turn, &run)?;
            self.require_success(&run)?;
            Ok(run)
        })
    }

    fn run(&self, side: Side, runs: &mut RequestedRuns, interrupted: &dyn Fn() -> Result<()>) -> Result<SideRun> {
        let (launch, mut sample) = runs.run(side as usize, interrupted)?;
        sample.key = KEY.into();
        let value = sample.outputs.get(&self.column).and_then(Value::as_f64).or(sample.seconds).unwrap_or(f64::NAN);
        let is_smaller_better = self.is_smaller_better;
        Ok(SideRun { launch, samples: vec![sample], is_whole_launch: false, value, is_smaller_better })
    }

    fn require_success(&self, run: &SideRun) -> Result<()> {
        match run.samples.iter().find(|sample| sample.status != Status::Ok) {
            Some(sample) => Err(run_error(&sample.point, &sample.message)),
            None => Ok(()),
        }
    }
}

/// The key of a command's samples, besides their side.
const KEY: &str = "command";

/// Returns the specification of a command with the options of the comparison.
fn specification(text: &str, values: &ValueOptions, time_limit: f64) -> Result<Specification> {
    let mut table = serde_json::Map::new();
    table.insert("command".into(), shell_words::split(text)?.into());
    table.insert("time_limit".into(), time_limit.into());
    if let Some(values) = values.to_toml()? {
        let values = serde_json::to_value(values).map_err(|error| Error::internal(error.to_string()))?;
        table.insert("value".into(), values);
    }
    let fault = |message: String| Error::input(message, "`apexmap ab --help` shows examples");
    let specification: Specification =
        serde_json::from_value(table.into()).map_err(|error| fault(error.to_string()))?;
    specification.check().map_err(fault)?;
    Ok(specification)
}

fn run_error(point: &Point, why: &str) -> Error {
    let label = command::specification(point)
        .map_or(String::new(), |command| apexmap_base::shell::quote_words(command.command));
    Error::measurement(format!("{label}: {why}"), "run the command itself to see its whole output")
}
