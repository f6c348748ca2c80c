//! Groups of matched points: surfaces over alpha and L, and maps or curves over other parameters.

use super::points::Points;
use apexmap_base::point::Value;
use apexmap_base::provenance::PlainNode;
use apexmap_draw::figure::Quantity;
use apexmap_draw::plot;
use apexmap_measure::kernels::{self, Kernel};
use apexmap_results::samples::design::Design;
use apexmap_results::samples::groups::has_surface;
use apexmap_results::samples::plain_names::plain_name;
use apexmap_results::table::columns::{ALPHA, BLOCK, label};

#[derive(Clone, Debug)]
pub struct MatchedGroup {
    pub label: String,
    pub kernel: &'static str,
    pub headline: &'static str,
    /// x, then y if there are two; L and alpha for surfaces.
    pub axes: Vec<String>,
    pub points: Vec<usize>,
}

impl MatchedGroup {
    pub fn is_surface(&self) -> bool {
        self.axes == [BLOCK, ALPHA]
    }

    pub fn is_map(&self) -> bool {
        self.axes.len() == 2
    }
}

pub fn quantity(column: &str, values: &[f64]) -> Quantity {
    let quantity = plot::quantity(column, values.iter().copied());
    if column == "message_bytes" { Quantity { label: "message size".into(), ..quantity } } else { quantity }
}

pub fn group_points(points: &Points, chosen: &[usize]) -> Vec<MatchedGroup> {
    let mut groups = Vec::new();
    for kernel in kernels::ALL.iter().copied() {
        let Some((class, _)) = points.classes.iter().find(|(_, first)| **first == kernel.id) else { continue };
        let members: Vec<usize> =
            chosen.iter().copied().filter(|&index| points.points[index].class == *class).collect();
        if !members.is_empty() {
            groups.extend(group_class(points, kernel, class, &members));
        }
    }
    groups
}

fn group_class(points: &Points, kernel: &Kernel, class: &str, members: &[usize]) -> Vec<MatchedGroup> {
    let design = points.design(members);
    let surface = [ALPHA, BLOCK];
    // The number of index arrays follows from alpha, L and P.
    let surface_columns = [ALPHA, BLOCK, "ranks"];
    let beyond = |name: &&str| !surface_columns.contains(name) && !design.depends_on(name, &surface_columns);
    let varying: Vec<&str> =
        std::iter::once("ranks").chain(design.varying_columns().into_iter().filter(beyond)).collect();
    let is_word =
        |name: &str| members.iter().any(|&index| matches!(points.points[index].value(name), Some(Value::Text(_))));
    let (keys, free): (Vec<&str>, Vec<&str>) =
        varying.into_iter().partition(|name| has_surface(kernel) || is_word(name));
    let mut groups = Vec::new();
    for (values, members) in points.split_by(members, &keys) {
        let is_surface = surface.iter().all(|name| points.numbers(members.iter().copied(), name).len() > 1);
        let key: Vec<(String, Value)> = keys.iter().map(|name| name.to_string()).zip(values).collect();
        let name = plain_name(&key, &PlainNode::default());
        // The names of single kernels are in the plain name.
        let label = match class == kernel.id {
            true => plain_name(
                &[vec![("kernel".to_owned(), Value::Text(class.to_owned()))], key].concat(),
                &PlainNode::default(),
            ),
            false => [class, &name].join(", "),
        };
        let group = MatchedGroup {
            label,
            kernel: kernel.id,
            headline: points.headline(class),
            axes: surface.iter().rev().map(|name| name.to_string()).collect(),
            points: members,
        };
        if is_surface {
            groups.push(group);
        } else {
            let design = points.design(&group.points);
            let axes = if has_surface(kernel) { surface.to_vec() } else { design.independent_columns(&free) };
            groups.extend(split(points, &design, group, axes));
        }
    }
    groups
}

/// All numbers split it, except the two with most values. A parameter that follows from others is no axis.
fn split(points: &Points, design: &Design, group: MatchedGroup, axes: Vec<&str>) -> Vec<MatchedGroup> {
    let distinct = |axis: &&str| points.numbers(group.points.iter().copied(), axis).len();
    let mut free: Vec<&str> = axes.into_iter().filter(|axis| distinct(axis) > 1).collect();
    free.sort_by_key(|axis| std::cmp::Reverse(distinct(axis)));
    let mut kept: Vec<&str> = Vec::new();
    for axis in free {
        if !design.depends_on(axis, &kept) {
            kept.push(axis);
        }
    }
    let (axes, rest) = kept.split_at(kept.len().min(2));
    let part = |(_, members): (Vec<Value>, Vec<usize>)| {
        let named = points.points[members[0]].values.iter().filter(|(column, _)| rest.contains(&column.as_str()));
        let words = named.map(|(column, value)| label(column, value));
        let label = std::iter::once(group.label.clone()).chain(words).collect::<Vec<_>>().join(", ");
        MatchedGroup {
            label,
            axes: axes.iter().map(|axis| axis.to_string()).collect(),
            points: members,
            ..group.clone()
        }
    };
    points.split_by(&group.points, rest).into_iter().map(part).collect()
}
