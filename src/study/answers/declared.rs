//! The answer that a sweep declares in its file, from the samples.

use super::values::{Found, Missing, Outcome, Source};
use crate::paired;
use apexmap_base::distinct::distinct;
use apexmap_base::error::Result;
use apexmap_base::point::Value;
use apexmap_base::reservation::Reservation;
use apexmap_base::text_table::list_words;
use apexmap_base::units::{self, Unit};
use apexmap_results::disk::{Folder, manifest::Manifest, tabulate::tabulate_points};
use apexmap_results::samples::{Samples, health::Health};
use apexmap_results::table::{columns, quietness::Quietness};
use apexmap_run::sweep::answer::{AnswerSpec, Answered, Part, parse_answer, parts};
use apexmap_run::sweep::ready::READY_SWEEPS;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A question with its answer: a sentence, the values that it states, and its limits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Declared {
    pub question: String,
    /// The sentence with its reservations; if a value of the sentence is not known, the reason.
    pub text: String,
    pub is_known: bool,
    /// In the order of the sentence; empty if one is not known.
    pub values: Vec<StatedValue>,
    /// The 95 % intervals of the values: `latency 0.51 to 0.54 us`.
    pub intervals: Vec<String>,
    pub reservations: Vec<Reservation>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatedValue {
    /// The words of the sweep for it: `triad on 2 cores`.
    pub words: String,
    /// The value as the sentence has it: `7.1 GB/s`.
    pub text: String,
    /// In the base unit; `None` for a word.
    pub number: Option<f64>,
    /// Empty for a pure number and for the value of a parameter.
    pub unit: &'static str,
    /// Whether the value is that of a column at a point, such as the size with the largest rate, which is no measurement.
    #[serde(skip)]
    pub is_place: bool,
    /// The 95 % interval in the base unit.
    pub interval: Option<(f64, f64)>,
}

/// The answer to the question of a result's sweep with its limits. `samples` are those of the current plan.
pub fn of_result((folder, manifest): (&Folder, &Manifest), samples: &Samples) -> Result<Option<Declared>> {
    let plan = Samples::from(tabulate_points(&folder.planned_points()?.unwrap_or_default()));
    let health = Health::from_samples(samples);
    let (disturbed, count) = (health.disturbed_count(), health.sample_count());
    let is_disturbed = health.verdict() == Quietness::Disturbed;
    let disturbance = is_disturbed.then_some(Reservation::SomeDisturbed { disturbed, samples: count });
    let reservations = partial(manifest, samples).into_iter().chain(disturbance);
    Ok(answer(samples, &plan, &manifest.sweep)?.map(|declared| declared.with(reservations)))
}

/// A result may be without some of its points.
pub fn partial(manifest: &Manifest, samples: &Samples) -> Option<Reservation> {
    let (measured, planned) = (samples.good().words("key").len(), manifest.points);
    (measured < planned && samples.has("key")).then_some(Reservation::Partial { measured, planned })
}

/// `samples` are those of the current plan, `plan` has one row per planned point or none, and `sweep` is the text of its file.
pub fn answer(samples: &Samples, plan: &Samples, sweep: &str) -> Result<Option<Declared>> {
    if let Some(declared) = paired_answer(samples, sweep) {
        return Ok(Some(declared));
    }
    let declared = parse_answer(sweep).or_else(|| parse_answer(ready_with_question(sweep)?));
    let Some(Answered { question, answer }) = declared else { return Ok(None) };
    let source = Source::new(&answer, samples, plan);
    let sentence = Sentence { answer: &answer, values: source.values(&answer)? };
    let single = source.single_valued().map(|(axis, value)| {
        let value = if value.fract() == 0.0 { Value::Integer(value as u64) } else { Value::Real(value) };
        let value = columns::value_name(samples.resolve(axis), &value);
        format!("not answered: the sweep has one value of {axis}, {value}, so there is nothing to compare")
    });
    let text = single.or_else(|| sentence.reason()).ok_or_else(|| sentence.text());
    let is_known = text.is_err();
    let single = sentence.single_samples().filter(|_| samples.describe_origin().is_none());
    let (values, intervals) = if is_known { sentence.state_values() } else { Default::default() };
    let text = text.unwrap_or_else(|sentence| sentence);
    Ok(Some(Declared { question, text, is_known, values, intervals, reservations: Vec::new() }.with(single)))
}

/// `None` for samples that are not of a paired comparison.
fn paired_answer(samples: &Samples, sweep: &str) -> Option<Declared> {
    // Commands have a point for each side, and sweeps usually several.
    let has_one_point = samples.words("key").len() == samples.words(paired::SIDE).len();
    let column = samples.headlines().first().copied().filter(|_| has_one_point);
    let sentences = paired::pairs_of(samples)?.sentences(paired::compared_unit(column));
    if sentences.is_empty() {
        return None;
    }
    let text = sentences.join("; ");
    let question = question(sweep).unwrap_or_default();
    let (values, intervals, reservations) = Default::default();
    Some(Declared { question, text, is_known: true, values, intervals, reservations })
}

fn question(sweep: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Asked {
        question: String,
    }
    toml::from_str(sweep).ok().map(|Asked { question }| question)
}

/// The ready sweep with the question of a sweep. Results of earlier versions hold it without its answer.
fn ready_with_question(sweep: &str) -> Option<&'static str> {
    let question = question(sweep)?;
    READY_SWEEPS.iter().find(|ready| ready.question() == question).map(|ready| ready.text)
}

struct Sentence<'a> {
    answer: &'a AnswerSpec,
    values: BTreeMap<&'a str, Outcome>,
}

impl<'a> Sentence<'a> {
    /// Each once.
    fn names(&self) -> Vec<&'a str> {
        let name = |part| if let Part::Value(name) = part { Some(name) } else { None };
        distinct(self.answer.parts().unwrap_or_default().into_iter().filter_map(name))
    }

    fn value_of(&self, name: &str) -> Option<&Found> {
        self.values.get(name)?.as_ref().ok()
    }

    /// A value in the words of the sweep, or its name if the sweep has no words for it.
    fn words(&self, name: &str) -> String {
        let words = self.answer.values.get(name).and_then(|spec| spec.get_ref().words());
        let Some(parts) = words.and_then(|words| parts(words.get_ref()).ok()) else { return name.replace('_', " ") };
        let text = |part| match part {
            Part::Text(text) => text.to_owned(),
            Part::Value(end) => self.value_of(end).map_or_else(|| end.to_owned(), Found::text),
        };
        parts.into_iter().map(text).collect()
    }

    fn parts_of(&self, name: &'a str) -> Vec<&'a str> {
        let formula = self.answer.values.get(name).and_then(|spec| spec.get_ref().formula());
        let Some(formula) = formula else { return vec![name] };
        let words = formula.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        words.filter_map(|word| self.values.get_key_value(word)).map(|(name, _)| *name).collect()
    }

    /// Why the sentence cannot be stated; `None` if all values are known.
    fn reason(&self) -> Option<String> {
        let of_kind = |kind: Missing| {
            let names = self.names().into_iter().flat_map(|name| self.parts_of(name).into_iter().chain([name]));
            let words =
                distinct(names.filter(|name| self.values.get(name) == Some(&Err(kind))).map(|name| self.words(name)));
            (!words.is_empty()).then(|| list_words(&words))
        };
        if let Some(words) = of_kind(Missing::NotMeasured) {
            return Some(format!("not measured yet: {words}"));
        }
        if let Some(words) = of_kind(Missing::SeveralPoints) {
            return Some(format!("not answered: several points have {words}, so there is no one value"));
        }
        of_kind(Missing::NoValue).map(|words| format!("not answered: the samples show no {words}"))
    }

    fn single_samples(&self) -> Option<Reservation> {
        let parts = self.names().into_iter().flat_map(|name| self.parts_of(name));
        let is_single = |name: &&str| matches!(self.value_of(name), Some(Found::Number { samples: 1, .. }));
        let names: BTreeSet<&str> = parts.filter(is_single).collect();
        (!names.is_empty()).then_some(Reservation::SingleSamples { values: names.len() })
    }

    fn text(&self) -> String {
        let (mut text, mut last, mut between) = (String::new(), String::new(), "");
        for part in self.answer.parts().unwrap_or_default() {
            match part {
                Part::Text(words) => {
                    between = words;
                    text.push_str(words);
                }
                Part::Value(name) => {
                    let value = self.value_of(name).map(Found::text).unwrap_or_default();
                    // A range has its unit once; its ends, or both of a pair, may be equal, as on a machine with one pair of cores.
                    let is_joined = between == " to " || between == " and " && last == value;
                    if is_joined && text.ends_with(&format!("{last}{between}")) {
                        text.truncate(text.len() - last.len() - between.len());
                        text.push_str(&if last == value { last } else { units::join_ends(&last, &value) });
                    } else {
                        text.push_str(&value);
                    }
                    last = value;
                }
            }
        }
        text
    }

    fn state_values(&self) -> (Vec<StatedValue>, Vec<String>) {
        let mut intervals = Vec::new();
        let stated = |name: &'a str| {
            let (words, value) = (self.words(name), self.value_of(name)?);
            let (unit, interval) = match value {
                Found::Number { interval, unit, .. } => (*unit, *interval),
                Found::Place(..) => (Unit::None, None),
            };
            intervals.extend(interval.map(|ends| format!("{words} {}", units::amount_interval(ends, unit))));
            let number = Some(value.number()).filter(|number| number.is_finite());
            let is_place = matches!(value, Found::Place(..));
            Some(StatedValue { words, text: value.text(), number, unit: unit.symbol(), is_place, interval })
        };
        let values = self.names().into_iter().filter_map(stated).collect();
        (values, intervals)
    }
}

impl Declared {
    /// Adds what limits a known answer.
    #[must_use]
    pub fn with(mut self, reservations: impl IntoIterator<Item = Reservation>) -> Self {
        for reservation in reservations.into_iter().filter(|_| self.is_known) {
            let sentence = self.text.strip_suffix(')').filter(|_| !self.reservations.is_empty());
            self.text = match sentence {
                Some(sentence) => format!("{sentence}; {reservation})"),
                None => format!("{} ({reservation})", self.text),
            };
            self.reservations.push(reservation);
        }
        self
    }

    /// The intervals, the question and, last, the answer for a terminal.
    pub fn lines(&self) -> String {
        let question = if self.question.is_empty() { String::new() } else { format!("{}\n", self.question) };
        let intervals = match self.intervals.is_empty() {
            true => String::new(),
            false => format!("95 % intervals: {}\n", self.intervals.join(", ")),
        };
        format!("{intervals}{question}  {}\n", self.text)
    }
}
