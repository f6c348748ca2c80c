use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

pub(super) const CPU_FOLDER: &str = "sys/devices/system/cpu";
pub(super) const NODE_FOLDER: &str = "sys/devices/system/node";

pub trait SystemFiles {
    /// Without surrounding white space. The path is relative to the root of the system.
    fn text(&self, path: &str) -> Option<String>;
    /// For files that take the system long to write.
    fn text_start(&self, path: &str, bytes: u64) -> Option<String>;
    fn names(&self, folder: &str) -> Vec<String>;
}

/// A folder that contains `sys` and `proc`.
pub struct FilesBelow<'a>(pub &'a Path);

impl SystemFiles for FilesBelow<'_> {
    fn text(&self, path: &str) -> Option<String> {
        self.text_start(path, u64::MAX)
    }

    fn text_start(&self, path: &str, bytes: u64) -> Option<String> {
        let mut content = Vec::new();
        File::open(self.0.join(path.trim_start_matches('/'))).ok()?.take(bytes).read_to_end(&mut content).ok()?;
        // Lists of some kernels (Linux 5.15-rc) end with a NUL byte.
        let text = content.split(|&byte| byte == 0).next().unwrap_or_default();
        Some(String::from_utf8_lossy(text).trim().to_owned())
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.0.join(folder)).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

pub fn this_system() -> FilesBelow<'static> {
    FilesBelow(Path::new("/"))
}

impl dyn SystemFiles + '_ {
    pub(super) fn read_number<T: FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    pub(super) fn read_list(&self, path: &str) -> Option<Vec<usize>> {
        parse_list(&self.text(path)?)
    }

    /// Old systems have only the file with the mask.
    pub(super) fn read_set(&self, list: &str, mask: &str) -> Option<Vec<usize>> {
        self.read_list(list).filter(|set| !set.is_empty()).or_else(|| parse_mask(&self.text(mask)?))
    }

    /// The file has lines `name: value`.
    pub(super) fn read_field(&self, path: &str, name: &str) -> Option<String> {
        let text = self.text(path)?;
        text.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim().to_owned()))
    }

    /// Entries are `prefix<number>`; the result ascends.
    pub(super) fn numbered_entries(&self, folder: &str, prefix: &str) -> Vec<usize> {
        let names = self.names(folder);
        let mut numbers: Vec<usize> = names.iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }
}

/// Such as `0-3,8`; ascending. `None` if the text is not such a list.
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

/// Such as `00000001,0000000f` (words of 32 bits, the highest first); the numbers of its bits, ascending.
fn parse_mask(mask: &str) -> Option<Vec<usize>> {
    let mut members = Vec::new();
    for (index, word) in mask.rsplit(',').enumerate() {
        let word = u32::from_str_radix(word, 16).ok()?;
        members.extend((0..32).filter(|bit| word >> bit & 1 == 1).map(|bit| 32 * index + bit));
    }
    Some(members)
}

/// Such as `32K`, `24M` or `1024 kB`.
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
