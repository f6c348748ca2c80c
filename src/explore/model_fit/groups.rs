//! The parts of a store that a model can be fitted to: one kernel each, and alike in all that the model does not know.

use super::{by_point, good, over_kernels, parts, values_at};
use crate::error::Result;
use crate::explore::models::Model;
use crate::explore::store::Table;
use crate::explore::store::cells::alike;
use crate::explore::store::columns;
use crate::explore::store::table::Column;
use crate::point::Value;
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
    let together: Vec<&[&str]> = if over_kernels(model) { vec![explains] } else { explains.chunks(1).collect() };
    for kernels in together {
        let (about, others): (Vec<Vec<usize>>, Vec<Vec<usize>>) = parts(table, &good(table, rows, kernels), model)
            .into_iter()
            .partition(|part| values_at(table, part[0], model, &[]).is_ok());
        if let (true, Some(part)) = (about.is_empty(), others.first()) {
            values_at(table, part[0], model, &[])?;
        }
        let mut rows = about.concat();
        rows.sort_unstable();
        let points = by_point(table, &rows, model, &[])?;
        let splits = splits(table, model, &rows, &points)?;
        for (key, rows) in parted(table, &rows, &splits) {
            let name = |(column, value): (&&str, &Option<Value>)| {
                value.as_ref().map(|value| crate::explore::figure::select::label(column, value))
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
    let columns: Vec<&Column> = splits.iter().filter_map(|name| table.column(name)).collect();
    let key = |rows: &[usize]| columns.iter().map(|column| column.value(rows[0])).collect();
    let parts: Vec<Part> = alike(&columns, rows).into_iter().map(|rows| (key(&rows), rows)).collect();
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
