//! What a machine is called in results. Names tell samples apart, and the login nodes of a cluster have names of their own.

use crate::batch::{self, Submit};
use crate::submit::{Jobs, System};
use apexmap_measure::provenance;
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use std::path::{Path, PathBuf};

/// As the user says; for a result with jobs as before; in an allocation of Slurm, and for jobs, the name of the cluster; else that of
/// this host.
///
/// `system`: the batch system of jobs that flags ask for, empty for the one that is here; `submit`: what the sweep says of jobs.
pub fn machine_name(named: Option<&str>, system: Option<&str>, submit: Option<&Submit>, result: &Path) -> String {
    let of_sweep = || submit.map(|submit| submit.table().system.unwrap_or_default());
    let system = system.map(str::to_owned).or_else(of_sweep);
    (named.map(str::to_owned))
        .or_else(|| of_jobs(result))
        .or_else(of_allocation)
        .or_else(|| of_cluster(&system?))
        .unwrap_or_else(provenance::host_name)
}

/// The name in a result whose launches are those of jobs.
fn of_jobs(result: &Path) -> Option<String> {
    let folder = Folder { path: result.to_owned() };
    if !Jobs::of(&folder).exist() {
        return None;
    }
    Manifest::read(&folder).ok().map(|manifest| manifest.machine)
}

fn of_allocation() -> Option<String> {
    std::env::var_os("SLURM_JOB_ID")?;
    std::env::var("SLURM_CLUSTER_NAME").ok().filter(|name| !name.is_empty())
}

/// As the batch system tells, which is the one that is here if the name is empty.
fn of_cluster(system: &str) -> Option<String> {
    let template = match system {
        "" => batch::here(&std::env::var_os("PATH").unwrap_or_default()),
        name => batch::find(name),
    };
    System { template: template.ok()?, folder: PathBuf::from("."), interrupted: &|| Ok(()) }.cluster()
}
