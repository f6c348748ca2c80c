//! Options of jobs, and limits on them: from flags, from the sweep, or from the site file.

use super::part::{PartJob, format_hours, sum_hours};
use crate::batch::{self, Template};
use crate::{cluster::Cluster, site::Site};
use apexmap_base::error::{Error, Result};
use apexmap_base::units::plural;
use apexmap_results::disk::Folder;
use apexmap_run::campaign::Campaign;
use apexmap_run::sweep::submit_table::SubmitTable;
use toml::Spanned;

/// Those of the flags, and those not set there from the sweep.
fn own_options(campaign: &Campaign, cluster: &Cluster) -> SubmitTable {
    let of_sweep = campaign.sweep.launch.submit.clone().map(Spanned::into_inner).unwrap_or_default();
    cluster.flags.clone().fill_from(of_sweep)
}

/// The flags come first, then the sweep, then the site file.
pub fn job_options(campaign: &Campaign, cluster: &Cluster) -> Result<(SubmitTable, Template)> {
    let options = cluster.site.fill_options(own_options(campaign, cluster))?;
    options.check().map_err(|(message, help)| Error::input(format!("submit: {message}"), help))?;
    let template = batch::choose(options.system.as_deref())?;
    Ok((options, template))
}

/// Refuses jobs on more nodes, or with more node hours, than the user, the sweep or the site file allow.
pub fn check_limits(campaign: &Campaign, site: &Site, flag: Option<f64>, jobs: &[PartJob]) -> Result<()> {
    let largest = jobs.iter().map(|job| job.part.nodes).max().unwrap_or(0);
    if let Some(max) = site.file.limits.max_nodes.filter(|max| largest > *max) {
        return Err(Error::input(
            format!("a job would need {}, but max_nodes of the site file allows {max}", plural(largest, "node")),
            "use fewer ranks in the sweep, or more ranks per node (--ranks-per-node)",
        ));
    }
    let limits = [
        (flag, "--max-node-hours"),
        (campaign.sweep.launch.max_node_hours, "max_node_hours in [launch]"),
        (site.file.limits.max_node_hours, "max_node_hours of the site file"),
    ];
    let Some((max, source)) = limits.into_iter().find_map(|(max, source)| Some((max?, source))) else { return Ok(()) };
    let [expected, at_most] = sum_hours(jobs);
    if at_most <= max {
        return Ok(());
    }
    let (expected, at_most) = (format_hours(expected), format_hours(at_most));
    Err(Error::input(
        format!(
            "the jobs may take {at_most} by their time limits (about {expected} of measuring); {source} allows {max}"
        ),
        "raise the limit, measure fewer points, or use a shorter --time-limit; --dry-run shows the jobs",
    ))
}

pub fn write_site_record(campaign: &Campaign, cluster: &Cluster, folder: &Folder) -> Result<()> {
    let own = own_options(campaign, cluster);
    let partition = own.partition.clone().or_else(|| cluster.site.file.submit.partition.clone());
    campaign.write_site_record(folder, &|table, rest| match table {
        "environment" => !own.environment.contains_key(rest),
        "submit" => !is_set(&own, rest),
        "partitions" => {
            let (name, option) = rest.split_once('.').unwrap_or((rest, ""));
            partition.as_deref() == Some(name) && !is_set(&own, option)
        }
        "account" => own.account.is_none(),
        _ => true,
    })
}

/// Whether the table sets the option or the environment variable itself. Lists are joined, so they are not replaced.
fn is_set(table: &SubmitTable, option: &str) -> bool {
    if let Some(name) = option.strip_prefix("environment.") {
        return table.environment.contains_key(name);
    }
    let value = serde_json::to_value(table).unwrap_or_default();
    value.get(option).is_some_and(|value| !value.is_null() && !value.is_array())
}
