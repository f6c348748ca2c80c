//! The answer of a sweep to its question: a sentence, and how its values follow from the samples.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use std::collections::BTreeMap;
use std::fmt;
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
    Table(Box<StatisticSpec>),
}

/// A statistic of the points that meet a condition: the median of a column at the only such point, or the largest or smallest of
/// the medians. Or a formula over such values.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatisticSpec {
    /// The value in the words of the sentence, for its interval and if it is not measured: "triad on {cores} cores". A value in braces
    /// has only `at` with `largest` or `smallest`.
    #[schemars(with = "Option<String>")]
    pub words: Option<Spanned<String>>,
    /// A formula over the other values instead: "huge / base".
    #[schemars(with = "Option<String>")]
    pub formula: Option<Spanned<String>>,
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
    /// Keeps only the points with the largest value of this column, such as "P". It is the largest planned value that all values of the
    /// answer with this key share.
    #[schemars(with = "Option<String>")]
    pub largest: Option<Spanned<String>>,
    /// Keeps only the points with the smallest value of this column, as `largest` does.
    #[schemars(with = "Option<String>")]
    pub smallest: Option<Spanned<String>>,
}

impl<'de> Deserialize<'de> for ValueSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = ValueSpec;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str(
                    "a formula such as \"huge / base\", or a statistic such as { median = \"bytes_per_second\" }",
                )
            }
            fn visit_str<E>(self, text: &str) -> Result<ValueSpec, E> {
                Ok(ValueSpec::Formula(text.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ValueSpec, A::Error> {
                let statistic = StatisticSpec::deserialize(MapAccessDeserializer::new(map))?;
                Ok(ValueSpec::Table(Box::new(statistic)))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl ValueSpec {
    /// The formula over other values; `None` for a statistic.
    pub fn formula(&self) -> Option<&str> {
        match self {
            Self::Formula(text) => Some(text),
            Self::Table(table) => table.formula.as_ref().map(|text| text.get_ref().as_str()),
        }
    }

    /// The statistic; `None` for a formula.
    pub fn statistic(&self) -> Option<&StatisticSpec> {
        match self {
            Self::Table(table) if table.formula.is_none() => Some(table),
            _ => None,
        }
    }

    /// The value in the words of the sentence.
    pub fn words(&self) -> Option<&Spanned<String>> {
        match self {
            Self::Formula(_) => None,
            Self::Table(table) => table.words.as_ref(),
        }
    }
}

impl StatisticSpec {
    /// The columns whose median, largest median, smallest median or step is the value.
    pub fn kinds(&self) -> impl Iterator<Item = &Spanned<String>> {
        [&self.median, &self.max, &self.min, &self.step].into_iter().flatten()
    }

    /// The axes with only one end in use, with whether it is the largest value.
    pub fn ends(&self) -> impl Iterator<Item = (&str, bool)> {
        let ends = [(&self.largest, true), (&self.smallest, false)].into_iter();
        ends.filter_map(|(axis, is_largest)| Some((axis.as_ref()?.get_ref().trim(), is_largest)))
    }

    /// Whether the value is an end of a parameter, which no sample needs to show.
    pub fn is_end(&self) -> bool {
        self.at.is_some() && self.kinds().next().is_none()
    }
}

/// The question and the answer of a sweep.
#[derive(Debug, Deserialize)]
pub struct Answered {
    /// The question; empty if the sweep has none.
    #[serde(default)]
    pub question: String,
    pub answer: AnswerSpec,
}

/// Parses a sweep's text, which was checked when it ran. `None`: it has no answer that this version understands.
pub fn parse_answer(sweep: &str) -> Option<Answered> {
    toml::from_str(sweep).ok()
}

impl AnswerSpec {
    /// The parts of the sentence in order: text, and names of values.
    pub fn parts(&self) -> Result<Vec<Part<'_>>, String> {
        parts(self.text.get_ref())
    }
}

/// The parts of a text with names of values in braces, in order. The error is one sentence.
pub fn parts(text: &str) -> Result<Vec<Part<'_>>, String> {
    let (mut parts, mut rest) = (Vec::new(), text);
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

/// A part of the sentence of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part<'a> {
    Text(&'a str),
    Value(&'a str),
}
