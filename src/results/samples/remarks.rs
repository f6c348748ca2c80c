//! Remarks besides disturbance: a coarse clock, a trend within launches, two modes, refused huge pages; of simulations, full mailboxes.
//! Steps and trends do not average out, so intervals include half of them on both sides.

use crate::samples::Samples;
use crate::table::columns::{BLOCKED_SHARE, NODE_TYPE};
use apexmap_base::provenance::PlainNode;
use apexmap_base::units::{self, plural};
use apexmap_theory::statistics::distributions::normal_quantile;
use apexmap_theory::statistics::median;
use apexmap_theory::statistics::patterns::{MIN_MODE_VALUES, Trend, clock_step, trend, two_modes};

/// Columns that remarks need of samples that are current, besides [`PLANNED_LAUNCH`](super::PLANNED_LAUNCH).
pub const REMARK_COLUMNS: [&str; 11] = [
    "key",
    "seconds",
    "status",
    "clock_ticks",
    "pages",
    "huge_share",
    "memory_words",
    "region_bytes",
    "transport",
    "library",
    BLOCKED_SHARE,
];

/// Steps of the clock below which it is too coarse for a run.
const MIN_CLOCK_STEPS: f64 = 1000.0;
/// Probability of a trend, over all points together, where there is none.
const FALSE_TREND: f64 = 0.001;
/// Smallest change from the first to the last sample of a launch that is worth a remark.
const MIN_CHANGE: f64 = 0.05;
/// Smallest distance of two modes that is worth a remark.
const MIN_MODE_RATIO: f64 = 1.05;

impl Samples {
    /// Returns the error of a point's times that more samples do not reduce, as a logarithm: half a step of the clock and
    /// half of a trend within launches.
    pub fn systematic_error(&self) -> f64 {
        if !self.has("key") || !self.is_constant("key") {
            return 0.0;
        }
        let trend = significant_trend(&self.times_by_launch(), 1).map_or(0.0, |trend| trend.change.ln().abs());
        (self.relative_clock_step() + trend) / 2.0
    }

    fn times_by_launch(&self) -> Vec<Vec<f64>> {
        self.launches().values().map(|launch| launch.numbers("seconds")).collect()
    }

    /// Returns the step of the clock relative to the time of a point, by the column `clock_ticks` or the times themselves.
    fn relative_clock_step(&self) -> f64 {
        let visible = median(&self.numbers("seconds")).map_or(0.0, |seconds| self.visible_clock_step() / seconds);
        median(&self.numbers("clock_ticks")).map_or(visible, |ticks| visible.max(1.0 / ticks))
    }

    /// Returns the smallest step of the clock that shows in the times of any point of the whole table, in seconds; 0 if none shows.
    fn visible_clock_step(&self) -> f64 {
        *self.whole.clock_step.get_or_init(|| {
            let good = self.with_rows((0..self.table().rows).collect()).current().good();
            let steps = good.group_by(&["key"]).into_iter().map(|point| clock_step(&point.numbers("seconds")));
            steps.filter(|step| *step > 0.0).reduce(f64::min).unwrap_or(0.0)
        })
    }

    /// Returns remarks about current good samples, each one or two sentences. `node` has the size of its huge pages, if known.
    pub fn remarks(&self, node: &PlainNode) -> Vec<String> {
        if self.describe_simulation().is_some() || !self.has("key") {
            return full_mailboxes(self).into_iter().collect();
        }
        let good = self.current().good();
        let points = good.group_by(&["key", NODE_TYPE]);
        let remarks = [coarse_clock(&points, good.len()), trends(&points), modes(&points), refused_pages(&good, node)];
        remarks.into_iter().flatten().collect()
    }
}

/// Returns the trend of these times if it is significant among this number of tests.
fn significant_trend(series: &[Vec<f64>], tests: usize) -> Option<Trend> {
    // Two-sided, with Bonferroni's correction for several tests.
    let limit = normal_quantile(1.0 - FALSE_TREND / 2.0 / tests as f64);
    trend(series).filter(|trend| trend.deviate.abs() > limit)
}

/// Names full mailboxes as a limit if simulated ranks waited for room for 1 % of a run or more.
fn full_mailboxes(samples: &Samples) -> Option<String> {
    let shares = samples.numbers(BLOCKED_SHARE);
    let ends = [shares.iter().copied().fold(1.0, f64::min), shares.iter().copied().fold(0.0, f64::max)];
    let [least, most] = ends.map(|share| format!("{:.0}", 100.0 * share));
    let range = if least == most { most.clone() } else { format!("{least} to {most}") };
    (ends[1] >= 0.01).then(|| {
        format!(
            "Full mailboxes limit the rates: simulated ranks waited for room at a receiver for {range} % of the time. The card's \
             receive_packets is the number of messages that a mailbox holds."
        )
    })
}

fn coarse_clock(points: &[Samples], total: usize) -> Option<String> {
    let is_coarse = |point: &&Samples| point.relative_clock_step() > 1.0 / MIN_CLOCK_STEPS;
    let coarse: usize = points.iter().filter(is_coarse).map(Samples::len).sum();
    (coarse > 0).then(|| {
        format!(
            "The clock is too coarse for {coarse} of {}: they took fewer than {MIN_CLOCK_STEPS} of its steps. Their intervals include a \
             step; more work in a sample, such as a larger N, makes it small.",
            plural(total, "sample")
        )
    })
}

fn trends(points: &[Samples]) -> Option<String> {
    let series: Vec<Vec<Vec<f64>>> = points.iter().map(Samples::times_by_launch).collect();
    let change = |trend: &Trend| trend.change.ln().abs();
    let is_large = |trend: &Trend| change(trend) > MIN_CHANGE.ln_1p();
    let each = series.iter().filter_map(|series| significant_trend(series, points.len())).filter(is_large);
    let changed: Vec<Trend> = each.collect();
    let largest = changed.iter().copied().max_by(|a, b| change(a).total_cmp(&change(b)));
    let percent = |trend: Trend| format!("{:+.0} %", 100.0 * (trend.change - 1.0));
    let (place, percent, intervals) = match largest {
        Some(trend) => {
            let place = format!("At {} of {}", changed.len(), plural(points.len(), "point"));
            (place, format!("up to {}", percent(trend)), " Intervals of these points include both ends.")
        }
        None => {
            let trend = significant_trend(&series.concat(), 1).filter(is_large)?;
            ("Over all points together".to_owned(), percent(trend), "")
        }
    };
    Some(format!(
        "{place}, times change by {percent} from the first to the last sample of a launch (rank test): caches or the clock had not \
         settled, or the machine throttled.{intervals}"
    ))
}

fn modes(points: &[Samples]) -> Option<String> {
    let many: Vec<&Samples> = points.iter().filter(|point| point.len() >= MIN_MODE_VALUES).collect();
    let modes = |point: &&Samples| {
        let seconds = point.numbers("seconds");
        // Adjacent steps of a coarse clock are no modes.
        let is_step = |(low, high): (f64, f64)| high - low < 1.5 * point.visible_clock_step();
        two_modes(&seconds).filter(|&(low, high)| high > MIN_MODE_RATIO * low && !is_step((low, high)))
    };
    let pairs: Vec<(f64, f64)> = many.iter().filter_map(modes).collect();
    let (low, high) = pairs.iter().copied().max_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)))?;
    Some(format!(
        "At {} of {}, times have two modes, such as {} and {}. A median can lie between them, where no sample is.",
        pairs.len(),
        plural(many.len(), "point"),
        units::seconds(low),
        units::seconds(high),
    ))
}

/// Counts the samples whose ranks had memory for at least half a huge page but got none.
fn refused_pages(good: &Samples, node: &PlainNode) -> Option<String> {
    let huge_page_bytes = node.granularity.unwrap_or_default().huge_page_bytes as f64;
    let asked = good.with_word("pages", &["huge"]);
    let (table, shares) = (asked.table(), asked.column("huge_share")?);
    let bytes = |row: usize| match table.number("memory_words", row) {
        words if words.is_nan() => table.number("region_bytes", row),
        words => 8.0 * words / table.number("ranks", row),
    };
    let is_refused = |row: &&usize| shares.number(**row) < 0.5 && bytes(**row) >= huge_page_bytes / 2.0;
    let refused = asked.rows().iter().filter(is_refused).count();
    (refused > 0).then(|| {
        format!(
            "Huge pages were requested and not granted in {refused} of {}: random accesses are slower on base pages. The system or a \
             container forbids them; see /sys/kernel/mm/transparent_hugepage/enabled.",
            plural(asked.len(), "sample")
        )
    })
}
