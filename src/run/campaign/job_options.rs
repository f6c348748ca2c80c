//! Options of jobs: from flags, from the sweep, or from earlier jobs of the same result.

use super::Campaign;
use crate::batch::options::SubmitTable;
use crate::batch::{self, JobOptions, Template};
use crate::sweep;
use apexmap_base::error::{Error, Result};
use std::path::Path;

/// Takes the options from the flags, and those not set there from the sweep. Without both, takes those of earlier jobs of this
/// result.
///
/// # Errors
/// If an option is invalid, or an option of the result is not trusted.
pub fn job_options(
    campaign: &Campaign,
    flags: &SubmitTable,
    earlier: Option<JobOptions>,
) -> Result<(JobOptions, Template)> {
    let of_sweep = campaign.sweep.launch.submit.as_ref().map(batch::Submit::table);
    if let (Some(earlier), None, true) = (earlier, &of_sweep, *flags == SubmitTable::default()) {
        // The options of a result are checked, because it may come from another user.
        let wrong =
            |(what, next): (String, String)| Error::input(format!("{}: {what}", campaign.folder.display()), next);
        earlier.check().map_err(wrong)?;
        if earlier.changes_programs() {
            let what = "apexmap does not take the jobs' modules, environment variables or directives from a result";
            return Err(wrong((what.into(), "rerun the command that submitted them".into())));
        }
        let template = batch::known(&earlier.system)?;
        return Ok((earlier, template));
    }
    let table = flags.clone().or(of_sweep.unwrap_or_default());
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
