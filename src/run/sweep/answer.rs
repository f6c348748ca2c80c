//! The answer of a sweep to its question: a sentence, and how its values follow from the samples.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
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

/// Parses the question and the answer of a sweep's text, which was checked when it ran. Returns `None` if the sweep has no answer
/// that this version understands.
pub fn parse_answer(sweep: &str) -> Option<Answered> {
    toml::from_str(sweep).ok()
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
