//! Reading of the system's small files.

use std::fs;
use std::path::Path;
use std::str::FromStr;

/// Access to the system's files, of this machine or recorded.
pub trait SystemFiles {
    /// Reads the text of a file, without surrounding white space. The path is relative to the root of the system.
    fn text(&self, path: &str) -> Option<String>;
    /// Lists the names in a folder.
    fn names(&self, folder: &str) -> Vec<String>;
}

/// Files below a folder that contains `sys` and `proc`.
pub struct FilesBelow<'a>(pub &'a Path);

impl SystemFiles for FilesBelow<'_> {
    fn text(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.0.join(path.trim_start_matches('/'))).ok()?;
        Some(text.trim().to_owned())
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.0.join(folder)).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

impl dyn SystemFiles + '_ {
    pub(super) fn read_number<T: FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// Reads a list such as `0-3,8`.
    pub(super) fn read_list(&self, path: &str) -> Option<Vec<usize>> {
        parse_list(&self.text(path)?)
    }

    /// Reads the value of a line `name: value`.
    pub(super) fn read_field(&self, path: &str, name: &str) -> Option<String> {
        let text = self.text(path)?;
        text.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim().to_owned()))
    }

    /// Returns the numbers of the entries `prefix<number>` in a folder, ascending.
    pub(super) fn numbered_entries(&self, folder: &str, prefix: &str) -> Vec<usize> {
        let names = self.names(folder);
        let mut numbers: Vec<usize> = names.iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }
}

/// Parses a list such as `0-3,8` into its members, ascending. Returns `None` if the text is not such a list.
pub fn parse_list(list: &str) -> Option<Vec<usize>> {
    /// Exceeds the number of hardware threads of any machine.
    const MAX_NUMBER: usize = 1 << 20;
    let mut members = Vec::new();
    for part in list.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if last >= MAX_NUMBER {
            return None;
        }
        members.extend(first..=last);
    }
    members.sort_unstable();
    Some(members)
}

/// Parses a size in bytes such as `32K`, `24M` or `1024 kB`.
pub fn parse_bytes(size: &str) -> Option<u64> {
    let digits = size.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match size[digits.len()..].trim() {
        "" => 1,
        "K" | "kB" => 1 << 10,
        "M" => 1 << 20,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}
