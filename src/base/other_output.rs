//! Lines that a launch prints besides its measurements: counts, the most frequent ones, and their known causes.

use crate::units::plural;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};

const FREQUENT_LINES: usize = 3;
const MAX_DIFFERENT: usize = 1000;
const MAX_CHARACTERS: usize = 160;

/// A line, and its number of occurrences with any numbers in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrequentLine {
    pub count: usize,
    /// The first occurrence.
    pub line: String,
}

/// Lines of launches that succeeded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherOutput {
    pub lines: usize,
    pub frequent: Vec<FrequentLine>,
    /// Known causes of lines, each with advice.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub causes: BTreeSet<String>,
}

impl OtherOutput {
    pub fn is_empty(&self) -> bool {
        self.lines == 0
    }

    pub fn total<'a>(outputs: impl Iterator<Item = &'a Self>) -> Self {
        let (mut counts, mut causes) = (LineCounts::default(), BTreeSet::new());
        for output in outputs {
            counts.lines += output.lines;
            output.frequent.iter().for_each(|frequent| _ = counts.add_occurrences(&frequent.line, frequent.count));
            causes.extend(output.causes.iter().cloned());
        }
        Self { causes, ..counts.finish() }
    }

    /// Describes the lines: `the launches printed 6617 lines besides their samples, most often ...`, and each known cause.
    pub fn sentences(&self) -> Vec<String> {
        if self.is_empty() {
            return Vec::new();
        }
        let quote = |FrequentLine { count, line }: &FrequentLine| {
            format!("{} \"{line}\"", if *count == 1 { "once".to_owned() } else { format!("{count} times") })
        };
        let quotes: Vec<String> = self.frequent.iter().map(quote).collect();
        let lines = plural(self.lines, "line");
        let first = format!("the launches printed {lines} besides their samples, most often: {}", quotes.join("; "));
        std::iter::once(first).chain(self.causes.iter().cloned()).collect()
    }
}

/// Counts lines that differ in more than numbers.
#[derive(Debug, Default)]
pub struct LineCounts {
    lines: usize,
    /// Different lines, in the order of their first occurrence.
    different: Vec<FrequentLine>,
    /// Positions in `different` by the line without its numbers.
    positions: HashMap<String, usize>,
}

impl LineCounts {
    /// Counts a line. Returns true if it is the first of its kind.
    pub fn add(&mut self, line: &str) -> bool {
        if !line.contains(char::is_alphabetic) {
            return false;
        }
        self.lines += 1;
        self.add_occurrences(line, 1)
    }

    fn add_occurrences(&mut self, line: &str, count: usize) -> bool {
        let line: String = line.trim().chars().take(MAX_CHARACTERS).collect();
        // Names of hosts, processes and times differ between lines of one kind.
        let is_number = |word: &str| word.contains(|c: char| c.is_ascii_digit());
        let words = line.split_inclusive(|c: char| !c.is_alphanumeric());
        let kind: String = words.map(|word| if is_number(word) { "0" } else { word }).collect();
        if let Some(position) = self.positions.get(&kind) {
            self.different[*position].count += count;
            return false;
        }
        let has_room = self.different.len() < MAX_DIFFERENT;
        if has_room {
            self.positions.insert(kind, self.different.len());
            self.different.push(FrequentLine { count, line });
        }
        has_room
    }

    pub fn finish(self) -> OtherOutput {
        let mut frequent = self.different;
        frequent.sort_by_key(|frequent| std::cmp::Reverse(frequent.count));
        frequent.truncate(FREQUENT_LINES);
        OtherOutput { lines: self.lines, frequent, causes: BTreeSet::new() }
    }
}
