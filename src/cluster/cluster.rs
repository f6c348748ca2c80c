//! The surroundings of campaigns on a cluster: its site file, and the batch system that a command requests.

use crate::batch::{self, BatchSystem, System};
use crate::site::Site;
use apexmap_base::error::Result;
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use apexmap_run::campaign::trust::{self, Consent};
use apexmap_run::campaign::{Planner, Request, SiteSettings, Surroundings};
use apexmap_run::sweep::Sweep;
use std::path::{Path, PathBuf};

/// The surroundings of a command's campaigns.
#[derive(Default)]
pub struct Cluster {
    pub site: Site,
    /// The batch system that the flags request.
    pub system: BatchSystem,
}

impl Cluster {
    /// Reads the site file.
    pub fn load() -> Result<Self> {
        Ok(Self { site: Site::load()?, system: BatchSystem::None })
    }

    /// Plans the campaigns of a request for this machine.
    pub fn planner<'a>(&'a self, request: &'a Request) -> Planner<'a> {
        Planner::new(request, self)
    }

    /// Returns the batch system of the flags or the sweep.
    fn batch_system(&self, sweep: &Sweep) -> BatchSystem {
        let named_or_installed = |name: Option<String>| name.map_or(BatchSystem::Installed, BatchSystem::Named);
        match (&self.system, &sweep.launch.submit) {
            (BatchSystem::Named(_), _) => self.system.clone(),
            (BatchSystem::Installed, _) => named_or_installed(self.site.file.submit.system.clone()),
            (BatchSystem::None, Some(submit)) => named_or_installed(submit.get_ref().system.clone()),
            (BatchSystem::None, None) => BatchSystem::None,
        }
    }
}

impl Surroundings for Cluster {
    fn settings(&self) -> SiteSettings {
        let (file, origins) = (&self.site.file, self.site.settings.clone());
        let (machine, workers, environment) = (file.machine.clone(), file.workers.clone(), file.environment.clone());
        SiteSettings { machine, workers, environment, origins }
    }

    /// Returns the machine's name in results, which distinguishes samples of different machines: that of the result's earlier jobs,
    /// the site file's, the cluster's in a Slurm allocation, the cluster's from the batch system of jobs. Login nodes of one cluster
    /// have different names, so the cluster's name is preferred to the host's.
    fn machine_name(&self, sweep: &Sweep, result: &Path, consent: Consent) -> Option<String> {
        name_from_jobs(result).or_else(|| self.site.file.machine.clone()).or_else(name_from_allocation).or_else(|| {
            let system = self.batch_system(sweep);
            let is_named = matches!(&system, BatchSystem::Named(name) if trust::is_path(name));
            let template = system.template().filter(|_| !is_named || consent != Consent::Refused)?.ok()?;
            System::new(template, PathBuf::from(".")).cluster()
        })
    }

    fn check(&self, sweep: &Sweep) -> Result<()> {
        batch::check_submit(sweep)
    }
}

/// Returns the name in a result that has jobs.
fn name_from_jobs(result: &Path) -> Option<String> {
    let folder = Folder { path: result.to_owned() };
    folder.path.join("jobs").is_dir().then(|| Manifest::read(&folder).ok())?.map(|manifest| manifest.machine)
}

fn name_from_allocation() -> Option<String> {
    std::env::var_os("SLURM_JOB_ID")?;
    std::env::var("SLURM_CLUSTER_NAME").ok().filter(|name| !name.is_empty())
}
