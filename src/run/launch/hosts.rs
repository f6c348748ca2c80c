//! Hosts for a launcher: a list, or a file with one host per line.

use apexmap_base::error::{Error, Result};
use apexmap_base::toml_file;
use apexmap_base::units::plural;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The source of the hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostsSource {
    /// Each as `NAME` or `NAME:RANKS`.
    List(Vec<String>),
    /// A file with one host per line, as `NAME`, `NAME:RANKS` or `NAME slots=RANKS`; `#` begins a comment.
    File(PathBuf),
}

/// Distinct hosts, in the order of placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    pub names: Vec<String>,
    /// The largest number of ranks on each host, if given.
    slots: Vec<Option<usize>>,
}

/// The fault, and the next step.
type Problem = (String, String);

impl HostsSource {
    /// Reads the hosts.
    ///
    /// # Errors
    /// If the file cannot be read, if there are no hosts, if a host occurs twice, or if an entry is not a host.
    pub fn read(&self) -> Result<Hosts> {
        match self {
            Self::List(list) => {
                let words = list.iter().map(String::as_str);
                Hosts::parse(words).map_err(|(message, help)| Error::input(format!("hosts: {message}"), help))
            }
            Self::File(path) => {
                let bytes = toml_file::read_limited(path, "read")?;
                let text = String::from_utf8(bytes).map_err(|e| Error::file("read", path, e))?;
                let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
                let lines = lines.filter(|line| !line.is_empty());
                Hosts::parse(lines)
                    .map_err(|(message, help)| Error::input(format!("{}: {message}", path.display()), help))
            }
        }
    }
}

impl Hosts {
    /// Parses entries such as `node1`, `node1:4` or `node1 slots=4`.
    fn parse<'a>(entries: impl Iterator<Item = &'a str>) -> std::result::Result<Self, Problem> {
        let (mut names, mut slots, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
        for entry in entries {
            let (name, number) = parse_host(entry)?;
            if !seen.insert(name) {
                return Err((
                    format!("host {name} is listed twice"),
                    format!("list it once; for 2 ranks on it, write {name}:2"),
                ));
            }
            names.push(name.to_owned());
            slots.push(number);
        }
        match names.is_empty() {
            true => Err(("the list is empty".into(), "list one or more hosts, such as node1,node2".into())),
            false => Ok(Self { names, slots }),
        }
    }

    /// Returns the number of ranks per host: the sweep's, else that of the hosts, else one.
    ///
    /// # Errors
    /// If a host takes fewer ranks than the sweep asks for, or if the sweep asks for none and the hosts differ.
    pub fn ranks_per_node(&self, sweep_ranks: Option<usize>) -> Result<usize> {
        let host_limits = || self.names.iter().zip(&self.slots).filter_map(|(name, slots)| Some((name, (*slots)?)));
        let Some(sweep_ranks) = sweep_ranks else {
            let first = self.slots[0];
            return match self.slots.iter().all(|slots| *slots == first) {
                true => Ok(first.unwrap_or(1)),
                false => Err(Error::input(
                    "the hosts take different numbers of ranks",
                    "set the ranks per node with --ranks-per-node, or ranks_per_node in [launch]",
                )),
            };
        };
        match host_limits().find(|(_, slots)| *slots < sweep_ranks) {
            Some((name, slots)) => Err(Error::input(
                format!("host {name} takes {}, but the sweep puts {sweep_ranks} on each node", plural(slots, "rank")),
                "lower --ranks-per-node, or correct the number of that host",
            )),
            None => Ok(sweep_ranks),
        }
    }
}

/// Parses a host's name and its number of ranks.
fn parse_host(entry: &str) -> std::result::Result<(&str, Option<usize>), Problem> {
    let problem = |message: String| (message, "write a host as node1 or, with its ranks, as node1:4".to_owned());
    let mut words = entry.split_whitespace();
    let name = words.next().unwrap_or_default();
    let (name, mut number) = name.split_once(':').map_or((name, None), |(name, number)| (name, Some(number)));
    for word in words {
        number = match (word.split_once('='), number) {
            (Some(("slots", slots)), None) => Some(slots),
            // Open MPI may use more than its slots up to this limit, but no launch here asks for that.
            (Some(("max_slots" | "max-slots", _)), number) => number,
            _ => return Err(problem(format!("\"{entry}\" is not a host"))),
        };
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    if name.is_empty() || name.starts_with('-') || !name.chars().all(is_plain) {
        return Err(problem(format!("\"{entry}\" is not a host")));
    }
    match number.map(str::parse::<usize>) {
        None => Ok((name, None)),
        Some(Ok(number)) if number > 0 => Ok((name, Some(number))),
        Some(_) => Err(problem(format!("\"{entry}\" has no valid number of ranks"))),
    }
}

/// Returns the hosts of the command line: the list if it is not empty, else the host file.
pub fn choose_source(hosts: &[String], file: Option<&Path>) -> Option<HostsSource> {
    match (hosts, file) {
        ([], None) => None,
        ([], Some(file)) => Some(HostsSource::File(file.to_owned())),
        (hosts, _) => Some(HostsSource::List(hosts.to_vec())),
    }
}
