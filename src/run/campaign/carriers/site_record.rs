//! The part of a site file that a run uses: its environment variables, and the record in the result.

use crate::batch::Submit;
use crate::batch::options::SubmitTable;
use crate::campaign::Campaign;
use crate::site::Site;
use apexmap_base::error::{Error, Result};
use apexmap_results::disk::Folder;
use std::env;

/// Returns the site's environment variables that the user does not set.
pub fn variables(site: &Site) -> Vec<(String, String)> {
    let variables = site.file.environment.clone();
    variables.into_iter().filter(|(name, _)| env::var_os(name).is_none()).collect()
}

/// Writes `site.toml` into the result: the settings of the site file that this run uses, with their origins. `flags` are those of
/// jobs, if the run consists of jobs.
pub fn write(campaign: &Campaign, folder: &Folder, flags: Option<&SubmitTable>) -> Result<()> {
    let own_tables = flags.map(|flags| {
        let sweep_table = campaign.sweep.launch.submit.as_ref().map(Submit::to_table);
        [flags.clone(), sweep_table.unwrap_or_default()]
    });
    let used_worker = campaign.site.worker(campaign.sweep.launch.launcher);
    let used_worker = used_worker.filter(|(worker, _)| *worker == campaign.worker).map(|(_, key)| key);
    let machine = campaign.site.file.machine.as_ref().filter(|machine| **machine == campaign.plan.context.machine);
    let partition = own_tables.as_ref().and_then(|tables| tables.iter().find_map(|table| table.partition.clone()));
    let partition = partition.or_else(|| campaign.site.file.submit.partition.clone());
    let text = campaign.site.describe(|key| {
        let (table, rest) = key.split_once('.').unwrap_or((key, ""));
        match (table, &own_tables) {
            ("machine", _) => machine.is_none(),
            ("workers", _) => used_worker.as_deref() != Some(key),
            ("environment", None) => env::var_os(rest).is_some(),
            ("environment", Some(tables)) => tables.iter().any(|table| table.environment.contains_key(rest)),
            ("submit", Some(tables)) => tables.iter().any(|table| is_set(table, rest)),
            ("partitions", Some(tables)) => {
                let (name, option) = rest.split_once('.').unwrap_or((rest, ""));
                partition.as_deref() != Some(name) || tables.iter().any(|table| is_set(table, option))
            }
            ("account", Some(tables)) => tables.iter().any(|table| table.account.is_some()),
            (_, None) => true,
            _ => false,
        }
    });
    let path = folder.path.join("site.toml");
    if !text.is_empty() {
        return folder.replace_text(&path, &text);
    }
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::file("remove", &path, error)),
        _ => Ok(()),
    }
}

/// Returns true if the table sets the option or the environment variable itself. Lists are joined, so they are not replaced.
fn is_set(table: &SubmitTable, option: &str) -> bool {
    if let Some(name) = option.strip_prefix("environment.") {
        return table.environment.contains_key(name);
    }
    let value = serde_json::to_value(table).unwrap_or_default();
    value.get(option).is_some_and(|value| !value.is_null() && !value.is_array())
}
