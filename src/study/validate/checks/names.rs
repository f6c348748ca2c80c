//! The names that formulas and texts of checks may use: columns of the row that a check is about, quoted figures (`tc_us`), numbers of
//! published machines (`red_storm.stage_seconds`, in base units), cells of tables by the first field of their row
//! (`bluegene_table_4.64.bgp_multi_gups`), and a check's own quantities.

use super::{Place, Published};
use apexmap_base::condition::{Condition, Formula, NameType};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Value;
use apexmap_theory::machine::{Card, PUBLISHED};
use apexmap_theory::paper_tables::{self, TABLES};
use std::collections::BTreeMap;

pub type Numbers = BTreeMap<String, f64>;

/// Quoted figures, numbers of published machines and cells of tables.
pub fn numbers() -> Result<Numbers> {
    let mut numbers = Numbers::new();
    for (name, _) in TABLES.iter().filter(|(name, _)| !super::CHECKS.contains(name)) {
        let (table, stem) = (paper_tables::table(name)?, name.replace('-', "_"));
        for row in 0..table.rows.len() {
            let key = &table.rows[row][0];
            for column in &table.columns {
                let name = if *name == "quoted" { key.clone() } else { format!("{stem}.{key}.{column}") };
                numbers.extend(table.number(row, column).map(|value| (name, value)));
            }
        }
    }
    for (name, _) in PUBLISHED {
        let (card, stem) = (Card::find(name)?, name.replace('-', "_"));
        let values = card.numbers().keys().filter_map(|number| Some((format!("{stem}.{number}"), card.get(number)?)));
        numbers.extend(values);
    }
    Ok(numbers)
}

pub struct Names<'a> {
    pub published: &'a Published<'a>,
    pub place: Option<Place<'a>>,
    own: Numbers,
}

impl<'a> Names<'a> {
    /// With the numbers of a table's row, if the check is about one.
    pub fn new(published: &'a Published<'a>, place: Option<Place<'a>>) -> Self {
        let columns = |Place { table, row }: Place<'a>| {
            let cell = move |column: &String| Some((column.clone(), table.number(row, column)?));
            table.columns.iter().filter_map(cell).collect()
        };
        Self { published, place, own: place.map_or_else(Numbers::new, columns) }
    }

    pub fn set(&mut self, name: &str, value: f64) {
        self.own.insert(name.to_owned(), value);
    }

    pub fn get(&self, name: &str) -> Option<f64> {
        self.own.get(name).or_else(|| self.published.numbers.get(name)).copied()
    }

    pub fn is_column(&self, name: &str) -> bool {
        self.place.is_some_and(|place| place.table.columns.iter().any(|column| column == name))
    }

    /// The field of a column as the paper prints it; empty for other names.
    pub fn printed_text(&self, name: &str) -> &str {
        self.place.filter(|_| self.is_column(name)).map_or("", |place| place.table.word(place.row, name))
    }

    /// By full names: `bluegene_table_4.64.bgp_multi_gups`; a row has a second field if others have the same first one.
    pub fn printed_values(&self, formula: &str) -> Vec<String> {
        let full_name = |word: &str| match self.place {
            Some(Place { table, row }) if self.is_column(word) => {
                let fields = &table.rows[row];
                let is_shared = table.rows.iter().filter(|other| other[0] == fields[0]).count() > 1;
                let row = fields[..1 + usize::from(is_shared)].join(".");
                Some(format!("{}.{row}.{word}", table.name.replace('-', "_")))
            }
            _ => self.published.numbers.contains_key(word).then(|| word.to_owned()),
        };
        words(formula).filter_map(full_name).collect()
    }

    pub fn number(&self, formula: &str) -> Result<f64> {
        let number =
            Formula::parse(formula, &self.known_names(formula))?.evaluate(&|name| self.get(name).map(Value::Real));
        number.ok_or_else(|| Error::internal(format!("\"{formula}\" has no value")))
    }

    pub fn holds(&self, condition: &str) -> Result<bool> {
        let holds = Condition::parse(condition, &self.known_names(condition))?
            .is_true_for(&|name| self.get(name).map(Value::Real));
        holds.ok_or_else(|| Error::internal(format!("\"{condition}\" is neither true nor false")))
    }

    fn known_names<'b>(&self, formula: &'b str) -> Vec<(&'b str, NameType)> {
        words(formula).filter(|word| self.get(word).is_some()).map(|word| (word, NameType::Number)).collect()
    }

    /// Fills a text with the values of its formulas: `{P}`, `{share:.1}` with one decimal, `{residual:+.1}` with a sign.
    pub fn text(&self, template: &str) -> Result<String> {
        let mut parts = template.split('{');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (formula, rest) = part.split_once('}').unwrap_or((part, ""));
            let (formula, style) = formula.split_once(':').unwrap_or((formula, ""));
            let value = self.number(formula)?;
            let (sign, decimals) = style.split_once('.').unwrap_or(("", ""));
            text += &match (sign, decimals.parse::<usize>()) {
                ("+", Ok(decimals)) => format!("{value:+.decimals$}"),
                (_, Ok(decimals)) => format!("{value:.decimals$}"),
                _ => value.to_string(),
            };
            text += rest;
        }
        Ok(text)
    }
}

pub fn words(formula: &str) -> impl Iterator<Item = &str> {
    formula.split(|letter: char| !(letter.is_alphanumeric() || letter == '_' || letter == '.'))
}
