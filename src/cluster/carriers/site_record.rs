//! The record of the site file in a result that jobs measure.

use crate::site::Site;
use apexmap_base::error::Result;
use apexmap_results::disk::Folder;
use apexmap_run::campaign::Campaign;
use apexmap_run::sweep::submit_table::SubmitTable;
use toml::Spanned;

/// Writes the settings that jobs with these flags use.
pub fn write(campaign: &Campaign, site: &Site, folder: &Folder, flags: &SubmitTable) -> Result<()> {
    let sweep_table = campaign.sweep.launch.submit.clone().map(Spanned::into_inner);
    let tables = [flags.clone(), sweep_table.unwrap_or_default()];
    let partition = tables.iter().find_map(|table| table.partition.clone());
    let partition = partition.or_else(|| site.file.submit.partition.clone());
    campaign.write_site_record(folder, &|table, rest| match table {
        "environment" => tables.iter().all(|table| !table.environment.contains_key(rest)),
        "submit" => tables.iter().all(|table| !is_set(table, rest)),
        "partitions" => {
            let (name, option) = rest.split_once('.').unwrap_or((rest, ""));
            partition.as_deref() == Some(name) && tables.iter().all(|table| !is_set(table, option))
        }
        "account" => tables.iter().all(|table| table.account.is_none()),
        _ => true,
    })
}

/// Returns true if the table sets the option or the environment variable itself. Lists are joined, so they are not replaced.
fn is_set(table: &SubmitTable, option: &str) -> bool {
    if let Some(name) = option.strip_prefix("environment.") {
        return table.environment.contains_key(name);
    }
    let value = serde_json::to_value(table).unwrap_or_default();
    value.get(option).is_some_and(|value| !value.is_null() && !value.is_array())
}
