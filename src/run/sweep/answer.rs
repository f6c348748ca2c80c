//! The answer of a sweep to its question: a sentence, and how its values follow from the samples.

use super::expand;
use super::ready::READY_SWEEPS;
use super::spec::File;
use apexmap_base::condition::{Formula, NameType};
use apexmap_base::error::{Error, Result};
use apexmap_base::name_lookup::{nearest_name, suggest};
use apexmap_base::toml_file::TomlSource;
use apexmap_measure::kernels::Kernel;
use apexmap_results::table::columns::{self, Role};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use toml::Spanned;

/// The answer to the sweep's question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerSpec {
    /// A sentence with the names of values in braces: "latency {latency} at 8 B". At most 15 words read well.
    #[schemars(with = "String")]
    pub text: Spanned<String>,
    /// The values by name.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, ValueSpec>")]
    pub values: BTreeMap<Spanned<String>, Spanned<ValueSpec>>,
}

/// A value: a statistic of samples, or a formula over the other values such as "huge / base".
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub enum ValueSpec {
    Formula(String),
    Statistic(Box<StatisticSpec>),
}

/// A statistic of the points that meet a condition: the median of a column at the only such point, or the largest or smallest of
/// the medians.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatisticSpec {
    /// The column whose median is the value, if one point meets the condition.
    #[schemars(with = "Option<String>")]
    pub median: Option<Spanned<String>>,
    /// The column whose largest median is the value.
    #[schemars(with = "Option<String>")]
    pub max: Option<Spanned<String>>,
    /// The column whose smallest median is the value.
    #[schemars(with = "Option<String>")]
    pub min: Option<Spanned<String>>,
    /// The column in which a step is searched: with `at`, the value of `at` before its medians leave the straight line of those
    /// before.
    #[schemars(with = "Option<String>")]
    pub step: Option<Spanned<String>>,
    /// The parameter or column whose value at this point is reported instead.
    #[schemars(with = "Option<String>")]
    pub at: Option<Spanned<String>>,
    /// With `max` and `at`: reports the smallest value of `at` with this fraction of the largest median, such as 0.9.
    #[schemars(with = "Option<f64>")]
    pub reaches: Option<Spanned<f64>>,
    /// Condition on the points.
    #[serde(rename = "where")]
    #[schemars(with = "Option<String>")]
    pub condition: Option<Spanned<String>>,
    /// Keeps only the points with the largest value of this column, such as "P".
    #[schemars(with = "Option<String>")]
    pub largest: Option<Spanned<String>>,
    /// Keeps only the points with the smallest value of this column.
    #[schemars(with = "Option<String>")]
    pub smallest: Option<Spanned<String>>,
}

impl<'de> Deserialize<'de> for ValueSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = ValueSpec;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str(
                    "a formula such as \"huge / base\", or a statistic such as { median = \"bytes_per_second\" }",
                )
            }
            fn visit_str<E>(self, text: &str) -> std::result::Result<ValueSpec, E> {
                Ok(ValueSpec::Formula(text.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> std::result::Result<ValueSpec, A::Error> {
                let statistic = StatisticSpec::deserialize(MapAccessDeserializer::new(map))?;
                Ok(ValueSpec::Statistic(Box::new(statistic)))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// The question and the answer of a sweep.
#[derive(Debug, Deserialize)]
pub struct Answered {
    /// The question; empty if the sweep has none.
    #[serde(default)]
    pub question: String,
    /// How the answer follows from the samples.
    pub answer: AnswerSpec,
}

/// Parses the question and the answer of a sweep's text, which was checked when it ran. A sweep without an answer has that of the
/// ready sweep with its question, because results of earlier versions have none. Returns `None` if there is no answer that this
/// version understands.
pub fn parse_answer(sweep: &str) -> Option<Answered> {
    #[derive(Deserialize)]
    struct Asked {
        question: String,
    }
    toml::from_str(sweep).ok().or_else(|| {
        let Asked { question } = toml::from_str(sweep).ok()?;
        let ready = READY_SWEEPS.iter().find(|ready| ready.question() == question)?;
        toml::from_str(ready.text).ok()
    })
}

impl AnswerSpec {
    /// Returns the parts of the sentence in order: text, and names of values.
    ///
    /// # Errors
    /// If a brace has no partner; in one sentence.
    pub fn parts(&self) -> std::result::Result<Vec<Part<'_>>, String> {
        let (mut parts, mut rest) = (Vec::new(), self.text.get_ref().as_str());
        while let Some((text, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').ok_or("a brace { has no partner }")?;
            parts.extend([Part::Text(text), Part::Value(name.trim())]);
            rest = after;
        }
        parts.push(Part::Text(rest));
        match rest.contains('}') {
            true => Err("a brace } has no partner {".to_owned()),
            false => Ok(parts),
        }
    }
}

/// A part of the sentence of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part<'a> {
    Text(&'a str),
    /// The name of a value.
    Value(&'a str),
}

impl StatisticSpec {
    /// Returns the columns with their places in the file, under their names in results.
    fn columns(&self) -> impl Iterator<Item = &Spanned<String>> {
        [&self.median, &self.max, &self.min, &self.step, &self.at, &self.largest, &self.smallest].into_iter().flatten()
    }

    fn check(&self, place: Range<usize>, kernels: &[&'static Kernel], page: &TomlSource) -> Result<()> {
        let kinds = [&self.median, &self.max, &self.min, &self.step].into_iter().flatten().count();
        let advice = "write one of median, max, min and step, such as { median = \"bytes_per_second\" }; step needs at, and at alone \
                      needs largest or smallest";
        if kinds > 1
            || self.step.is_some() && self.at.is_none()
            || kinds == 0 && (self.at.is_none() || self.largest.is_none() && self.smallest.is_none())
        {
            return Err(page.error_at(place, "a value is one statistic of one column".to_owned(), advice));
        }
        if let Some(reaches) = &self.reaches {
            if self.max.is_none() || self.at.is_none() {
                let advice =
                    "add max and at, such as { at = \"message_bytes\", max = \"bytes_per_second\", reaches = 0.9 }";
                return Err(page.error_at(reaches.span(), "reaches needs max and at".to_owned(), advice));
            }
            if !(*reaches.get_ref() > 0.0 && *reaches.get_ref() <= 1.0) {
                let message = format!("reaches is a fraction of the largest median, found {}", reaches.get_ref());
                return Err(page.error_at(reaches.span(), message, "write a number above 0 and up to 1"));
            }
        }
        self.columns().try_for_each(|column| check_column(column, page))?;
        self.condition.iter().try_for_each(|text| expand::condition(text, kernels, page).map(drop))
    }
}

/// Checks that a name is that of a column.
///
/// # Errors
/// An unknown name, with its place and the nearest column.
pub(super) fn check_column(name: &Spanned<String>, page: &TomlSource) -> Result<()> {
    check_column_name(name.get_ref().trim(), name.span(), page)
}

/// Checks one of several names at a place.
pub(super) fn check_column_name(name: &str, place: Range<usize>, page: &TomlSource) -> Result<()> {
    if columns::describe(columns::resolve(name)).role != Role::Unknown {
        return Ok(());
    }
    let other = nearest_name(name, columns::symbols().iter().copied());
    let advice = other.map_or_else(
        || "`apexmap kernels KERNEL` lists parameters and outputs".to_owned(),
        |other| format!("did you mean \"{other}\"?"),
    );
    Err(page.error_at(place, format!("no result has a column \"{name}\""), advice))
}

/// Checks the answer of a sweep.
///
/// # Errors
/// If its sentence names an unknown value, or a value has an unknown column, a faulty condition or a faulty formula.
pub(super) fn check(file: &File, page: &TomlSource) -> Result<()> {
    let Some(answer) = &file.answer else { return Ok(()) };
    let parts = answer.parts().map_err(|message| {
        page.error_at(answer.text.span(), message, "write names of values in braces: \"latency {latency} at 8 B\"")
    })?;
    let names: Vec<&str> = answer.values.keys().map(|name| name.get_ref().as_str()).collect();
    let unknown = parts.iter().find_map(|part| match part {
        Part::Value(name) if !names.contains(name) => Some(*name),
        _ => None,
    });
    if let Some(name) = unknown {
        let advice = suggest(name, &names);
        return Err(page.error_at(answer.text.span(), format!("the answer has no value \"{name}\""), advice));
    }
    let kernels = expand::select_kernels(file, page)?;
    let is_statistic = |value: &Spanned<ValueSpec>| matches!(value.get_ref(), ValueSpec::Statistic(_));
    let statistics: Vec<(&str, NameType)> = answer
        .values
        .iter()
        .filter(|(_, value)| is_statistic(value))
        .map(|(name, _)| (name.get_ref().as_str(), NameType::Number))
        .collect();
    for (name, value) in &answer.values {
        match value.get_ref() {
            ValueSpec::Statistic(statistic) => statistic.check(name.span(), &kernels, page)?,
            ValueSpec::Formula(text) => {
                let fault = |error: Error| page.error_at(value.span(), error.message, error.help);
                Formula::parse(text, &statistics).map_err(fault)?;
            }
        }
    }
    Ok(())
}
