//! Checks the answer of a sweep.

use super::answer::{Part, StatisticSpec, ValueSpec};
use super::conditions::{KnownNames, condition};
use super::expand;
use super::figures::check_column;
use super::spec::File;
use apexmap_base::condition::{Formula, NameType};
use apexmap_base::error::{Error, Result};
use apexmap_base::name_lookup::suggest;
use apexmap_base::toml_file::TomlSource;
use std::ops::Range;
use toml::Spanned;

impl StatisticSpec {
    /// Returns the columns with their places in the file, under their names in results.
    fn columns(&self) -> impl Iterator<Item = &Spanned<String>> {
        [&self.median, &self.max, &self.min, &self.step, &self.at, &self.largest, &self.smallest].into_iter().flatten()
    }

    fn check(&self, place: Range<usize>, known_names: &KnownNames, page: &TomlSource) -> Result<()> {
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
        self.columns()
            .try_for_each(|column| check_column(column.get_ref().trim(), column.span(), known_names, page))?;
        self.condition.iter().try_for_each(|text| condition(text, known_names, page).map(drop))
    }
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
    let known_names = KnownNames::new(file, &kernels, page)?;
    let is_statistic = |value: &Spanned<ValueSpec>| matches!(value.get_ref(), ValueSpec::Statistic(_));
    let statistics: Vec<(&str, NameType)> = answer
        .values
        .iter()
        .filter(|(_, value)| is_statistic(value))
        .map(|(name, _)| (name.get_ref().as_str(), NameType::Number))
        .collect();
    for (name, value) in &answer.values {
        match value.get_ref() {
            ValueSpec::Statistic(statistic) => statistic.check(name.span(), &known_names, page)?,
            ValueSpec::Formula(text) => {
                let fault = |error: Error| page.error_at(value.span(), error.message, error.help);
                Formula::parse(text, &statistics).map_err(fault)?;
            }
        }
    }
    Ok(())
}
