//! Traces as text: the output of valgrind's `--tool=lackey --trace-mem=yes`, and lines `R|W ADDRESS [SIZE]`.

use crate::analysis::Analysis;
use crate::reuse::{Found, YOUNGEST, Youngest};
use crate::site::{LINE_BYTES, PAGE_BYTES, SAMPLE_LIMIT, Sink, Site, is_kept};
use crate::walk::Walk;
use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::to_printable;
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::io::{BufRead, Read};

/// Bytes of the longest line. Longer ones are no text.
const LONGEST_LINE: u64 = 4096;
/// The largest number of separate sites, of 2 to 7 KB each. Further ones are joined by size and direction.
const MOST_SITES: usize = 1 << 15;

pub struct TextTrace {
    pub sites: Vec<Site>,
    pub accesses: u64,
    pub notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Instruction(u64),
    Access {
        address: u64,
        size: u32,
        reads: bool,
        writes: bool,
    },
    /// Messages of valgrind, comments and empty lines.
    Other,
}

/// Reads a trace. `name` is its file, for errors; after `most` accesses, the rest is not read.
pub fn read(input: &mut dyn BufRead, name: &str, most: Option<u64>, analysis: &mut Analysis) -> Result<TextTrace> {
    let (mut recorder, mut instruction, mut number, mut text) = (Recorder::default(), 0, 0u64, Vec::new());
    let start = input.fill_buf().unwrap_or_default();
    let formats: [(&[u8], _); 3] = [(b"\x1f\x8b", "gzip"), (b"\xfd7zXZ", "xz"), (b"\x28\xb5\x2f\xfd", "zstd")];
    if let Some((_, program)) = formats.iter().find(|(magic, _)| start.starts_with(magic)) {
        let help = format!("unpack it into a pipe: {program} -dc {name} | apexmap locate -");
        return Err(Error::input(format!("{name} is compressed"), help));
    }
    while most.is_none_or(|most| recorder.accesses < most) {
        text.clear();
        let read = (&mut *input).take(LONGEST_LINE).read_until(b'\n', &mut text);
        if read.map_err(|e| Error::environment(format!("cannot read {name}: {e}"), ""))? == 0 {
            break;
        }
        number += 1;
        match parse(&text) {
            Some(Line::Instruction(address)) => instruction = address,
            Some(Line::Access { address, size, reads, writes }) => {
                for is_store in [reads.then_some(false), writes.then_some(true)].into_iter().flatten() {
                    recorder.access((instruction, size, is_store), address, analysis);
                }
            }
            Some(Line::Other) => {}
            None if text.last() != Some(&b'\n') && (text.len() as u64) < LONGEST_LINE && recorder.accesses > 0 => {
                recorder.notes.push(format!("Line {number} of {name}, the last one, is cut off and not counted."));
            }
            None => return Err(unreadable(name, number, &text)),
        }
    }
    if recorder.accesses == 0 {
        let help =
            "a line of a trace is `R ADDRESS` or `W ADDRESS SIZE`, or from valgrind --tool=lackey --trace-mem=yes";
        return Err(Error::input(format!("{name} has no accesses"), help));
    }
    Ok(recorder.finish())
}

fn unreadable(name: &str, number: u64, text: &[u8]) -> Error {
    let start: String = String::from_utf8_lossy(text).trim_end().chars().take(40).collect();
    let help = "a line is `R ADDRESS [SIZE]` or `W ADDRESS [SIZE]`, with the address in hexadecimal, or from \
                valgrind --tool=lackey --trace-mem=yes; to trace a program, put -- before it: apexmap locate -- ./app";
    Error::input(format!("line {number} of {name} is no access: \"{}\"", to_printable(&start)), help)
}

/// Parses a line; `None` if it is none of a trace.
fn parse(text: &[u8]) -> Option<Line> {
    // Editors may write a byte order mark before the first line.
    let text = std::str::from_utf8(text).ok()?.trim_start_matches('\u{feff}').trim();
    if text.is_empty() || ["#", "==", "--"].iter().any(|mark| text.starts_with(mark)) {
        return Some(Line::Other);
    }
    let (letter, rest) = text.split_once(|c: char| c.is_ascii_whitespace())?;
    let mut words = rest.split(|c: char| c == ',' || c.is_ascii_whitespace()).filter(|word| !word.is_empty());
    let address = words.next()?;
    let address = u64::from_str_radix(address.trim_start_matches("0x"), 16).ok()?;
    let size: u32 = words.next().map_or(Some(8), |size| size.parse().ok())?;
    if words.next().is_some() || !(1..=1 << 16).contains(&size) {
        return None;
    }
    let access = |reads, writes| Some(Line::Access { address, size, reads, writes });
    match letter {
        "I" => Some(Line::Instruction(address)),
        "L" | "R" | "r" => access(true, false),
        "S" | "W" | "w" => access(false, true),
        "M" => access(true, true),
        _ => None,
    }
}

/// Address of the instruction, size and direction.
pub type Key = (u64, u32, bool);
type Young = [u64; YOUNGEST];

/// Counts and samples accesses, as the valgrind tool does.
pub struct Recorder {
    limit: usize,
    indices: HashMap<Key, u32, FixedState>,
    walks: Vec<(Key, Walk, Young)>,
    /// The youngest lines of the sample, which has one of 2^level lines.
    youngest: Youngest,
    level: u32,
    accesses: u64,
    notes: Vec<String>,
}

impl Default for Recorder {
    fn default() -> Self {
        Self::with_limit(SAMPLE_LIMIT)
    }
}

impl Recorder {
    /// Keeps all accesses until `limit` different lines are known. Then the rate of sampling halves.
    pub fn with_limit(limit: usize) -> Self {
        let (indices, youngest) = (HashMap::default(), Youngest::default());
        Self { limit, indices, walks: Vec::new(), youngest, level: 0, accesses: 0, notes: Vec::new() }
    }

    /// Records an access of `key`: the address of the instruction, the size in bytes, and whether it is a store.
    pub fn access(&mut self, key: Key, address: u64, analysis: &mut Analysis) {
        self.accesses += 1;
        let site = self.index(key);
        let walk = &mut self.walks[site as usize].1;
        let (last_page, page) = (walk.last.map(|last| last / PAGE_BYTES), address / PAGE_BYTES);
        walk.access(address, key.1);
        if last_page != Some(page) && is_kept(page, self.level) {
            analysis.enter_page(site as usize, page);
        }
        self.sample(site, address / LINE_BYTES, analysis);
    }

    fn sample(&mut self, site: u32, line: u64, analysis: &mut Analysis) {
        if !is_kept(line, self.level) {
            return;
        }
        match self.youngest.access(line) {
            Found::Young(place) => {
                self.walks[site as usize].2[place] += 1 << self.level;
                analysis.enter_young(site as usize, line);
            }
            Found::Old(displaced) => analysis.access_old(site as usize, line, displaced),
        }
        while analysis.count_known() > self.limit {
            self.level += 1;
            self.youngest.retain(|line| is_kept(line, self.level));
            analysis.halve();
        }
    }

    fn index(&mut self, key: Key) -> u32 {
        if let Some(index) = self.indices.get(&key) {
            return *index;
        }
        let (_, size, is_store) = key;
        let key = if self.walks.len() < MOST_SITES { key } else { (0, size, is_store) };
        *self.indices.entry(key).or_insert_with(|| {
            self.walks.push((key, Walk::default(), Default::default()));
            self.walks.len() as u32 - 1
        })
    }

    /// Returns the sites, and notes about the limits of such a trace.
    pub fn finish(mut self) -> TextTrace {
        self.notes.push("A text trace has no values: chains and pointers count as random or local.".into());
        if self.walks.iter().all(|((address, ..), ..)| *address == 0) {
            self.notes.push("The trace has no instructions: accesses are joined by size and direction.".into());
        }
        if self.walks.len() >= MOST_SITES {
            let first =
                "The trace has many instructions: those after the first 32,768 are joined by size and direction.";
            self.notes.push(first.into());
        }
        let site = |((address, size, is_store), walk, young): (Key, Walk, Young)| Site {
            address,
            size,
            is_store,
            last_address: walk.last.unwrap_or(0),
            counters: walk.counters,
            young,
            ..Site::default()
        };
        let sites = self.walks.into_iter().map(site).collect();
        TextTrace { sites, accesses: self.accesses, notes: self.notes }
    }
}
