//! Hit ratios of caches that replace what was not used for longest, under Apex-Map's accesses.
//!
//! SOURCE: the accesses, Apex-Map paper, Section 2. H. Che, Y. Tung, Z. Wang, "Hierarchical Web Caching Systems: Modeling, Design and
//!   Experimental Results", IEEE JSAC 20(7), 2002: a cache of C lines holds what was used in the last T accesses, T such that this
//!   is C lines in the mean. M. Garetto, E. Leonardi, V. Martina, "A Unified Approach to the Performance Analysis of Caching Systems",
//!   ACM TOMPECS 1(3), 2016: where T varies, as with replacement at random, hits are those of its distribution.

/// The accesses to a rank's memory: whole blocks by the power law, its own and those of the other ranks, for which it is farther away;
/// and an index for each, from an array that is read once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accesses {
    /// The exponent of the power law, above 0 and at most 1.
    pub alpha: f64,
    /// Lines of the rank's memory; 1 at least.
    pub lines: f64,
    /// Ranks, each with as many lines.
    pub ranks: f64,
    /// Lines of a block; 1 at least, as a shorter one lies in a line with others.
    pub block: f64,
    /// Lines, besides those of the block, that come into the cache with an access and are not read again: 1/8 for an index of 8
    /// bytes.
    pub once: f64,
    /// The same in the mean, of others who use the cache, and bring them in bursts.
    pub others: f64,
}

/// Bursts by which others fill a cache. So many exponentially distributed gaps pass until a line is gone: after a wait of 0.21, 0.65 and
/// 1.8 times that after which half of a part of L3 is left, 97, 71 and 27 % were left by `calibrate.residence` on a virtual machine with
/// other guests, and are by this number 98, 75 and 14 %.
const BURSTS: f64 = 3.0;

/// Shares of accesses that find their block in a cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratios {
    /// Of the rank's own accesses to its memory.
    pub own: Found,
    /// Of those of the other ranks; all if there are none.
    pub served: Found,
}

/// What accesses find.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Found {
    /// The share of the lines.
    pub lines: f64,
    /// The share of the blocks that are there whole.
    pub whole: f64,
}

impl Found {
    const NOTHING: Self = Self { lines: 0.0, whole: 0.0 };
    const ALL: Self = Self { lines: 1.0, whole: 1.0 };
}

/// Blocks alike.
struct Class {
    count: f64,
    /// Probabilities of an access to one of them, of all accesses of a rank: the rank's own, and those of others.
    own: f64,
    served: f64,
    /// Logarithm of the probability that an access is to another block.
    elsewhere: f64,
}

/// Blocks that are told apart one by one; beyond them classes are wider by this factor, each.
const APART: f64 = 32.0;
const WIDER: f64 = 1.03;
/// Ranks whose accesses are told apart: those of all further ones are as good as uniform.
const NEAR: f64 = 8.0;
/// Steps by bisection, and by the rule of false position from there on, until the logarithm of the time is this sure.
const STEPS: (usize, usize) = (7, 20);
const SURE: f64 = 1e-12;

impl Accesses {
    fn classes(&self) -> Vec<Class> {
        let blocks = (self.lines / self.block).max(1.0);
        let below = |block: f64| (block / (blocks * self.ranks)).powf(self.alpha);
        let near = NEAR.min(self.ranks);
        let far = (1.0 - below(near * blocks)).max(0.0);
        let (mut found, mut from) = (Vec::new(), 0.0);
        while from < blocks {
            let to = if from < APART { from + 1.0 } else { (from * WIDER).floor().max(from + 1.0) }.min(blocks);
            let count: f64 = to - from;
            let at = |rank: f64| (below(rank * blocks + to) - below(rank * blocks + from)) / count;
            let served = (1..near as u32).map(|rank| at(f64::from(rank))).sum::<f64>() + far / blocks;
            let own = at(0.0);
            found.push(Class { count, own, served, elsewhere: (-(own + served)).ln_1p() });
            from = to;
        }
        found
    }

    /// Of a cache of so many lines that the rank has for itself, in the long run.
    pub fn hits(&self, cache: f64) -> Ratios {
        if cache < self.block {
            // Its first lines are gone before its last ones are read.
            return Ratios { own: Found::NOTHING, served: if self.ranks > 1.0 { Found::NOTHING } else { Found::ALL } };
        }
        let classes = self.classes();
        let time = self.time(&classes, cache);
        let gaps = self.gaps(time, cache);
        let first = time * self.first(gaps);
        let (mut own, mut served) = (Share::default(), Share::default());
        for class in &classes {
            let held = Found { lines: class.used_within(time, gaps), whole: class.used_within(first, gaps) };
            own.add(class.count * class.own, held);
            served.add(class.count * class.served, held);
        }
        Ratios { own: own.ratio(), served: served.ratio() }
    }

    /// The number of exponentially distributed gaps, one after the other, that vary as the time does for which a line stays: what the
    /// rank itself brings comes steadily, what others bring in bursts.
    fn gaps(&self, time: f64, cache: f64) -> f64 {
        BURSTS * (cache / (self.others * time)).powi(2).max(1.0)
    }

    /// After which part of the time for which a line stays the first line of a block goes, as others take lines one by one: the right one
    /// for two lines that stay for three gaps each; for others within 0.03 of simulated shares of whole blocks.
    fn first(&self, gaps: f64) -> f64 {
        const SECOND: f64 = 2.1;
        (1.0 + SECOND * (self.block - 1.0)).powf(-1.0 / gaps)
    }

    /// For how many accesses a line stays in a cache, in the mean.
    fn time(&self, classes: &[Class], cache: f64) -> f64 {
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
            if high - low < SURE {
                break;
            }
            let share = if step < STEPS.0 { 0.5 } else { below / (below - above) };
            let at = low + share * (high - low);
            let value = over(at);
            // An end that stays counts half the next time, so that it does not stay for ever (the Illinois rule).
            if value >= 0.0 {
                (high, above, below) = (at, value, below / 2.0);
            } else {
                (low, below, above) = (at, value, above / 2.0);
            }
        }
        f64::midpoint(low, high).exp()
    }
}

impl Class {
    /// The probability that one of its blocks was used in the last `time` accesses, if that is the mean of a time which varies as so
    /// many gaps do.
    fn used_within(&self, time: f64, gaps: f64) -> f64 {
        let mut unused = time * self.elsewhere;
        if gaps.is_finite() {
            unused = -gaps * (-unused / gaps).ln_1p();
        }
        // What is always used, no time ago or long ago, was used.
        if unused.is_nan() { 1.0 } else { -unused.exp_m1() }
    }
}

/// A sum of accesses, and of what they find.
#[derive(Default)]
struct Share {
    all: f64,
    found: Found,
}

impl Share {
    fn add(&mut self, accesses: f64, held: Found) {
        self.all += accesses;
        self.found.lines += accesses * held.lines;
        self.found.whole += accesses * held.whole;
    }

    fn ratio(&self) -> Found {
        let Found { lines, whole } = self.found;
        if self.all > 0.0 { Found { lines: lines / self.all, whole: whole / self.all } } else { Found::ALL }
    }
}
