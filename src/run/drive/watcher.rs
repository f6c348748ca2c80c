//! Reports of a run while it continues.

use super::execute::Ending;
use super::forecast::OpenLaunch;
use super::watch::Watch;
use apexmap_base::point::{LaunchSize, Point};
use apexmap_base::sample::{Launch, Phase, Sample};
use apexmap_measure::worker::Repeat;
use apexmap_results::table::quietness::Quietness;

/// Follows a run, to show it to the user. By default, it shows nothing.
pub trait Watcher {
    /// Reports the remaining launches in their order, and the number of points that failed earlier and are not measured again.
    fn begin(&mut self, _launches: &[OpenLaunch], _repeat: Repeat, _failed: usize) {}
    fn report_launch(&mut self, _launch: &str, _block: u32, _size: LaunchSize, _points: usize) {}
    /// Reports that the ranks have started, and their placement.
    fn report_placement(&mut self, _launch: &Launch) {}
    /// Reports that a run of this point begins. `values` are the times of the point's samples in this block so far, or what a
    /// command printed.
    fn report_start(&mut self, _point: &Point, _values: &[f64]) {}
    /// Reports how far an untimed phase of the run is.
    fn report_progress(&mut self, _phase: Phase, _share: Option<f64>) {}
    /// Reports the state of a run on simulated ranks: its messages so far, and the virtual time in seconds.
    fn report_simulation(&mut self, _messages: u64, _seconds: f64) {}
    /// Reports the verdict about the machine before the first sample, and its reason.
    fn report_preflight(&mut self, _verdict: Quietness, _text: &str) {}
    /// Reports a sample; `finished` if its point needs no more. `watch` judges how quiet the machine was over the last samples.
    fn report_sample(&mut self, _sample: &Sample, _finished: bool, _watch: &Watch) {}
    /// Reports an event as one line.
    fn say(&mut self, _text: &str) {}
    /// Called while no event arrives.
    fn tick(&mut self) {}
    fn report_end(&mut self, _ending: &Ending) {}
    /// Reports that the lines of the last launch are inconsistent, so none of its samples counts.
    fn report_misfit(&mut self) {}
}
