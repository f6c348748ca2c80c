//! Flags of `run` for batch jobs. The other sources of these options are the sweep and the site file.

use apexmap_base::error::{Error, Result};
use apexmap_cluster::batch::BatchSystem;
use apexmap_run::sweep::submit_table::{Jobs as Division, SubmitTable};
use std::collections::BTreeMap;

#[derive(clap::Args, Clone, Default)]
#[command(next_help_heading = "Batch jobs")]
pub struct SubmitArguments {
    /// Submit a job for each number of nodes with missing points, and end; the same command later submits what is missing then.
    /// slurm, pbs, torque, lsf, flux, or a template file [default: the system whose programs are installed here]
    #[arg(long, value_name = "SYSTEM", require_equals = true)]
    submit: Option<Option<String>>,
    /// Show the job scripts with memory and node hours, without submitting them
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    options: SubmitTable,
    // The display orders list the following flags between those of the table, by subject.
    /// Largest number of node hours that the jobs may take; more is refused [default: max_node_hours of the sweep or the site file]
    #[arg(long, value_name = "HOURS", value_parser = parse_hours, display_order = 100)]
    pub max_node_hours: Option<f64>,
    /// Run all launches in one job on the largest number of nodes, instead of one job per number of nodes
    #[arg(long, display_order = 101)]
    one_job: bool,
    /// Environment variable to set in the jobs; may be repeated
    #[arg(long, value_name = "NAME=VALUE", display_order = 103)]
    environment: Vec<String>,
}

impl SubmitArguments {
    /// Returns the batch system that the flags request.
    pub fn system(&self) -> BatchSystem {
        match self.submit.as_ref().map(Option::as_deref) {
            Some(None | Some("")) => BatchSystem::Installed,
            Some(Some(name)) => BatchSystem::Named(name.to_owned()),
            None if self.dry_run => BatchSystem::Installed,
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
            jobs: self.one_job.then_some(Division::One),
            environment,
            ..self.options.clone()
        })
    }
}

fn parse_hours(text: &str) -> std::result::Result<f64, String> {
    let hours = text.parse::<f64>().ok().filter(|hours| hours.is_finite() && *hours > 0.0);
    hours.ok_or_else(|| "write a number greater than 0".to_owned())
}
