//! `apexmap ab`: commands, or two variants of a sweep, in alternating runs, and the ratios of their speeds.

use super::{ab_progress::AbProgress, pretty, run_command::ProgramOptions};
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::guarded::TemporaryFolder;
use apexmap_base::interrupt::{Interrupt, signal_name};
use apexmap_base::programs::find_on_path;
use apexmap_base::shell::command_line;
use apexmap_base::terminal::{note, print, print_data};
use apexmap_base::units::{Unit, amount, plural};
use apexmap_cluster::cluster::Cluster;
use apexmap_measure::kernels::command::Specification;
use apexmap_pages::compare::regression::SlowdownLimit;
use apexmap_pages::report;
use apexmap_run::campaign::{Campaign, Request, trust::Consent};
use apexmap_run::sweep::{Machine, Scalar, Sweep, parse_budget, ready};
use apexmap_study::paired::commands::Commands;
use apexmap_study::paired::launches::{Launches, measure_once};
use apexmap_study::paired::result::PairedResult;
use apexmap_study::paired::sides::{Measured, SideRun, Sides};
use apexmap_study::paired::{Limits, MAX_SIDES, Pairs, Ratio, Turn, compared_unit, side_name};
use apexmap_theory::statistics::median;
use serde::Serialize;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap ab 'sort words.txt' 'sort --parallel=2 words.txt'
  apexmap ab './old --input x' './new --input x' --fail-if slower=2% --budget 60s
  apexmap ab './bench -l 1' './bench -l 2' --value 'regex:rate: ([0-9.]+)' --unit GB/s --null
  apexmap ab 'sort words.txt | uniq' 'sort -u words.txt' --shell sh --warmup 3 --runs 20
  apexmap ab --sweep quickstart --worker-a old/apexmap-worker --worker-b new/apexmap-worker --out results/workers
  apexmap ab --sweep my.toml --set-a pages=huge --set-b pages=base

Runs alternate in blocks such as ABBA, at random. The pair is the unit of the 95 % interval, so that drifts cancel. A run of a sweep \
measures each point once. Commands start without a shell. docs/command.md explains the numbers.")]
pub struct Arguments {
    /// Two or more commands with their arguments; each is compared with the first
    #[arg(value_name = "COMMAND", required_unless_present = "sweep")]
    commands: Vec<String>,
    #[command(flatten)]
    program: ProgramOptions,
    /// Compare launches of this sweep (a file or a ready sweep) instead of commands
    #[arg(long, value_name = "SWEEP", conflicts_with = "commands")]
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
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_budget, conflicts_with = "runs")]
    budget: f64,
    /// End earlier if the interval of each ratio is this narrow, relative to the ratio
    #[arg(long, value_name = "WIDTH", default_value_t = 0.01, value_parser = parse_width, conflicts_with = "runs")]
    width: f64,
    /// Longest time of one run of a command
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_budget)]
    time_limit: f64,
    /// Also compare A with itself; its ratio shows what this machine can tell apart
    #[arg(long)]
    null: bool,
    /// slower=2%: end with code 5 if another side is slower than A by more than 2 %, and with code 4 if the runs do not decide this
    #[arg(long, value_name = "CONDITION")]
    fail_if: Option<String>,
    /// Keep each run and write a page in this result folder; the same command continues
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print the ratios as JSON
    #[arg(long)]
    json: bool,
}

fn parse_width(text: &str) -> Result<f64, String> {
    let width = text.parse().ok().filter(|width: &f64| width.is_finite() && *width > 0.0);
    width.ok_or_else(|| "a width is a number above 0, such as 0.01".to_owned())
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let limit = arguments.fail_if.as_deref().map(SlowdownLimit::parse).transpose()?;
    let names = arguments.names()?;
    let interrupt = Interrupt::catch();
    let limits = arguments.limits();
    let mut sides: Box<dyn Sides> = match &arguments.sweep {
        Some(path) => Box::new(arguments.launches(path)?),
        None => Box::new(arguments.commands()?),
    };
    let unit = compared_unit(sides.column());
    let mut result = arguments.out.as_deref().map(|path| PairedResult::open(path, &names, &*sides)).transpose()?;
    let mut measured = match &result {
        Some(result) => result.read_pairs(sides.column())?,
        None => nothing_measured(names.len()),
    };
    if measured.pairs.count() > 0 {
        note(&format!("continues after {}", plural(measured.pairs.count(), "pair")));
    }
    let compared: Vec<usize> = (0..names.len()).collect();
    let mut keep = |turn: Turn, run: &SideRun| result.as_mut().map_or(Ok(()), |result| result.keep(turn, run));
    let outcome = measure(&mut measured, &mut *sides, &compared, limits, &interrupt, &mut keep);
    let mut null = nothing_measured(2);
    let outcome = outcome.and_then(|()| match arguments.null {
        true => measure(&mut null, &mut *sides, &[0, 0], limits, &interrupt, &mut |_, _| Ok(())),
        false => Ok(()),
    });
    // The ratios so far are also those of a comparison that did not come to its end.
    let comparison = Comparison::new(&names, sides.column(), &measured, &null.pairs, outcome.is_err());
    let pairs = measured.pairs.count();
    if let Some(result) = &mut result {
        write(result, pairs)?;
    }
    if arguments.json {
        print_data(&pretty(&comparison)?)?;
    } else if measured.values.iter().any(|values| !values.is_empty()) {
        print(&comparison.text(&measured.pairs, unit))?;
    }
    outcome.map_err(|error| explain(error, pairs, arguments.out.is_some()))?;
    let ratios: Option<Vec<Ratio>> = measured.pairs.ratios().into_iter().collect();
    let ratios = ratios.ok_or_else(|| {
        Error::measurement("the runs differ so much that no ratio can be given", "give a longer --budget")
    })?;
    limit.map_or(Ok(()), |limit| judge(&ratios, unit, limit))
}

fn nothing_measured(sides: usize) -> Measured {
    Measured::new(Pairs::new(sides), vec![Vec::new(); sides])
}

fn measure(
    measured: &mut Measured,
    sides: &mut dyn Sides,
    compared: &[usize],
    limits: Limits,
    interrupt: &Interrupt,
    keep: &mut dyn FnMut(Turn, &SideRun) -> Result<()>,
) -> Result<()> {
    let unit = compared_unit(sides.column());
    let progress = RefCell::new(AbProgress::new(limits, unit, compared == [0, 0]));
    let check = || {
        progress.borrow_mut().tick();
        interrupt.check()
    };
    measured.measure(sides, compared, &limits, keep, &check, &mut |pairs| progress.borrow_mut().update(pairs))
}

impl Arguments {
    fn names(&self) -> Result<Vec<String>> {
        if self.program.runs.is_some_and(|runs| runs < 4) {
            return Err(Error::input("so few runs give no interval", "write --runs 4 or more"));
        }
        if self.sweep.is_none() {
            let help = match self.commands.len() {
                2..=MAX_SIDES => return Ok(self.commands.clone()),
                1 => "name another one; `apexmap run --command` measures a single one".to_owned(),
                _ => format!("compare at most {MAX_SIDES}"),
            };
            return Err(Error::input(format!("ab cannot compare {}", plural(self.commands.len(), "command")), help));
        }
        let names = [(&self.worker_a, &self.set_a), (&self.worker_b, &self.set_b)].map(|(worker, settings)| {
            let worker = worker.iter().map(|worker| worker.display().to_string());
            let words: Vec<String> = worker.chain(settings.iter().cloned()).collect();
            if words.is_empty() { "as it is".into() } else { words.join(" ") }
        });
        Ok(names.into())
    }

    fn limits(&self) -> Limits {
        let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
        let runs = self.program.runs.map(|runs| runs as usize);
        Limits { width: self.width, budget: self.budget, runs, seed }
    }

    fn commands(&self) -> Result<Commands> {
        let specifications = self.commands.iter().map(|text| self.specification(text)).collect::<Result<_>>()?;
        Commands::new(specifications, self.program.warmup.unwrap_or(1))
    }

    fn specification(&self, text: &str) -> Result<Specification> {
        let mut table = self.program.to_toml(text)?;
        table.insert("time_limit".into(), self.time_limit.into());
        let fault = |message: String| Error::input(message, "`apexmap ab --help` shows examples");
        let specification: Specification =
            table.try_into().map_err(|error: toml::de::Error| fault(error.message().to_owned()))?;
        specification.check().map_err(fault)?;
        let programs = [&specification.command, &specification.setup, &specification.cleanup];
        let missing = programs.map(|words| words.first().filter(|name| find_on_path(name).is_none()).cloned());
        if let Some(name) = missing.into_iter().flatten().next() {
            let help = "check its name and the PATH or, if it is a file, that it exists and is executable";
            return Err(Error::environment(format!("there is no program {name} for {text}"), help));
        }
        Ok(specification)
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
    sides: Vec<ComparedSide<'a>>,
    /// The compared column; absent for sweeps, which compare the geometric mean over their points.
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<&'a str>,
    null: Option<Ratio>,
    repeated_blocks: usize,
    disturbed_blocks: usize,
    interrupted: bool,
}

#[derive(Serialize)]
struct ComparedSide<'a> {
    side: String,
    name: &'a str,
    /// In the base unit of the column.
    median: Option<f64>,
    /// The speed relative to A; absent before the second pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<Ratio>,
}

impl<'a> Comparison<'a> {
    fn new(names: &'a [String], column: Option<&'a str>, measured: &Measured, null: &Pairs, interrupted: bool) -> Self {
        let pairs = &measured.pairs;
        let ratios = [vec![None], pairs.ratios()].concat();
        let sides = names.iter().zip(&measured.values).zip(ratios).enumerate();
        let sides = sides.map(|(side, ((name, values), ratio))| ComparedSide {
            side: side_name(side),
            name,
            median: median(values),
            ratio,
        });
        Self {
            sides: sides.collect(),
            column,
            null: null.ratios().first().copied().flatten(),
            repeated_blocks: pairs.repeated,
            disturbed_blocks: pairs.disturbed,
            interrupted,
        }
    }

    /// The last lines have the ratios.
    fn text(&self, pairs: &Pairs, unit: Unit) -> String {
        let mut text = String::new();
        for ComparedSide { side, name, median, .. } in &self.sides {
            let value = median.filter(|_| self.column.is_some()).map(|median| amount(median, unit) + "  ");
            text += &format!("{side}  {}{name}\n", value.unwrap_or_default());
        }
        let (repeated, disturbed, blocks) = (self.repeated_blocks, self.disturbed_blocks, pairs.count() / 2);
        if repeated + disturbed > 0 {
            text += &format!(
                "other activity: {repeated} blocks were measured again, {disturbed} of {blocks} count although they were disturbed\n"
            );
        }
        if let Some(null) = self.null {
            text += &format!("null: {}\n", null.null_sentence());
        }
        if pairs.is_budget_spent {
            text += "the budget ended the comparison before its intervals were as narrow as --width; a longer --budget narrows them\n";
        }
        if self.interrupted {
            text += &format!("interrupted after {}\n", plural(pairs.count(), "pair"));
        }
        text + &pairs.sentences(unit).iter().map(|sentence| format!("{sentence}\n")).collect::<String>()
    }
}

/// Fails if a side is slower than the limit allows, or if the runs do not decide this.
fn judge(ratios: &[Ratio], unit: Unit, limit: SlowdownLimit) -> Result<()> {
    let slowest = 1.0 / limit.slowdown;
    if let Some((side, ratio)) = (1..).zip(ratios).find(|(_, ratio)| ratio.high < slowest) {
        let sentence = ratio.sentence(&side_name(side), unit);
        let message = format!("{sentence}: beyond the limit of {:.3}", limit.slowdown);
        let help = "find what changed; the ratio is beyond the noise of these runs";
        return Err(Error::new(ErrorKind::Regression, message, help));
    }
    if let Some((side, _)) = (1..).zip(ratios).find(|(_, ratio)| ratio.low < slowest) {
        note("the interval includes the limit of --fail-if");
        return Err(Error::measurement(
            format!("the runs do not decide whether {} is slower than the limit", side_name(side)),
            "give a longer --budget, or a quiet machine",
        ));
    }
    Ok(())
}
