//! What jobs are submitted with: flags of `run`, the sweep, and what jobs of the same result had before.

use apexmap_base::error::{Error, Result};
use apexmap_run::batch::options::{Jobs as Division, SubmitTable};
use std::collections::BTreeMap;

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
    /// The options that the flags give.
    ///
    /// # Errors
    /// If one is no option.
    pub fn table(&self) -> Result<SubmitTable> {
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
