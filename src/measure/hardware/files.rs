//! Reading the system's small files.

use std::fs;
use std::path::Path;
use std::str::FromStr;

/// Where the system's files are: on this machine, or recorded.
pub trait Files {
    /// A file's text without the white space around it. The path is relative to the root of the system.
    fn text(&self, path: &str) -> Option<String>;
    /// The names in a folder.
    fn names(&self, folder: &str) -> Vec<String>;
}

/// Below a folder in which `sys` and `proc` stand.
pub struct Below<'a>(pub &'a Path);

impl Files for Below<'_> {
    fn text(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.0.join(path.trim_start_matches('/'))).ok()?;
        Some(text.trim().to_owned())
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.0.join(folder)).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

impl dyn Files + '_ {
    pub(super) fn number<T: FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// The members of a list such as `0-3,8`.
    pub(super) fn list(&self, path: &str) -> Option<Vec<usize>> {
        members(&self.text(path)?)
    }

    /// What stands behind `name:` in a file with one such pair a line.
    pub(super) fn field(&self, path: &str, name: &str) -> Option<String> {
        let text = self.text(path)?;
        text.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim().to_owned()))
    }

    /// The numbers of those in a folder that are called `prefix` and a number, ascending.
    pub(super) fn numbered(&self, folder: &str, prefix: &str) -> Vec<usize> {
        let names = self.names(folder);
        let mut numbers: Vec<usize> = names.iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }
}

/// The members of a list such as `0-3,8`, ascending; `None` if it is none.
pub fn members(list: &str) -> Option<Vec<usize>> {
    /// More than any machine has.
    const MOST: usize = 1 << 20;
    let mut members = Vec::new();
    for part in list.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if last >= MOST {
            return None;
        }
        members.extend(first..=last);
    }
    members.sort_unstable();
    Some(members)
}

/// Bytes of `32K`, `24M` or `1024 kB`.
pub fn bytes(size: &str) -> Option<u64> {
    let digits = size.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match size[digits.len()..].trim() {
        "" => 1,
        "K" | "kB" => 1 << 10,
        "M" => 1 << 20,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}
