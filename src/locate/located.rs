//! A located program: its sites joined by line and kind, with shares, sizes and places.

use crate::analysis::{Analysis, Reuse};
use crate::place::{Accesses, Place};
use crate::reuse::Histogram;
use crate::runs::{Runs, Step, steps};
use crate::sets::{Conflict, Sets};
use crate::site::{Counters, HUGE_PAGE_BYTES, LINE_BYTES, PAGE_BYTES, Site};
use crate::walk::{Kind, kind_of};
use apexmap_base::terminal::to_printable;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Caches whose misses are shared out: their names and sizes in bytes.
pub type Caches = [(&'static str, u64); 2];

/// What a machine reports.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    pub caches: Caches,
    /// Of the second-level cache: last caches choose sets by a hash of the address.
    pub sets: Option<Sets>,
    pub tlb_entries: Option<u32>,
}

impl Machine {
    /// Returns the bytes of the pages of 4 KiB that the TLB holds; 0 if it is unknown.
    pub fn tlb_reach(&self) -> f64 {
        f64::from(self.tlb_entries.unwrap_or(0)) * PAGE_BYTES as f64
    }
}

impl From<Caches> for Machine {
    fn from(caches: Caches) -> Self {
        Self { caches, sets: None, tlb_entries: None }
    }
}

/// The pages that a part reaches.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Pages {
    /// Bytes of its pages of 4 KiB, and of 2 MiB.
    pub bytes: f64,
    pub huge_bytes: f64,
    /// Misses per access in the TLB for pages of 4 KiB.
    pub miss_ratio: Option<f64>,
}

/// Lines of the cache that keeps what is used again at once. Its misses of other sites come between a site's runs.
const SMALL_CACHE: f64 = 512.0;
/// The smallest share of accesses or misses that gets a place.
const LEAST_SHARE: f64 = 0.01;
/// The share of the five largest lines below which no line dominates.
const FLAT: f64 = 0.4;

/// Accesses of one line and kind, of one function, or of the whole program.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// `file.c:18`, a function, or a library.
    pub name: String,
    /// The function; may be empty, and is if it is the name.
    pub function: String,
    /// Whether the name is a line or an instruction. Otherwise it is a function or an object, which has many lines.
    pub is_line: bool,
    /// Shares of the part's accesses by kind, the largest first.
    pub kinds: Vec<(Kind, f64)>,
    pub share: f64,
    pub misses: [f64; 2],
    /// Stride in bytes of its largest site; the size of a word if the sites of the line leave out none.
    pub stride: i64,
    /// Bytes of consecutive words that the sites of the line read at each step.
    pub step_bytes: f64,
    /// Bytes of the different lines that it reaches.
    pub footprint: f64,
    pub pages: Pages,
    /// In the second-level cache, if the part has strided walks.
    pub conflict: Option<Conflict>,
    /// Bytes that the program reaches between two runs through the same line: for half of the runs, and for 90 %; `None` without reuse.
    pub reused_after: Option<[f64; 2]>,
    /// For the larger lines and for the program.
    pub place: Option<Place>,
    pub accesses: u64,
    /// Words whose time counts: without stores of words that were just loaded, unless they are a sweep that a cache writes back.
    pub words: f64,
    pub stores: u64,
}

pub struct Located {
    /// Parts by line and kind, the largest share of accesses or misses first.
    pub lines: Vec<Part>,
    /// Parts by function, or by object without symbols.
    pub functions: Vec<Part>,
    pub program: Part,
    pub machine: Machine,
    /// Misses of each cache, per access.
    pub miss_ratios: [f64; 2],
    /// One of 2^level lines was sampled at last.
    pub level: u32,
}

impl Located {
    pub fn new(sites: &[Site], analysis: Analysis, machine: impl Into<Machine>) -> Self {
        let machine = machine.into();
        let level = analysis.level();
        let facts = Facts::new(sites, analysis, machine.sets);
        let kinds = &facts.kinds;
        let join = |key: &dyn Fn(usize) -> Key| join(sites, &facts, key);
        let whole = join(&|_| Default::default()).pop().unwrap_or_default();
        let totals = Totals::new(&whole, machine, level);
        let parts = |key: &dyn Fn(usize) -> Key, has_places: bool| {
            let mut parts: Vec<Part> = join(key).iter().map(|group| totals.part(group, has_places)).collect();
            parts.sort_by(|a, b| b.weight().total_cmp(&a.weight()));
            parts
        };
        let lines = parts(
            &|index| Key {
                name: line_name(&sites[index]),
                kind: Some(kinds[index]),
                function: function(&sites[index]),
                is_line: has_line(&sites[index]),
            },
            true,
        );
        let functions = parts(&|index| Key { name: function_or_object(&sites[index]), ..Key::default() }, false);
        let miss_ratios = totals.misses.map(|misses| misses / totals.accesses);
        Self { lines, functions, program: totals.part(&whole, true), machine, miss_ratios, level }
    }

    /// Returns whether no line dominates: the five largest have less than 40 % of the accesses and of the misses.
    pub fn is_flat(&self) -> bool {
        let lines = || self.lines.iter().filter(|part| part.is_line);
        let sum = |share: &dyn Fn(&Part) -> f64| lines().take(5).map(share).sum::<f64>();
        sum(&|part| part.share) < FLAT && sum(&|part| part.misses[0]) < FLAT
    }
}

impl Part {
    pub fn weight(&self) -> f64 {
        self.misses.iter().copied().fold(self.share, f64::max)
    }

    pub fn kind(&self) -> Kind {
        self.kinds.first().map_or(Kind::Random, |(kind, _)| *kind)
    }
}

/// What the sites of a group have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    name: String,
    /// `None` if kinds are joined.
    kind: Option<Kind>,
    function: String,
    is_line: bool,
}

#[derive(Default)]
struct Group {
    key: Key,
    counters: Counters,
    stores: u64,
    /// Accesses of the largest site, its stride, and the bytes that its line reads at each step.
    largest: (u64, i64, f64),
    runs: Runs,
    conflict_misses: f64,
    /// Of the largest site.
    conflict: Option<Conflict>,
    kinds: BTreeMap<Kind, u64>,
    reuse: Reuse,
    /// The same without sites that find their lines in the youngest ones: the store of a word that another site just loaded has no
    /// place. Empty if all sites are such.
    leading: Leading,
}

#[derive(Default)]
struct Leading {
    counters: Counters,
    runs: Runs,
    lines: Histogram,
}

/// Lines that count as just accessed.
const YOUNG_LINES: f64 = 8.0;

impl Leading {
    /// Adds a site unless nearly all lines that it enters are young.
    fn add(&mut self, counters: &Counters, runs: Runs, reuse: &Reuse) {
        let entered = (counters.accesses - counters.same_line.min(counters.accesses)) as f64;
        if reuse.lines.misses(YOUNG_LINES) >= 0.1 * entered {
            self.counters.merge(counters);
            self.runs.merge(runs);
            self.lines.merge(&reuse.lines);
        }
    }
}

impl Group {
    /// Returns the misses of the second-level cache, or of the last one.
    fn misses(&self, machine: &Machine, cache: usize) -> f64 {
        let misses = self.reuse.lines.misses(machine.caches[cache].1 as f64 / LINE_BYTES as f64);
        if cache == 0 { misses + self.conflict_misses } else { misses }
    }

    /// Returns counters, reuse and runs, of the leading sites if there are any.
    fn leading(&self) -> (&Counters, &Histogram, Runs) {
        match self.leading.counters.accesses {
            0 => (&self.counters, &self.reuse.lines, self.runs),
            _ => (&self.leading.counters, &self.leading.lines, self.leading.runs),
        }
    }
}

/// Of each site.
struct Facts {
    kinds: Vec<Kind>,
    reuse: Vec<Reuse>,
    steps: Vec<Step>,
    conflicts: Vec<(f64, Option<Conflict>)>,
}

impl Facts {
    fn new(sites: &[Site], analysis: Analysis, sets: Option<Sets>) -> Self {
        let level = analysis.level();
        let reuse = analysis.into_reuse(sites);
        let is_named = |site: &Site| !site.name.file.is_empty() || !site.name.function.is_empty();
        let line = |index: usize| {
            Some(&sites[index]).filter(|site| is_named(site)).map(|site| (line_name(site), function(site)))
        };
        let kinds: Vec<Kind> = sites.iter().zip(steps(sites, line)).map(|(site, step)| kind_of(site, step)).collect();
        // Runs are those of a row.
        let steps = steps(sites, |index| Some((line(index)?, kinds[index] as u8)));
        let least = sites.iter().map(|site| site.counters.accesses).sum::<u64>() / 1000;
        let conflict = |index: usize| {
            let (site, sets) = (&sites[index], sets?);
            let counts = kinds[index] == Kind::Strided && site.counters.accesses > least;
            counts.then(|| sets.extra_misses(site, steps[index].stride, &reuse[index].lines, level))
        };
        let conflicts = (0..sites.len()).map(|index| conflict(index).unwrap_or_default()).collect();
        Self { kinds, reuse, steps, conflicts }
    }
}

fn join(sites: &[Site], facts: &Facts, key: &dyn Fn(usize) -> Key) -> Vec<Group> {
    let mut groups: BTreeMap<Key, Group> = BTreeMap::new();
    for (index, site) in sites.iter().enumerate() {
        let key = key(index);
        let group = groups.entry(key.clone()).or_insert_with(|| Group { key, ..Group::default() });
        let counters = &site.counters;
        group.counters.merge(counters);
        let (reuse, step) = (&facts.reuse[index], facts.steps[index]);
        let (misses, conflict) = facts.conflicts[index];
        let runs = Runs::new(site, step, reuse.lines.misses(YOUNG_LINES));
        if counters.accesses > group.largest.0 {
            let has_gaps = step.bytes < step.stride as f64;
            let stride = if has_gaps { step.stride } else { u64::from(site.size) };
            let stride = counters.stride.signum() * stride.cast_signed();
            (group.largest, group.conflict) = ((counters.accesses, stride, step.bytes), conflict);
        }
        group.stores += if site.is_store { counters.accesses } else { 0 };
        group.runs.merge(runs);
        group.conflict_misses += misses;
        group.leading.add(counters, runs, reuse);
        *group.kinds.entry(facts.kinds[index]).or_default() += counters.accesses;
        group.reuse.merge(reuse);
    }
    groups.into_values().filter(|group| group.counters.accesses > 0).collect()
}

struct Totals {
    accesses: f64,
    machine: Machine,
    misses: [f64; 2],
    small_misses: f64,
    memory_lines: f64,
    level: u32,
}

impl Totals {
    fn new(whole: &Group, machine: Machine, level: u32) -> Self {
        let lines = &whole.reuse.lines;
        let misses = [0, 1].map(|cache| whole.misses(&machine, cache));
        let accesses = whole.counters.accesses.max(1) as f64;
        let memory_lines = whole.reuse.distinct.count(level);
        Self { accesses, machine, misses, small_misses: lines.misses(SMALL_CACHE), memory_lines, level }
    }

    fn part(&self, group: &Group, has_place: bool) -> Part {
        let accesses = group.counters.accesses as f64;
        let share = |value: f64, total: f64| if total > 0.0 { value / total } else { 0.0 };
        let miss = |cache: usize| share(group.misses(&self.machine, cache), self.misses[cache]);
        let mut kinds: Vec<(Kind, f64)> =
            group.kinds.iter().map(|(kind, count)| (*kind, *count as f64 / accesses)).collect();
        kinds.sort_by(|a, b| b.1.total_cmp(&a.1));
        let footprint_lines = group.reuse.distinct.count(self.level);
        let key = &group.key;
        let mut part = Part {
            name: key.name.clone(),
            function: if key.function == key.name { String::new() } else { key.function.clone() },
            is_line: key.is_line,
            kinds,
            share: accesses / self.accesses,
            misses: [miss(0), miss(1)],
            stride: group.largest.1,
            step_bytes: group.largest.2,
            footprint: footprint_lines * LINE_BYTES as f64,
            pages: self.pages(group),
            conflict: group.conflict,
            reused_after: self.reused_after(group),
            place: None,
            accesses: group.counters.accesses,
            words: accesses,
            stores: group.stores,
        };
        if part.kind() != Kind::Sweep {
            part.words = group.leading().2.words.clamp(1.0, accesses);
        }
        if has_place && part.weight() >= LEAST_SHARE {
            part.place = Some(self.accesses_of(group, footprint_lines).fit());
        }
        part
    }

    fn pages(&self, group: &Group) -> Pages {
        let Reuse { pages, distinct_pages, huge_pages, .. } = &group.reuse;
        let misses = |entries: u32| pages.misses(f64::from(entries)) / group.counters.accesses as f64;
        Pages {
            bytes: distinct_pages.count(self.level) * PAGE_BYTES as f64,
            huge_bytes: huge_pages.count(0) * HUGE_PAGE_BYTES as f64,
            miss_ratio: self.machine.tlb_entries.map(misses),
        }
    }

    /// Returns the distances that half and 90 % of the accesses have at most that begin a run or enter a line.
    fn reused_after(&self, group: &Group) -> Option<[f64; 2]> {
        let (counters, lines, _) = group.leading();
        let visits = (counters.accesses - counters.same_line.min(counters.accesses)) as f64;
        let reused = visits - lines.first as f64;
        if reused < 0.02 * visits {
            return None;
        }
        let distance = |beyond: f64| Some(lines.distance_exceeded_by(reused * beyond)? * LINE_BYTES as f64);
        Some([distance(0.5)?, distance(0.1)?])
    }

    fn accesses_of<'a>(&self, group: &'a Group, footprint_lines: f64) -> Accesses<'a> {
        let (counters, lines, runs) = group.leading();
        let (runs, words) = (runs.count.max(1.0), runs.words);
        let others = (self.small_misses - group.reuse.lines.misses(SMALL_CACHE)).max(0.0) / runs;
        let extent = group.reuse.extent.pages() * (PAGE_BYTES / LINE_BYTES);
        // A few lines are scattered over their pages; many lines are not fewer than the program's.
        let memory_lines = if footprint_lines < 64.0 { footprint_lines } else { extent as f64 };
        let memory_lines = memory_lines.clamp(1.0, self.memory_lines.max(extent as f64).max(1.0));
        let (accesses, part_accesses) = (counters.accesses as f64, group.counters.accesses as f64);
        Accesses { lines, accesses, part_accesses, runs, words, memory_lines, others }
    }
}

fn base_name(path: &str) -> String {
    let name = Path::new(path).file_name().map_or(path.into(), |name| name.to_string_lossy());
    to_printable(&name).into_owned()
}

fn function(site: &Site) -> String {
    to_printable(&site.name.function).into_owned()
}

/// Whether a site has a line; in a text trace, it has an instruction.
fn has_line(site: &Site) -> bool {
    !site.name.file.is_empty() || site.name.object.is_empty() && site.name.function.is_empty()
}

/// Returns `file.c:18`; without debug information the function, or else the object.
fn line_name(site: &Site) -> String {
    let name = &site.name;
    if name.file.is_empty() { function_or_object(site) } else { format!("{}:{}", base_name(&name.file), name.line) }
}

fn function_or_object(site: &Site) -> String {
    let function = function(site);
    match (function.is_empty(), site.name.object.is_empty()) {
        (false, _) => function,
        (true, false) => base_name(&site.name.object),
        (true, true) if site.address != 0 => format!("instruction {:#x}", site.address),
        (true, true) => format!("{} of {} B", if site.is_store { "writes" } else { "reads" }, site.size),
    }
}
