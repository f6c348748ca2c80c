//! The nodes of a partition, as the batch system lists them.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeSize {
    pub cores_of_socket: usize,
    pub cores: usize,
    pub hardware_threads: usize,
    /// In bytes.
    pub memory: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// `None` without a limit, or if the system reports none.
    pub seconds: Option<f64>,
    /// `None` if the system reports none.
    pub nodes: Option<usize>,
}

/// A node and its state, in the system's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedNode {
    pub name: String,
    pub state: String,
}

/// A table of nodes. Each row has the words of a line: partition, sockets, cores of a socket, hardware threads of a core, memory in
/// MiB, longest time and range of nodes of a job, features, name and state. Systems may leave out the last columns.
#[derive(Clone, Debug)]
pub struct NodeTable {
    rows: Vec<Vec<String>>,
}

const TIME: usize = 5;
const NODES_OF_JOB: usize = 6;
const FEATURES: usize = 7;
const NAME: usize = 8;
const STATE: usize = 9;

impl NodeTable {
    pub fn parse(text: &str) -> Self {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        Self { rows: text.lines().map(words).collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Keeps the nodes with these names, and all if the table has no names.
    pub fn filter_by_names(mut self, is_wanted: impl Fn(&str) -> bool) -> Self {
        self.rows.retain(|row| row.get(NAME).is_none_or(|name| is_wanted(name)));
        self
    }

    /// The nodes with the features of a constraint, and all if the table has no features. `None`: its syntax is not known.
    pub fn filter_by_features(&self, constraint: &str) -> Option<Self> {
        let mut rows = Vec::new();
        for row in &self.rows {
            let features = row.get(FEATURES).map(|features| features.split(',').collect::<Vec<_>>());
            if features.map_or(Some(true), |features| matches_constraint(constraint, &features))? {
                rows.push(row.clone());
            }
        }
        Some(Self { rows })
    }

    pub fn features(&self) -> BTreeSet<&str> {
        let lists = self.rows.iter().filter_map(|row| row.get(FEATURES)).filter(|features| *features != "(null)");
        lists.flat_map(|features| features.split(',')).collect()
    }

    /// The nodes that a job may get: those of the default partition, if one is marked.
    fn rows_of_default_partition(&self) -> impl Iterator<Item = &[String]> {
        let is_default = |row: &[String]| row.first().is_some_and(|name| name.ends_with('*'));
        let has_default = self.rows.iter().any(|row| is_default(row));
        self.rows.iter().map(Vec::as_slice).filter(move |row| !has_default || is_default(row))
    }

    /// The smallest value of each resource among the nodes that a job may get.
    pub fn size(&self) -> Option<NodeSize> {
        let parse_node = |row: &[String]| {
            // "64+" means 64 or more.
            let number = |word: &String| word.trim_end_matches('+').parse::<usize>().ok().filter(|number| *number > 0);
            let [sockets, cores, threads, mebibytes] = row.get(1..5)? else { return None };
            let (cores, mebibytes) = (number(cores)?, number(mebibytes)?);
            let cores_of_node = number(sockets)?.checked_mul(cores)?;
            Some(NodeSize {
                cores_of_socket: cores,
                cores: cores_of_node,
                hardware_threads: cores_of_node.checked_mul(number(threads)?)?,
                memory: (mebibytes as u64).checked_mul(1 << 20)?,
            })
        };
        self.rows_of_default_partition().filter_map(parse_node).reduce(|a, b| NodeSize {
            cores_of_socket: a.cores_of_socket.min(b.cores_of_socket),
            cores: a.cores.min(b.cores),
            hardware_threads: a.hardware_threads.min(b.hardware_threads),
            memory: a.memory.min(b.memory),
        })
    }

    /// The nodes that a job may get, each once and in the order of the answer. Empty if the table has no names.
    pub fn nodes(&self) -> Vec<ListedNode> {
        let mut nodes: Vec<ListedNode> = Vec::new();
        for row in self.rows_of_default_partition() {
            let (Some(name), Some(state)) = (row.get(NAME), row.get(STATE)) else { continue };
            if nodes.iter().all(|node| node.name != *name) {
                nodes.push(ListedNode { name: name.clone(), state: state.clone() });
            }
        }
        nodes
    }

    /// The limits of one job on these nodes. With several partitions, each limit is the largest of them.
    pub fn limits(&self) -> Limits {
        let mut partitions: BTreeMap<&str, (usize, Option<&String>, Option<&String>)> = BTreeMap::new();
        for row in self.rows_of_default_partition().filter(|row| row.len() >= TIME) {
            let partition = partitions.entry(&row[0]).or_default();
            *partition = (partition.0 + 1, row.get(TIME), row.get(NODES_OF_JOB));
        }
        let most_nodes = |(count, _, range): &(usize, Option<&String>, Option<&String>)| {
            let limit = range.and_then(|range| range.rsplit('-').next()?.parse().ok());
            limit.map_or(*count, |limit: usize| limit.min(*count))
        };
        let times: Option<Vec<f64>> = partitions.values().map(|(_, time, _)| parse_seconds(time.as_ref()?)).collect();
        Limits {
            seconds: times.and_then(|times| times.into_iter().reduce(f64::max)),
            nodes: partitions.values().map(most_nodes).max(),
        }
    }
}

/// Alternatives (`|`) of combinations (`&` or `,`); brackets around all request the same one on all nodes. `None`: other syntax.
fn matches_constraint(constraint: &str, features: &[&str]) -> Option<bool> {
    let constraint = constraint.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(constraint);
    if constraint.contains(['(', ')', '[', ']', '*', '!']) {
        return None;
    }
    let has_all = |combination: &str| combination.split(['&', ',']).all(|feature| features.contains(&feature));
    Some(constraint.split('|').any(has_all))
}

/// `1-12:00:00`, `12:00:00`, `30:00` or a number of minutes, in seconds.
fn parse_seconds(text: &str) -> Option<f64> {
    let (days, rest) = text.split_once('-').map_or((None, text), |(days, rest)| (Some(days), rest));
    let parts: Vec<f64> = rest.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let seconds = match (days, parts.as_slice()) {
        (_, [hours, minutes, seconds]) => hours * 3600.0 + minutes * 60.0 + seconds,
        (Some(_), [hours, minutes]) => hours * 3600.0 + minutes * 60.0,
        (Some(_), [hours]) => hours * 3600.0,
        (None, [minutes, seconds]) => minutes * 60.0 + seconds,
        (None, [minutes]) => minutes * 60.0,
        _ => return None,
    };
    let days: f64 = days.map_or(Some(0.0), |days| days.parse().ok())?;
    Some(days * 86400.0 + seconds).filter(|seconds| *seconds > 0.0)
}
