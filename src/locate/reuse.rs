//! LRU stack distances: the number of different lines since the last access to a line.
//!
//! SOURCE: R. L. Mattson, J. Gecsei, D. R. Slutz, I. L. Traiger, "Evaluation techniques for storage hierarchies", IBM Systems Journal
//! 9(2), 1970. A Fenwick tree over the times of last accesses counts the lines: B. T. Bennett, V. J. Kruskal, "LRU stack processing",
//! IBM Journal of Research and Development 19(4), 1975. Its leaves here are groups of 4096 bits, so that it stays in a core's caches.

use foldhash::fast::FixedState;
use std::collections::HashMap;

/// Lines in the list before the tree. Most accesses of programs find their line here. The tool has the same list.
pub const YOUNGEST: usize = 8;
const FIRST_ROOM: usize = 1 << 12;
/// Instead of the time of a line that is among the youngest.
const YOUNG: u32 = u32::MAX;

/// The youngest lines, the last accessed one first.
#[derive(Clone, Debug, Default)]
pub struct Youngest {
    lines: [u64; YOUNGEST],
    count: usize,
}

/// Where an access finds its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// At this place among the youngest: this number of different lines were accessed since.
    Young(usize),
    Old(Displaced),
}

/// What an old line, or a new one, does to the youngest ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Displaced {
    /// Number of the youngest lines before.
    pub young: u64,
    pub line: Option<u64>,
}

impl Youngest {
    pub fn access(&mut self, line: u64) -> Found {
        let place = self.lines[..self.count].iter().position(|young| *young == line);
        let position = place.map_or_else(|| Found::Old(self.displace()), Found::Young);
        self.lines.copy_within(0..place.unwrap_or(self.count - 1), 1);
        self.lines[0] = line;
        position
    }

    /// Makes room for another line.
    fn displace(&mut self) -> Displaced {
        let (young, is_full) = (self.count as u64, self.count == YOUNGEST);
        self.count += usize::from(!is_full);
        Displaced { young, line: is_full.then_some(self.lines[YOUNGEST - 1]) }
    }

    pub fn retain(&mut self, keep: impl Fn(u64) -> bool) {
        let kept: Vec<u64> = self.lines[..self.count].iter().copied().filter(|line| keep(*line)).collect();
        self.lines[..kept.len()].copy_from_slice(&kept);
        self.count = kept.len();
    }
}

/// All known lines, with the older ones in the order of their last access. Lines are numbers below 2^64 - 1.
pub struct Tree {
    /// The time of the last access of each line, or `YOUNG`.
    times: HashMap<u64, u32, FixedState>,
    /// The line that was accessed at each time until now.
    accessed: Vec<u64>,
    /// Times of last accesses of the older lines.
    marks: Marks,
}

impl Default for Tree {
    fn default() -> Self {
        Self { times: HashMap::default(), accessed: Vec::new(), marks: Marks::new(FIRST_ROOM) }
    }
}

impl Tree {
    /// Accesses an older or new line. Returns the number of different lines since its last access; `None` for its first.
    pub fn access(&mut self, line: u64, displaced: Displaced) -> Option<u64> {
        let distance = self.take(line).map(|above| above + displaced.young);
        displaced.line.into_iter().for_each(|line| self.push(line));
        distance
    }

    /// Returns the number of different lines, with the youngest ones.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    pub fn retain(&mut self, keep: impl Fn(u64) -> bool) {
        self.times.retain(|line, _| keep(*line));
        self.compact(keep);
    }

    /// Removes a line from the older ones. Returns the number of those that were accessed after it.
    fn take(&mut self, line: u64) -> Option<u64> {
        let time = self.times.insert(line, YOUNG).filter(|time| *time != YOUNG)? as usize;
        let above = self.marks.count - self.marks.count_until(time);
        self.marks.clear(time);
        Some(above as u64)
    }

    fn push(&mut self, line: u64) {
        if self.accessed.len() == self.marks.room() {
            self.compact(|_| true);
        }
        let now = self.accessed.len();
        self.accessed.push(line);
        self.marks.set(now);
        self.times.insert(line, now as u32);
    }

    /// Renumbers the times of lines to keep without gaps, and doubles the room if more than half of it is used.
    fn compact(&mut self, keep: impl Fn(u64) -> bool) {
        let marked = (0..self.accessed.len()).filter(|time| self.marks.is_set(*time));
        self.accessed = marked.map(|time| self.accessed[time]).filter(|line| keep(*line)).collect();
        let room = self.marks.room();
        self.marks = Marks::new(if 2 * self.accessed.len() > room { 2 * room } else { room });
        for (time, line) in self.accessed.iter().enumerate() {
            self.marks.set(time);
            self.times.insert(*line, time as u32);
        }
    }
}

/// Marked times, with quick counts: a bit for each time, the number of bits in each word, and a Fenwick tree over groups of words.
struct Marks {
    words: Vec<u64>,
    counts: Vec<u8>,
    groups: Vec<u32>,
    count: usize,
}

const WORD_BITS: usize = 64;
const GROUP_WORDS: usize = 64;

impl Marks {
    /// Returns room for this number of times, a multiple of those of a group.
    fn new(room: usize) -> Self {
        let words = room / WORD_BITS;
        Self { words: vec![0; words], counts: vec![0; words], groups: vec![0; words / GROUP_WORDS + 1], count: 0 }
    }

    fn room(&self) -> usize {
        WORD_BITS * self.words.len()
    }

    fn is_set(&self, time: usize) -> bool {
        self.words[time / WORD_BITS] >> (time % WORD_BITS) & 1 == 1
    }

    fn set(&mut self, time: usize) {
        let word = time / WORD_BITS;
        self.words[word] |= 1 << (time % WORD_BITS);
        self.counts[word] += 1;
        self.add_to_group(word / GROUP_WORDS, 1);
        self.count += 1;
    }

    fn clear(&mut self, time: usize) {
        let word = time / WORD_BITS;
        self.words[word] &= !(1 << (time % WORD_BITS));
        self.counts[word] -= 1;
        self.add_to_group(word / GROUP_WORDS, u32::MAX);
        self.count -= 1;
    }

    fn add_to_group(&mut self, group: usize, value: u32) {
        let mut node = group + 1;
        while node < self.groups.len() {
            self.groups[node] = self.groups[node].wrapping_add(value);
            node += node & node.wrapping_neg();
        }
    }

    fn count_until(&self, time: usize) -> usize {
        let (word, group) = (time / WORD_BITS, time / WORD_BITS / GROUP_WORDS);
        let in_word = (self.words[word] << (WORD_BITS - 1 - time % WORD_BITS)).count_ones();
        let in_group: u32 = self.counts[group * GROUP_WORDS..word].iter().map(|count| u32::from(*count)).sum();
        let (mut node, mut sum) = (group, in_word + in_group);
        while node > 0 {
            sum += self.groups[node];
            node &= node - 1;
        }
        sum as usize
    }
}

/// Bins per doubling of the distance, so that the misses of caches of 4, 5, 6 or 7 times a power of two are exact.
const BINS: u64 = 4;

/// Numbers of accesses by their stack distance. Distances below 8 have their own bins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    /// First accesses to lines.
    pub first: u64,
}

impl Histogram {
    /// Counts accesses at one distance; `None` is a first access.
    pub fn add(&mut self, distance: Option<u64>, accesses: u64) {
        let Some(distance) = distance else {
            self.first += accesses;
            return;
        };
        let bin = Self::bin(distance);
        if bin >= self.counts.len() {
            self.counts.resize(bin + 1, 0);
        }
        self.counts[bin] += accesses;
    }

    /// Counts accesses that find their line at each place among the youngest.
    pub fn add_young(&mut self, counts: &[u64; YOUNGEST]) {
        let counts = counts.iter().enumerate().filter(|(_, accesses)| **accesses > 0);
        counts.for_each(|(place, accesses)| self.add(Some(place as u64), *accesses));
    }

    pub fn merge(&mut self, other: &Self) {
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.first += other.first;
    }

    fn bin(distance: u64) -> usize {
        if distance < 2 * BINS {
            return distance as usize;
        }
        let octave = u64::from(distance.ilog2()) - 2;
        (BINS * octave + (distance >> octave)) as usize
    }

    fn start(bin: usize) -> f64 {
        let bin = bin as u64;
        if bin < 2 * BINS {
            return bin as f64;
        }
        let octave = bin / BINS - 1;
        ((BINS + bin % BINS) as f64) * (octave as f64).exp2()
    }

    /// Returns the misses in a fully associative LRU cache, with first accesses. Within a bin, distances are even.
    pub fn misses(&self, lines: f64) -> f64 {
        let part = |(bin, count): (usize, &u64)| {
            let (start, end) = (Self::start(bin), Self::start(bin + 1));
            *count as f64 * ((end - lines) / (end - start)).clamp(0.0, 1.0)
        };
        self.counts.iter().enumerate().map(part).sum::<f64>() + self.first as f64
    }

    /// Returns the end and the accesses of each bin of distances below a number of lines.
    pub fn bins_within(&self, lines: f64) -> impl Iterator<Item = (f64, f64)> {
        let bins = self.counts.iter().enumerate().map(|(bin, count)| (Self::start(bin + 1), *count as f64));
        bins.filter(move |bin| bin.0 <= lines)
    }

    /// Returns the distance that `accesses` of the accesses have or exceed, without first accesses; `None` if there are fewer.
    pub fn distance_exceeded_by(&self, accesses: f64) -> Option<f64> {
        let mut beyond = 0.0;
        for (bin, count) in self.counts.iter().enumerate().rev() {
            let count = *count as f64;
            if count > 0.0 && beyond + count >= accesses {
                let (start, end) = (Self::start(bin), Self::start(bin + 1));
                return Some(end - (end - start) * ((accesses - beyond) / count).clamp(0.0, 1.0));
            }
            beyond += count;
        }
        None
    }
}
