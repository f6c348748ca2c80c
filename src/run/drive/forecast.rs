//! Estimates how long the rest of a sweep takes: the expected number of samples times their wall time, launch after launch.
//!
//! The wall time of a sample is the time since the previous one. A point without samples costs in proportion to its estimate. The
//! number of samples that a point needs follows from its interval, which narrows with the square root of their number; with too few
//! for an interval, from the mean of the other points; before any has one, it is 1.5 times `min`. The budget caps each launch.

use apexmap_base::point::LaunchSize;
use apexmap_measure::numerics::statistics::Summary;
use apexmap_measure::worker::Repeat;
use std::collections::HashMap;

/// A launch to run: the unfinished points of one size in one block.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenLaunch {
    pub block: u32,
    pub size: LaunchSize,
    pub points: Vec<OpenPoint>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct OpenPoint {
    pub key: String,
    /// Times of the samples of earlier launches, or values that a command printed.
    pub values: Vec<f64>,
    /// Estimated wall time of one sample, in seconds. Once samples exist, only ratios between points matter.
    pub cost: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    pub seconds: f64,
    pub samples: f64,
}

/// Wall times of samples in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Costs {
    count: f64,
    sum: f64,
}

impl Costs {
    fn add(&mut self, seconds: f64) {
        self.count += 1.0;
        self.sum += seconds;
    }

    fn mean(self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }
}

#[derive(Debug)]
struct Point {
    key: String,
    values: Vec<f64>,
    expected: f64,
    /// Wall time of its first sample in this sweep, which may include the allocation of memory.
    first: Option<f64>,
    /// Whether its first sample was the first of a launch. The launch's start cannot be separated from such a sample.
    is_first_of_launch: bool,
    later: Costs,
    /// Total number of samples that it needs, if its samples so far determine it.
    needed_samples: Option<f64>,
    is_finished: bool,
}

#[derive(Debug)]
struct Group {
    block: u32,
    size: LaunchSize,
    points: Vec<Point>,
}

/// Follows a sweep and estimates the remaining time. All times are seconds on one clock.
#[derive(Debug)]
pub struct Forecast {
    repeat: Repeat,
    groups: Vec<Group>,
    /// The group being measured; `None` before the first launch.
    current: Option<usize>,
    begun_at: f64,
    /// Start of the present group's first launch, and the time that the group may take.
    group_begun_at: f64,
    share: Option<f64>,
    /// Time of the last sample or the last start of a launch.
    previous: f64,
    is_starting: bool,
    startup: Costs,
    /// Group and point by block and key.
    places: HashMap<(u32, String), (usize, usize)>,
}

/// Start-up time of a launch in seconds, until one was measured.
const STARTUP: f64 = 0.5;

impl Forecast {
    /// Before the first launch, at the time `now`.
    pub fn new(repeat: Repeat, launches: &[OpenLaunch], now: f64) -> Self {
        let point = |open_point: &OpenPoint| Point {
            key: open_point.key.clone(),
            needed_samples: needed_samples(&repeat, &open_point.values),
            values: open_point.values.clone(),
            expected: open_point.cost,
            first: None,
            is_first_of_launch: false,
            later: Costs::default(),
            is_finished: false,
        };
        let group = |open_launch: &OpenLaunch| Group {
            block: open_launch.block,
            size: open_launch.size,
            points: open_launch.points.iter().map(point).collect(),
        };
        let groups: Vec<Group> = launches.iter().map(group).collect();
        let mut places = HashMap::new();
        for (index, group) in groups.iter().enumerate() {
            places.extend(
                group.points.iter().enumerate().map(|(k, point)| ((group.block, point.key.clone()), (index, k))),
            );
        }
        Self {
            repeat,
            groups,
            current: None,
            begun_at: now,
            group_begun_at: now,
            share: None,
            previous: now,
            is_starting: true,
            startup: Costs::default(),
            places,
        }
    }

    pub fn start_launch(&mut self, block: u32, size: LaunchSize, now: f64) {
        let index = self.groups.iter().position(|group| (group.block, group.size) == (block, size));
        if index.is_some() && index != self.current {
            self.share = index.and_then(|index| self.share_of(index, self.budget_left(now)));
            (self.current, self.group_begun_at) = (index, now);
        }
        (self.previous, self.is_starting) = (now, true);
    }

    /// Records a sample, with its time and its repeated value if it succeeded. `is_finished`: the point needs no more.
    pub fn add_sample(&mut self, block: u32, key: &str, measured: Option<(f64, f64)>, is_finished: bool, now: f64) {
        let mut cost = now - self.previous;
        let is_first_of_launch = self.is_starting;
        if is_first_of_launch {
            // The launch's start-up takes the rest of the wall time of its first sample.
            let sample_seconds = measured.map_or(0.0, |(seconds, _)| seconds).min(cost);
            self.startup.add(cost - sample_seconds);
            cost = sample_seconds;
        }
        (self.previous, self.is_starting) = (now, false);
        let Some(&(group, point)) = self.places.get(&(block, key.to_owned())) else { return };
        let repeat = self.repeat;
        let point = &mut self.groups[group].points[point];
        match point.first {
            None => (point.first, point.is_first_of_launch) = (Some(cost), is_first_of_launch),
            Some(_) => point.later.add(cost),
        }
        point.values.extend(measured.map(|(_, value)| value));
        point.is_finished = is_finished;
        point.needed_samples =
            if is_finished { Some(point.values.len() as f64) } else { needed_samples(&repeat, &point.values) };
    }

    pub fn outlook(&self, now: f64) -> Outlook {
        let rates = Rates::from_forecast(self);
        let startup = self.startup.mean().unwrap_or(STARTUP);
        let mut budget = self.budget_left(now);
        let mut outlook = Outlook { seconds: 0.0, samples: 0.0 };
        for index in self.current.unwrap_or(0)..self.groups.len() {
            let group = &self.groups[index];
            let (mut work, mut samples) = (0.0, 0.0);
            for point in group.points.iter().filter(|point| !point.is_finished) {
                let count =
                    (rates.expected_samples(point, self.current == Some(index)) - point.values.len() as f64).max(1.0);
                samples += count;
                work += count * rates.cost(point);
            }
            let share = if self.current == Some(index) {
                // Subtract the time already spent on the running sample.
                let waiting_seconds = (now - self.previous).max(0.0);
                let start = if self.is_starting { startup } else { 0.0 };
                let sample_seconds = if samples > 0.0 { work / samples } else { 0.0 };
                work = (work + start - waiting_seconds.min(start + sample_seconds)).max(0.0);
                self.share.map(|share| (share - (now - self.group_begun_at)).max(0.0))
            } else {
                work += if samples > 0.0 { startup } else { 0.0 };
                self.share_of(index, budget)
            };
            let seconds = share.map_or(work, |share| work.min(share));
            budget = budget.map(|budget| (budget - seconds).max(0.0));
            outlook.seconds += seconds;
            outlook.samples += if work > 0.0 { samples * seconds / work } else { samples };
        }
        outlook
    }

    fn budget_left(&self, now: f64) -> Option<f64> {
        self.repeat.budget_seconds.map(|budget| (budget - (now - self.begun_at)).max(0.0))
    }

    /// The group's number of points relative to those of all remaining groups, as in the driver.
    fn share_of(&self, index: usize, budget: Option<f64>) -> Option<f64> {
        let points: usize = self.groups[index..].iter().map(|group| group.points.len()).sum();
        budget.map(|budget| budget * self.groups[index].points.len() as f64 / points.max(1) as f64)
    }
}

struct Rates<'a> {
    /// Expected number of samples of a point whose own samples do not determine it, in the present group and in later ones.
    samples_per_point: [f64; 2],
    /// Wall time of later samples relative to first ones.
    later: f64,
    /// Wall time relative to the estimates, of the present group if possible, else of all.
    scale: f64,
    /// Mean wall time of a point's samples in other blocks, by key.
    mean_costs: HashMap<&'a str, f64>,
    min: f64,
}

impl<'a> Rates<'a> {
    fn from_forecast(forecast: &'a Forecast) -> Self {
        let repeat = &forecast.repeat;
        let all_points = || forecast.groups.iter().flat_map(|group| &group.points);
        let mut sample_counts = Costs::default();
        all_points().filter_map(|point| point.needed_samples).for_each(|count| sample_counts.add(count));
        // The guess may be low, because a tenth of the sweep shows if points need many more samples.
        let first_guess = f64::from(repeat.max).min(1.5 * f64::from(repeat.min));
        let (mut first, mut later) = (0.0, 0.0);
        for (first_cost, mean) in all_points()
            .filter(|point| !point.is_first_of_launch)
            .filter_map(|point| point.first.zip(point.later.mean()))
        {
            first += first_cost;
            later += mean;
        }
        let present_samples = sample_counts.mean().unwrap_or(first_guess);
        let mut rates = Self {
            // Other launches may be noisier or quieter, so take the geometric mean with the first guess.
            samples_per_point: [present_samples, (present_samples * first_guess).sqrt()],
            later: if first > 0.0 { (later / first).min(1.0) } else { 1.0 },
            scale: 1.0,
            mean_costs: HashMap::new(),
            min: f64::from(repeat.min),
        };
        let scale = |points: &mut dyn Iterator<Item = &Point>, min_points: usize| {
            let (mut expected, mut measured, mut count) = (0.0, 0.0, 0);
            for (point, cost) in points.filter_map(|point| Some((point, rates.measured_cost(point)?))) {
                expected += point.expected;
                measured += cost;
                count += 1;
            }
            (count >= min_points && expected > 0.0 && measured > 0.0).then(|| measured / expected)
        };
        let is_certain = |point: &&Point| !point.is_first_of_launch || point.later.count > 0.0;
        let present_scale = forecast.current.and_then(|index| {
            let points = &forecast.groups[index].points;
            scale(&mut points.iter().filter(is_certain), points.len().div_ceil(10))
        });
        rates.scale = present_scale
            .or_else(|| scale(&mut all_points().filter(is_certain), 1))
            .or_else(|| scale(&mut all_points(), 1))
            .unwrap_or(1.0);
        rates.mean_costs =
            all_points().filter_map(|point| Some((point.key.as_str(), rates.measured_cost(point)?))).collect();
        rates
    }

    fn measured_cost(&self, point: &Point) -> Option<f64> {
        point.later.mean().or(point.first.map(|first| first * self.later))
    }

    fn cost(&self, point: &Point) -> f64 {
        let cost_in_other_blocks = || self.mean_costs.get(point.key.as_str()).copied();
        self.measured_cost(point).or_else(cost_in_other_blocks).unwrap_or(point.expected * self.scale)
    }

    /// A few samples of one point determine little, so their mean over many points is used.
    fn expected_samples(&self, point: &Point, is_present: bool) -> f64 {
        // Six samples give the median a 95 % interval.
        let point_samples = point.needed_samples.filter(|_| point.is_finished || point.values.len() > RANGE.len() + 1);
        point_samples.unwrap_or(self.samples_per_point[usize::from(!is_present)]).max(self.min)
    }
}

/// Range of n values relative to the standard deviation of a normal distribution, for n = 2 to 5 (factors d2 of control charts).
const RANGE: [f64; 4] = [1.128, 1.693, 2.059, 2.326];
/// The same for six values. Their range is the 95 % interval of their median.
const RANGE_OF_SIX: f64 = 2.534;
/// Width of the median's 95 % interval relative to the standard deviation, times sqrt(n): 2 x 1.96 x sqrt(pi / 2).
const MEDIAN_WIDTH: f64 = 4.913;

/// The samples that a point with these times needs; `None` for too few times. The width of its interval falls as 1 / sqrt(n).
fn needed_samples(repeat: &Repeat, values: &[f64]) -> Option<f64> {
    let Some(target) = repeat.width else { return Some(f64::from(repeat.min)) };
    let (summary, n) = (Summary::from_samples(values)?, values.len() as f64);
    let clamp_count = |count: f64| Some(count.clamp(f64::from(repeat.min), f64::from(repeat.max)));
    if let Some(width) = summary.relative_width() {
        // The point is unfinished, so it needs at least one more sample.
        return clamp_count((n * (width / target).powi(2)).max(n + 1.0));
    }
    let range = RANGE.get(values.len().checked_sub(2)?)?;
    let deviation = (summary.max - summary.min) / summary.median / range;
    if deviation * RANGE_OF_SIX <= target {
        clamp_count(0.0)
    } else {
        clamp_count((MEDIAN_WIDTH * deviation / target).powi(2))
    }
}
