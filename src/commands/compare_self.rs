//! `apexmap compare --self`: the rate of false findings of comparisons on this machine.

use super::compare_folder;
use super::conclude::{Shown, conclude, display};
use super::format::pretty;
use apexmap_base::error::Result;
use apexmap_base::new_file;
use apexmap_cluster::cluster::Cluster;
use apexmap_pages::compare::machine::Machine;
use apexmap_pages::compare::matching::Matching;
use apexmap_pages::compare::{Comparison, compare, control};
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::samples::Samples;
use apexmap_run::campaign::local;
use apexmap_run::campaign::trust::Consent;
use apexmap_run::campaign::{Conduct, Request};
use apexmap_run::sweep::{self, ready};
use std::path::{Path, PathBuf};

/// Arguments of a comparison of a sweep with itself.
pub struct SelfArguments<'a> {
    /// A sweep file, or the name of a ready sweep.
    pub sweep: &'a Path,
    /// Launches of each side [default: those of the sweep].
    pub launches: Option<u32>,
    pub out: Option<&'a Path>,
    /// Keep other contents of the folder as FOLDER.1.
    pub replace: bool,
    pub consent: Consent,
}

/// Smallest number of launches per side. With fewer, intervals are so wide that a comparison finds hardly any difference, true or
/// false.
const MIN_LAUNCHES: u32 = 3;

/// The two sides, measured in alternating launches.
pub struct Sides {
    pub name: String,
    /// Holds the HTML page and `self.json`; the samples are in its folder `result`.
    pub folder: PathBuf,
    pub machines: Vec<Machine>,
}

/// Measures the missing samples of both sides.
pub fn measure(arguments: &SelfArguments) -> Result<Sides> {
    let mut sweep = ready::open(arguments.sweep, sweep::Machine::detect())?;
    let sweep_launches = sweep.launch.launches;
    let launches = 2 * arguments.launches.unwrap_or(sweep_launches.max(MIN_LAUNCHES));
    sweep.launch.launches = launches;
    // The budget is that of the sweep, scaled to the number of launches.
    if let Some(budget) = &mut sweep.repeat.budget_seconds {
        *budget *= f64::from(launches) / f64::from(sweep_launches);
    }
    let name = sweep.name.clone();
    let folder = arguments.out.map_or_else(|| Path::new("compare").join(format!("self-{name}")), Path::to_owned);
    let out = folder.join("result");
    let request = Request { out: Some(out.clone()), consent: arguments.consent, ..Request::default() };
    let campaign = Cluster::load()?.planner(&request).plan_sweep(sweep)?;
    compare_folder::prepare(&folder, vec![format!("--self {name}")], arguments.replace)?;
    // The same comparison continues.
    campaign.check_result_folder(arguments.replace && campaign.other_sweep()?.is_some())?;
    let measured =
        local::carry_out(&campaign, None, Conduct::default(), &|plan| display(plan, Some(&campaign.folder)))?;
    conclude(&campaign, measured, Conduct::default(), Shown::Nothing)?;
    let result = Folder::open(&out)?;
    let samples = Samples::from(result.table()?).current();
    let manifest = Manifest::read(&result)?;
    let given = out.display().to_string();
    let side = |(name, samples): (&str, Samples)| {
        let mut machine = Machine::from_samples(&given, samples, Some(manifest.clone()))?;
        machine.name = name.to_owned();
        Ok(machine)
    };
    let machines = control::SIDES.into_iter().zip(control::sides(&samples)?).map(side).collect::<Result<_>>()?;
    Ok(Sides { name, folder, machines })
}

impl Sides {
    /// Compares A with B.
    pub fn compare(&self, matching: Matching) -> Result<Comparison<'_>> {
        compare(&self.machines, matching)
    }

    /// Counts the findings, writes them to `self.json`, and returns them as text or JSON.
    pub fn conclude(&self, comparison: &Comparison, json: bool) -> Result<String> {
        let findings = control::count_findings(comparison)?;
        let path = self.folder.join("self.json");
        new_file::replace_contents(&path, pretty(&findings)?)?;
        if json { pretty(&findings) } else { Ok(control::text(&findings, &self.name)) }
    }
}
