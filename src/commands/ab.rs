//! `apexmap ab`: two commands, or two variants of a sweep, in alternating runs, and the ratio of their speeds.

use super::pretty;
use super::run_command::{ValueOptions, split_words};
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::guarded::TemporaryFolder;
use apexmap_base::interrupt::{Interrupt, signal_name};
use apexmap_base::shell::command_line;
use apexmap_base::terminal::{note, print, print_data};
use apexmap_base::units::{amount, plural};
use apexmap_cluster::cluster::Cluster;
use apexmap_measure::kernels::command::Specification;
use apexmap_pages::compare::regression::SlowdownLimit;
use apexmap_pages::report;
use apexmap_results::table::columns;
use apexmap_run::campaign::trust::Consent;
use apexmap_run::campaign::{Campaign, Request};
use apexmap_run::sweep::{Machine, Scalar, Sweep, parse_budget, ready};
use apexmap_study::paired::commands::Commands;
use apexmap_study::paired::launches::{Launches, measure_once};
use apexmap_study::paired::result::PairedResult;
use apexmap_study::paired::sides::{Measured, SideRun, Sides};
use apexmap_study::paired::{Limits, Ratio, Side, Turn};
use apexmap_theory::statistics::median;
use serde::Serialize;
use std::path::{Path, PathBuf};
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
    /// Compare launches of this sweep (a file or a ready sweep) instead of two commands
    #[arg(long, value_name = "SWEEP", conflicts_with_all = ["a", "b"])]
    sweep: Option<PathBuf>,
    /// Worker program of A [default: this program]
    #[arg(long, value_name = "PROGRAM", requires = "sweep")]
    worker_a: Option<PathBuf>,
    /// Worker program of B
    #[arg(long, value_name = "PROGRAM", requires = "sweep")]
    worker_b: Option<PathBuf>,
    /// Fixed parameters of A, such as pages=huge
    #[arg(long, value_name = "NAME=VALUE", requires = "sweep")]
    set_a: Vec<String>,
    /// Fixed parameters of B
    #[arg(long, value_name = "NAME=VALUE", requires = "sweep")]
    set_b: Vec<String>,
    /// Start the programs that the sweep or a site file names without a question, although the file may come from somebody else
    #[arg(long, requires = "sweep")]
    trust: bool,
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

fn parse_width(text: &str) -> std::result::Result<f64, String> {
    let width = text.parse().ok().filter(|width: &f64| width.is_finite() && *width > 0.0);
    width.ok_or_else(|| "a width is a number above 0, such as 0.01".to_owned())
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let limit = arguments.fail_if.as_deref().map(SlowdownLimit::parse).transpose()?;
    let interrupt = Interrupt::catch();
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
    let limits = Limits { width: arguments.width, budget: arguments.budget, seed };
    let names = arguments.names();
    let mut sides: Box<dyn Sides> = match &arguments.sweep {
        Some(path) => Box::new(arguments.launches(path)?),
        None => Box::new(arguments.commands(&names)?),
    };
    let mut result = arguments.out.as_deref().map(|path| PairedResult::open(path, &names, &*sides)).transpose()?;
    let mut measured = result.as_ref().map_or(Ok(Measured::default()), |result| result.read_pairs(sides.column()))?;
    if !measured.pairs.logarithms.is_empty() {
        note(&format!("continues after {}", plural(measured.pairs.logarithms.len(), "pair")));
    }
    let mut keep = |turn: Turn, run: &SideRun| result.as_mut().map_or(Ok(()), |result| result.keep(turn, run));
    let check = || interrupt.check();
    let outcome = measured.measure(&mut *sides, [Side::A, Side::B], &limits, &mut keep, &check);
    let mut null = Measured::default();
    let outcome = outcome.and_then(|()| match arguments.null {
        true => null.measure(&mut *sides, [Side::A, Side::A], &limits, &mut |_, _| Ok(()), &check),
        false => Ok(()),
    });
    // The ratio so far is also that of a comparison that did not come to its end.
    let comparison = Comparison::new(&names, sides.column(), &measured, null.pairs.ratio(), outcome.is_err());
    let pairs = measured.pairs.logarithms.len();
    if let Some(result) = &mut result {
        write(result, pairs)?;
    }
    match &comparison {
        Some(comparison) if arguments.json => print_data(&pretty(comparison)?)?,
        Some(comparison) => print(&comparison.text())?,
        None => {}
    }
    outcome.map_err(|error| explain(error, pairs, arguments.out.is_some()))?;
    let comparison = comparison.ok_or_else(|| {
        Error::measurement("the runs differ so much that no ratio can be given", "give a longer --budget")
    })?;
    limit.map_or(Ok(()), |limit| judge(&comparison.ratio, limit))
}

impl Arguments {
    fn names(&self) -> [String; 2] {
        if self.sweep.is_none() {
            return [&self.a, &self.b].map(|text| text.clone().unwrap_or_default());
        }
        [(&self.worker_a, &self.set_a), (&self.worker_b, &self.set_b)].map(|(worker, settings)| {
            let worker = worker.iter().map(|worker| worker.display().to_string());
            let words: Vec<String> = worker.chain(settings.iter().cloned()).collect();
            if words.is_empty() { "as it is".into() } else { words.join(" ") }
        })
    }

    fn commands(&self, texts: &[String; 2]) -> Result<Commands> {
        let [a, b] = texts.each_ref().map(|text| specification(text, &self.values, self.time_limit));
        Commands::new([a?, b?])
    }

    fn launches(&self, path: &Path) -> Result<Launches> {
        let folder = TemporaryFolder::create("ab")?;
        let sweep = ready::open(path, Machine::detect())?;
        let a = self.campaign(&sweep, &self.set_a, (&self.worker_a, folder.path.join("a")))?;
        let b = self.campaign(&sweep, &self.set_b, (&self.worker_b, folder.path.join("b")))?;
        Launches::new([a, b], folder)
    }

    fn campaign(&self, sweep: &Sweep, set: &[String], place: (&Option<PathBuf>, PathBuf)) -> Result<Campaign> {
        let settings = set.iter().map(|text| setting(text)).collect::<Result<Vec<_>>>()?;
        let mut sweep = sweep.with_fixed(&settings, Machine::detect())?;
        measure_once(&mut sweep);
        let (worker, out) = (place.0.clone(), Some(place.1));
        let request = Request { out, worker, consent: Consent::from_flag(self.trust), ..Request::default() };
        Cluster::load()?.planner(&request).plan_sweep(sweep)
    }
}

fn setting(text: &str) -> Result<(&str, Scalar)> {
    let (name, value) = text.split_once('=').ok_or_else(|| {
        Error::input(format!("{text} is no setting of a parameter"), "write --set-a pages=huge --set-b pages=base")
    })?;
    Ok((name.trim(), Scalar::from_text(value.trim())))
}

fn specification(text: &str, values: &ValueOptions, time_limit: f64) -> Result<Specification> {
    let mut table = serde_json::Map::new();
    table.insert("command".into(), split_words(text)?.into());
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

fn write(result: &mut PairedResult, pairs: usize) -> Result<()> {
    let samples = result.write(pairs)?;
    let folder = &result.folder;
    if samples.is_empty() {
        return Ok(());
    }
    report::make(folder, &samples, report::Additions::default())?;
    note(&format!("result: {}, page: {}", folder.path.display(), folder.report().display()));
    Ok(())
}

/// Adds what the comparison has, and how to continue.
fn explain(error: Error, pairs: usize, is_kept: bool) -> Error {
    let pairs = plural(pairs, "pair");
    let next =
        if is_kept { format!("continue with: {}", command_line()) } else { "--out FOLDER keeps the pairs".into() };
    match signal_name(error.kind) {
        Some(name) => Error::new(error.kind, format!("interrupted by {name} after {pairs}"), next),
        None => Error::new(error.kind, format!("{} (after {pairs})", error.message), format!("{}; {next}", error.help)),
    }
}

#[derive(Serialize)]
struct Comparison<'a> {
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
    #[serde(skip)]
    is_budget_spent: bool,
}

impl<'a> Comparison<'a> {
    /// `None` before the second pair.
    fn new(
        [a, b]: &'a [String; 2],
        column: Option<&'a str>,
        measured: &Measured,
        null: Option<Ratio>,
        interrupted: bool,
    ) -> Option<Self> {
        let (pairs, values) = (&measured.pairs, &measured.values);
        Some(Self {
            a,
            b,
            column,
            medians: values.each_ref().map(|values| median(values).unwrap_or(f64::NAN)),
            ratio: pairs.ratio()?,
            null,
            repeated_blocks: pairs.repeated,
            disturbed_blocks: pairs.disturbed,
            interrupted,
            is_budget_spent: pairs.is_budget_spent,
        })
    }

    /// The last line has the ratio.
    fn text(&self) -> String {
        let mut text = String::new();
        for (side, name, median) in [("A", self.a, self.medians[0]), ("B", self.b, self.medians[1])] {
            let value = self.column.map(|column| amount(median, columns::describe(column).unit) + "  ");
            text += &format!("{side}  {}{name}\n", value.unwrap_or_default());
        }
        let (repeated, disturbed, blocks) = (self.repeated_blocks, self.disturbed_blocks, self.ratio.pairs / 2);
        if repeated + disturbed > 0 {
            text += &format!(
                "other activity: {repeated} blocks were measured again, {disturbed} of {blocks} count although they were disturbed\n"
            );
        }
        if let Some(null) = self.null {
            text +=
                &format!("null: {}\n", null.sentence().replacen("B is", "A is", 1).replacen("as A", "as itself", 1));
        }
        if self.is_budget_spent {
            text += "the budget ended the comparison before its interval was as narrow as --width; a longer --budget narrows it\n";
        }
        if self.interrupted {
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
        let help = "find what changed; the ratio is beyond the noise of these runs";
        return Err(Error::new(ErrorKind::Regression, message, help));
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
