//! The text format of Extra-P: <https://github.com/extra-p/extrap>, docs/file-formats.md. Regions with the name of a kernel have
//! apexmap's parameters and columns, as `apexmap export` writes them; those of other programs keep their names.

use super::values::{Row, Statistic, Values};
use crate::table::columns::{self, own_name};
use apexmap_base::point::Value;
use apexmap_measure::kernels::{self, Kernel};
use std::collections::BTreeMap;

/// Names of a region and a metric without a name.
const REGION: &str = "extra-p";
const METRIC: &str = "metric";

/// A file as it is read.
#[derive(Default)]
struct File {
    parameters: Vec<String>,
    points: Vec<Vec<f64>>,
    regions: Vec<String>,
    metrics: Vec<String>,
    /// Values by region, point, sample and metric.
    values: BTreeMap<[usize; 4], f64>,
}

pub fn read(text: &str) -> Result<Values, String> {
    let (mut file, mut region, mut metric, mut point) = (File::default(), None, None, 0);
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let (field, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let wrong = |problem: &str| format!("has a wrong line {}: {}", index + 1, columns::caption(problem));
        match field {
            _ if field.is_empty() || field.starts_with('#') => {}
            "PARAMETER" => file.parameters.extend(rest.split_whitespace().map(str::to_owned)),
            "POINTS" => file.points.extend(points(rest, file.parameters.len()).map_err(|problem| wrong(&problem))?),
            "REGION" => (region, point) = (Some(place(&mut file.regions, rest, REGION)), 0),
            "METRIC" => (metric, point) = (Some(place(&mut file.metrics, rest, METRIC)), 0),
            "DATA" => {
                if point >= file.points.len() {
                    return Err(wrong("more DATA than POINTS"));
                }
                let region = region.unwrap_or_else(|| place(&mut file.regions, "", REGION));
                let metric = metric.unwrap_or_else(|| place(&mut file.metrics, "", METRIC));
                for (sample, word) in rest.split_whitespace().enumerate() {
                    let value = word.parse().map_err(|_| wrong(&format!("{word} is no number")))?;
                    file.values.insert([region, point, sample, metric], value);
                }
                point += 1;
            }
            other => return Err(wrong(&format!("{other} is no field of Extra-P's text format"))),
        }
    }
    file.rows()
}

/// Returns the index of a name in a list, to which it is added if it is new. Without a name, that of `unnamed`.
fn place(names: &mut Vec<String>, name: &str, unnamed: &str) -> usize {
    let name = if name.trim().is_empty() { unnamed } else { name };
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    names.iter().position(|other| *other == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    })
}

/// Reads points: `2 4 8` of one parameter, `(2 1) (2 4)` of several.
fn points(text: &str, parameters: usize) -> Result<Vec<Vec<f64>>, String> {
    if parameters == 0 {
        return Err("POINTS before PARAMETER".into());
    }
    let text = text.replace(['(', ')'], " ");
    let numbers = text.split_whitespace().map(|word| word.parse().map_err(|_| format!("{word} is no number")));
    let numbers: Vec<f64> = numbers.collect::<Result<_, _>>()?;
    match numbers.len() % parameters {
        0 => Ok(numbers.chunks(parameters).map(<[f64]>::to_vec).collect()),
        _ => Err(format!("{} numbers are no points of {parameters} parameters", numbers.len())),
    }
}

/// A kernel, and options with their values.
type Split = (&'static Kernel, Vec<(String, String)>);

/// Splits the name of a region, as `apexmap export` writes it: `apex_map.two_sided pages=huge`. Values may contain spaces.
fn split_region(name: &str) -> Option<Split> {
    let mut words = name.split(' ');
    let kernel = kernels::find(words.next()?).ok()?;
    let mut options: Vec<(String, String)> = Vec::new();
    for word in words {
        match (word.split_once('='), options.last_mut()) {
            (Some((name, value)), _) => options.push((name.to_owned(), value.to_owned())),
            (None, Some((_, value))) => *value += &format!(" {word}"),
            (None, None) => return None,
        }
    }
    Some((kernel, options))
}

impl File {
    fn rows(self) -> Result<Values, String> {
        if self.values.is_empty() {
            return Err("has no DATA line".into());
        }
        let mut rows: BTreeMap<[usize; 3], Row> = BTreeMap::new();
        let regions: Vec<_> = self.regions.iter().map(|name| split_region(name)).collect();
        for (&[region, point, sample, metric], &value) in &self.values {
            let row =
                rows.remove(&[region, point, sample]).unwrap_or_else(|| self.row(region, &regions[region], point));
            let name = &self.metrics[metric];
            let column = if regions[region].is_some() { known_name(name, false) } else { own_name(name) };
            rows.insert([region, point, sample], row.sample(&column, value));
        }
        Ok(Values { program: "extra-p text".into(), rows: rows.into_values().collect(), ..Values::default() })
    }

    fn row(&self, region: usize, split: &Option<Split>, point: usize) -> Row {
        let numbers = self.parameters.iter().zip(&self.points[point]);
        let Some((kernel, options)) = split else {
            let row = Row::new(&self.regions[region], Statistic::Sample);
            return numbers.fold(row, |row, (name, &number)| row.with(&own_name(name), whole_or_real(number)));
        };
        let row = Row::new(kernel.id, Statistic::Sample);
        let row = options.iter().fold(row, |row, (name, value)| row.with(&known_name(name, true), value.as_str()));
        numbers.fold(row, |row, (name, &number)| {
            let value = whole_or_real(number);
            let parameter = kernel.parameters.iter().find(|parameter| parameter.name == name);
            let converted = parameter.and_then(|parameter| parameter.convert(&value).ok());
            row.with(&known_name(name, true), converted.unwrap_or(value))
        })
    }
}

/// Returns the column of a name in the region of a kernel. Columns of samples and launches are not for other programs.
fn known_name(name: &str, is_parameter: bool) -> String {
    use columns::Role::{Bound, Output, Parameter, Rate};
    let column = columns::resolve(name);
    let is_own = match columns::describe(column).role {
        Parameter => is_parameter,
        Output | Rate | Bound => !is_parameter,
        _ => is_parameter && column == columns::NODE_TYPE,
    };
    if is_own { column.to_owned() } else { own_name(name) }
}

fn whole_or_real(number: f64) -> Value {
    let is_whole = number >= 0.0 && number.fract() == 0.0 && number < 2f64.powi(53);
    if is_whole { Value::Integer(number as u64) } else { Value::Real(number) }
}
