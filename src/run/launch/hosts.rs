//! Hosts that a launcher is told to use: a list, or a file with one on each line.

use apexmap_base::error::{Error, Result};
use apexmap_base::units::plural;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Where the hosts stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostsSource {
    /// Each as `NAME` or `NAME:RANKS`.
    List(Vec<String>),
    /// A file with one on each line, as `NAME`, `NAME:RANKS` or `NAME slots=RANKS`; `#` begins a comment.
    File(PathBuf),
}

/// Hosts in the order in which ranks take them, none of them twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    pub names: Vec<String>,
    /// Ranks on each, if it is said: of a host at most so many.
    slots: Vec<Option<usize>>,
}

/// What is wrong, and what to do.
type Wrong = (String, String);

impl HostsSource {
    /// # Errors
    /// If the file cannot be read, or there is no host, one twice, or something else than a host.
    #[expect(clippy::disallowed_methods, reason = "the user names the file, which may be a pipe")]
    pub fn read(&self) -> Result<Hosts> {
        match self {
            Self::List(list) => {
                let words = list.iter().map(String::as_str);
                Hosts::of(words).map_err(|(what, next)| Error::input(format!("hosts: {what}"), next))
            }
            Self::File(path) => {
                let text = std::fs::read_to_string(path).map_err(|e| Error::file("read", path, e))?;
                let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
                let lines = lines.filter(|line| !line.is_empty());
                Hosts::of(lines).map_err(|(what, next)| Error::input(format!("{}: {what}", path.display()), next))
            }
        }
    }
}

impl Hosts {
    /// Of entries such as `node1`, `node1:4` or `node1 slots=4`.
    fn of<'a>(entries: impl Iterator<Item = &'a str>) -> std::result::Result<Self, Wrong> {
        let (mut names, mut slots, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
        for entry in entries {
            let (name, number) = read(entry)?;
            if !seen.insert(name) {
                return Err((format!("{name} is named twice"), format!("name it once; for several ranks: {name}:2")));
            }
            names.push(name.to_owned());
            slots.push(number);
        }
        match names.is_empty() {
            true => Err(("there is no host".into(), "name one or more, such as node1,node2".into())),
            false => Ok(Self { names, slots }),
        }
    }

    /// Ranks on each host, from what the sweep asks for and what the hosts say they take; one if neither says it.
    ///
    /// # Errors
    /// If a host takes fewer than asked for, or they take different numbers and nothing is asked for.
    pub fn ranks_per_node(&self, asked: Option<usize>) -> Result<usize> {
        let said = || self.names.iter().zip(&self.slots).filter_map(|(name, slots)| Some((name, (*slots)?)));
        let Some(asked) = asked else {
            let first = self.slots[0];
            return match self.slots.iter().all(|slots| *slots == first) {
                true => Ok(first.unwrap_or(1)),
                false => Err(Error::input(
                    "the hosts take different numbers of ranks",
                    "say how many each gets: --ranks-per-node, or ranks_per_node in [launch]",
                )),
            };
        };
        match said().find(|(_, slots)| *slots < asked) {
            Some((name, slots)) => Err(Error::input(
                format!("host {name} takes {}, the sweep puts {asked} on a node", plural(slots, "rank")),
                "lower --ranks-per-node, or correct the number of that host",
            )),
            None => Ok(asked),
        }
    }
}

/// A host's name and how many ranks it takes.
fn read(entry: &str) -> std::result::Result<(&str, Option<usize>), Wrong> {
    let wrong = |what: String| (what, "write a host as node1 or, with its ranks, as node1:4".to_owned());
    let mut words = entry.split_whitespace();
    let name = words.next().unwrap_or_default();
    let (name, mut number) = name.split_once(':').map_or((name, None), |(name, number)| (name, Some(number)));
    for word in words {
        number = match (word.split_once('='), number) {
            (Some(("slots", slots)), None) => Some(slots),
            // What Open MPI would allow beyond its slots is not asked for.
            (Some(("max_slots" | "max-slots", _)), number) => number,
            _ => return Err(wrong(format!("\"{entry}\" is not a host"))),
        };
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    if name.is_empty() || name.starts_with('-') || !name.chars().all(plain) {
        return Err(wrong(format!("\"{entry}\" is not a host")));
    }
    match number.map(str::parse::<usize>) {
        None => Ok((name, None)),
        Some(Ok(number)) if number > 0 => Ok((name, Some(number))),
        Some(_) => Err(wrong(format!("\"{entry}\" has no number of ranks"))),
    }
}

/// Hosts from the command line, or else from a host file named there.
pub fn given(hosts: &[String], file: Option<&Path>) -> Option<HostsSource> {
    match (hosts, file) {
        ([], None) => None,
        ([], Some(file)) => Some(HostsSource::File(file.to_owned())),
        (hosts, _) => Some(HostsSource::List(hosts.to_vec())),
    }
}
