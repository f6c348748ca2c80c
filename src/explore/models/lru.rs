//! Hit ratios of caches that replace what was not used for longest, under Apex-Map's accesses.
//!
//! SOURCE: the accesses, Apex-Map paper, Section 2. H. Che, Y. Tung, Z. Wang, "Hierarchical Web Caching Systems: Modeling, Design and
//!   Experimental Results", IEEE JSAC 20(7), 2002: a cache of C lines holds what was used in the last T accesses, T such that this
//!   is C lines in the mean.

/// The accesses of a rank to its own memory: whole blocks by the power law, and an index for each from an array that is read once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accesses {
    /// The exponent of the power law, above 0 and at most 1.
    pub alpha: f64,
    /// Lines of the memory; 1 at least.
    pub lines: f64,
    /// Lines of a block; 1 at least, as a shorter one lies in a line with others.
    pub block: f64,
    /// Lines, besides those of the block, that an access reads and no other does: 1/8 for an index of 8 bytes.
    pub once: f64,
}

/// Blocks by their popularity: how many are alike, and the probability of each.
struct Classes(Vec<(f64, f64)>);

/// Blocks that are told apart one by one; beyond them classes are wider by this factor, each.
const APART: f64 = 64.0;
const WIDER: f64 = 1.01;

/// Steps of bisection, to 1e-12 of the logarithm's range.
const STEPS: usize = 48;

impl Accesses {
    fn blocks(&self) -> f64 {
        (self.lines / self.block).max(1.0)
    }

    fn classes(&self) -> Classes {
        let blocks = self.blocks();
        let share = |below: f64| (below / blocks).powf(self.alpha);
        let (mut found, mut from) = (Vec::new(), 0.0);
        while from < blocks {
            let to = if from < APART { from + 1.0 } else { (from * WIDER).floor().max(from + 1.0) }.min(blocks);
            found.push((to - from, (share(to) - share(from)) / (to - from)));
            from = to;
        }
        Classes(found)
    }

    /// The share of the accesses that find their block in a cache of so many lines which the rank has for itself, after `before`
    /// accesses and during the next `run`; in the long run, if `before` is infinite.
    pub fn hits(&self, cache: f64, before: f64, run: f64) -> f64 {
        if cache < self.block {
            // Its first lines are gone before its last ones are read.
            return 0.0;
        }
        let classes = self.classes();
        // What is never replaced is found by whoever comes a second time.
        let time = classes.time(cache, self.block, self.once);
        if before >= time {
            return classes.used_within(time);
        }
        // Until the cache is full an access at t finds what was used since the beginning.
        let until = time.min(before + run);
        let filling = classes.found_between(before, until);
        let full = (before + run - until).max(0.0) * classes.used_within(time);
        (filling + full) / run
    }
}

impl Classes {
    /// Blocks used in the last `time` accesses, in the mean.
    fn used(&self, time: f64) -> f64 {
        self.0.iter().map(|(count, p)| count * -(time * (-p).ln_1p()).exp_m1()).sum()
    }

    /// The share of the accesses whose block was used in the last `time`.
    fn used_within(&self, time: f64) -> f64 {
        self.0.iter().map(|(count, p)| count * p * -(time * (-p).ln_1p()).exp_m1()).sum()
    }

    /// Of the accesses from `begin` to `end` since the cache was empty, those whose block was used before.
    fn found_between(&self, begin: f64, end: f64) -> f64 {
        let of_block = |p: f64| {
            let rate = (-p).ln_1p();
            if rate == f64::NEG_INFINITY {
                return end - begin.max(1.0).min(end);
            }
            // The integral of 1 - (1 - p)^t.
            (end - begin) - ((rate * end).exp() - (rate * begin).exp()) / rate
        };
        self.0.iter().map(|(count, p)| count * p * of_block(*p)).sum()
    }

    /// For how many accesses a line stays in a cache.
    fn time(&self, cache: f64, block: f64, once: f64) -> f64 {
        let full = |time: f64| block * self.used(time) + once * time >= cache;
        let (mut low, mut high) = (0.0f64, 1e18f64.ln());
        if !full(high.exp()) {
            return f64::INFINITY;
        }
        for _ in 0..STEPS {
            let middle = f64::midpoint(low, high);
            *(if full(middle.exp()) { &mut high } else { &mut low }) = middle;
        }
        high.exp()
    }
}
