//! Names of numbers on cards, such as `read_seconds--128MiB-huge-independent`.

use super::{CATALOGUE, Entry, entry_of};
use apexmap_base::error::{Error, Result};
use apexmap_base::name_lookup::suggest;
use apexmap_base::units::{self, Unit};
use std::fmt;

/// Name of a number on a card: its entry in the [`CATALOGUE`] and the condition of its measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberName {
    pub entry: &'static Entry,
    /// Condition; empty for the number that models use.
    pub qualifier: Vec<Word>,
}

/// One word of a qualifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// A size in the largest unit with a whole number: `128MiB`.
    Bytes(u64),
    /// A fraction of the time: `25_per_cent`.
    PerCent(u64),
    /// A pair of ranks, from the core of the first to that of the second: `0_to_1`.
    Pair(u64, u64),
    Huge,
    Base,
    BasePages,
    Independent,
    Prefetched,
    Dependent,
    Send,
    Put,
    Mailbox,
    /// In both directions at the same time.
    Both,
    /// One at a time, or one buffer for all messages.
    One,
    Many,
    /// To few destinations.
    Few,
    /// RandomAccess with one table per core. `Shared`: with one table for all cores.
    Star,
    Shared,
    /// Between ranks of one node.
    Node,
    /// In the exchange of a round of RandomAccess.
    Exchange,
    /// A word that no calibration uses.
    Other(String),
}

const WORDS: &[(&str, Word)] = &[
    ("huge", Word::Huge),
    ("base", Word::Base),
    ("base_pages", Word::BasePages),
    ("independent", Word::Independent),
    ("prefetched", Word::Prefetched),
    ("dependent", Word::Dependent),
    ("send", Word::Send),
    ("put", Word::Put),
    ("mailbox", Word::Mailbox),
    ("both", Word::Both),
    ("one", Word::One),
    ("many", Word::Many),
    ("few", Word::Few),
    ("star", Word::Star),
    ("shared", Word::Shared),
    ("node", Word::Node),
    ("exchange", Word::Exchange),
];

const SIZES: [(u32, &str); 4] = [(30, "GiB"), (20, "MiB"), (10, "KiB"), (0, "B")];

impl NumberName {
    pub fn new(entry: &'static Entry) -> Self {
        Self { entry, qualifier: Vec::new() }
    }

    pub fn with_qualifier(self, qualifier: impl IntoIterator<Item = Word>) -> Self {
        Self { qualifier: qualifier.into_iter().collect(), ..self }
    }

    pub fn parse(text: &str) -> Result<Self> {
        let (base, qualifier) = split(text);
        let entry = entry_of(base).ok_or_else(|| {
            let names: Vec<_> = CATALOGUE.iter().map(|entry| entry.name).collect();
            Error::input(format!("machine cards have no number \"{base}\""), suggest(base, &names))
        })?;
        let words = qualifier.map(|words| words.split('-').map(Word::parse).collect::<Option<_>>());
        let qualifier = words.unwrap_or(Some(Vec::new())).ok_or_else(|| {
            let next = "write NAME--WORD-WORD, size first, such as update_seconds--128MiB-huge";
            Error::input(format!("\"{text}\" is not a name with a qualifier"), next)
        })?;
        Ok(Self { entry, qualifier })
    }
}

impl fmt::Display for NumberName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.name)?;
        for (index, word) in self.qualifier.iter().enumerate() {
            write!(f, "{}{word}", if index == 0 { "--" } else { "-" })?;
        }
        Ok(())
    }
}

impl Word {
    /// Parses a word. Returns `None` unless it consists of letters, digits and underscores.
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() || !text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return None;
        }
        let size = || units::parse(text, Unit::Bytes).ok().map(|bytes| Word::Bytes(bytes as u64));
        let share = || text.strip_suffix("_per_cent")?.parse().ok().map(Word::PerCent);
        let pair = || {
            let (first, second) = text.split_once("_to_")?;
            Some(Word::Pair(first.parse().ok()?, second.parse().ok()?))
        };
        let plain = WORDS.iter().find(|(spelling, _)| *spelling == text).map(|(_, word)| word.clone());
        let parsed = plain.or_else(share).or_else(pair).or_else(size).filter(|word| word.to_string() == text);
        Some(parsed.unwrap_or_else(|| Word::Other(text.to_owned())))
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Word::Bytes(bytes) => {
                let whole = |(bits, _): &&(u32, &str)| bytes >> bits > 0 && bytes.is_multiple_of(1 << bits);
                let (bits, unit) = SIZES.iter().find(whole).unwrap_or(&(0, "B"));
                write!(f, "{}{unit}", bytes >> bits)
            }
            Word::Pair(first, second) => write!(f, "{first}_to_{second}"),
            Word::PerCent(share) => write!(f, "{share}_per_cent"),
            Word::Other(word) => f.write_str(word),
            plain => f.write_str(WORDS.iter().find(|(_, word)| word == plain).map_or("", |(text, _)| text)),
        }
    }
}

pub fn split(name: &str) -> (&str, Option<&str>) {
    name.split_once("--").map_or((name, None), |(base, qualifier)| (base, Some(qualifier)))
}

/// Kernels use the same words for their parameters.
impl From<&Word> for apexmap_base::point::Value {
    fn from(word: &Word) -> Self {
        Self::Text(word.to_string())
    }
}
