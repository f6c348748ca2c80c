//! Launches of two variants of a sweep as sides of a comparison.

use super::log_speed;
use super::sides::{Check, SideRun, Sides};
use apexmap_base::error::{Error, Result};
use apexmap_base::guarded::TemporaryFolder;
use apexmap_base::sample::{Launch, Sample};
use apexmap_measure::worker::Repeat;
use apexmap_results::disk::{Folder, journal, tabulate::tabulate};
use apexmap_results::samples::Samples;
use apexmap_run::campaign::{Campaign, Conduct, starter::Starter};
use apexmap_run::drive::plan::Entry;
use apexmap_run::sweep::Sweep;

pub struct Launches {
    sides: Vec<SweepSide>,
    /// Removed after the sides.
    _folder: TemporaryFolder,
}

struct SweepSide {
    campaign: Campaign,
    starter: Starter,
    folder: Folder,
}

/// Each launch then measures each point once, without a preflight.
pub fn measure_once(sweep: &mut Sweep) {
    sweep.repeat = Repeat { min: 1, max: 1, width: None, budget_seconds: None };
    sweep.launch.launches = 1;
    sweep.launch.preflight_seconds = 0.0;
}

impl Launches {
    pub fn new(campaigns: [Campaign; 2], folder: TemporaryFolder) -> Result<Self> {
        Ok(Self { sides: campaigns.into_iter().map(SweepSide::new).collect::<Result<_>>()?, _folder: folder })
    }
}

impl Sides for Launches {
    fn points(&self) -> Vec<Vec<Entry>> {
        self.sides.iter().map(|side| side.campaign.plan.entries.clone()).collect()
    }

    fn column(&self) -> Option<&str> {
        None
    }

    fn prepare(&mut self, _: &[usize], _: &Check) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, side: usize, check: &Check) -> Result<SideRun> {
        self.sides[side].run(check)
    }
}

impl SweepSide {
    fn new(campaign: Campaign) -> Result<Self> {
        let starter = Starter::check(&campaign)?;
        let folder = Folder::create(&campaign.folder)?;
        Ok(Self { campaign, starter, folder })
    }

    /// Measures every point once, in a further block of launches.
    fn run(&mut self, check: &Check) -> Result<SideRun> {
        let earlier = self.folder.journal_files()?.len();
        self.campaign.plan.blocks = earlier as u32 + 1;
        let failed = self.starter.measure(&self.campaign, &self.folder, Conduct::default(), &mut (), check)?;
        if let Some(point) = failed {
            return Err(Error::measurement(
                format!("a point of {} failed: {}", point.kernel, point.reason),
                "run the sweep alone: `apexmap run` shows all failures",
            ));
        }
        let journals = self.folder.journal_files()?.split_off(earlier);
        let records = journals.iter().map(|path| journal::read(path)).collect::<Result<Vec<_>>>()?;
        let launch: Option<Launch> = records.iter().find_map(|record| record.launch.clone());
        let launch = launch.ok_or_else(|| Error::internal("a launch without a greeting"))?;
        let speed = log_speed(&Samples::from(tabulate(&records, |_| true)));
        let value = speed.ok_or_else(|| Error::internal("a launch without a sample"))?.exp();
        let samples: Vec<Sample> = records.into_iter().flat_map(|record| record.samples).collect();
        Ok(SideRun { launch, samples, is_whole_launch: true, value, is_smaller_better: false })
    }
}
