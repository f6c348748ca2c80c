//! How matched points fall into maps: surfaces over alpha and L, or over whatever else varies.

use super::points::{Point, Points};
use crate::error::Result;
use crate::explore::report::groups::{self, ALPHA, BLOCK};
use crate::explore::store::Table;
use crate::point::Value;
use ndarray::Array2;
use std::collections::{BTreeMap, BTreeSet};

/// Points that differ in one or two numbers, and in what follows from them.
#[derive(Clone, Debug)]
pub struct Group {
    pub label: String,
    pub class: String,
    /// The column that its kernel is judged by.
    pub headline: &'static str,
    /// Columns of the axes: x, then y if there are two. For surfaces L and alpha.
    pub axes: Vec<String>,
    /// Indices of its points.
    pub points: Vec<usize>,
}

impl Group {
    /// Whether it is a surface over alpha and L.
    pub fn is_surface(&self) -> bool {
        self.axes == [BLOCK, ALPHA]
    }

    pub fn is_map(&self) -> bool {
        self.axes.len() == 2
    }

    /// The values of an axis, ascending.
    pub fn values(&self, points: &Points, axis: usize) -> Vec<f64> {
        let mut values: Vec<f64> =
            self.points.iter().filter_map(|&at| number(&points.points[at], &self.axes[axis])).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }

    /// The grid of its points' indices: [y, x].
    pub fn grid(&self, points: &Points) -> Array2<Option<usize>> {
        let (x, y) = (self.values(points, 0), self.values(points, 1));
        let mut grid = Array2::from_elem((y.len(), x.len()), None);
        for &at in &self.points {
            let place = |axis: &[f64], name: &str| {
                let value = number(&points.points[at], name)?;
                axis.iter().position(|known| *known == value)
            };
            if let (Some(i), Some(j)) = (place(&x, &self.axes[0]), place(&y, &self.axes[1])) {
                grid[(j, i)] = Some(at);
            }
        }
        grid
    }
}

/// The number that a point has in a column.
pub fn number(point: &Point, column: &str) -> Option<f64> {
    point.at.iter().find(|(name, _)| name == column).and_then(|(_, value)| value.as_f64())
}

/// The groups of these points.
pub fn of(points: &Points, chosen: &[usize]) -> Result<Vec<Group>> {
    let mut table = Table::default();
    for &at in chosen {
        let point = &points.points[at];
        table.begin_row();
        table.set("kernel", &Value::from(points.classes[&point.class]));
        point.at.iter().for_each(|(column, value)| table.set(column, value));
    }
    let rows: Vec<usize> = (0..table.rows).collect();
    let mut found = Vec::new();
    for group in groups::groups(&table, &rows)? {
        let members: Vec<usize> = group.rows.iter().map(|&row| chosen[row]).collect();
        let Some(class) = members.first().map(|&at| points.points[at].class.clone()) else { continue };
        let own = |label: String| label.replacen(points.classes[&class], &class, 1);
        let base =
            Group { label: own(group.label()), class, headline: group.headline, axes: Vec::new(), points: members };
        if group.is_surface() {
            found.push(Group { axes: vec![BLOCK.into(), ALPHA.into()], ..base });
        } else {
            found.extend(parts(points, base, &group.axes));
        }
    }
    Ok(found)
}

/// Splits a group by all numbers but the two that take the most values; what follows from others is no axis.
fn parts(points: &Points, group: Group, axes: &[String]) -> Vec<Group> {
    let distinct = |axis: &String| {
        let bits = group.points.iter().filter_map(|&at| number(&points.points[at], axis)).map(f64::to_bits);
        bits.collect::<BTreeSet<u64>>().len()
    };
    let mut free: Vec<&String> = axes.iter().filter(|axis| distinct(axis) > 1).collect();
    free.sort_by_key(|axis| std::cmp::Reverse(distinct(axis)));
    let mut kept: Vec<&String> = Vec::new();
    for axis in free {
        if !follows(points, &group.points, axis, &kept) {
            kept.push(axis);
        }
    }
    let rest: Vec<&String> = kept.iter().skip(2).copied().collect();
    let axes: Vec<String> = kept.iter().take(2).map(|axis| axis.to_string()).collect();
    let mut parts: BTreeMap<Vec<u64>, Vec<usize>> = BTreeMap::new();
    for &at in &group.points {
        let key = rest.iter().map(|axis| number(&points.points[at], axis).unwrap_or(-1.0).to_bits()).collect();
        parts.entry(key).or_default().push(at);
    }
    let part = |members: Vec<usize>| {
        let first = &points.points[members[0]];
        let named = first.at.iter().filter(|(column, _)| rest.contains(&column));
        let words = named.map(|(column, value)| crate::explore::figure::select::label(column, value));
        let label = std::iter::once(group.label.clone()).chain(words).collect::<Vec<_>>().join(", ");
        Group { label, axes: axes.clone(), points: members, ..group.clone() }
    };
    parts.into_values().map(part).collect()
}

/// Whether an axis has one value wherever those kept have theirs.
fn follows(points: &Points, members: &[usize], axis: &str, kept: &[&String]) -> bool {
    let mut known: BTreeMap<Vec<u64>, u64> = BTreeMap::new();
    members.iter().all(|&at| {
        let bits = |name: &str| number(&points.points[at], name).unwrap_or(-1.0).to_bits();
        let key = kept.iter().map(|name| bits(name)).collect();
        *known.entry(key).or_insert_with(|| bits(axis)) == bits(axis)
    })
}
