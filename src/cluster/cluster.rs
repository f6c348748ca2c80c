//! The surroundings of campaigns on a cluster: its site file, and the requests of a command to the batch system.

use crate::batch::{self, System};
use crate::site::Site;
use apexmap_base::error::Result;
use apexmap_results::disk::{Folder, manifest::Manifest};
use apexmap_run::campaign::trust::{self, Consent};
use apexmap_run::campaign::{Planner, Request, SiteSettings, Surroundings};
use apexmap_run::sweep::{Sweep, submit_table::SubmitTable};
use std::path::{Path, PathBuf};

#[derive(Default)]
pub struct Cluster {
    pub site: Site,
    pub flags: SubmitTable,
    pub submits: bool,
}

impl Cluster {
    pub fn load() -> Result<Self> {
        Ok(Self { site: Site::load()?, ..Self::default() })
    }

    pub fn planner<'a>(&'a self, request: &'a Request) -> Planner<'a> {
        Planner::new(request, self)
    }

    fn system(&self, sweep: &Sweep) -> Option<String> {
        let of_sweep = sweep.launch.submit.as_ref().and_then(|submit| submit.get_ref().system.clone());
        self.flags.system.clone().or(of_sweep).or_else(|| self.site.file.submit.system.clone())
    }
}

impl Surroundings for Cluster {
    fn settings(&self) -> SiteSettings {
        let (file, origins) = (&self.site.file, self.site.settings.clone());
        let (machine, workers, environment) = (file.machine.clone(), file.workers.clone(), file.environment.clone());
        SiteSettings { machine, workers, environment, origins }
    }

    /// Login nodes of one cluster have different names, so the cluster's name is preferred to the host's.
    fn machine_name(&self, sweep: &Sweep, result: &Path, consent: Consent) -> Option<String> {
        name_from_jobs(result).or_else(|| self.site.file.machine.clone()).or_else(name_from_allocation).or_else(|| {
            if !self.submits && sweep.launch.submit.is_none() {
                return None;
            }
            let system = self.system(sweep);
            let system = system.as_deref();
            let may_run = consent != Consent::Refused || !system.is_some_and(trust::is_path);
            let template = may_run.then(|| batch::choose(system))?.ok()?;
            System::new(template, PathBuf::from(".")).cluster()
        })
    }

    fn check(&self, sweep: &Sweep) -> Result<()> {
        batch::check_submit(sweep)
    }
}

fn name_from_jobs(result: &Path) -> Option<String> {
    let folder = Folder { path: result.to_owned() };
    folder.path.join("jobs").is_dir().then(|| Manifest::read(&folder).ok())?.map(|manifest| manifest.machine)
}

fn name_from_allocation() -> Option<String> {
    std::env::var_os("SLURM_JOB_ID")?;
    std::env::var("SLURM_CLUSTER_NAME").ok().filter(|name| !name.is_empty())
}
