//! Apex-Map's surface from levels of memory, overlapping misses, and messages or gets.
//!
//! SOURCE: Apex-Map paper, Section 2 (the power law and the remote share) and Table 1 (polls, requests and replies). The sum
//! over levels is this program's extension in the paper's terms. `costs` has the terms, `lru` the hit ratios.
//!
//! The numbers come from uniformly drawn reads ([`Reads`]) and from accesses with a given remote share ([`Requests`]),
//! without the power law, so the surface is a true prediction. Those of the compact models all come from fits.

mod compact;
mod costs;
mod device;
pub mod hits;
pub mod lru;
mod reads;
mod requests;

pub use compact::{LINEAR, TWO_LEVEL, TWO_LEVEL_LINEAR};
pub use device::DeviceSurface;
pub use reads::{BlockSeconds, Reads, missing_memory_numbers, own_block_seconds, read_seconds};
pub use requests::Requests;

use crate::machine::Entry;
use crate::models::prelude::*;
use apexmap_base::units::HUGE_PAGE_BYTES;
use apexmap_measure::kernels::apex_map::{one_sided, sequential, two_sided};
use apexmap_measure::kernels::{self, Windows};
use apexmap_measure::numerics::join;
use apexmap_measure::numerics::power_law::{crossing_share, remote_share};
use costs::{Budget, MEMORY, Memory, REMOTE, Remote, SENDERS, TERMS};
use hits::{AccessShares, PointHits, Sizes, SurfacePoint};
use std::rc::Rc;

/// Bandwidth of a process: 8 L divided by the sum of issue, misses by level, translation, polls, and remote blocks.
pub struct Surface;

const ALPHA: Variable =
    Variable { valid: ValidNumbers::Share, ..variable("alpha", Unit::None, "temporal locality", None) };
const BLOCK: Variable = count("L", Unit::Words, "spatial locality: consecutive words per access", None);
const WORDS: Variable = count("M", Unit::Words, "global memory", None);
const PAGE: Variable = count("page_bytes", Unit::Bytes, "size of a page", Some(HUGE_PAGE_BYTES as f64));
const ON_NODE: Variable = Variable {
    valid: ValidNumbers::CountOrZero,
    ..variable("ranks_per_node", Unit::None, "ranks on a node; 0 means all", Some(0.0))
};
const WAYS: &[&str] = &["messages", "gets"];
const BY_MESSAGES: f64 = 0.0;
const BY: Variable = Variable {
    words: WAYS,
    ..variable("by", Unit::None, "how a remote block is fetched: by messages or by gets", Some(BY_MESSAGES))
};

/// The only covered access. No number here gives the cost of writes.
const ACCESS: Variable = Variable {
    words: &["read", "write", "update", "copy", "non_temporal"],
    ..variable("access", Unit::None, "what an access does with its block: \"read\" only", Some(READ))
};
const READ: f64 = 0.0;

struct Variables {
    alpha: f64,
    block: f64,
    memory: f64,
    ranks: f64,
    page: f64,
    on_node: f64,
    by: f64,
    access: f64,
}

impl From<&[f64]> for Variables {
    fn from(x: &[f64]) -> Self {
        let [alpha, block, memory, ranks, page, on_node, by, access] = array(x);
        Self { alpha, block, memory, ranks, page, on_node, by, access }
    }
}

/// Sizes, which are given, and the use of the last cache by others. Some virtual machines hide sizes: typical ones are assumed.
const SIZES: [Parameter; 7] = [
    Parameter::new_given(catalogue::L1_BYTES.name, "C1", 1.0, 1e12, 32768.0).with_typical_guess(),
    Parameter::new_given(catalogue::L2_BYTES.name, "C2", 1.0, 1e12, 1048576.0).with_typical_guess(),
    Parameter::new_given(catalogue::L3_BYTES.name, "C3", 1.0, 1e12, 33554432.0).with_typical_guess(),
    Parameter::new_given(catalogue::L3_CORES.name, "k", 1.0, 1e6, 8.0).with_typical_guess(),
    Parameter::new_given(catalogue::TLB_ENTRIES.name, "E", 1.0, 1e12, 1536.0)
        .with_typical_guess()
        .with_value_if_missing(f64::INFINITY),
    Parameter::new_rare(catalogue::L3_DISPLACEMENTS_PER_SECOND.name, "d", 1e9),
    Parameter::new_rare(catalogue::DRAW_SECONDS.name, "i", 1e-3),
];
struct GivenNumbers {
    sizes: [f64; 3],
    cores: f64,
    tlb_entries: f64,
    displacements: f64,
    drawing: f64,
}

impl From<&[f64]> for GivenNumbers {
    fn from(p: &[f64]) -> Self {
        let [l1, l2, l3, cores, tlb_entries, displacements, drawing] = array(&p[..SIZES.len()]);
        Self { sizes: [l1, l2, l3], cores, tlb_entries, displacements, drawing }
    }
}

const SHARED: [Parameter; 2] = [
    Parameter::new_given(catalogue::NODE_BANDWIDTH_BYTES_PER_SECOND.name, "BN", 1e6, 1e16, 1e11)
        .with_value_if_missing(f64::NAN),
    Parameter::new_given(catalogue::BISECTION_BYTES_PER_SECOND.name, "B", 1e6, 1e16, 1e11)
        .with_value_if_missing(f64::NAN),
];

const MEMORY_END: usize = SIZES.len() + MEMORY.len();
const RANKS_END: usize = MEMORY_END + REMOTE.len();
const SHARED_END: usize = RANKS_END + SHARED.len();
const PARAMETER_COUNT: usize = SHARED_END + SENDERS.len();

/// Parameters: first those of reads, then those of ranks.
static PARAMETERS: [Parameter; PARAMETER_COUNT] = parameters();

const fn parameters() -> [Parameter; PARAMETER_COUNT] {
    let reads: [Parameter; MEMORY_END] = join(&SIZES, &MEMORY);
    let ranks: [Parameter; RANKS_END] = join(&reads, &REMOTE);
    let shared: [Parameter; SHARED_END] = join(&ranks, &SHARED);
    join(&shared, &SENDERS)
}

fn sum_terms(terms: &[(&'static str, f64)]) -> (f64, &'static str) {
    let largest = terms.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or("", |term| term.0);
    (terms.iter().map(|term| term.1).sum(), largest)
}

/// Numbers that are in ascending order on every machine.
const ASCENDING: &[&[&str]] = &[
    &[catalogue::L2_LINE_SECONDS.name, catalogue::L3_LINE_SECONDS.name, catalogue::MEMORY_LINE_SECONDS.name],
    &[catalogue::L3_ALONE_SECONDS.name, catalogue::MEMORY_ALONE_SECONDS.name],
    &[catalogue::REQUEST_SECONDS.name, catalogue::REQUEST_ALONE_SECONDS.name],
    &[catalogue::GET_LEAST_SECONDS.name, catalogue::GET_ALONE_SECONDS.name],
];

fn sizes(p: &[f64], on_node: f64) -> Sizes {
    let GivenNumbers { sizes: [l1, l2, l3], cores, tlb_entries, .. } = GivenNumbers::from(p);
    Sizes { caches: [l1, l2, l3 / on_node.min(cores).max(1.0)], tlb_entries }
}

/// Maximum number of iterations for the foreign lines per access and the time of an access, which depend on each other.
const STEPS: usize = 12;

/// Relative change of the lines at which the iteration ends. Differences of parameters by 1e-6 need this precision.
const SETTLED_LINES: f64 = 1e-13;

/// Returns the lines that others bring into the last cache per access of `seconds(lines)` plus `drawing`; they fill it in the
/// residence time of an unused line. The iteration starts with a cache that holds nothing: one that others use fills only if
/// it is read faster than they replace its lines.
fn foreign_lines(p: &[f64], cache: f64, drawing: f64, seconds: impl Fn(f64) -> f64) -> f64 {
    let (rate, cache_lines) = (GivenNumbers::from(p).displacements, cache / hits::LINE);
    let mut lines = if rate > 0.0 { cache_lines } else { return 0.0 };
    for _ in 0..STEPS {
        let next = cache_lines * (rate * (seconds(lines) + drawing)).min(1.0);
        let changed = (next - lines).abs();
        lines = next;
        if changed <= SETTLED_LINES * lines {
            break;
        }
    }
    lines
}

/// Numbers of the third level, each with that of the second, if it has one.
const THIRD_LEVEL: [(&Entry, Option<&Entry>); 4] = [
    (catalogue::L3_BYTES, Some(catalogue::L2_BYTES)),
    (catalogue::L3_LINE_SECONDS, Some(catalogue::L2_LINE_SECONDS)),
    (catalogue::L3_ALONE_SECONDS, None),
    (catalogue::L3_CORES, None),
];

/// Returns the numbers of a card. Without a third level, it has the numbers of the second and serves no access. Numbers of
/// several ranks, and of memory, may be missing.
fn card_numbers(parameters: &[Parameter], card: &Card) -> Result<Vec<f64>> {
    let has_third_level = card.get(catalogue::L3_BYTES.name).is_some();
    let without_third_level = |number: &str| {
        let (_, second) = THIRD_LEVEL.iter().find(|(third, _)| third.name == number)?;
        // No core shares a level that does not exist, and it takes no time.
        second.and_then(|second| card_number(card, second.name)).or((!has_third_level).then_some(1.0))
    };
    let value = |parameter: &Parameter| {
        card_number(card, parameter.number).or(parameter.default).or_else(|| without_third_level(parameter.number))
    };
    parameter_values(parameters, card, value)
}

/// A point with the hit ratios of its caches, which depend on sizes but on no cost.
struct Place {
    sizes: Sizes,
    hits: Rc<PointHits>,
    remote: f64,
    on_node: f64,
}

impl Place {
    fn find(x: &[f64], p: &[f64]) -> Self {
        let Variables { alpha, block, memory, ranks, page, .. } = Variables::from(x);
        let (sizes, on_node) = (Self::sizes(x, p), ranks_on_node(x));
        let hits = PointHits::find(SurfacePoint { alpha, memory, block, ranks, page }, sizes);
        Self { sizes, hits, remote: remote_share(ranks as usize, alpha), on_node }
    }

    fn sizes(x: &[f64], p: &[f64]) -> Sizes {
        sizes(p, ranks_on_node(x))
    }
}

fn ranks_on_node(x: &[f64]) -> f64 {
    let Variables { ranks, on_node, .. } = Variables::from(x);
    if on_node > 0.0 { on_node } else { ranks }
}

/// Levels that serve the accesses of a point, and the remote share.
struct Served {
    shares: AccessShares,
    remote: f64,
    on_node: f64,
}

impl Served {
    fn from_point(x: &[f64], p: &[f64]) -> Self {
        Self::from_place(&Place::find(x, p), x, p)
    }

    fn from_place(place: &Place, x: &[f64], p: &[f64]) -> Self {
        let served =
            |foreign| Self { shares: place.hits.shares(foreign), remote: place.remote, on_node: place.on_node };
        // With several ranks, all accesses were drawn before the clock started.
        let drawing = if Variables::from(x).ranks > 1.0 { 0.0 } else { GivenNumbers::from(p).drawing };
        served(foreign_lines(p, place.sizes.caches[2], drawing, |lines| served(lines).terms(x, p).iter().sum()))
    }

    fn terms(&self, x: &[f64], p: &[f64]) -> Budget {
        let Variables { block, ranks, by, .. } = Variables::from(x);
        let (core, remote) = (Memory(&p[SIZES.len()..MEMORY_END]), Remote::from_way(by, &p[MEMORY_END..RANKS_END]));
        let shares = (&self.shares.own, &self.shares.served);
        let mut budget = costs::access_budget(core, remote, block, shares, self.remote, ranks);
        if by == BY_MESSAGES {
            costs::add_further_senders(&mut budget, &p[SHARED_END..], self.on_node, (self.remote, remote));
        }
        budget
    }

    /// Returns the seconds of all terms: those of an access, and the wait for the scarcest shared limit beyond them.
    fn budget(&self, x: &[f64], p: &[f64]) -> Vec<(&'static str, f64)> {
        let mut terms: Vec<_> = TERMS.into_iter().zip(self.terms(x, p)).collect();
        let is_shared = Variables::from(x).ranks > 1.0;
        let shared = self.shared_limits(x, p).map(|(seconds, name)| (if is_shared { seconds } else { 0.0 }, name));
        let (own, most) = (sum_terms(&terms).0, shared[0].0.max(shared[1].0));
        let mut waits = (most - own).max(0.0);
        let wait = |(seconds, name)| (name, if seconds == most { std::mem::take(&mut waits) } else { 0.0 });
        terms.extend(shared.map(wait));
        terms
    }

    fn seconds(&self, x: &[f64], p: &[f64]) -> f64 {
        let own: f64 = self.terms(x, p).iter().sum();
        if Variables::from(x).ranks > 1.0 {
            let [(node, _), (bisection, _)] = self.shared_limits(x, p);
            own + (node.max(bisection) - own).max(0.0)
        } else {
            own
        }
    }

    /// Returns the minimum time of an access from shared limits: memory bandwidth of a node, and bandwidth of the bisection.
    fn shared_limits(&self, x: &[f64], p: &[f64]) -> [(f64, &'static str); 2] {
        let Variables { alpha, block, ranks, .. } = Variables::from(x);
        let AccessShares { own, served } = self.shares;
        let from_memory = (1.0 - self.remote) * own.served[2] + self.remote * served.served[2];
        let bytes = WORD_BYTES as f64 * block;
        let [node, bisection] = array(&p[RANKS_END..SHARED_END]);
        let transfer_seconds = |bytes: f64, rate: f64| if bytes > 0.0 && rate > 0.0 { bytes / rate } else { 0.0 };
        let across = if ranks > self.on_node { crossing_share(ranks, alpha) * ranks * bytes / 2.0 } else { 0.0 };
        [
            (transfer_seconds(from_memory * bytes * self.on_node, node), "node bandwidth"),
            (transfer_seconds(across, bisection), "bisection"),
        ]
    }
}

impl Model for Surface {
    fn about(&self) -> &'static About {
        static ABOUT: About = About {
            id: "apex_map.surface",
            summary: "bandwidth over alpha, L, M and P from levels of memory, overlapping misses and messages",
            source: &source::APEX_MAP,
            place: "Section 2",
            variables: &[ALPHA, BLOCK, WORDS, RANKS, PAGE, ON_NODE, BY, ACCESS],
            parameters: &PARAMETERS,
            explains: &[sequential::KERNEL.id, two_sided::KERNEL.id, one_sided::KERNEL.id],
            column: "bytes_per_second_per_rank",
            unit: Unit::BytesPerSecond,
            linear: false,
            design: "alpha from 0.001 to 1 and L from 1 to thousands, with M several times the last cache, and smaller M that fit \
                     each cache; P = 1 and several other P for the network; or run calibrate, which needs no surface",
            assumes: "caches with least-recently-used replacement; other users of the last cache, if any, bring lines at a rate that \
                      varies about its mean; \
                      the pages of a block after its first are translated in time; ranks disturb each other only in the last cache, on the \
                      node's memory, in the bisection and by the rings of further ranks of a process; tried with up to 16 ranks",
        };
        &ABOUT
    }

    fn parameters(&self, card: &Card) -> Result<Vec<f64>> {
        card_numbers(&PARAMETERS, card)
    }

    fn variables(&self, given: &dyn Fn(&str) -> Option<f64>) -> Result<Vec<f64>> {
        single_choice(self.about(), &ACCESS, given)
    }

    fn budget(&self, x: &[f64], p: &[f64]) -> Vec<(&'static str, f64)> {
        Served::from_point(x, p).budget(x, p)
    }

    fn kernel_value(&self, kernel: &str, variable: &str) -> Option<f64> {
        let kernel = kernels::find(kernel).ok().filter(|_| variable == "by")?;
        Some(f64::from(u8::from(kernel.windows == Windows::Always)))
    }

    fn ascending_numbers(&self) -> &'static [&'static [&'static str]] {
        ASCENDING
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let terms = self.budget(x, p);
        let (seconds, largest) = sum_terms(&terms);
        // If ranks wait for a shared limit, it is the bottleneck, however short the wait.
        let term = terms[TERMS.len()..].iter().find(|term| term.1 > 0.0).map_or(largest, |term| term.0);
        bound(rate(x, seconds), term)
    }

    fn predict_rates(&self, x: &[f64], parameters: &[Vec<f64>], rates: &mut [f64]) {
        assert_eq!(parameters.len(), rates.len(), "one rate per list");
        let mut last_place: Option<Place> = None;
        for (p, predicted) in parameters.iter().zip(rates) {
            // Most lists differ in a cost, not in a size.
            let place = last_place.take().filter(|place| place.sizes == Place::sizes(x, p));
            let place = last_place.insert(place.unwrap_or_else(|| Place::find(x, p)));
            *predicted = rate(x, Served::from_place(place, x, p).seconds(x, p));
        }
    }
}

fn rate(x: &[f64], seconds: f64) -> f64 {
    let Variables { block, access, .. } = Variables::from(x);
    if access == READ { WORD_BYTES as f64 * block / seconds } else { f64::NAN }
}
