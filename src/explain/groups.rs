//! The parts of a store that a model can be fitted to: one kernel each, and alike in all that the model does not know.

use super::values_at;
use crate::error::Result;
use crate::models::Model;
use crate::point::Value;
use crate::store::Table;
use crate::store::columns;

/// Rows that one fit may use.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The kernel, then what tells this group from the others: `apex_map.sequential, pages = huge`.
    pub label: String,
    pub rows: Vec<usize>,
    /// Different points of the model.
    pub points: usize,
}

/// The groups of the good samples that a model explains; those with the most points first.
///
/// # Errors
/// If a variable that the model needs is no column of the store.
pub fn groups(table: &Table, rows: &[usize], model: &dyn Model) -> Result<Vec<Group>> {
    let mut found = Vec::new();
    for kernel in model.about().explains {
        let good = |row: &&usize| table.word("status", **row) == "ok" && table.word("kernel", **row) == *kernel;
        let rows: Vec<usize> = rows.iter().filter(good).copied().collect();
        let points = points(table, &rows, model)?;
        let splits = splits(table, &rows, &points)?;
        let mut groups: Vec<(Vec<Option<Value>>, Vec<usize>)> = Vec::new();
        for row in rows {
            let key: Vec<_> = splits.iter().map(|name| table.value(name, row)).collect();
            match groups.iter_mut().find(|(known, _)| *known == key) {
                Some((_, members)) => members.push(row),
                None => groups.push((key, vec![row])),
            }
        }
        for (key, rows) in groups {
            let name = |(column, value): (&&str, &Option<Value>)| {
                value.as_ref().map(|value| crate::figure::select::label(column, value))
            };
            let names = splits.iter().zip(&key).filter_map(name);
            let label = std::iter::once((*kernel).to_owned()).chain(names).collect::<Vec<_>>().join(", ");
            let here = points.iter().filter(|(_, members)| members.iter().any(|row| rows.contains(row))).count();
            found.push(Group { label, rows, points: here });
        }
    }
    found.sort_by_key(|group| std::cmp::Reverse(group.points));
    Ok(found)
}

/// The model's points, each with its rows.
fn points(table: &Table, rows: &[usize], model: &dyn Model) -> Result<Vec<(Vec<f64>, Vec<usize>)>> {
    let mut points: Vec<(Vec<f64>, Vec<usize>)> = Vec::new();
    for &row in rows {
        let x = values_at(table, row, model, &[])?;
        match points.iter_mut().find(|(known, _)| *known == x) {
            Some((_, members)) => members.push(row),
            None => points.push((x, vec![row])),
        }
    }
    Ok(points)
}

/// Columns that differ among the samples of a point of the model, or say which machine it was.
fn splits<'a>(table: &'a Table, rows: &[usize], points: &[(Vec<f64>, Vec<usize>)]) -> Result<Vec<&'a str>> {
    let mut splits = Vec::new();
    for name in columns::of_points(table).into_iter().filter(|name| !["seed", "kernel"].contains(name)) {
        let column = table.require(name)?;
        let whole = super::OF_MACHINES.contains(&name) && !columns::constant(column, rows);
        if whole || points.iter().any(|(_, rows)| !columns::constant(column, rows)) {
            splits.push(name);
        }
    }
    Ok(splits)
}
