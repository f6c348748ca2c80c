//! `apexmap ab`: two commands in alternating runs, and the ratio of their speeds.

use super::format::pretty;
use super::run_command::ValueOptions;
use super::shell_words;
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::point::{Point, Value};
use apexmap_base::terminal::{note, print, print_data};
use apexmap_base::units::amount;
use apexmap_measure::comm::threads;
use apexmap_measure::kernels::command::{self, COMMAND, Specification};
use apexmap_measure::observer::Observer;
use apexmap_pages::compare::limit::SlowdownLimit;
use apexmap_results::table::columns;
use apexmap_results::table::quietness::{ReferenceValues, causes};
use apexmap_run::sweep::parse_budget;
use apexmap_study::paired::{self, Limits, Pairs, Ratio, Run, Side};
use apexmap_theory::statistics::median;
use serde::Serialize;
use std::sync::Mutex;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap ab 'sort words.txt' 'sort --parallel=2 words.txt'
  apexmap ab './old --input x' './new --input x' --fail-if slower=2% --budget 60s
  apexmap ab './bench -l 1' './bench -l 2' --value 'regex:rate: ([0-9.]+)' --unit GB/s --null

Runs alternate in blocks ABBA and BAAB, at random. The pair is the unit of the 95 % interval, so that drifts cancel. Without a shell, pipes
need sh -c '...'. docs/command.md explains the numbers.")]
pub struct Arguments {
    /// The first command with its arguments
    #[arg(value_name = "A")]
    a: String,
    /// The second command
    #[arg(value_name = "B")]
    b: String,
    #[command(flatten)]
    values: ValueOptions,
    /// Time of all runs
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_budget)]
    budget: f64,
    /// End earlier if the interval of the ratio is this narrow, relative to the ratio
    #[arg(long, value_name = "WIDTH", default_value_t = 0.01)]
    width: f64,
    /// Longest time of one run
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_budget)]
    time_limit: f64,
    /// Also compare A with itself; its ratio shows what this machine can tell apart
    #[arg(long)]
    null: bool,
    /// slower=2%: end with code 5 if B is slower than A by more than 2 %, and with code 4 if the runs do not decide this
    #[arg(long, value_name = "CONDITION")]
    fail_if: Option<String>,
    /// Print the ratios as JSON
    #[arg(long)]
    json: bool,
}

/// The result for programs.
#[derive(Serialize)]
struct Report<'a> {
    a: &'a str,
    b: &'a str,
    column: &'a str,
    /// Medians of A and B, in the base unit of the column.
    medians: [f64; 2],
    ratio: Ratio,
    null: Option<Ratio>,
    repeated_blocks: usize,
    disturbed_blocks: usize,
}

/// Two commands, and the value that is compared.
struct Comparison {
    points: [Point; 2],
    column: String,
    is_smaller_better: bool,
    limits: Limits,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let limit = arguments.fail_if.as_deref().map(SlowdownLimit::parse).transpose()?;
    let specification = |text: &str| specification(text, arguments);
    let (a, b) = (specification(&arguments.a)?, specification(&arguments.b)?);
    let value = a.value.first().cloned().unwrap_or_default();
    let point = |side: &Specification| Point::new("command", 1).with_parameter(COMMAND, side.to_json().as_str());
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
    let comparison = Comparison {
        points: [point(&a), point(&b)],
        column: value.column(),
        is_smaller_better: value.is_smaller_better(),
        limits: Limits { width: arguments.width, budget: arguments.budget, seed },
    };
    let (pairs, medians) = comparison.measure([Side::A, Side::B])?;
    let null = if arguments.null { comparison.measure([Side::A, Side::A])?.0.ratio() } else { None };
    let ratio = pairs.ratio().ok_or_else(|| Error::internal("a comparison has a block"))?;
    if arguments.json {
        let report = Report {
            a: &arguments.a,
            b: &arguments.b,
            column: &comparison.column,
            medians,
            ratio,
            null,
            repeated_blocks: pairs.repeated,
            disturbed_blocks: pairs.disturbed,
        };
        print_data(&pretty(&report)?)?;
    } else {
        print(&comparison.text(arguments, &pairs, medians, ratio, null))?;
    }
    limit.map_or(Ok(()), |limit| judge(&ratio, limit))
}

/// Returns the specification of a command with the options of the comparison.
fn specification(text: &str, arguments: &Arguments) -> Result<Specification> {
    let mut table = serde_json::Map::new();
    table.insert("command".into(), shell_words::split(text)?.into());
    table.insert("time_limit".into(), arguments.time_limit.into());
    if let Some(values) = arguments.values.to_toml()? {
        let values = serde_json::to_value(values).map_err(|error| Error::internal(error.to_string()))?;
        table.insert("value".into(), values);
    }
    let fault = |message: String| Error::input(message, "`apexmap ab --help` shows examples");
    let specification: Specification =
        serde_json::from_value(table.into()).map_err(|error| fault(error.to_string()))?;
    specification.check().map_err(fault)?;
    Ok(specification)
}

impl Comparison {
    /// Measures two sides, and returns the medians of both in the base unit.
    fn measure(&self, sides: [Side; 2]) -> Result<(Pairs, [f64; 2])> {
        // The observer belongs to a rank.
        let result = Mutex::new(None);
        let ranks = threads::run(1, |comm, _| {
            let mut observer = Observer::new(comm);
            let (mut values, mut reference) = ([Vec::new(), Vec::new()], ReferenceValues::default());
            let mut run_side = |side: Side| {
                let point = &self.points[sides[side as usize] as usize];
                observer.start_run(comm);
                let outcome = command::measure(point).map_err(|why| run_error(point, why));
                let facts = observer.finish_run();
                let outcome = outcome?;
                let output = outcome.outputs.get(self.column.as_str()).and_then(Value::as_f64);
                let value = output.unwrap_or(outcome.seconds);
                if value.is_nan() || value <= 0.0 {
                    return Err(run_error(point, format!("its {} is {value}, which has no ratio", self.column)));
                }
                values[side as usize].push(value);
                reference.add(&facts);
                let causes = causes(&facts, &reference.clone().reference(), false);
                let speed = if self.is_smaller_better { 1.0 / value } else { value };
                Ok(Run { speed, is_disturbed: causes.is_some_and(|causes| !causes.is_empty()) })
            };
            // The first runs fill the caches of the system.
            let measured =
                [Side::A, Side::B].into_iter().try_for_each(|side| run_side(side).map(drop)).and_then(|()| {
                    let started = Instant::now();
                    paired::measure(&self.limits, &mut || started.elapsed().as_secs_f64(), &mut run_side)
                });
            let medians = values.map(|values| median(&values).unwrap_or(f64::NAN));
            let mut place = result.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            *place = Some(measured.map(|pairs| (pairs, medians)));
        });
        ranks.into_iter().collect::<std::result::Result<Vec<()>, _>>().map_err(Error::internal)?;
        let measured = result.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        measured.unwrap_or_else(|| Err(Error::internal("the rank has no result")))
    }

    /// Returns the lines for people; the last one has the ratio.
    fn text(
        &self,
        arguments: &Arguments,
        pairs: &Pairs,
        medians: [f64; 2],
        ratio: Ratio,
        null: Option<Ratio>,
    ) -> String {
        let unit = columns::describe(&self.column).unit;
        let line =
            |(name, command, median): (&str, &str, f64)| format!("{name}  {}  {command}\n", amount(median, unit));
        let mut text: String =
            [("A", arguments.a.as_str(), medians[0]), ("B", arguments.b.as_str(), medians[1])].map(line).concat();
        if pairs.repeated + pairs.disturbed > 0 {
            text += &format!(
                "other activity: {} blocks were measured again, {} of {} count although they were disturbed\n",
                pairs.repeated,
                pairs.disturbed,
                pairs.logarithms.len() / 2
            );
        }
        if let Some(null) = null {
            text +=
                &format!("null: {}\n", null.sentence().replacen("B is", "A is", 1).replacen("as A", "as itself", 1));
        }
        if pairs.is_budget_spent {
            text += "the budget ended the comparison before its interval was as narrow as --width; a longer --budget narrows it\n";
        }
        if !ratio.is_decided() {
            text += "undecided: the interval includes 1\n";
        }
        text + &ratio.sentence() + "\n"
    }
}

fn run_error(point: &Point, why: String) -> Error {
    let label = command::specification(point)
        .map_or(String::new(), |command| apexmap_base::shell::quote_words(command.command));
    Error::measurement(format!("{label}: {why}"), "run the command itself to see its whole output")
}

/// Fails if B is slower than the limit allows, or if the runs do not decide this.
fn judge(ratio: &Ratio, limit: SlowdownLimit) -> Result<()> {
    let slowest = 1.0 / limit.slowdown;
    if ratio.high < slowest {
        let message = format!("{}: it is slower than the limit of {slowest:.3}", ratio.sentence());
        return Err(Error::new(
            ErrorKind::Regression,
            message,
            "find what changed; the ratio is beyond the noise of these runs",
        ));
    }
    if ratio.low < slowest {
        note("the interval includes the limit of --fail-if");
        return Err(Error::measurement(
            "the runs do not decide whether B is slower than the limit",
            "give a longer --budget, or a quiet machine",
        ));
    }
    Ok(())
}
