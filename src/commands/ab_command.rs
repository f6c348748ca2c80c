//! `apexmap ab A B`: runs of two commands.

use super::ab_sides::{Measured, SideRun, measure};
use super::run_command::ValueOptions;
use super::shell_words;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::{Point, Value};
use apexmap_base::sample::{Launch, Sample, Status};
use apexmap_measure::comm::Collectives;
use apexmap_measure::comm::threads;
use apexmap_measure::kernels::Outcome;
use apexmap_measure::kernels::command::{self, COMMAND, Specification};
use apexmap_measure::observer::Observer;
use apexmap_measure::provenance::load_average;
use apexmap_measure::worker::{describe_own_threads, unix_seconds};
use apexmap_study::paired::{Limits, Side};
use std::sync::{Arc, Mutex, PoisonError};

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
        let points = [&a, &b].map(|side| Point::new("command", 1).with_parameter(COMMAND, side.to_json().as_str()));
        Ok(Self { points, column: value.column(), is_smaller_better: value.is_smaller_better() })
    }

    /// Measures two of the commands; the same one twice for the null.
    ///
    /// # Errors
    /// If a run fails.
    pub fn measure(&self, limits: &Limits, sides: [Side; 2]) -> Result<Measured> {
        // The observer belongs to a rank.
        let result = Mutex::new(None);
        let ranks = threads::run(1, |comm, _| {
            let measured = self.measure_on(comm, limits, sides);
            *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(measured);
        });
        ranks.into_iter().collect::<std::result::Result<Vec<()>, _>>().map_err(Error::internal)?;
        let measured = result.into_inner().unwrap_or_else(PoisonError::into_inner);
        measured.unwrap_or_else(|| Err(Error::internal("the rank has no result")))
    }

    fn measure_on<C: Collectives>(&self, comm: &C, limits: &Limits, sides: [Side; 2]) -> Result<Measured> {
        let launch = describe_own_threads(comm)?.ok_or_else(|| Error::internal("rank 0 describes the launch"))?;
        let launch = Arc::new(launch);
        let mut observer = Observer::new(comm);
        // The first runs fill the caches of the system.
        for side in sides {
            self.run(side, comm, &mut observer, &launch)?;
        }
        measure(limits, &mut |side| self.run(sides[side as usize], comm, &mut observer, &launch))
    }

    fn run<C: Collectives>(
        &self,
        side: Side,
        comm: &C,
        observer: &mut Observer,
        launch: &Arc<Launch>,
    ) -> Result<SideRun> {
        let point = &self.points[side as usize];
        observer.start_run(comm);
        let outcome = command::measure(point);
        let disturbance = observer.finish_run();
        let Outcome { seconds, outputs, .. } = outcome.map_err(|why| run_error(point, &why))?;
        let value = outputs.get(self.column.as_str()).and_then(Value::as_f64).unwrap_or(seconds);
        let sample = Sample {
            point: point.clone(),
            key: side.name().into(),
            block: 0,
            repetition: 0,
            status: Status::Ok,
            message: String::new(),
            unix_seconds: unix_seconds(),
            load: load_average(),
            pages_elsewhere: None,
            disturbance,
            seconds: Some(seconds),
            outputs: outputs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        };
        let is_smaller_better = self.is_smaller_better;
        Ok(SideRun { launch: Arc::clone(launch), samples: vec![sample], value, is_smaller_better })
    }
}

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
