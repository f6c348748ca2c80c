//! Checks the answer of a sweep.

use super::answer::{Part, StatisticSpec, ValueSpec, parts};
use super::conditions::{KnownNames, condition};
use super::{expand, figures::check_column, spec::File};
use apexmap_base::condition::{Formula, NameType};
use apexmap_base::error::{Error, Result};
use apexmap_base::name_lookup::suggest;
use apexmap_base::toml_file::TomlSource;
use std::ops::Range;
use toml::Spanned;

impl StatisticSpec {
    /// Under their names in results.
    fn columns(&self) -> impl Iterator<Item = &Spanned<String>> {
        self.kinds().chain([&self.at, &self.largest, &self.smallest].into_iter().flatten())
    }

    fn check(&self, place: Range<usize>, known_names: &KnownNames, page: &TomlSource) -> Result<()> {
        if self.formula.is_some() {
            let has_others = self.columns().next().is_some() || self.condition.is_some() || self.reaches.is_some();
            let advice = "write only formula and words, such as { formula = \"huge / base\", words = \"gain\" }";
            let fault = || page.error_at(place, "a value is a formula or a statistic".to_owned(), advice);
            return if has_others { Err(fault()) } else { Ok(()) };
        }
        let kinds = self.kinds().count();
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

pub(super) fn check(file: &File, page: &TomlSource) -> Result<()> {
    let Some(answer) = &file.answer else { return Ok(()) };
    let names_of = |is_wanted: &dyn Fn(&ValueSpec) -> bool| -> Vec<&str> {
        let wanted = answer.values.iter().filter(|(_, value)| is_wanted(value.get_ref()));
        wanted.map(|(name, _)| name.get_ref().as_str()).collect()
    };
    check_names(&answer.text, &names_of(&|_| true), page)?;
    let kernels = expand::select_kernels(file, page)?;
    let known_names = KnownNames::new(file, &kernels, page)?;
    let ends = names_of(&|value| value.statistic().is_some_and(StatisticSpec::is_end));
    let statistics = names_of(&|value| value.statistic().is_some());
    let statistics: Vec<(&str, NameType)> = statistics.into_iter().map(|name| (name, NameType::Number)).collect();
    for (name, value) in &answer.values {
        let value_spec = value.get_ref();
        value_spec.words().map_or(Ok(()), |words| check_names(words, &ends, page))?;
        if let ValueSpec::Table(table) = value_spec {
            table.check(name.span(), &known_names, page)?;
        }
        if let Some(text) = value_spec.formula() {
            let fault = |error: Error| page.error_at(value.span(), error.message, error.help);
            Formula::parse(text, &statistics).map_err(fault)?;
        }
    }
    Ok(())
}

fn check_names(text: &Spanned<String>, names: &[&str], page: &TomlSource) -> Result<()> {
    let parts = parts(text.get_ref()).map_err(|message| {
        page.error_at(text.span(), message, "write names of values in braces: \"latency {latency} at 8 B\"")
    })?;
    let unknown = parts.iter().find_map(|part| match part {
        Part::Value(name) if !names.contains(name) => Some(*name),
        _ => None,
    });
    unknown.map_or(Ok(()), |name| {
        Err(page.error_at(text.span(), format!("the answer has no value \"{name}\""), suggest(name, names)))
    })
}
