//! Progress of a run: on a terminal the map with a bar and the current point, otherwise a line every few seconds.

use super::live::view::LiveView;
use apexmap_base::other_output::OtherOutput;
use apexmap_base::point::{LaunchSize, Point, Value};
use apexmap_base::sample::{Launch, Phase, Sample, Status};
use apexmap_base::terminal::{error_width, note, to_printable, wrap_lines};
use apexmap_base::units::{self, plural};
use apexmap_measure::comm::TransportKind;
use apexmap_measure::kernels;
use apexmap_measure::worker::Repeat;
use apexmap_results::table::{columns::point_label, quietness::Quietness};
use apexmap_run::drive::cost::describe_seconds;
use apexmap_run::drive::counts::RunCounts;
use apexmap_run::drive::driver::Watcher;
use apexmap_run::drive::execute::Ending;
use apexmap_run::drive::forecast::{Forecast, OpenLaunch};
use apexmap_run::drive::plan::Plan;
use apexmap_run::drive::watch::Watch;
use apexmap_run::launch::mpi::short_name;
use apexmap_theory::statistics::Summary;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

/// Time between two plain lines.
const QUIET: Duration = Duration::from_secs(10);
/// Shortest time between two frames.
const FRAME: Duration = Duration::from_millis(200);
/// Updates take at most 1 / `REST` of the time, because the ranks need the processors.
const REST: u32 = 200;

pub struct Progress {
    /// Name of this run if it is one of several: `stage 2 of 2: edges of caches`.
    pub stage: Option<&'static str>,
    view: Option<LiveView>,
    started: Instant,
    /// Seconds from then to the first launch, when the budget begins.
    waited: f64,
    due: Instant,
    forecast: Forecast,
    repeat: Repeat,
    varied: BTreeSet<String>,
    launches: usize,
    launch: usize,
    counts: RunCounts,
    before: RunCounts,
    point: Option<Point>,
    values: Vec<f64>,
    /// Phase of the point, such as `filling 38 %`.
    doing: String,
    /// Largest fraction of the bar that was filled.
    filled: f64,
    health: String,
    /// To print each message about started launches only once.
    arrivals: BTreeSet<String>,
    output: OtherOutput,
}

impl Progress {
    pub fn new(plan: &Plan, folder: Option<&Path>) -> Self {
        let now = Instant::now();
        let counts = RunCounts::new(plan.entries.len(), plan.blocks, plan.repeat);
        Self {
            stage: None,
            view: LiveView::new(plan, folder),
            started: now,
            waited: 0.0,
            due: now + QUIET,
            forecast: Forecast::new(plan.repeat, &[], 0.0),
            repeat: plan.repeat,
            varied: varying_parameters(plan),
            launches: 0,
            launch: 0,
            before: counts.clone(),
            counts,
            point: None,
            values: Vec::new(),
            doing: String::new(),
            filled: 0.0,
            health: String::new(),
            arrivals: BTreeSet::new(),
            output: OtherOutput::default(),
        }
    }

    fn elapsed_seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// With a budget, which is seldom needed to its end: its passed time, and the points that have a sample.
    fn counts(&self, left: f64, samples: f64) -> String {
        let (elapsed, left) = (self.elapsed_seconds(), describe_seconds(left));
        if let Some(budget) = self.repeat.budget_seconds {
            let passed = units::seconds((elapsed - self.waited).clamp(0.0, budget).floor());
            let stage = self.stage.map_or_else(String::new, |stage| format!("{stage}: "));
            return format!("{stage}{passed} so far, {left} left; {}", self.counts.coverage_text());
        }
        let (samples, points) = (self.counts.samples_text(samples), self.counts.points_text());
        format!("{samples}, {left} left, {points}, {} so far", units::seconds(elapsed.floor()))
    }

    fn current_point(&self) -> String {
        let launch = format!("launch {} of {}", self.launch, self.launches);
        let Some(point) = &self.point else { return format!("{launch} is starting") };
        let precision = match Summary::from_samples(&self.values).and_then(|summary| summary.relative_width()) {
            Some(width) => format!(", ± {} %", units::short_number(50.0 * width)),
            None => String::new(),
        };
        let asked = self
            .repeat
            .width
            .map_or(String::new(), |width| format!(" ({} % asked)", units::short_number(50.0 * width)));
        let asked = if precision.is_empty() { "" } else { &asked };
        let label = point_label(point, |name| self.varied.contains(name));
        let sample = self.values.len() + 1;
        let doing = if self.doing.is_empty() { String::new() } else { format!(", {}", self.doing) };
        format!("{launch}: {label}, sample {sample}{precision}{asked}{doing}")
    }

    /// A frame or a line, if it is time.
    fn show(&mut self) {
        let begun = Instant::now();
        if begun < self.due {
            return;
        }
        let elapsed = self.elapsed_seconds();
        let outlook = self.forecast.outlook(elapsed);
        let (counts, now) = (self.counts(outlook.seconds, outlook.samples), self.current_point());
        let health = &self.health;
        match &mut self.view {
            Some(view) => {
                let passed = elapsed - self.waited;
                // The bar never moves back, although the forecast can grow.
                self.filled = self.filled.max(passed / (passed + outlook.seconds).max(1.0));
                view.draw(self.filled, &[&counts, &now, health]);
            }
            None if health.is_empty() => note(&format!("{counts}; {now}")),
            None => note(&format!("{counts}; {now}; {health}")),
        }
        let pause = if self.view.is_some() { FRAME } else { QUIET };
        self.due = begun + pause.max(begun.elapsed() * REST);
    }
}

/// `P` if there are several rank counts.
fn varying_parameters(plan: &Plan) -> BTreeSet<String> {
    let mut varied = BTreeSet::new();
    let Some(first) = plan.entries.first() else { return varied };
    for Point { ranks, params, .. } in plan.entries.iter().map(|entry| &entry.point) {
        if *ranks != first.point.ranks {
            varied.insert("P".to_owned());
        }
        let other = |(name, value): &(&String, &Value)| first.point.params.get(*name).is_some_and(|v| v != *value);
        varied.extend(params.iter().filter(other).map(|(name, _)| name.clone()));
    }
    varied
}

/// `4 ranks of Open MPI v4.1.4 on 2 nodes, the first on n1, 2 on the fullest; each may run on one core only`.
fn arrival(launch: &Launch) -> String {
    if launch.placement.is_empty() {
        return format!("{}: {}", plural(launch.ranks, "rank"), launch.library);
    }
    let mut nodes = BTreeMap::<&str, usize>::new();
    launch.placement.iter().for_each(|place| *nodes.entry(&place.node).or_default() += 1);
    let library = short_name(&launch.library);
    let (ranks, first) = (plural(launch.ranks, "rank"), launch.placement.first().map_or("", |place| &place.node));
    let most = nodes.values().max().copied().unwrap_or(0);
    let bound = match (launch.oversubscribed, launch.placement.iter().filter(|place| place.pinned).count()) {
        (true, _) => "OVERSUBSCRIBED: more ranks than hardware threads".to_owned(),
        (false, pinned) if pinned == launch.ranks => "each may run on one core only".to_owned(),
        (false, pinned) => format!("{} of them may be moved between cores", launch.ranks - pinned.min(launch.ranks)),
    };
    format!(
        "{ranks} of {library} on {}, the first on {first}, {most} on the fullest; {bound}",
        plural(nodes.len(), "node")
    )
}

impl Watcher for Progress {
    fn begin(&mut self, launches: &[OpenLaunch], repeat: Repeat, failed: usize) {
        self.waited = self.elapsed_seconds();
        self.forecast = Forecast::new(repeat, launches, self.waited);
        self.launches = launches.len();
        self.counts.begin(launches, failed);
        match &self.view {
            Some(_) if self.launches == 0 => self.view = None,
            Some(_) => self.due = Instant::now(),
            None => {}
        }
    }

    fn report_launch(&mut self, launch: &str, block: u32, size: LaunchSize, points: usize) {
        self.forecast.start_launch(block, size, self.elapsed_seconds());
        self.launch = (self.launch + 1).min(self.launches);
        self.before = self.counts.clone();
        self.point = None;
        self.doing.clear();
        match &mut self.view {
            Some(view) => view.start_launch(launch),
            None => note(&format!("launch {launch}: {} on {size}", plural(points, "point"))),
        }
        self.show();
    }

    fn report_placement(&mut self, launch: &Launch) {
        if let Some(view) = &mut self.view {
            view.set_hardware(launch);
        }
        let text = arrival(launch);
        // Launches of one size usually print the same message.
        if launch.transport != TransportKind::Threads.name() && self.arrivals.insert(text.clone()) {
            self.say(&text);
        }
    }

    fn report_start(&mut self, point: &Point, values: &[f64]) {
        self.point = Some(point.clone());
        self.values = values.to_vec();
        self.doing.clear();
    }

    fn report_progress(&mut self, phase: Phase, share: Option<f64>) {
        let share = share.map_or(String::new(), |share| format!(" {:.0} %", 100.0 * share));
        self.doing = format!("{}{share}", phase.name());
        self.show();
    }

    fn report_simulation(&mut self, messages: u64, seconds: f64) {
        self.doing =
            format!("{} messages, {} of virtual time", units::si_number(messages as f64), units::seconds(seconds));
        self.show();
    }

    fn say(&mut self, line: &str) {
        match &mut self.view {
            Some(view) => view.say(&wrap_lines(&to_printable(line), error_width())),
            None => note(line),
        }
    }

    fn report_preflight(&mut self, verdict: Quietness, text: &str) {
        self.say(&format!("machine before the first sample: {}: {text}", verdict.name()));
    }

    fn report_sample(&mut self, sample: &Sample, finished: bool, watch: &Watch) {
        self.counts.add_sample(sample, finished);
        self.doing.clear();
        // The first values of a map are shown at once.
        if self.view.as_mut().is_some_and(|view| view.add_sample(sample)) {
            self.due = Instant::now();
        }
        let good = sample.status == Status::Ok;
        let measured = sample.seconds.zip(kernels::repeated_value(sample));
        self.forecast.add_sample(sample.block, &sample.key, measured, finished, self.elapsed_seconds());
        if !good {
            let label = point_label(&sample.point, |_| true);
            self.say(&format!("{}: {label}: {}", sample.status.name(), sample.message));
        }
        if Instant::now() >= self.due {
            self.health = watch.health_line().unwrap_or_default();
        }
        self.show();
    }

    fn tick(&mut self) {
        self.show();
    }

    fn report_end(&mut self, ending: &Ending) {
        if ending.status != Status::Ok {
            self.say(&format!("a launch ended with status {}: {}", ending.status.name(), ending.message));
        }
        let known_causes = self.output.causes.clone();
        for cause in ending.output.causes.difference(&known_causes) {
            self.say(&format!("note: {cause}"));
        }
        self.output = OtherOutput::total([&self.output, &ending.output].into_iter());
    }

    fn report_misfit(&mut self) {
        // The samples of this launch do not count.
        self.counts = self.before.clone();
        if let Some(view) = &mut self.view {
            view.forget_launch();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(view) = &mut self.view {
            view.finish();
            if !self.health.is_empty() {
                note(&format!("last samples: {}", self.health));
            }
        }
        if self.launches > 0 {
            note(&self.counts.summary(self.elapsed_seconds()));
        }
        self.output.sentences().first().iter().for_each(|sentence| note(&format!("note: {sentence}")));
    }
}
