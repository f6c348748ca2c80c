//! What jobs are submitted with: flags of `run`, the sweep, and what jobs of the same result had before.

use super::setup::Setup;
use apexmap_base::error::{Error, Result};
use apexmap_run::batch::options::{Jobs as Division, SubmitTable};
use apexmap_run::batch::{self, JobOptions, Template};
use apexmap_run::sweep;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(clap::Args, Clone, Default)]
#[command(next_help_heading = "Batch jobs")]
pub struct SubmitArguments {
    /// Submit the sweep as jobs of a batch system and follow them; Ctrl-C leaves the jobs, the same command follows again.
    /// slurm, pbs, torque, lsf, flux, or a template file [default: the one whose programs are here]
    #[arg(long, value_name = "SYSTEM", num_args = 0..=1, default_missing_value = "", require_equals = true)]
    pub submit: Option<String>,
    /// Show the scripts of the jobs, and submit nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Account or project that pays for the jobs
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Partition or queue of the jobs
    #[arg(long, value_name = "NAME", visible_alias = "queue")]
    partition: Option<String>,
    /// Quality of service of the jobs
    #[arg(long, value_name = "NAME")]
    qos: Option<String>,
    /// Features that the nodes must have
    #[arg(long, value_name = "FEATURES")]
    constraint: Option<String>,
    /// Reservation to run in
    #[arg(long, value_name = "NAME")]
    reservation: Option<String>,
    /// Longest time of one job, such as 2h: longer sweeps become chains of jobs
    #[arg(long, value_name = "TIME")]
    time_limit: Option<String>,
    /// One job on the most nodes for all launches, instead of one for each number of nodes
    #[arg(long)]
    one_job: bool,
    /// Environment module to load; may be given several times
    #[arg(long, value_name = "NAME")]
    module: Vec<String>,
    /// Environment variable to set in the jobs; may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    environment: Vec<String>,
    /// Further directive of the batch system, such as --mail-type=END; may be given several times
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    directive: Vec<String>,
}

impl SubmitArguments {
    fn table(&self) -> Result<SubmitTable> {
        let mut environment = BTreeMap::new();
        for text in &self.environment {
            let (name, value) = text.split_once('=').ok_or_else(|| {
                Error::input(format!("--environment {text}: there is no ="), "write --environment NAME=VALUE")
            })?;
            environment.insert(name.to_owned(), value.to_owned());
        }
        Ok(SubmitTable {
            system: self.submit.clone().filter(|system| !system.is_empty()),
            account: self.account.clone(),
            partition: self.partition.clone(),
            qos: self.qos.clone(),
            constraint: self.constraint.clone(),
            reservation: self.reservation.clone(),
            time_limit: self.time_limit.clone(),
            jobs: self.one_job.then_some(Division::One),
            exclusive: None,
            modules: self.module.clone(),
            environment,
            directives: self.directive.clone(),
            tries: None,
        })
    }
}

/// The system that flags name for jobs, empty for the one whose programs are here; `None` if they ask for no jobs.
pub fn system(given: &SubmitArguments) -> Option<String> {
    given.submit.clone().or_else(|| given.dry_run.then(String::new))
}

/// What the flags say, and for the rest the sweep; or what jobs of this result were submitted with before.
pub(super) fn options(
    setup: &Setup,
    given: &SubmitArguments,
    earlier: Option<JobOptions>,
) -> Result<(JobOptions, Template)> {
    let flags = given.table()?;
    let of_sweep = setup.sweep.launch.submit.as_ref().map(batch::Submit::table);
    if let (Some(earlier), None, true) = (earlier, &of_sweep, flags == SubmitTable::default()) {
        // What stands in a result is read with care: it may come from somebody else.
        let wrong = |(what, next): (String, String)| Error::input(format!("{}: {what}", setup.folder.display()), next);
        earlier.check().map_err(wrong)?;
        if earlier.changes_programs() {
            let what = "jobs were submitted with modules, environment variables or directives, which no result is trusted with";
            return Err(wrong((what.into(), "follow them with the command that submitted them".into())));
        }
        let template = batch::known(&earlier.system)?;
        return Ok((earlier, template));
    }
    let table = flags.or(of_sweep.unwrap_or_default());
    let template = match &table.system {
        Some(system) => batch::find(system)?,
        None => batch::here(&std::env::var_os("PATH").unwrap_or_default())?,
    };
    let system = match &table.system {
        Some(path) if Path::new(path).is_file() => {
            std::path::absolute(path).map_or(path.clone(), |path| path.to_string_lossy().into_owned())
        }
        _ => template.name.clone(),
    };
    let options =
        table.options(&system, sweep::time).map_err(|(what, next)| Error::input(format!("submit: {what}"), next))?;
    Ok((options, template))
}
