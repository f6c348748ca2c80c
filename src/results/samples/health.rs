//! Summarises how quiet the machine was in one sentence, and warns about numbers that are no measurement of a quiet machine.

use crate::samples::Samples;
use crate::samples::stamp::{Banner, Stamp};
use crate::table::columns::{IMPORTED_FROM, NODE_TYPE, STATISTIC};
use crate::table::cost::{self, Verdict};
use crate::table::disturbance_columns::{CONDITIONS, DISTURBED_BY, QUIETNESS};
use crate::table::quietness::{Cause, DISTURBED_SAMPLES, Quietness, overall_verdict};
use apexmap_base::units::plural;
use apexmap_theory::statistics::Summary;
use std::collections::{BTreeMap, BTreeSet};

/// Launches that a disturbed result is advised to get more: enough for comparisons and fits.
const MORE_LAUNCHES: u32 = 5;

/// Number of samples by name of a cause.
type CauseCounts = BTreeMap<String, usize>;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Health {
    verdicts: Vec<Quietness>,
    causes: CauseCounts,
    conditions: CauseCounts,
    /// Number of disturbed samples by cause in plain words. Several causes may have the same words.
    plain_causes: BTreeMap<&'static str, usize>,
    /// Logarithms of the times of disturbed samples relative to quiet ones of the same point, in disjoint pairs.
    log_ratios: Vec<f64>,
    /// The simulation or the programs that gave the numbers, if apexmap did not measure them.
    origin: Option<Stamp>,
}

/// By how much disturbance can have slowed the median of some samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowing {
    pub disturbed: usize,
    pub samples: usize,
    /// Time of disturbed samples relative to quiet ones of their points; infinite if unknown.
    cost: f64,
}

impl Slowing {
    pub const NONE: Self = Self { disturbed: 0, samples: 0, cost: 1.0 };

    /// Returns the samples of both together, for a mean over them.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        Self {
            disturbed: self.disturbed + other.disturbed,
            samples: self.samples + other.samples,
            cost: self.cost.max(other.cost),
        }
    }

    /// Returns the largest factor, at least 1, by which the median can have been slowed; infinite if unknown. With fewer than
    /// half of the samples disturbed, a median moves by less than the mean of the logarithms.
    #[must_use]
    pub fn factor(self) -> f64 {
        match self.disturbed as f64 / self.samples.max(1) as f64 {
            share if share >= 0.5 => self.cost,
            share if self.cost.is_finite() => self.cost.powf(share),
            share if share > DISTURBED_SAMPLES => self.cost,
            _ => 1.0,
        }
    }
}

impl Health {
    /// Failed samples do not count.
    pub fn from_samples(samples: &Samples) -> Self {
        let (table, good) = (samples.table(), samples.good());
        let simulated = samples.simulated_machine().map(Stamp::Simulated);
        let origin = simulated.or_else(|| samples.imported_programs().map(Stamp::Imported));
        let mut health = Self { origin, ..Self::default() };
        let names = |column, row| table.word(column, row).split(", ").filter(|cause| !cause.is_empty());
        for &row in good.rows() {
            let verdict = Quietness::from_name(table.word(QUIETNESS, row)).unwrap_or(Quietness::Unknown);
            health.add(verdict, names(DISTURBED_BY, row));
            names(CONDITIONS, row).for_each(|cause| *health.conditions.entry(cause.to_owned()).or_default() += 1);
        }
        let points = if good.has("key") { good.group_by(&["key", NODE_TYPE]) } else { Vec::new() };
        for point in points {
            let seconds = |verdict: Quietness| point.with_word(QUIETNESS, &[verdict.name()]).numbers("seconds");
            let pairs = seconds(Quietness::Disturbed).into_iter().zip(seconds(Quietness::Quiet));
            health.log_ratios.extend(pairs.map(|(disturbed, quiet)| (disturbed / quiet).ln()));
        }
        health
    }

    pub fn from_judged(samples: &Samples) -> Option<Self> {
        samples.has(QUIETNESS).then(|| Self::from_samples(samples))
    }

    pub fn add<'a>(&mut self, verdict: Quietness, causes: impl IntoIterator<Item = &'a str>) {
        self.verdicts.push(verdict);
        let mut words = BTreeSet::new();
        for cause in causes {
            *self.causes.entry(cause.to_owned()).or_default() += 1;
            words.insert(Cause::from_name(cause).map_or("something else took time from the ranks", Cause::plain_words));
        }
        words.into_iter().for_each(|words| *self.plain_causes.entry(words).or_default() += 1);
    }

    pub fn verdict(&self) -> Quietness {
        overall_verdict(&self.verdicts)
    }

    pub fn sample_count(&self) -> usize {
        self.verdicts.len()
    }

    pub fn disturbed_count(&self) -> usize {
        self.verdicts.iter().filter(|&&verdict| verdict == Quietness::Disturbed).count()
    }

    pub fn brief(&self) -> String {
        match self.disturbed_count() {
            0 => self.verdict().name().into(),
            disturbed => format!("{}, {disturbed} of {}", self.verdict().name(), self.sample_count()),
        }
    }

    pub fn signs(&self) -> String {
        let total = plural(self.sample_count(), "sample");
        match (self.verdict(), self.disturbed_count()) {
            (Quietness::Unknown, _) => self.sentence(),
            (_, 0) => format!("no sign of disturbance in {total}"),
            (_, with_signs) => format!("signs of disturbance in {with_signs} of {total} ({})", list(&self.causes)),
        }
    }

    /// Returns a summary: `disturbed: 38 of 112 samples (slow memory 30, run delay 12); they were 9 % slower (6 to 13)`
    pub fn sentence(&self) -> String {
        let total = plural(self.sample_count(), "sample");
        match &self.origin {
            Some(Stamp::Simulated(machine)) => {
                return format!("simulated, {machine}: {total} in virtual time, which nothing disturbs");
            }
            Some(Stamp::Imported(programs)) => {
                let values = plural(self.sample_count(), "value");
                return format!("imported from {programs}: {values}, of which nothing is known about disturbance");
            }
            Some(Stamp::Disturbed { .. }) | None => {}
        }
        let (name, disturbed) = (self.verdict().name(), self.disturbed_count());
        let (causes, cost) = (list(&self.causes), self.cost());
        let counts = match self.verdict() {
            Quietness::Unknown => return format!("{name}: the system reports too little about {total}"),
            _ if disturbed == 0 => format!("{name}: none of {total} disturbed"),
            Quietness::Disturbed => format!("{name}: {disturbed} of {total} ({causes}); {cost}"),
            Quietness::Quiet => format!("{name}: {disturbed} of {total} disturbed ({causes})"),
        };
        match self.conditions.is_empty() {
            true => counts,
            false => format!("{counts}; without cost of time: {}", list(&self.conditions)),
        }
    }

    /// Returns the median logarithm of the times of disturbed samples relative to quiet ones, and its 95 % interval.
    fn log_cost(&self) -> Option<(f64, (f64, f64))> {
        let summary = Summary::from_samples(&self.log_ratios)?;
        Some((summary.median, summary.interval?))
    }

    /// Returns by how much disturbance can have slowed the median of some of these samples, at the upper end of the cost's interval.
    pub fn slowing(&self, samples: &Samples) -> Slowing {
        let good = samples.good();
        Slowing {
            disturbed: good.with_word(QUIETNESS, &[Quietness::Disturbed.name()]).len(),
            samples: good.len(),
            cost: self.log_cost().map_or(f64::INFINITY, |(_, (_, high))| high.exp().max(1.0)),
        }
    }

    fn cost(&self) -> String {
        let percent = |log_ratio: f64| format!("{:.0}", 100.0 * log_ratio.exp_m1());
        let Some((median, (low, high))) = self.log_cost() else {
            return "how much slower they were is unknown, because too few samples of their points are quiet".into();
        };
        match cost::judge(&self.log_ratios) {
            Verdict::CostsNothing if low > 0.0 => {
                format!("together they were only {} to {} % slower", percent(low), percent(high))
            }
            Verdict::CostsNothing => format!("together they were not slower ({} to {} %)", percent(low), percent(high)),
            Verdict::Undecided if low < 0.0 => {
                format!("they were up to {} % slower, or up to {} % faster", percent(high), percent(-low))
            }
            _ => format!("they were {} % slower ({} to {})", percent(median), percent(low), percent(high)),
        }
    }

    /// Returns the warning above numbers of a disturbed machine: its cost, the most frequent cause in plain words, all
    /// counts. For simulated ranks and imported values, it says that apexmap measured nothing.
    pub fn banner(&self) -> Option<Banner> {
        let kind = self.stamp()?;
        let mut counts = String::new();
        let (headline, reason) = match &kind {
            Stamp::Disturbed { disturbed, samples } => {
                let headline = format!("{disturbed} of {}; {}", plural(*samples, "sample"), self.cost());
                counts = format!(" Details: {}.", list(&self.causes));
                let reason = format!("{headline}.{}", self.main_cause());
                (headline, reason)
            }
            Stamp::Simulated(machine) => {
                let numbers = "The numbers are predictions of the card, not measurements.";
                let reason = format!("the ranks ran in virtual time (simulated, {machine}). {numbers}");
                ("predictions, no measurement".into(), reason)
            }
            Stamp::Imported(programs) => {
                let reason =
                    format!("the numbers are imported from {programs}. apexmap did not measure or verify them.");
                ("values of another program".into(), reason)
            }
        };
        Some(Banner { kind, headline, reason, counts })
    }

    /// Returns how to measure a disturbed result of `apexmap run` with this number of launches again; `None` for others.
    pub fn repeat_advice(&self, launches: u32) -> Option<String> {
        let more = launches.saturating_add(MORE_LAUNCHES);
        matches!(self.stamp(), Some(Stamp::Disturbed { .. })).then(|| {
            format!(
                "to measure again, run the same command with `--launches {more}`, which adds launches, or with `--replace`, which \
                 starts afresh and keeps this result"
            )
        })
    }

    fn main_cause(&self) -> String {
        let most = self.plain_causes.iter().max_by_key(|(words, count)| (**count, std::cmp::Reverse(**words)));
        match most {
            Some((words, &count)) if count == self.disturbed_count() => format!(" Cause: {words}."),
            Some((words, count)) => format!(" Most frequent cause: {words} ({count})."),
            None => String::new(),
        }
    }

    fn stamp(&self) -> Option<Stamp> {
        let disturbed = Stamp::Disturbed { disturbed: self.disturbed_count(), samples: self.sample_count() };
        let is_disturbed = self.verdict() == Quietness::Disturbed;
        self.origin.clone().or_else(|| is_disturbed.then_some(disturbed))
    }
}

/// Lists causes, the most frequent first: `slow memory 30, run delay 12`
fn list(causes: &CauseCounts) -> String {
    let mut causes: Vec<(&String, &usize)> = causes.iter().collect();
    causes.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    causes.iter().map(|(cause, count)| format!("{cause} {count}")).collect::<Vec<_>>().join(", ")
}

impl Samples {
    /// Returns the machine of simulated ranks, as in `simulated, card Red Storm`; `None` if all ranks were real.
    pub fn describe_simulation(&self) -> Option<String> {
        Some(format!("simulated, {}", self.simulated_machine()?))
    }

    /// Returns the origin of imported values, as in `imported from stream 5.10 (best of its runs, not medians)`.
    pub fn describe_import(&self) -> Option<String> {
        Some(format!("imported from {}", self.imported_programs()?))
    }

    /// Returns the simulation or the program that gave the numbers; `None` if apexmap measured them.
    pub fn describe_origin(&self) -> Option<String> {
        self.describe_simulation().or_else(|| self.describe_import())
    }

    /// Returns the cards of simulated ranks, as in `card Red Storm`; `None` if all ranks were real.
    pub fn simulated_machine(&self) -> Option<String> {
        let simulated = self.with_word("transport", &["simulated"]);
        let libraries = simulated.words("library");
        // The stored name of the library: `simulated, card Red Storm`.
        let machines = libraries.iter().map(|library| library.strip_prefix("simulated, ").unwrap_or(library));
        (!libraries.is_empty()).then(|| machines.collect::<Vec<_>>().join("; "))
    }

    pub fn imported_programs(&self) -> Option<String> {
        let programs = self.words(IMPORTED_FROM);
        let statistics = self.words(STATISTIC);
        let describe = |statistic: &&str| match *statistic {
            "best" => Some("best of its runs"),
            "mean" => Some("means"),
            _ => None,
        };
        let kinds: Vec<&str> = statistics.iter().filter_map(describe).collect();
        let partly = if statistics.len() > 1 { "partly " } else { "" };
        let kinds = match kinds.is_empty() {
            true => String::new(),
            false => format!(" ({partly}{}, not medians)", kinds.join(" and ")),
        };
        (!programs.is_empty()).then(|| format!("{}{kinds}", programs.join(" and ")))
    }

    /// Returns the short warning about the whole result of these samples; `None` for a measurement on a quiet machine.
    pub fn stamp(&self) -> Option<&Stamp> {
        let of_result = || {
            let whole = self.with_rows((0..self.table().rows).collect());
            Health::from_samples(&whole.current()).stamp()
        };
        self.whole.stamp.get_or_init(of_result).as_ref()
    }

    /// Returns the subtitle of a figure of these samples, with the stamp in a separate line.
    pub fn stamp_subtitle(&self, subtitle: String) -> String {
        match self.stamp() {
            None => subtitle,
            Some(stamp) if subtitle.contains('\n') => format!("{subtitle}. {stamp}"),
            Some(stamp) => format!("{subtitle}\n{stamp}"),
        }
    }
}
