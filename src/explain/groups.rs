//! The parts of a store that a model can be fitted to: one kernel each, and alike in all that the model does not know.

use super::{by_point, over_kernels, values_at};
use crate::error::Result;
use crate::models::Model;
use crate::point::Value;
use crate::store::Table;
use crate::store::columns;
use std::collections::HashSet;

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
/// Points that the model is not about are left out.
///
/// # Errors
/// If it is about none of them, or a variable that it needs is no column of the store.
pub fn groups(table: &Table, rows: &[usize], model: &dyn Model) -> Result<Vec<Group>> {
    let mut found = Vec::new();
    let explains = model.about().explains;
    // One kernel at a time, or all at once.
    let parts: Vec<&[&str]> = if over_kernels(model) { vec![explains] } else { explains.chunks(1).collect() };
    for kernels in parts {
        let good = |row: &&usize| table.word("status", **row) == "ok" && kernels.contains(&table.word("kernel", **row));
        let good: Vec<usize> = rows.iter().filter(good).copied().collect();
        let (rows, others): (Vec<usize>, Vec<usize>) =
            good.into_iter().partition(|&row| values_at(table, row, model, &[]).is_ok());
        if let (true, Some(&row)) = (rows.is_empty(), others.first()) {
            values_at(table, row, model, &[])?;
        }
        let points = by_point(table, &rows, model, &[])?;
        let splits = splits(table, model, &rows, &points)?;
        for (key, rows) in parted(table, &rows, &splits) {
            let name = |(column, value): (&&str, &Option<Value>)| {
                value.as_ref().map(|value| crate::figure::select::label(column, value))
            };
            let names = splits.iter().zip(&key).filter_map(name);
            let label = std::iter::once(super::kernels(table, &rows)).chain(names).collect::<Vec<_>>().join(", ");
            let known: HashSet<usize> = rows.iter().copied().collect();
            let here = points.iter().filter(|(_, members)| members.iter().any(|row| known.contains(row))).count();
            found.push(Group { label, rows, points: here });
        }
    }
    found.sort_by_key(|group| std::cmp::Reverse(group.points));
    Ok(found)
}

/// Values of some columns, and the rows that have them.
type Part = (Vec<Option<Value>>, Vec<usize>);

/// The rows by the values of the columns. Where a kernel does not have a column, its rows go with every value of it.
fn parted(table: &Table, rows: &[usize], splits: &[&str]) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for &row in rows {
        let key: Vec<_> = splits.iter().map(|name| table.value(name, row)).collect();
        match parts.iter_mut().find(|(known, _)| *known == key) {
            Some((_, members)) => members.push(row),
            None => parts.push((key, vec![row])),
        }
    }
    let goes_with = |key: &[Option<Value>], with: &[Option<Value>]| {
        key != with && key.iter().zip(with).all(|(a, b)| a.is_none() || a == b)
    };
    let (lone, mut whole): (Vec<Part>, Vec<Part>) = {
        let all = parts.clone();
        parts.into_iter().partition(|(key, _)| all.iter().any(|(with, _)| goes_with(key, with)))
    };
    for (key, rows) in lone {
        whole.iter_mut().filter(|(with, _)| goes_with(&key, with)).for_each(|(_, members)| members.extend(&rows));
    }
    whole
}

/// Columns that differ among the samples of a point of the model, or say which machine it was.
fn splits<'a>(
    table: &'a Table,
    model: &dyn Model,
    rows: &[usize],
    points: &[(Vec<f64>, Vec<usize>)],
) -> Result<Vec<&'a str>> {
    let mut splits = Vec::new();
    for name in columns::of_points(table).into_iter().filter(|name| !["seed", "kernel"].contains(name)) {
        let column = table.require(name)?;
        let apart = super::OF_MACHINES.contains(&name) || model.apart().contains(&columns::short(name));
        let whole = apart && !columns::constant(column, rows);
        if whole || points.iter().any(|(_, rows)| !columns::constant(column, rows)) {
            splits.push(name);
        }
    }
    Ok(splits)
}
