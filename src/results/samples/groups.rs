//! Groups the samples of a sweep into surfaces. Samples of unlike nodes are kept apart.

use crate::samples::Samples;
use crate::samples::cells::Cell;
use crate::table::column::Column;
use crate::table::columns::{self, ALPHA, BLOCK, ColumnDescription, NODE_TYPE, Role, caption, label};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Value;
use apexmap_base::sample::MIXED_NODES;
use apexmap_base::units::plural;
use apexmap_measure::kernels::Kernel;
use apexmap_theory::statistics::Summary;

/// Samples of one kernel that differ only in alpha, L and what depends on them; without alpha and L, only in numbers.
#[derive(Clone, Debug)]
pub struct SampleGroup {
    /// Values of the columns that distinguish this group from others.
    pub key: Vec<(String, Value)>,
    /// Short name of its type of nodes, if the key has it.
    pub node_type: Option<String>,
    pub samples: Samples,
    pub headline: &'static str,
    /// Columns that distinguish its points.
    pub axes: Vec<String>,
    pub alphas: Vec<f64>,
    pub blocks: Vec<f64>,
}

impl SampleGroup {
    pub fn label(&self) -> String {
        key_label(&self.key)
    }

    pub fn place(&self, cell: &Cell) -> String {
        self.axes.iter().zip(&cell.by).map(|(column, value)| label(column, value)).collect::<Vec<_>>().join(", ")
    }

    /// Returns the points with a good sample, and the summary of a column at each of them.
    pub fn measured_cells(&self, column: &str) -> Result<Vec<(Cell, Summary)>> {
        let by: Vec<&str> = self.axes.iter().map(String::as_str).collect();
        let cells = self.samples.cells(&by)?.into_iter();
        Ok(cells.filter_map(|cell| cell.summary(column).map(|summary| (cell, summary))).collect())
    }

    pub fn cells_by_median(&self, column: &str) -> Result<Vec<(Cell, Summary)>> {
        let mut cells = self.measured_cells(column)?;
        cells.sort_by(|(_, a), (_, b)| a.median.total_cmp(&b.median));
        Ok(cells)
    }

    pub fn is_surface(&self) -> bool {
        self.alphas.len() > 1 && self.blocks.len() > 1
    }
}

pub fn key_label(key: &[(String, Value)]) -> String {
    let name = |(column, value): &(String, Value)| match value {
        Value::Text(word) => caption(word),
        value => label(column, value),
    };
    key.iter().map(name).collect::<Vec<_>>().join(", ")
}

pub fn has_surface(kernel: &Kernel) -> bool {
    [ALPHA, BLOCK].iter().all(|name| kernel.parameters.iter().any(|parameter| parameter.column == *name))
}

impl Samples {
    /// Returns the number of chains of dependent accesses of the first sample; `None` if its addresses are known in advance.
    pub fn chains(&self) -> Option<f64> {
        self.first_value("chains")?.as_f64()
    }

    pub fn held_parameters(&self) -> Vec<(&str, Value)> {
        let varying = self.whole.parameters.get_or_init(|| {
            let plan = self.with_rows((0..self.table().rows).collect()).current();
            let is_parameter = |name: &&str| columns::describe(name).role == Role::Parameter;
            plan.axes().into_iter().filter(is_parameter).map(str::to_owned).collect()
        });
        varying.iter().filter_map(|name| Some((name.as_str(), self.common_value(name)?))).collect()
    }

    pub fn describe(&self, column: &str) -> ColumnDescription {
        columns::describe_of(column, self.words("kernel"))
    }

    /// Returns kernel, ranks, and the columns that vary and do not depend on these, alpha, L and each other. For example, M
    /// may depend on the ranks, and the number of index arrays on all of them. If columns depend on each other, those of
    /// words remain. The type of nodes always remains.
    pub fn key_columns(&self) -> Vec<&str> {
        // Other kernels of the sweep may have alpha and L although the kernel of these samples does not.
        // Imported values may lack the number of ranks.
        let first: Vec<&str> = ["kernel", "ranks"].into_iter().filter(|name| self.has(name)).collect();
        let mut given = first.clone();
        given.extend([ALPHA, BLOCK].into_iter().filter(|name| self.has(name)));
        let mut beyond = self.varying_columns_beyond(&given);
        let in_order = beyond.clone();
        // Words come first: if columns depend on each other, the first one remains.
        beyond.sort_by_key(|name| !self.column(name).is_some_and(Column::is_words));
        let kept = self.independent_columns(&[given, beyond].concat());
        let further = in_order.into_iter().filter(|name| kept.contains(name) && *name != NODE_TYPE);
        let node_type = Some(NODE_TYPE).filter(|_| !self.is_constant(NODE_TYPE));
        first.into_iter().chain(node_type).chain(further).collect()
    }

    /// Returns the groups of the good samples, kernel by kernel, in the order of their keys.
    pub fn groups(&self) -> Result<Vec<SampleGroup>> {
        let types = self.words(NODE_TYPE);
        let short_types = short_names(&types);
        let mut groups = Vec::new();
        for (kernel, samples) in self.kernels() {
            let varying = samples.key_columns();
            let is_key = |name: &&&str| has_surface(kernel) || samples.column(name).is_some_and(|c| c.is_words());
            let names: Vec<&str> = varying.iter().filter(is_key).copied().collect();
            let numbers: Vec<&str> = varying.iter().filter(|name| !names.contains(name)).copied().collect();
            for cell in samples.cells(&names)? {
                let axes =
                    if has_surface(kernel) { vec![ALPHA, BLOCK] } else { cell.samples.independent_columns(&numbers) };
                let node_type = types.iter().position(|name| *name == cell.samples.first_word(NODE_TYPE));
                let node_type =
                    node_type.filter(|_| names.contains(&NODE_TYPE)).map(|index| short_types[index].clone());
                groups.push(SampleGroup {
                    node_type,
                    key: names.iter().map(|name| name.to_string()).zip(cell.by).collect(),
                    headline: cell.samples.headline(kernel),
                    axes: axes.into_iter().map(str::to_owned).collect(),
                    alphas: cell.samples.distinct_numbers(ALPHA),
                    blocks: cell.samples.distinct_numbers(BLOCK),
                    samples: cell.samples,
                });
            }
        }
        Ok(groups)
    }
}

/// Returns a short name of each type: its first parts that not all types have, as few as distinguish it.
pub fn short_names(types: &[&str]) -> Vec<String> {
    let is_common = |part: &&str| types.iter().all(|name| name.split(", ").any(|other| other == *part));
    let own: Vec<Vec<&str>> =
        types.iter().map(|name| name.split(", ").filter(|part| !is_common(part)).collect()).collect();
    let short = |parts: &Vec<&str>| {
        let is_unique = |count: &usize| own.iter().filter(|other| other.starts_with(&parts[..*count])).count() == 1;
        let count = (1..=parts.len()).find(is_unique).unwrap_or(parts.len());
        parts[..count].join(", ")
    };
    own.iter().map(short).collect()
}

impl Samples {
    /// Returns a sentence about the types of nodes if the samples were taken on several, or on a mixture; `None` otherwise.
    pub fn describe_node_types(&self) -> Option<String> {
        let types = self.group_by(&[NODE_TYPE]);
        if types.len() < 2 && !self.has_mixed_nodes() {
            return None;
        }
        let describe = |part: &Samples| {
            let name = Some(part.first_word(NODE_TYPE)).filter(|name| !name.is_empty()).unwrap_or("unknown");
            format!("{} ({}, launch {})", caption(name), plural(part.len(), "sample"), part.value_list("launch"))
        };
        let list = types.iter().map(describe).collect::<Vec<_>>().join("; ");
        Some(match types.len() {
            1 => format!("The ranks of a launch were on unlike nodes: {list}."),
            count => format!("The samples are from {count} types of nodes, which are kept apart: {list}."),
        })
    }

    /// Returns whether ranks of a launch were on unlike nodes.
    pub fn has_mixed_nodes(&self) -> bool {
        self.words(NODE_TYPE).iter().any(|name| name.starts_with(MIXED_NODES))
    }

    /// Requires good samples on one type of nodes, unless the columns `by` keep types apart.
    pub fn require_one_node_type(&self, by: &[&str]) -> Result<()> {
        let good = self.good();
        if by.contains(&NODE_TYPE) || good.is_constant(NODE_TYPE) {
            return Ok(());
        }
        let choice = good.mixture(NODE_TYPE).choice;
        Err(Error::input(
            format!("the samples are from unlike nodes: {}", good.value_list(NODE_TYPE)),
            format!("choose one type with --where '{choice}'"),
        ))
    }

    pub fn on_newest_node_type(&self) -> Self {
        let newest_time = |part: &Samples| part.numbers("unix_seconds").into_iter().fold(f64::NEG_INFINITY, f64::max);
        let types = self.group_by(&[NODE_TYPE]).into_iter();
        types.max_by(|a, b| newest_time(a).total_cmp(&newest_time(b))).unwrap_or_else(|| self.clone())
    }
}
