//! The memory of a rank: allocated once per launch, on the requested pages, and filled once.

use crate::choice::choice;
use crate::crew::Crew;
use crate::hardware::{Hardware, base_page_bytes, huge_page_bytes, memory_areas, pages_by_node, set_memory_node};
use crate::progress;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Value;
use apexmap_base::sample::Phase;
use memmap2::{Advice, MmapMut};
use std::collections::BTreeMap;

choice! {
    /// The pages to request. [`GrantedPages`] reports the pages that the system actually provides.
    pub enum Pages {
        /// Transparent huge pages (2 MiB on x86_64), requested with madvise.
        Huge = "huge",
        /// The system's base pages (4 KiB on x86_64), even if huge pages are the default.
        Base = "base",
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrantedPages {
    /// At least 95 % of the memory is on such pages. Absent if they are mixed or the system does not report it.
    pub page_bytes: Option<u64>,
    pub huge_share: Option<f64>,
    /// Whether the caches still hold what a run of the same point left.
    pub is_warm: bool,
}

impl GrantedPages {
    const UNKNOWN: Self = Self { page_bytes: None, huge_share: None, is_warm: false };

    /// What is certain without the system's account: a request for base pages is never refused.
    fn unread(requested: Pages) -> Self {
        Self { page_bytes: (requested == Pages::Base).then(base_page_bytes), ..Self::UNKNOWN }
    }

    pub fn outputs(self) -> impl Iterator<Item = (&'static str, Value)> {
        let bytes = self.page_bytes.map(|bytes| ("page_bytes", Value::Integer(bytes)));
        let share = self.huge_share.map(|share| ("huge_share", Value::Real(share)));
        bytes.into_iter().chain(share)
    }
}

enum Memory {
    Pages {
        map: MmapMut,
        /// Words from the start of the map to the first huge-page boundary.
        skip: usize,
    },
    /// For simulated ranks: a process has fewer maps than there may be ranks.
    Heap(Vec<u64>),
}

struct Region {
    memory: Memory,
    words: usize,
    /// The identity of the contents, and the number of words from the start that hold them.
    filled: Option<(u64, usize)>,
    /// Whether the words were lent mutably and not declared restored since; `filled` may then be wrong.
    changed: bool,
    granted: GrantedPages,
}

/// One region per kind of page. Regions only grow.
#[derive(Default)]
pub struct Arena {
    regions: [Option<Region>; 2],
    expected_words: usize,
    /// All of the memory must be on it.
    node: Option<usize>,
    /// Ranks that fill memory at the same time on this machine; 0 if unknown, and then a rank fills its memory alone.
    ranks_on_node: usize,
    is_simulated: bool,
    /// Whether the latest run on this rank was of the same point, so that its data are in the caches.
    pub repeats_point: bool,
}

impl Arena {
    /// The memory comes from the heap and grows only as needed, because the time of its accesses does not count.
    pub fn for_simulated_rank() -> Self {
        Self { is_simulated: true, ..Self::default() }
    }

    pub fn is_simulated(&self) -> bool {
        self.is_simulated
    }

    /// The largest number of words that will be requested. Memory is then allocated and filled only once.
    pub fn announce_words(&mut self, words: usize) {
        if !self.is_simulated {
            self.expected_words = self.expected_words.max(words);
        }
    }

    /// Each rank fills its memory with its share of the hardware threads.
    pub fn share_hardware_threads(&mut self, ranks_on_node: usize) {
        self.ranks_on_node = ranks_on_node;
    }

    /// `None` lets the system choose. A change frees the memory on the previous node.
    pub fn place_on_node(&mut self, node: Option<usize>) -> Result<()> {
        if node == self.node {
            return Ok(());
        }
        if self.is_simulated {
            return Err(Error::input("simulated ranks have no NUMA nodes", "leave memory_node out"));
        }
        let nodes = &Hardware::this_machine().memory_nodes;
        if let Some(node) = node.filter(|node| !nodes.is_empty() && !nodes.contains(node)) {
            let list: Vec<String> = nodes.iter().map(usize::to_string).collect();
            return Err(Error::input(
                format!("memory_node = {node}: this process may use memory of NUMA node {} only", list.join(", ")),
                "name one of these, or leave memory_node out",
            ));
        }
        self.regions = Default::default();
        self.node = node;
        Ok(())
    }

    pub fn words(
        &mut self,
        pages: Pages,
        words: usize,
        contents: u64,
        value: impl Fn(usize) -> u64 + Sync,
    ) -> Result<(&[u64], GrantedPages)> {
        self.words_with_addresses(pages, words, contents, |_, index| value(index))
    }

    /// Words may hold addresses: `value` also gets the address of the first word.
    pub fn words_with_addresses(
        &mut self,
        pages: Pages,
        words: usize,
        contents: u64,
        value: impl Fn(usize, usize) -> u64 + Sync,
    ) -> Result<(&[u64], GrantedPages)> {
        let region = self.filled_region(pages, words, contents, value)?;
        let granted = region.granted;
        Ok((&region.words_mut()[..words], granted))
    }

    /// The next caller gets the words filled again, unless [`Arena::mark_restored`] is called first.
    pub fn words_mut(
        &mut self,
        pages: Pages,
        words: usize,
        contents: u64,
        value: impl Fn(usize) -> u64 + Sync,
    ) -> Result<(&mut [u64], GrantedPages)> {
        let region = self.filled_region(pages, words, contents, |_, index| value(index))?;
        region.changed = true;
        let granted = region.granted;
        Ok((&mut region.words_mut()[..words], granted))
    }

    /// The words from the latest [`Arena::words_mut`] hold their original contents again.
    pub fn mark_restored(&mut self, pages: Pages) {
        if let Some(region) = &mut self.regions[pages as usize] {
            region.changed = false;
        }
    }

    pub fn granted_pages(&self, pages: Pages) -> GrantedPages {
        self.regions[pages as usize].as_ref().map_or(GrantedPages::UNKNOWN, |region| region.granted)
    }

    /// For a subset of the pages. Empty if the system does not report it.
    pub fn memory_nodes(&self) -> BTreeMap<usize, usize> {
        let mut nodes = BTreeMap::new();
        for region in self.regions.iter().flatten().filter(|_| !self.is_simulated) {
            for (node, pages) in pages_by_node(region.words()) {
                *nodes.entry(node).or_default() += pages;
            }
        }
        nodes
    }

    fn filled_region(
        &mut self,
        pages: Pages,
        words: usize,
        contents: u64,
        value: impl Fn(usize, usize) -> u64 + Sync,
    ) -> Result<&mut Region> {
        let (node, ranks_on_node, is_simulated) = (self.node, self.ranks_on_node, self.is_simulated);
        let slot = &mut self.regions[pages as usize];
        if slot.as_ref().is_none_or(|region| region.words < words) {
            *slot = None; // free the old one first
            *slot = Some(if is_simulated {
                Region::on_heap(words)
            } else {
                Region::allocate(pages, words.max(self.expected_words), node)?
            });
        }
        let region = slot.as_mut().expect("allocated above");
        let filled_words = match region.filled {
            Some((held_contents, count)) if held_contents == contents && !region.changed => count,
            _ => 0,
        };
        if filled_words < words {
            // The first fill covers the whole region, so that the system provides all of its pages before the first measurement.
            // Later fills cover only the requested words.
            let fill_end = if region.filled.is_none() { region.words } else { words };
            // A region never moves: a larger one is allocated and filled again.
            // Exposed, because pointer chases turn stored addresses into pointers again.
            let first = region.words().as_ptr().expose_provenance();
            let value = |index| value(first, index);
            let crew = if is_simulated { Crew::default() } else { fill_crew(ranks_on_node, node) };
            fill_words(&crew, &mut region.words_mut()[..fill_end], filled_words, value);
            region.filled = Some((contents, fill_end));
            region.changed = false;
            if is_simulated {
                return Ok(region);
            }
            region.granted = read_granted_pages(region.words_mut()).unwrap_or_else(|| GrantedPages::unread(pages));
            require_node(node, region.words())?;
        }
        Ok(region)
    }
}

impl Region {
    fn on_heap(words: usize) -> Self {
        let memory = Memory::Heap(vec![0; words.max(1)]);
        Self { memory, words: words.max(1), filled: None, changed: false, granted: GrantedPages::UNKNOWN }
    }

    fn allocate(pages: Pages, words: usize, node: Option<usize>) -> Result<Self> {
        let page = huge_page_bytes() as usize;
        let huge = if pages == Pages::Huge { huge_page_portion(words.max(1) * 8, page) } else { 0 };
        // One page more, so that the words can begin at the boundary of a huge page.
        let bytes = huge.max(words.max(1) * 8) + page;
        let refuse = |cause: std::io::Error| {
            Error::environment(
                format!("cannot allocate {} of memory: {cause}", apexmap_base::units::bytes(bytes as f64)),
                "use a smaller memory size (M) or fewer ranks on this node",
            )
        };
        let map = MmapMut::map_anon(bytes).map_err(refuse)?;
        if let Some(node) = node {
            set_memory_node(&map, node).map_err(|cause| {
                Error::environment(
                    format!("the system refuses to place memory on NUMA node {node} (mbind): {cause}"),
                    "leave memory_node out; a container needs permission to place memory (CAP_SYS_NICE)",
                )
            })?;
        }
        let skip = (page - map.as_ptr() as usize % page) % page;
        // The system may ignore the advice (a kernel without huge pages). `read_granted_pages` reads back the actual pages.
        // Huge pages may be the default of the system. Here they are only where they are requested.
        let _ = map.advise(Advice::NoHugePage);
        if huge > 0 {
            let _ = map.advise_range(Advice::HugePage, skip, huge);
        }
        let granted = GrantedPages::UNKNOWN;
        let memory = Memory::Pages { map, skip: skip / 8 };
        Ok(Self { memory, words: words.max(1), filled: None, changed: false, granted })
    }

    fn words(&self) -> &[u64] {
        match &self.memory {
            Memory::Heap(words) => words,
            // SAFETY: as in `words_mut`, the words lie within the map and are aligned; here they are borrowed for reading.
            Memory::Pages { map, skip } => unsafe {
                std::slice::from_raw_parts(map.as_ptr().cast::<u64>().add(*skip), self.words)
            },
        }
    }

    fn words_mut(&mut self) -> &mut [u64] {
        match &mut self.memory {
            Memory::Heap(words) => words,
            // SAFETY: the map is page-aligned, hence aligned for u64; any bits are a valid u64; `allocate` made the map large
            // enough for `skip` and `words`.
            Memory::Pages { map, skip } => unsafe {
                std::slice::from_raw_parts_mut(map.as_mut_ptr().cast::<u64>().add(*skip), self.words)
            },
        }
    }
}

/// Without a NUMA node, they run on the node of the calling thread, where pages land that are first touched there.
fn fill_crew(ranks_on_node: usize, node: Option<usize>) -> Crew {
    match (ranks_on_node, node) {
        (0, _) => Crew::default(),
        (ranks, None) => Crew::on_this_numa_node(ranks),
        (ranks, Some(_)) => Crew::new(ranks),
    }
}

/// Whole huge pages that a thread fills at a time, so that only one thread touches a page first.
const CHUNK_WORDS: usize = 1 << 20;

/// Word i gets `value(i)`, from index `start` on.
fn fill_words(crew: &Crew, words: &mut [u64], start: usize, value: impl Fn(usize) -> u64 + Sync) {
    let end = words.len();
    let mut rest = &mut words[start..];
    let chunks = (start / CHUNK_WORDS..end.div_ceil(CHUNK_WORDS)).map(move |chunk| {
        let chunk_start = start.max(chunk * CHUNK_WORDS);
        let (chunk_words, others) =
            std::mem::take(&mut rest).split_at_mut(end.min((chunk + 1) * CHUNK_WORDS) - chunk_start);
        rest = others;
        (chunk_start, chunk_words)
    });
    let work = |(chunk_start, chunk): (usize, &mut [u64])| {
        chunk.iter_mut().enumerate().for_each(|(index, word)| *word = value(chunk_start + index));
    };
    crew.for_each(end.div_ceil(CHUNK_WORDS) - start / CHUNK_WORDS, chunks, work, |share| {
        progress::report_share(Phase::Filling, share);
    });
}

/// If the system reports the node.
fn require_node(node: Option<usize>, words: &[u64]) -> Result<()> {
    let Some(node) = node else { return Ok(()) };
    match pages_by_node(words).keys().find(|&&other| other != node) {
        Some(other) => Err(Error::environment(
            format!("memory asked for on NUMA node {node} is on node {other}"),
            "check that the node has enough free memory (numactl --hardware)",
        )),
        None => Ok(()),
    }
}

/// The last page is huge only if the memory fills at least half of it.
fn huge_page_portion(bytes: usize, page: usize) -> usize {
    (bytes + page / 2) / page * page
}

/// If huge pages are requested.
pub fn allocated_bytes(words: u64) -> u64 {
    let page = huge_page_bytes() as usize;
    let bytes = usize::try_from(words.saturating_mul(8)).unwrap_or(usize::MAX / 2).min(usize::MAX / 2);
    huge_page_portion(bytes, page).max(bytes) as u64
}

/// The system's account of this process; `None` if it has none.
fn read_granted_pages(words: &[u64]) -> Option<GrantedPages> {
    let areas = memory_areas()?;
    let (start, end) = (words.as_ptr() as u64, words.as_ptr() as u64 + 8 * words.len() as u64);
    // The system may report the memory of neighbouring ranks as one area, so the share is computed over the area's resident
    // pages.
    let (mut resident, mut huge, mut base) = (0, 0, base_page_bytes());
    for area in areas.iter().filter(|area| area.start < end && area.end > start) {
        resident += area.resident;
        huge += area.huge;
        base = area.page_bytes;
    }
    if resident == 0 {
        return None;
    }
    let share = (huge as f64 / resident as f64).min(1.0);
    let page_bytes = match share {
        s if s >= 0.95 => Some(huge_page_bytes()),
        s if s <= 0.05 => Some(base),
        _ => None,
    };
    Some(GrantedPages { page_bytes, huge_share: Some(share), ..GrantedPages::UNKNOWN })
}
