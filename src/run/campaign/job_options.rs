//! Options of jobs: from flags, from the sweep, or from earlier jobs of the same result.

use super::Campaign;
use crate::batch::options::SubmitTable;
use crate::batch::{self, JobOptions, Template};
use crate::submit::Jobs;
use crate::sweep;
use apexmap_base::error::{Error, Result};
use apexmap_results::disk::Folder;
use std::path::Path;

/// Takes the options from the flags, those not set there from the sweep, and the others from the site file. Without flags and a
/// table in the sweep, takes those of earlier jobs of this result. The jobs of another user keep their options.
///
/// # Errors
/// If an option is invalid, or an option of the result is not trusted.
pub fn job_options(
    campaign: &Campaign,
    flags: &SubmitTable,
    earlier: Option<JobOptions>,
) -> Result<(JobOptions, Template)> {
    if let (Some(earlier), Some(_)) = (&earlier, Jobs::new(&Folder { path: campaign.folder.clone() }).other_owner()?) {
        // The jobs of another user are only watched, so their options start no program.
        return Ok((earlier.clone(), batch::find_trusted(&earlier.system, &campaign.site.templates())?));
    }
    let sweep_table = campaign.sweep.launch.submit.as_ref().map(batch::Submit::to_table);
    if let (Some(earlier), None, true) = (earlier, &sweep_table, *flags == SubmitTable::default()) {
        // The options of a result are checked, because it may come from another user.
        let input_error =
            |(message, help): (String, String)| Error::input(format!("{}: {message}", campaign.folder.display()), help);
        earlier.check().map_err(input_error)?;
        let site = &campaign.site;
        if !site.provides(&earlier.modules, &earlier.environment, &earlier.directives) {
            let message = "apexmap does not take the jobs' modules, environment variables or directives from a result";
            return Err(input_error((message.into(), "rerun the command that submitted them".into())));
        }
        let template = batch::find_trusted(&earlier.system, &site.templates())?;
        return Ok((earlier, template));
    }
    let table = campaign.site.fill_options(flags.clone().fill_from(sweep_table.unwrap_or_default()))?;
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
    let options = table
        .into_options(&system, sweep::parse_time)
        .map_err(|(message, help)| Error::input(format!("submit: {message}"), help))?;
    Ok((options, template))
}
