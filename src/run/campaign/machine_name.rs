//! The machine's name in results. It distinguishes samples of different machines. Login nodes of one cluster have different
//! names, so the cluster's name is preferred.

use crate::batch::{self, Submit};
use crate::submit::{Jobs, System};
use apexmap_measure::provenance;
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use std::path::Path;

/// Returns the first known name: the user's, that of the result's earlier jobs, the site file's, the cluster's name in a Slurm
/// allocation, the cluster's name from the batch system of jobs, or this host's name.
///
/// `system` is the batch system requested by flags, empty for the installed one; `submit` is the sweep's setting.
pub fn machine_name(
    (user_name, site_name): (Option<&str>, Option<&str>),
    system: Option<&str>,
    submit: Option<&Submit>,
    result: &Path,
) -> String {
    let sweep_system = || submit.map(|submit| submit.to_table().system.unwrap_or_default());
    let system = system.map(str::to_owned).or_else(sweep_system);
    (user_name.map(str::to_owned))
        .or_else(|| name_from_jobs(result))
        .or_else(|| site_name.map(str::to_owned))
        .or_else(name_from_allocation)
        .or_else(|| name_from_system(&system?))
        .unwrap_or_else(provenance::host_name)
}

/// Returns the name in a result that has jobs.
fn name_from_jobs(result: &Path) -> Option<String> {
    let folder = Folder { path: result.to_owned() };
    if !Jobs::new(&folder).exist() {
        return None;
    }
    Manifest::read(&folder).ok().map(|manifest| manifest.machine)
}

fn name_from_allocation() -> Option<String> {
    std::env::var_os("SLURM_JOB_ID")?;
    std::env::var("SLURM_CLUSTER_NAME").ok().filter(|name| !name.is_empty())
}

/// Returns the name that the batch system reports. An empty `system` is the installed one.
fn name_from_system(system: &str) -> Option<String> {
    let template = match system {
        "" => batch::detect(&std::env::var_os("PATH").unwrap_or_default()),
        name => batch::find(name),
    };
    System::new(template.ok()?, Path::new("."), &|| Ok(())).cluster()
}
