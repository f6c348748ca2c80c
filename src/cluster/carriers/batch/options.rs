//! Options of jobs, and limits on them: from flags, from the sweep, from the site file, or from earlier jobs of the same result.

use crate::batch::{self, JobOptions, Template};
use crate::site::Site;
use crate::submit::node_hours::{self, PlannedHours, format_hours};
use crate::submit::{Jobs, Part};
use apexmap_base::error::{Error, Result};
use apexmap_base::units::plural;
use apexmap_measure::worker::unix_seconds;
use apexmap_results::disk::Folder;
use apexmap_run::campaign::Campaign;
use apexmap_run::sweep::submit_table::SubmitTable;
use std::path::Path;

/// Takes the options from the flags, those not set there from the sweep, and the others from the site file. Without flags and a
/// table in the sweep, takes those of earlier jobs of this result. The jobs of another user keep their options.
pub fn job_options(
    campaign: &Campaign,
    site: &Site,
    flags: &SubmitTable,
    earlier: Option<JobOptions>,
) -> Result<(JobOptions, Template)> {
    if let (Some(earlier), Some(_)) = (&earlier, Jobs::new(&Folder { path: campaign.folder.clone() }).other_owner()?) {
        // The jobs of another user are only watched, so their options start no program.
        return Ok((earlier.clone(), batch::find_trusted(&earlier.system, &site.templates())?));
    }
    let sweep_table = campaign.sweep.launch.submit.as_ref().map(|submit| submit.get_ref().clone());
    if let (Some(earlier), None, true) = (earlier, &sweep_table, *flags == SubmitTable::default()) {
        // The options of a result are checked, because it may come from another user.
        let input_error =
            |(message, help): (String, String)| Error::input(format!("{}: {message}", campaign.folder.display()), help);
        earlier.check().map_err(input_error)?;
        if !site.provides(&earlier.modules, &earlier.environment, &earlier.directives) {
            let message = "apexmap does not take the jobs' modules, environment variables or directives from a result";
            return Err(input_error((message.into(), "rerun the command that submitted them".into())));
        }
        let template = batch::find_trusted(&earlier.system, &site.templates())?;
        return Ok((earlier, template));
    }
    let table = site.fill_options(flags.clone().fill_from(sweep_table.unwrap_or_default()))?;
    let template = match &table.system {
        Some(system) => batch::find(system)?,
        None => batch::detect(&std::env::var_os("PATH").unwrap_or_default())?,
    };
    let system = match &table.system {
        Some(path) if Path::new(path).is_file() => {
            std::path::absolute(path).map_or(path.clone(), |path| path.to_string_lossy().into_owned())
        }
        _ => template.name.clone(),
    };
    let options =
        JobOptions::new(table, &system).map_err(|(message, help)| Error::input(format!("submit: {message}"), help))?;
    Ok((options, template))
}

/// The largest number of node hours of a sweep, and its source.
pub struct HourLimit {
    pub max: Option<f64>,
    source: &'static str,
}

impl HourLimit {
    /// Takes the limit of the flag, the sweep or the site file.
    pub fn new(campaign: &Campaign, site: &Site, flag: Option<f64>) -> Self {
        let limits = [
            (flag, "--max-node-hours"),
            (campaign.sweep.launch.max_node_hours, "max_node_hours in [launch]"),
            (site.file.limits.max_node_hours, "max_node_hours of the site file"),
        ];
        let (max, source) = limits.into_iter().find(|(max, _)| max.is_some()).unwrap_or_default();
        Self { max, source }
    }

    /// Refuses a sweep whose jobs may take more.
    pub fn check(&self, store: &Jobs, planned: PlannedHours) -> Result<()> {
        let Some(max) = self.max else { return Ok(()) };
        let (_, jobs) = store.read()?;
        let used = node_hours::hours_used(store, &jobs, unix_seconds());
        // Open jobs are followed in any case; the follower submits no job that exceeds the limit.
        let has_open_jobs = jobs.iter().any(|job| job.end.is_none());
        if has_open_jobs || used + planned.at_most <= max {
            return Ok(());
        }
        let earlier =
            if used > 0.0 { format!(", after {} of earlier jobs", format_hours(used)) } else { String::new() };
        Err(Error::input(
            format!(
                "the jobs may take {} by their time limits (about {} of measuring){earlier}; {} allows {max}",
                format_hours(planned.at_most),
                format_hours(planned.expected),
                self.source
            ),
            "raise the limit, measure fewer points, or use a shorter --time-limit; --dry-run shows the jobs",
        ))
    }
}

/// Refuses jobs on more nodes than the site file allows.
pub fn check_nodes(site: &Site, parts: &[Part]) -> Result<()> {
    let largest = parts.iter().map(|part| part.nodes).max().unwrap_or(0);
    match site.file.limits.max_nodes {
        Some(max) if largest > max => Err(Error::input(
            format!("a job would need {}, but max_nodes of the site file allows {max}", plural(largest, "node")),
            "use fewer ranks in the sweep, or more ranks per node (--ranks-per-node)",
        )),
        _ => Ok(()),
    }
}
