//! Hosts for a launcher: a list, or a file with one host per line.

use apexmap_base::error::{Error, Result};
use apexmap_base::toml_file;
use apexmap_base::units::plural;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostsSource {
    /// Each as `NAME` or `NAME:RANKS`; names may have numbers in brackets, as in `n[01-04,07]`.
    List(Vec<String>),
    /// A file with one host per line, as in the list or as `NAME slots=RANKS`; `#` begins a comment.
    File(PathBuf),
}

/// Distinct hosts, in the order of placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    pub names: Vec<String>,
    /// The largest number of ranks on each host, if given.
    slots: Vec<Option<usize>>,
}

type Problem = (String, String);

impl HostsSource {
    pub fn read(&self) -> Result<Hosts> {
        match self {
            Self::List(list) => {
                // The command line was divided at commas, also within brackets.
                let mut entries: Vec<String> = Vec::new();
                for word in list {
                    match entries.last_mut() {
                        Some(last) if last.rfind('[') > last.rfind(']') => last.extend([",", word]),
                        _ => entries.push(word.clone()),
                    }
                }
                Hosts::parse(entries.iter().map(String::as_str))
                    .map_err(|(message, help)| Error::input(format!("hosts: {message}"), help))
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
    /// Parses entries such as `node1`, `node1:4` or `node1 slots=4`. PBS lists a host once per rank, so the ranks of its entries add up.
    fn parse<'a>(entries: impl Iterator<Item = &'a str>) -> Result<Self, Problem> {
        let (mut names, mut slots) = (Vec::new(), Vec::<Option<usize>>::new());
        let (mut indices, mut is_listed_per_rank) = (HashMap::new(), false);
        for entry in entries {
            let (pattern, number) = parse_host(entry)?;
            for name in expand(&pattern)? {
                if let Some(&index) = indices.get(&name) {
                    let total = |slots: Option<usize>| slots.unwrap_or(1).saturating_add(number.unwrap_or(1));
                    slots[index] = Some(total(slots[index]));
                    is_listed_per_rank = true;
                    continue;
                }
                indices.insert(name.clone(), names.len());
                names.push(name);
                slots.push(number);
            }
        }
        if is_listed_per_rank {
            slots.iter_mut().for_each(|slots| *slots = slots.or(Some(1)));
        }
        match names.is_empty() {
            true => Err(("the list is empty".into(), "list one or more hosts, such as node1,node2".into())),
            false => Ok(Self { names, slots }),
        }
    }

    /// The number of ranks per host: the sweep's, else that of the hosts, which must be equal, else one.
    pub fn ranks_per_node(&self, sweep_ranks: Option<usize>) -> Result<usize> {
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
        let mut limits = self.names.iter().zip(&self.slots).filter_map(|(name, slots)| Some((name, (*slots)?)));
        match limits.find(|(_, slots)| *slots < sweep_ranks) {
            Some((name, slots)) => Err(Error::input(
                format!("host {name} takes {}, but the sweep puts {sweep_ranks} on each node", plural(slots, "rank")),
                "lower --ranks-per-node, or correct the number of that host",
            )),
            None => Ok(sweep_ranks),
        }
    }
}

/// The name may have numbers in brackets.
fn parse_host(entry: &str) -> Result<(String, Option<usize>), Problem> {
    let problem = |message: String| (message, "write a host as node1 or, with its ranks, as node1:4".to_owned());
    // Blanks may surround the sign: `slots = 4`.
    let joined = entry.split('=').map(str::trim).collect::<Vec<_>>().join("=");
    let mut words = joined.split_whitespace();
    let name = words.next().unwrap_or_default();
    let (name, mut number) = name.split_once(':').map_or((name, None), |(name, number)| (name, Some(number)));
    for word in words {
        number = match (word.split_once('='), number) {
            (Some(("slots" | "cpu" | "cpus" | "count" | "np", slots)), None) => Some(slots),
            // Open MPI may use more than its slots up to this limit, but no launch here asks for that.
            (Some((key, _)), number) if key.contains("max") => number,
            _ => return Err(problem(format!("\"{entry}\" is not a host"))),
        };
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._[,]".contains(c);
    if name.is_empty() || name.starts_with('-') || !name.chars().all(is_plain) {
        return Err(problem(format!("\"{entry}\" is not a host")));
    }
    match number.map(str::parse::<usize>) {
        None => Ok((name.to_owned(), None)),
        Some(Ok(number)) if number > 0 => Ok((name.to_owned(), Some(number))),
        Some(_) => Err(problem(format!("\"{entry}\" has no valid number of ranks"))),
    }
}

/// Largest number of hosts of one entry, because a short one such as `n[0-999999999]` would fill the memory.
const MAX_HOSTS: usize = 1 << 17;

/// `n[08-10]` are n08, n09 and n10.
fn expand(pattern: &str) -> Result<Vec<String>, Problem> {
    let problem =
        || (format!("\"{pattern}\" is not a host"), "write hosts as node1 or, with numbers, as node[1-4,8]".to_owned());
    let Some((prefix, rest)) = pattern.split_once('[') else {
        return if pattern.contains([']', ',']) { Err(problem()) } else { Ok(vec![pattern.to_owned()]) };
    };
    let (ranges, rest) = rest.split_once(']').ok_or_else(problem)?;
    let (suffixes, mut hosts) = (expand(rest)?, Vec::new());
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let numbers = first.parse::<usize>().ok().zip(last.parse::<usize>().ok());
        let (low, high) = numbers.filter(|(low, high)| low <= high && high - low < MAX_HOSTS).ok_or_else(problem)?;
        if prefix.contains([']', ',']) || (high - low + 1) * suffixes.len() + hosts.len() > MAX_HOSTS {
            return Err(problem());
        }
        for number in low..=high {
            let width = first.len();
            hosts.extend(suffixes.iter().map(|suffix| format!("{prefix}{number:0width$}{suffix}")));
        }
    }
    Ok(hosts)
}

/// The hosts of the command line: the list if it is not empty, else the host file.
pub fn choose_source(hosts: &[String], file: Option<&Path>) -> Option<HostsSource> {
    match (hosts, file) {
        ([], None) => None,
        ([], Some(file)) => Some(HostsSource::File(file.to_owned())),
        (hosts, _) => Some(HostsSource::List(hosts.to_vec())),
    }
}
