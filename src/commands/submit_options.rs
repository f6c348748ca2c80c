//! Flags of `run` for batch jobs. The other sources of these options are the sweep, and earlier jobs of the same result.

use apexmap_base::error::{Error, Result};
use apexmap_run::batch::BatchSystem;
use apexmap_run::batch::options::{Jobs as Division, SubmitTable};
use std::collections::BTreeMap;

#[derive(clap::Args, Clone, Default)]
#[command(next_help_heading = "Batch jobs")]
pub struct SubmitArguments {
    /// Submit the sweep as batch jobs and follow them; Ctrl-C stops following but leaves the jobs, and the same command follows
    /// them again. slurm, pbs, torque, lsf, flux, or a template file [default: the system whose programs are installed here]
    #[arg(long, value_name = "SYSTEM", require_equals = true)]
    submit: Option<Option<String>>,
    /// Show the job scripts without submitting them
    #[arg(long)]
    pub dry_run: bool,
    /// Submit the jobs that the queue accepts, and return; run the same command without it to follow them
    #[arg(long, conflicts_with = "dry_run")]
    pub detach: bool,
    /// Account or project to charge for the jobs
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Partition or queue of the jobs
    #[arg(long, value_name = "NAME", visible_alias = "queue")]
    partition: Option<String>,
    /// Quality of service of the jobs
    #[arg(long, value_name = "NAME")]
    qos: Option<String>,
    /// Required features of the nodes
    #[arg(long, value_name = "FEATURES")]
    constraint: Option<String>,
    /// Reservation of the jobs
    #[arg(long, value_name = "NAME")]
    reservation: Option<String>,
    /// Time limit of a job, such as 2h; longer sweeps become chains of jobs
    #[arg(long, value_name = "TIME")]
    time_limit: Option<String>,
    /// Largest number of node hours that the jobs may take; more is refused [default: max_node_hours of the sweep or the site file]
    #[arg(long, value_name = "HOURS", value_parser = parse_hours)]
    pub max_node_hours: Option<f64>,
    /// Run all launches in one job on the largest number of nodes, instead of one job per number of nodes
    #[arg(long)]
    one_job: bool,
    /// Environment module to load; may be repeated
    #[arg(long, value_name = "NAME")]
    module: Vec<String>,
    /// Environment variable to set in the jobs; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    environment: Vec<String>,
    /// Further directive of the batch system, such as --mail-type=END; may be repeated
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    directive: Vec<String>,
}

impl SubmitArguments {
    /// Returns the batch system that the flags request.
    pub fn system(&self) -> BatchSystem {
        match self.submit.as_ref().map(Option::as_deref) {
            Some(None | Some("")) => BatchSystem::Installed,
            Some(Some(name)) => BatchSystem::Named(name.to_owned()),
            None if self.dry_run || self.detach => BatchSystem::Installed,
            None => BatchSystem::None,
        }
    }

    /// Returns the options that the flags set.
    ///
    /// # Errors
    /// If `--environment` has no `=`.
    pub fn table(&self) -> Result<SubmitTable> {
        let mut environment = BTreeMap::new();
        for text in &self.environment {
            let (name, value) = text.split_once('=').ok_or_else(|| {
                Error::input(format!("--environment {text} has no ="), "write --environment NAME=VALUE")
            })?;
            environment.insert(name.to_owned(), value.to_owned());
        }
        Ok(SubmitTable {
            system: self.submit.clone().flatten().filter(|system| !system.is_empty()),
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

fn parse_hours(text: &str) -> std::result::Result<f64, String> {
    let hours = text.parse::<f64>().ok().filter(|hours| hours.is_finite() && *hours > 0.0);
    hours.ok_or_else(|| "write a number greater than 0".to_owned())
}
