//! What is told of a run while it goes on.

use super::execute::Ending;
use super::forecast::OpenLaunch;
use super::watch::Watch;
use apexmap_base::point::{LaunchSize, Point};
use apexmap_base::sample::{Launch, Phase, Sample};
use apexmap_measure::worker::Repeat;
use apexmap_results::table::quietness::Quietness;

/// Follows a run, to show it to the user.
pub trait Watcher {
    /// What is still to be measured, in the order of the launches.
    fn begin(&mut self, launches: &[OpenLaunch], repeat: Repeat);
    fn launched(&mut self, launch: &str, block: u32, size: LaunchSize, points: usize);
    /// The ranks are there, and say where.
    fn greeted(&mut self, launch: &Launch);
    /// A run of this point begins; these are its samples in this block so far.
    fn started(&mut self, point: &Point, seconds: &[f64]);
    /// How far the run is in what no clock measures.
    fn progressed(&mut self, phase: Phase, share: Option<f64>);
    /// The machine was watched before the first sample: the verdict about it, and why.
    fn preflight(&mut self, verdict: Quietness, text: &str);
    /// A sample came; `finished` if its point needs no more. `watch` tells how quiet the machine was over the last ones.
    fn sample(&mut self, sample: &Sample, finished: bool, watch: &Watch);
    /// A line about what happened.
    fn say(&mut self, text: &str);
    /// Nothing has come for a moment.
    fn waiting(&mut self);
    fn ended(&mut self, ending: &Ending);
    /// The lines of the last launch do not fit together: none of its samples counts.
    fn doubted(&mut self);
}
