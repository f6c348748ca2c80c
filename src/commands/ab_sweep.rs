//! `apexmap ab --sweep`: launches of one sweep with two workers or two settings.

use super::ab_sides::{Keep, Measured, SideRun};
use apexmap_base::error::{Error, Result};
use apexmap_base::guarded::TemporaryFolder;
use apexmap_base::regular_file::read_text;
use apexmap_base::sample::{Launch, Sample};
use apexmap_cluster::cluster::Cluster;
use apexmap_measure::worker::Repeat;
use apexmap_results::disk::Folder;
use apexmap_results::disk::journal;
use apexmap_results::disk::tabulate::tabulate;
use apexmap_results::samples::Samples;
use apexmap_run::campaign::starter::Starter;
use apexmap_run::campaign::trust::Consent;
use apexmap_run::campaign::{Campaign, Conduct, Request};
use apexmap_run::sweep::driver::Watcher;
use apexmap_run::sweep::plan::Entry;
use apexmap_run::sweep::{self, Sweep, ready};
use apexmap_study::paired::{Limits, Side, log_speed};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The sweep, and the worker and the settings of each side.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct SweepOptions {
    /// Compare launches of this sweep (a file or a ready sweep) instead of two commands
    #[arg(long, value_name = "SWEEP", conflicts_with_all = ["a", "b"])]
    pub sweep: Option<PathBuf>,
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
}

impl SweepOptions {
    /// Describes both sides.
    pub fn names(&self) -> [String; 2] {
        [(&self.worker_a, &self.set_a), (&self.worker_b, &self.set_b)].map(|(worker, settings)| {
            let worker = worker.iter().map(|worker| worker.display().to_string());
            let words: Vec<String> = worker.chain(settings.iter().cloned()).collect();
            if words.is_empty() { "as it is".into() } else { words.join(" ") }
        })
    }
}

/// Both sides of a sweep, with their launches in a folder that is removed at the end.
pub struct Launches {
    sides: [SweepSide; 2],
    /// Removed after the sides.
    _folder: TemporaryFolder,
}

struct SweepSide {
    campaign: Campaign,
    starter: Starter,
    folder: Folder,
}

/// Shows nothing: a comparison has hundreds of launches.
struct Silent;

impl Watcher for Silent {}

impl Launches {
    /// Plans both sides.
    ///
    /// # Errors
    /// If the sweep, a setting or a worker is not valid.
    pub fn plan(options: &SweepOptions, path: &Path) -> Result<Self> {
        let folder = TemporaryFolder::create("ab")?;
        let side = |name: &str, worker: &Option<PathBuf>, settings: &[String]| -> Result<SweepSide> {
            let sweep = with_settings(path, settings)?;
            let consent = Consent::from_flag(options.trust);
            let (out, worker) = (Some(folder.path.join(name)), worker.clone());
            let request = Request { out, worker, consent, ..Request::default() };
            let campaign = Cluster::load()?.planner(&request).plan_sweep(sweep)?;
            let starter = Starter::check(&campaign)?;
            let folder = Folder::create(&campaign.folder)?;
            Ok(SweepSide { campaign, starter, folder })
        };
        let sides = [side("a", &options.worker_a, &options.set_a)?, side("b", &options.worker_b, &options.set_b)?];
        Ok(Self { sides, _folder: folder })
    }

    /// Returns the points of both sides.
    pub fn points(&self) -> [Vec<Entry>; 2] {
        self.sides.each_ref().map(|side| side.campaign.plan.entries.clone())
    }

    /// Measures two of the sides; the same one twice for the null.
    ///
    /// # Errors
    /// If a launch or a point fails, or on a signal.
    pub fn measure(
        &mut self,
        limits: &Limits,
        sides: [Side; 2],
        measured: &mut Measured,
        keep: &mut Keep,
        interrupted: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        measured.measure(limits, &mut |turn| {
            let run = self.sides[sides[turn.side as usize] as usize].run(interrupted)?;
            keep(turn, &run)?;
            Ok(run)
        })
    }
}

impl SweepSide {
    /// Measures every point once, in a further block of launches.
    fn run(&mut self, interrupted: &dyn Fn() -> Result<()>) -> Result<SideRun> {
        let earlier = self.folder.journal_files()?.len();
        self.campaign.plan.blocks = earlier as u32 + 1;
        let failed =
            self.starter.measure(&self.campaign, &self.folder, Conduct::default(), &mut Silent, interrupted)?;
        if let Some(point) = failed {
            return Err(Error::measurement(
                format!("a point of {} failed: {}", point.kernel, point.reason),
                "run the sweep alone: `apexmap run` shows all failures",
            ));
        }
        let journals = self.folder.journal_files()?.split_off(earlier);
        let records = journals.iter().map(|path| journal::read(path)).collect::<Result<Vec<_>>>()?;
        let launch: Option<Launch> = records.iter().find_map(|record| record.launch.clone());
        let launch = launch.ok_or_else(|| Error::internal("a launch without a greeting"))?;
        let speed = log_speed(&Samples::from(tabulate(&records, |_| true)));
        let speed = speed.ok_or_else(|| Error::internal("a launch without a sample"))?.exp();
        let samples: Vec<Sample> = records.into_iter().flat_map(|record| record.samples).collect();
        Ok(SideRun { launch, samples, is_whole_launch: true, value: speed, is_smaller_better: false })
    }
}

/// Reads the sweep with these parameters fixed. Each launch measures each point once, without a preflight.
fn with_settings(path: &Path, settings: &[String]) -> Result<Sweep> {
    let is_file = path.exists() && !path.is_dir();
    let text = match ready::find_by_name(path).filter(|_| !is_file) {
        Some(ready) => ready.text.to_owned(),
        None if is_file => read_text(path).map_err(|error| Error::file("read", path, error))?,
        // The error names the nearest ready sweep.
        None => ready::open(path, sweep::Machine::detect())?.text,
    };
    let mut file: Table = toml::from_str(&text).map_err(|error| {
        Error::input(format!("{}: {}", path.display(), error.message()), "`apexmap plan` shows the place of the fault")
    })?;
    // They may name an axis that becomes fixed.
    ["figure", "question", "answer"].iter().for_each(|key| drop(file.remove(*key)));
    for text in settings {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            Error::input(format!("{text} is no setting of a parameter"), "write --set-a pages=huge --set-b pages=base")
        })?;
        fix(&mut file, name.trim(), value.trim())?;
    }
    let text = toml::to_string(&file).map_err(|error| Error::internal(error.to_string()))?;
    let mut sweep = sweep::parse(&text, path, sweep::Machine::detect())?;
    sweep.repeat = Repeat { min: 1, max: 1, width: None, budget_seconds: None };
    sweep.launch.launches = 1;
    sweep.launch.preflight_seconds = 0.0;
    Ok(sweep)
}

/// Fixes a parameter instead of varying it.
fn fix(file: &mut Table, name: &str, value: &str) -> Result<()> {
    if let Some(Value::Table(axes)) = file.get_mut("axes") {
        axes.remove(name);
    }
    for list in ["together", "include"] {
        let Some(Value::Array(tables)) = file.get_mut(list) else { continue };
        tables.iter_mut().filter_map(Value::as_table_mut).for_each(|table| drop(table.remove(name)));
        tables.retain(|table| table.as_table().is_none_or(|table| !table.is_empty()));
    }
    let number = value.parse::<i64>().map(Value::from).ok();
    let number = number.or_else(|| value.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from));
    let fixed = file.entry("fixed").or_insert_with(|| Table::new().into());
    let Value::Table(fixed) = fixed else { return Err(Error::input("[fixed] is no table", "write [fixed]")) };
    fixed.insert(name.to_owned(), number.unwrap_or_else(|| value.into()));
    Ok(())
}
