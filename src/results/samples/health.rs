//! Summarises how quiet the machine was over many samples, in one sentence.

use crate::samples::Samples;
use crate::table::columns::{IMPORTED_FROM, STATISTIC};
use crate::table::disturbance_columns::{DISTURBED_BY, QUIETNESS};
use crate::table::quietness::{Cause, Quietness, overall_verdict};
use apexmap_base::units::plural;
use std::collections::{BTreeMap, BTreeSet};

/// Counts of the samples' verdicts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Health {
    verdicts: Vec<Quietness>,
    /// Number of disturbed samples by cause.
    causes: BTreeMap<String, usize>,
    /// Number of disturbed samples by cause in plain words. Several causes may have the same words.
    plain_causes: BTreeMap<&'static str, usize>,
    /// The machine of simulated ranks.
    simulated: Option<String>,
    /// The programs that measured imported values.
    imported: Option<String>,
}

impl Health {
    /// Counts measured samples. Failed samples do not count.
    pub fn from_samples(samples: &Samples) -> Self {
        let table = samples.table();
        let (simulated, imported) = (samples.describe_simulation(), samples.describe_import());
        let mut health = Self { simulated, imported, ..Self::default() };
        for &row in samples.good().rows() {
            let verdict = Quietness::from_name(table.word(QUIETNESS, row)).unwrap_or(Quietness::Unknown);
            let by = table.word(DISTURBED_BY, row);
            health.add(verdict, by.split(", ").filter(|cause| !cause.is_empty()));
        }
        health
    }

    /// Counts one more sample.
    pub fn add<'a>(&mut self, verdict: Quietness, causes: impl IntoIterator<Item = &'a str>) {
        self.verdicts.push(verdict);
        let mut words = BTreeSet::new();
        for cause in causes {
            *self.causes.entry(cause.to_owned()).or_default() += 1;
            words.insert(Cause::from_name(cause).map_or("something else took time from the ranks", Cause::plain_words));
        }
        words.into_iter().for_each(|words| *self.plain_causes.entry(words).or_default() += 1);
    }

    /// Returns the verdict about all samples together.
    pub fn verdict(&self) -> Quietness {
        overall_verdict(&self.verdicts)
    }

    /// Returns the number of samples.
    pub fn sample_count(&self) -> usize {
        self.verdicts.len()
    }

    /// Returns the number of disturbed samples.
    pub fn disturbed_count(&self) -> usize {
        self.verdicts.iter().filter(|&&verdict| verdict == Quietness::Disturbed).count()
    }

    /// Returns a summary: `disturbed: 38 of 112 samples (slow memory 30, run delay 12)`
    pub fn sentence(&self) -> String {
        let total = plural(self.sample_count(), "sample");
        if let Some(machine) = &self.simulated {
            return format!("{machine}: {total} in virtual time, which nothing disturbs");
        }
        if let Some(program) = &self.imported {
            return format!(
                "{program}: {}, of which nothing is known about disturbance",
                total.replace("sample", "value")
            );
        }
        match self.verdict() {
            Quietness::Unknown => format!("unknown: the system reports too little about {total}"),
            verdict if self.disturbed_count() == 0 => format!("{}: none of {total} disturbed", verdict.name()),
            Quietness::Disturbed => format!("disturbed: {} of {total} ({})", self.disturbed_count(), self.cause_list()),
            verdict => {
                format!("{}: {} of {total} disturbed ({})", verdict.name(), self.disturbed_count(), self.cause_list())
            }
        }
    }

    /// Lists the causes, the most frequent first: `slow memory 30, run delay 12`
    fn cause_list(&self) -> String {
        let mut causes: Vec<(&String, &usize)> = self.causes.iter().collect();
        causes.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        causes.iter().map(|(cause, count)| format!("{cause} {count}")).collect::<Vec<_>>().join(", ")
    }

    /// Returns the warning to show above numbers of a disturbed machine: the most frequent cause in plain words, then the counts
    /// of all causes. `None` if the machine was quiet enough or this is unknown. For simulated ranks and imported values, it says
    /// that apexmap measured nothing.
    pub fn banner(&self) -> Option<String> {
        if let Some(machine) = &self.simulated {
            return Some(format!("SIMULATED: {}", simulation_warning(machine)));
        }
        if let Some(program) = &self.imported {
            return Some(format!("IMPORTED: the numbers are {program}. apexmap did not measure or verify them."));
        }
        if self.verdict() != Quietness::Disturbed {
            return None;
        }
        let (disturbed, total) = (self.disturbed_count(), plural(self.sample_count(), "sample"));
        let most = self.plain_causes.iter().max_by_key(|(words, count)| (**count, std::cmp::Reverse(**words)));
        let cause = match most {
            Some((words, &count)) if count == disturbed => format!("{words} during {disturbed} of {total}"),
            Some((words, count)) => format!("{words} during {count} of {total}; {disturbed} are disturbed in total"),
            None => format!("{disturbed} of {total}"),
        };
        Some(format!(
            "DISTURBED: {cause}. The numbers are not those of the machine alone. Details: {}.",
            self.cause_list()
        ))
    }
}

/// Explains the numbers of simulated ranks.
fn simulation_warning(machine: &str) -> String {
    format!("the ranks ran in virtual time ({machine}). The numbers are predictions of the card, not measurements.")
}

impl Samples {
    /// Returns the machine of simulated ranks, as in `simulated, card Red Storm`; `None` if all ranks were real.
    pub fn describe_simulation(&self) -> Option<String> {
        let simulated = self.with_word("transport", &["simulated"]);
        let machines: Vec<&str> = simulated.words("library").into_iter().collect();
        (!machines.is_empty()).then(|| machines.join("; "))
    }

    /// Returns the programs that measured imported values, as in `imported from stream 5.10 (best of its runs, not medians)`; `None`
    /// if apexmap measured all.
    pub fn describe_import(&self) -> Option<String> {
        let programs = self.words(IMPORTED_FROM);
        let statistics = self.words(STATISTIC);
        let describe = |statistic: &&&str| match **statistic {
            "best" => Some("best of its runs"),
            "mean" => Some("means"),
            _ => None,
        };
        let kinds: Vec<&str> = statistics.iter().filter_map(|statistic| describe(&statistic)).collect();
        let partly = if statistics.len() > 1 { "partly " } else { "" };
        let kinds = match kinds.is_empty() {
            true => String::new(),
            false => format!(" ({partly}{}, not medians)", kinds.join(" and ")),
        };
        (!programs.is_empty()).then(|| format!("imported from {}{kinds}", programs.join(" and ")))
    }

    /// Returns the simulation or the program that gave the numbers; `None` if apexmap measured them.
    pub fn describe_origin(&self) -> Option<String> {
        self.describe_simulation().or_else(|| self.describe_import())
    }

    /// Returns the subtitle of a figure of these samples. If their result was disturbed, a separate line `DISTURBED (359 of
    /// 756 samples)` is added, even if these samples were not; for simulated ranks, `SIMULATED, card Red Storm`, and
    /// for imported values, `IMPORTED from hpcc 1.5.0`.
    pub fn stamp_subtitle(&self, subtitle: String) -> String {
        let stamp = self.stamp.get_or_init(|| {
            let health = Health::from_samples(&self.with_rows((0..self.table().rows).collect()).current());
            let (disturbed, total) = (health.disturbed_count(), plural(health.sample_count(), "sample"));
            let is_disturbed = health.verdict() == Quietness::Disturbed;
            let simulated = health.simulated.map(|machine| machine.replacen("simulated", "SIMULATED", 1));
            let imported = health.imported.map(|program| program.replacen("imported", "IMPORTED", 1));
            simulated.or(imported).or_else(|| is_disturbed.then(|| format!("DISTURBED ({disturbed} of {total})")))
        });
        match stamp {
            None => subtitle,
            Some(stamp) if subtitle.contains('\n') => format!("{subtitle}. {stamp}"),
            Some(stamp) => format!("{subtitle}\n{stamp}"),
        }
    }
}
