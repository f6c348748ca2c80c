//! Hit ratios of caches with least-recently-used replacement under Apex-Map's accesses.
//!
//! SOURCE: the accesses: Apex-Map paper, Section 2. H. Che, Y. Tung, Z. Wang, "Hierarchical Web Caching Systems: Modeling,
//! Design and Experimental Results", IEEE JSAC 20(7), 2002: a cache of C lines holds the lines used in the last T accesses,
//! with T such that these are C lines on average. M. Garetto, E. Leonardi, V. Martina, "A Unified Approach to the Performance
//! Analysis of Caching Systems", ACM TOMPECS 1(3), 2016: if T varies, as with random replacement, hits are averaged.

/// Accesses to a rank's memory in whole blocks, by itself and by the other ranks, each with an index that is read once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AccessPattern {
    /// Exponent of the power law, above 0 and at most 1.
    pub alpha: f64,
    /// Lines of the rank's memory, at least 1.
    pub lines: f64,
    pub ranks: f64,
    /// Lines of a block, at least 1: a shorter block shares its line with others.
    pub block: f64,
    /// Lines besides those of the block that an access reads and none reads again: 1/8 for an index of 8 bytes.
    pub once: f64,
    /// Mean number of lines that other users of the cache bring in per access. They come in bursts.
    pub others: f64,
}

/// Number of bursts that fill a cache: a line stays for this many exponentially distributed gaps. `calibrate.residence`, on a
/// virtual machine with other guests, waited for 0.21, 0.65 and 1.8 times the half-life of a part of L3; 97, 71 and 27 % of
/// the lines were left. This number gives 98, 75 and 14 %.
const BURSTS: f64 = 3.0;

/// Shares of accesses that find their block in a cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratios {
    /// For the rank's own accesses to its memory.
    pub own: BlockHits,
    /// For accesses by the other ranks; all hits if there are no other ranks.
    pub served: BlockHits,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BlockHits {
    pub lines: f64,
    pub whole: f64,
}

impl BlockHits {
    const NOTHING: Self = Self { lines: 0.0, whole: 0.0 };
    const ALL: Self = Self { lines: 1.0, whole: 1.0 };
}

struct Class {
    count: f64,
    /// Probability that an access goes to one of these blocks, by the rank itself and by others.
    own: f64,
    served: f64,
    /// Logarithm of the probability that an access goes to another block.
    elsewhere: f64,
}

/// Number of separate classes for the first blocks, which differ most. Further classes are wider by `CLASS_GROWTH`.
const SINGLE_CLASSES: f64 = 32.0;
const CLASS_GROWTH: f64 = 1.03;
/// Number of ranks whose accesses are separate. Accesses of farther ranks are nearly uniform.
const NEAR_RANKS: f64 = 8.0;
/// Steps of bisection and then of false position, until the logarithm of the time is known to `TOLERANCE`.
const STEPS: (usize, usize) = (7, 20);
const TOLERANCE: f64 = 1e-12;

impl AccessPattern {
    fn classes(&self) -> Vec<Class> {
        let blocks = (self.lines / self.block).max(1.0);
        let below = |block: f64| (block / (blocks * self.ranks)).powf(self.alpha);
        let near = NEAR_RANKS.min(self.ranks);
        let far = (1.0 - below(near * blocks)).max(0.0);
        let (mut classes, mut from) = (Vec::new(), 0.0);
        while from < blocks {
            let to = if from < SINGLE_CLASSES { from + 1.0 } else { (from * CLASS_GROWTH).floor().max(from + 1.0) }
                .min(blocks);
            let count: f64 = to - from;
            let share_per_block = |rank: f64| (below(rank * blocks + to) - below(rank * blocks + from)) / count;
            let served = (1..near as u32).map(|rank| share_per_block(f64::from(rank))).sum::<f64>() + far / blocks;
            let own = share_per_block(0.0);
            classes.push(Class { count, own, served, elsewhere: (-(own + served)).ln_1p() });
            from = to;
        }
        classes
    }

    pub fn hits(&self, cache: f64) -> Ratios {
        if cache < self.block {
            // The first lines of a block are replaced before its last ones are read.
            return Ratios {
                own: BlockHits::NOTHING,
                served: if self.ranks > 1.0 { BlockHits::NOTHING } else { BlockHits::ALL },
            };
        }
        let classes = self.classes();
        let time = self.residence_time(&classes, cache);
        let gaps = self.gaps(time, cache);
        let first = time * self.first_line_fraction(gaps);
        let (mut own, mut served) = (HitSum::default(), HitSum::default());
        for class in &classes {
            let held = BlockHits { lines: class.used_within(time, gaps), whole: class.used_within(first, gaps) };
            own.add(class.count * class.own, held);
            served.add(class.count * class.served, held);
        }
        Ratios { own: own.ratio(), served: served.ratio() }
    }

    /// Returns the number of gaps whose sum varies as a line's residence time: own lines come steadily, others in bursts.
    fn gaps(&self, time: f64, cache: f64) -> f64 {
        BURSTS * (cache / (self.others * time)).powi(2).max(1.0)
    }

    /// Returns the part of the residence time after which the first line of a block is replaced: others replace single lines.
    /// Exact for two lines and three gaps, otherwise within 0.03 of simulated shares of whole blocks.
    fn first_line_fraction(&self, gaps: f64) -> f64 {
        const SECOND: f64 = 2.1;
        (1.0 + SECOND * (self.block - 1.0)).powf(-1.0 / gaps)
    }

    /// Returns the mean residence time of a line in a cache, in accesses.
    fn residence_time(&self, classes: &[Class], cache: f64) -> f64 {
        let used = |time: f64| {
            let gaps = self.gaps(time, cache);
            classes.iter().map(|class| class.count * class.used_within(time, gaps)).sum::<f64>()
        };
        let over = |log: f64| self.block * used(log.exp()) + (self.once + self.others) * log.exp() - cache;
        let (mut low, mut high) = (0.0f64, 1e18f64.ln());
        let (mut below, mut above) = (over(low), over(high));
        if above < 0.0 {
            return f64::INFINITY;
        }
        for step in 0..STEPS.0 + STEPS.1 {
            if high - low < TOLERANCE {
                break;
            }
            let share = if step < STEPS.0 { 0.5 } else { below / (below - above) };
            let middle = low + share * (high - low);
            let value = over(middle);
            // Illinois rule: halve the value at an end that stays, so that it does not stay forever.
            if value >= 0.0 {
                (high, above, below) = (middle, value, below / 2.0);
            } else {
                (low, below, above) = (middle, value, above / 2.0);
            }
        }
        f64::midpoint(low, high).exp()
    }
}

impl Class {
    /// Returns the probability that a block was used in the last accesses: `gaps` exponential gaps with mean `time`.
    fn used_within(&self, time: f64, gaps: f64) -> f64 {
        let mut unused = time * self.elsewhere;
        if gaps.is_finite() {
            unused = -gaps * (-unused / gaps).ln_1p();
        }
        // A block that is used by every access counts as used, even if the time is 0.
        if unused.is_nan() { 1.0 } else { -unused.exp_m1() }
    }
}

#[derive(Default)]
struct HitSum {
    total: f64,
    hits: BlockHits,
}

impl HitSum {
    fn add(&mut self, accesses: f64, held: BlockHits) {
        self.total += accesses;
        self.hits.lines += accesses * held.lines;
        self.hits.whole += accesses * held.whole;
    }

    fn ratio(&self) -> BlockHits {
        let BlockHits { lines, whole } = self.hits;
        if self.total > 0.0 {
            BlockHits { lines: lines / self.total, whole: whole / self.total }
        } else {
            BlockHits::ALL
        }
    }
}
