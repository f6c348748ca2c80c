//! `apexmap ab`: two commands, or two variants of a sweep, in alternating runs, and the ratio of their speeds.

use super::ab_command::Commands;
use super::ab_result::PairedResult;
use super::ab_sides::{Keep, Measured, SideRun};
use super::ab_sweep::{Launches, SweepOptions};
use super::format::pretty;
use super::run_command::ValueOptions;
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::interrupt::{Interrupt, signal_name};
use apexmap_base::shell::command_line;
use apexmap_base::terminal::{note, print, print_data};
use apexmap_base::units::{amount, plural};
use apexmap_pages::compare::limit::SlowdownLimit;
use apexmap_results::table::columns;
use apexmap_run::sweep::parse_budget;
use apexmap_run::sweep::plan::Entry;
use apexmap_study::paired::{Limits, Pairs, Ratio, Side, Turn};
use apexmap_theory::statistics::median;
use serde::Serialize;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap ab 'sort words.txt' 'sort --parallel=2 words.txt'
  apexmap ab './old --input x' './new --input x' --fail-if slower=2% --budget 60s
  apexmap ab './bench -l 1' './bench -l 2' --value 'regex:rate: ([0-9.]+)' --unit GB/s --null
  apexmap ab --sweep quickstart --worker-a old/apexmap-worker --worker-b new/apexmap-worker --out results/workers
  apexmap ab --sweep my.toml --set-a pages=huge --set-b pages=base

Runs alternate in blocks ABBA and BAAB, at random. The pair is the unit of the 95 % interval, so that drifts cancel. A run of a sweep \
measures each point once. Without a shell, pipes need sh -c '...'. docs/command.md explains the numbers.")]
pub struct Arguments {
    /// The first command with its arguments
    #[arg(value_name = "A", required_unless_present = "sweep")]
    a: Option<String>,
    /// The second command
    #[arg(value_name = "B", required_unless_present = "sweep")]
    b: Option<String>,
    #[command(flatten)]
    values: ValueOptions,
    #[command(flatten)]
    sweep: SweepOptions,
    /// Time of all runs
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_budget)]
    budget: f64,
    /// End earlier if the interval of the ratio is this narrow, relative to the ratio
    #[arg(long, value_name = "WIDTH", default_value_t = 0.01, value_parser = parse_width)]
    width: f64,
    /// Longest time of one run of a command
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_budget)]
    time_limit: f64,
    /// Also compare A with itself; its ratio shows what this machine can tell apart
    #[arg(long)]
    null: bool,
    /// slower=2%: end with code 5 if B is slower than A by more than 2 %, and with code 4 if the runs do not decide this
    #[arg(long, value_name = "CONDITION")]
    fail_if: Option<String>,
    /// Keep each run and write a page in this result folder; the same command continues
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print the ratios as JSON
    #[arg(long)]
    json: bool,
}

/// The result for programs.
#[derive(Serialize)]
struct Report<'a> {
    a: &'a str,
    b: &'a str,
    /// The compared column; absent for sweeps, which compare the geometric mean over their points.
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<&'a str>,
    /// Medians of A and B, in the base unit of the column.
    medians: [f64; 2],
    ratio: Ratio,
    null: Option<Ratio>,
    repeated_blocks: usize,
    disturbed_blocks: usize,
    /// Whether a signal or a failed run ended the comparison.
    interrupted: bool,
}

/// Both sides of a comparison.
enum Sides {
    Commands(Commands),
    Sweep(Box<Launches>),
}

/// Parses the width of an interval.
fn parse_width(text: &str) -> std::result::Result<f64, String> {
    let width = text.parse().ok().filter(|width: &f64| width.is_finite() && *width > 0.0);
    width.ok_or_else(|| "a width is a number above 0, such as 0.01".to_owned())
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let limit = arguments.fail_if.as_deref().map(SlowdownLimit::parse).transpose()?;
    let interrupt = Interrupt::catch();
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
    let limits = Limits { width: arguments.width, budget: arguments.budget, seed };
    let (names, mut sides) = match &arguments.sweep.sweep {
        Some(path) => (arguments.sweep.names(), Sides::Sweep(Box::new(Launches::plan(&arguments.sweep, path)?))),
        None => {
            let names = [&arguments.a, &arguments.b].map(|command| command.clone().unwrap_or_default());
            let texts = [names[0].as_str(), names[1].as_str()];
            let commands = Commands::parse(texts, &arguments.values, arguments.time_limit)?;
            (names, Sides::Commands(commands))
        }
    };
    let open = |path| PairedResult::open(path, &names, &sides.points());
    let mut result = arguments.out.as_deref().map(open).transpose()?;
    let mut measured = result.as_ref().map_or(Ok(Measured::default()), |result| result.read_pairs(sides.column()))?;
    if !measured.pairs.logarithms.is_empty() {
        note(&format!("continues after {}", plural(measured.pairs.logarithms.len(), "pair")));
    }
    let mut keep = |turn: Turn, run: &SideRun| result.as_mut().map_or(Ok(()), |result| result.keep(turn, run));
    let interrupted = || interrupt.check();
    let outcome = sides.measure(&limits, [Side::A, Side::B], &mut measured, &mut keep, &interrupted);
    let mut null = Measured::default();
    let outcome = outcome.and_then(|()| match arguments.null {
        true => sides.measure(&limits, [Side::A, Side::A], &mut null, &mut |_, _| Ok(()), &interrupted),
        false => Ok(()),
    });
    let pairs = measured.pairs.logarithms.len();
    // The ratio so far is also that of a comparison that did not come to its end.
    let comparison = Comparison::new(names, &sides, &measured, null.pairs.ratio(), outcome.is_err());
    if let Some(result) = &mut result {
        result.write(pairs)?;
    }
    match &comparison {
        Some(comparison) if arguments.json => print_data(&comparison.json()?)?,
        Some(comparison) => print(&comparison.text())?,
        None => {}
    }
    outcome.map_err(|error| explain(error, pairs, arguments.out.is_some()))?;
    let comparison = comparison.ok_or_else(|| {
        Error::measurement("the runs differ so much that no ratio can be given", "give a longer --budget")
    })?;
    let ratio = comparison.ratio;
    limit.map_or(Ok(()), |limit| judge(&ratio, limit))
}

/// Adds to the error of a comparison that did not come to its end what it has, and how to continue.
fn explain(error: Error, pairs: usize, is_kept: bool) -> Error {
    let pairs = plural(pairs, "pair");
    let next =
        if is_kept { format!("continue with: {}", command_line()) } else { "--out FOLDER keeps the pairs".into() };
    match signal_name(error.kind) {
        Some(name) => Error::new(error.kind, format!("interrupted by {name} after {pairs}"), next),
        None => Error::new(error.kind, format!("{} (after {pairs})", error.message), format!("{}; {next}", error.help)),
    }
}

impl Sides {
    fn points(&self) -> [Vec<Entry>; 2] {
        match self {
            Self::Commands(commands) => commands.points(),
            Self::Sweep(launches) => launches.points(),
        }
    }

    fn measure(
        &mut self,
        limits: &Limits,
        sides: [Side; 2],
        measured: &mut Measured,
        keep: &mut Keep,
        interrupted: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Commands(commands) => commands.measure(limits, sides, measured, keep, interrupted),
            Self::Sweep(launches) => launches.measure(limits, sides, measured, keep, interrupted),
        }
    }

    fn column(&self) -> Option<&str> {
        match self {
            Self::Commands(commands) => Some(&commands.column),
            Self::Sweep(_) => None,
        }
    }
}

/// The numbers to print.
struct Comparison<'a> {
    names: [String; 2],
    column: Option<&'a str>,
    pairs: &'a Pairs,
    medians: [f64; 2],
    ratio: Ratio,
    null: Option<Ratio>,
    is_interrupted: bool,
}

impl<'a> Comparison<'a> {
    /// Returns `None` before the second pair.
    fn new(
        names: [String; 2],
        sides: &'a Sides,
        measured: &'a Measured,
        null: Option<Ratio>,
        is_interrupted: bool,
    ) -> Option<Self> {
        let ratio = measured.pairs.ratio()?;
        let medians = [0, 1].map(|side| median(&measured.values[side]).unwrap_or(f64::NAN));
        Some(Self { names, column: sides.column(), pairs: &measured.pairs, medians, ratio, null, is_interrupted })
    }

    fn json(&self) -> Result<String> {
        pretty(&Report {
            a: &self.names[0],
            b: &self.names[1],
            column: self.column,
            medians: self.medians,
            ratio: self.ratio,
            null: self.null,
            repeated_blocks: self.pairs.repeated,
            disturbed_blocks: self.pairs.disturbed,
            interrupted: self.is_interrupted,
        })
    }

    /// Returns the lines for people; the last one has the ratio.
    fn text(&self) -> String {
        let line = |side: Side| {
            let (name, median) = (&self.names[side as usize], self.medians[side as usize]);
            match self.column {
                Some(column) => {
                    format!("{}  {}  {name}\n", side.name(), amount(median, columns::describe(column).unit))
                }
                None => format!("{}  {name}\n", side.name()),
            }
        };
        let mut text: String = [Side::A, Side::B].map(line).concat();
        let Pairs { repeated, disturbed, .. } = *self.pairs;
        if repeated + disturbed > 0 {
            text += &format!(
                "other activity: {repeated} blocks were measured again, {disturbed} of {} count although they were disturbed\n",
                self.pairs.logarithms.len() / 2
            );
        }
        if let Some(null) = self.null {
            text +=
                &format!("null: {}\n", null.sentence().replacen("B is", "A is", 1).replacen("as A", "as itself", 1));
        }
        if self.pairs.is_budget_spent {
            text += "the budget ended the comparison before its interval was as narrow as --width; a longer --budget narrows it\n";
        }
        if self.is_interrupted {
            text += &format!("interrupted after {}\n", plural(self.ratio.pairs, "pair"));
        }
        if !self.ratio.is_decided() {
            text += "undecided: the interval includes 1\n";
        }
        text + &self.ratio.sentence() + "\n"
    }
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
