//! Writes the comparison of nodes: as text for a terminal, and as CSV.

use super::{MIN_DIFFERENCE, MIN_NODES, NodeCheck, NodeRow};
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::plural;
use apexmap_results::export::csv;
use std::fmt::Write;

const MAX_ROWS: usize = 20;
const MAX_NAMES: usize = 12;

impl NodeCheck {
    pub fn sentence(&self) -> String {
        let (slow, total) = (self.slow_nodes(), plural(self.nodes.len(), "node"));
        match slow.as_slice() {
            _ if !self.is_decided() => {
                format!("{total}: too few for a comparison, which needs {MIN_NODES} of a type")
            }
            [] => format!("No node is slow, of {total}"),
            names => {
                let further = names.len().saturating_sub(MAX_NAMES);
                let further = if further > 0 { format!(" and {further} more") } else { String::new() };
                let verb = if names.len() == 1 { "is" } else { "are" };
                let names_shown = names[..names.len().min(MAX_NAMES)].join(", ");
                format!("{} of {total} {verb} slow: {names_shown}{further}", names.len())
            }
        }
    }

    pub fn rule(&self) -> String {
        format!(
            "A node is slow at a point if its speed is more than {:.0} % below the median of the nodes of its type, if the distance \
             exceeds {:.1} scaled median absolute deviations, and if the 95 % interval of the node's median does not reach the median of \
             the nodes",
            100.0 * MIN_DIFFERENCE,
            self.limit
        )
    }
}

/// `-12.3 %`.
pub fn percent(difference: f64) -> String {
    format!("{:+.1} %", 100.0 * difference)
}

/// Words about a node that no number shows: disturbed, failed samples.
pub fn remarks(row: &NodeRow) -> String {
    let failed = (row.failed_samples > 0).then(|| format!("{} failed", plural(row.failed_samples, "sample")));
    let disturbed = row.disturbed.then(|| "DISTURBED".to_owned());
    disturbed.into_iter().chain(failed).collect::<Vec<_>>().join(", ")
}

/// The verdict, and a table of the slowest nodes within this width.
pub fn text(check: &NodeCheck, width: Option<usize>) -> String {
    let mut text = format!("{}\n", check.sentence());
    let mut table =
        TextTable::new([Align::Left, Align::Right, Align::Left, Align::Left, Align::Left]).with_width(width);
    table.add_row(["node", "speed", "slow at", "worst point", "remarks"]);
    for row in &check.nodes[..check.nodes.len().min(MAX_ROWS)] {
        let worst = row.worst.as_ref().map(|(difference, point)| format!("{} at {point}", percent(*difference)));
        table.add_row([
            row.node.clone(),
            row.difference.map_or("-".into(), percent),
            format!("{} of {}", row.slow_points, row.points),
            worst.unwrap_or_default(),
            remarks(row),
        ]);
    }
    let _ = write!(text, "{table}");
    let others = check.nodes.len().saturating_sub(MAX_ROWS);
    if others > 0 {
        let _ = writeln!(text, "and {} that are faster", plural(others, "node"));
    }
    let _ = writeln!(text, "speed: difference from the median of the nodes of the same type. {}.", check.rule());
    text
}

/// One line for each node at each point.
pub fn csv(check: &NodeCheck) -> String {
    let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:?}"));
    let head =
        ["point", "node_type", "node", "column", "median", "low", "high", "difference", "score", "slow", "disturbed"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for point in &check.points {
        rows.extend(point.nodes.iter().map(|node| {
            vec![
                point.point.clone(),
                point.node_type.clone(),
                node.node.clone(),
                point.column.to_owned(),
                number(Some(node.median)),
                number(node.interval.map(|(low, _)| low)),
                number(node.interval.map(|(_, high)| high)),
                number(Some(node.difference)),
                number(node.score),
                node.slow.to_string(),
                node.disturbed.to_string(),
            ]
        }));
    }
    csv::text(rows)
}
