//! Distribution of accesses: the power law of Apex-Map in whole blocks.

/// Share of the accesses of a rank that go to the hottest bytes of a rank's memory.
///
/// SOURCE: Apex-Map paper, Section 2: the address of an access is M u^(1/alpha), with u uniform, in whole blocks, counted
/// from the memory of the rank. The hottest c bytes of this memory receive the share (c / own)^alpha of its local accesses.
/// In the memory of the rank at distance d, the same bytes receive ((d + x)^alpha - d^alpha) / ((d + 1)^alpha - d^alpha) of
/// the accesses to that rank, with x = c / own. This share is largest at d = 1, which is used for all distances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    alpha: f64,
    /// Bytes of a rank's memory.
    own: f64,
    /// Bytes of a block. All its words are read, so a cache that holds part of it holds this part of each access.
    block: f64,
    /// Share of the accesses to this memory that come from other ranks.
    remote: f64,
}

impl Law {
    /// Returns the law of one rank that reads single words of its memory of `own` bytes.
    pub fn from_alpha(alpha: f64, own: f64) -> Self {
        Self { alpha, own, block: 0.0, remote: 0.0 }
    }

    /// Groups the memory into blocks of `block` bytes, at most the whole memory.
    pub fn in_blocks(self, block: f64) -> Self {
        Self { block: block.min(self.own), ..self }
    }

    pub fn with_remote(self, remote: f64) -> Self {
        Self { remote, ..self }
    }

    pub fn own(&self) -> f64 {
        self.own
    }

    /// Returns the share of the accesses to the first `bytes`. Exact where blocks end.
    fn smooth_share(&self, bytes: f64) -> f64 {
        let x = (bytes / self.own).min(1.0);
        let remote_part =
            if self.remote > 0.0 { ((1.0 + x).powf(self.alpha) - 1.0) / (2f64.powf(self.alpha) - 1.0) } else { 0.0 };
        (1.0 - self.remote) * x.powf(self.alpha) + self.remote * remote_part
    }

    /// Returns the shares of the accesses before and up to the end of the block with `bytes`, and the part of it below `bytes`.
    fn block_shares(&self, bytes: f64) -> (f64, f64, f64) {
        let before = (bytes / self.block).floor();
        (
            self.smooth_share(before * self.block),
            self.smooth_share((before + 1.0) * self.block),
            bytes / self.block - before,
        )
    }

    pub fn max_share_within(&self, bytes: f64) -> f64 {
        if bytes >= self.own {
            return 1.0;
        }
        if self.block <= 0.0 {
            return self.smooth_share(bytes);
        }
        let (before, with, part) = self.block_shares(bytes);
        before + part * (with - before)
    }

    /// Returns the weight of the uniform components that span at most `bytes`. The law is a mixture of uniform distributions,
    /// because hotter bytes come first; with density f, it is F(c) - c f(c) (integration by parts).
    pub fn uniform_weight(&self, bytes: f64) -> f64 {
        if bytes >= self.own {
            return 1.0;
        }
        if self.block > 0.0 {
            let (before, with, _) = self.block_shares(bytes);
            return (self.max_share_within(bytes) - bytes * (with - before) / self.block).max(0.0);
        }
        self.smooth_uniform_weight(bytes / self.own)
    }

    /// Returns the weight of all uniform components that span less than the whole memory.
    pub fn uniform_weight_before_end(&self) -> f64 {
        if self.block > 0.0 {
            // The weight is the same everywhere in the last block.
            let last = self.own - self.block / 2.0;
            return self.uniform_weight(last);
        }
        self.smooth_uniform_weight(1.0)
    }

    fn smooth_uniform_weight(&self, x: f64) -> f64 {
        let remote_part = if self.remote > 0.0 {
            ((1.0 + x).powf(self.alpha) - 1.0 - x * self.alpha * (1.0 + x).powf(self.alpha - 1.0))
                / (2f64.powf(self.alpha) - 1.0)
        } else {
            0.0
        };
        (1.0 - self.remote) * (1.0 - self.alpha) * x.powf(self.alpha) + self.remote * remote_part
    }
}

/// Minimum cost by size. Costs do not decrease with size: the cost of a size is never above a cost measured at a larger size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ladder {
    /// Size and cost, both in ascending order.
    rungs: Vec<(f64, f64)>,
}

impl Ladder {
    /// Takes sizes and costs in any order.
    pub fn new(mut rungs: Vec<(f64, f64)>) -> Self {
        rungs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut min_cost = f64::INFINITY;
        // The largest size comes first: no cost is above that of a larger size.
        for (_, cost) in rungs.iter_mut().rev() {
            min_cost = min_cost.min(*cost);
            *cost = min_cost;
        }
        Self { rungs }
    }

    pub fn is_empty(&self) -> bool {
        self.rungs.is_empty()
    }

    pub fn rungs(&self) -> &[(f64, f64)] {
        &self.rungs
    }

    pub fn min_cost(&self) -> Option<f64> {
        self.rungs.first().map(|(_, cost)| *cost)
    }

    /// Returns a lower bound of the cost at `size`: the cost of the largest measured size that is not above it.
    pub fn cost_at(&self, size: f64) -> Option<f64> {
        self.rungs.iter().rev().find(|(rung, _)| *rung <= size).map(|(_, cost)| *cost)
    }

    pub fn min_with(&self, other: &Self) -> Self {
        let both = |&(size, cost): &(f64, f64)| {
            let (_, instead) = other.rungs.iter().find(|(rung, _)| *rung == size)?;
            Some((size, cost.min(*instead)))
        };
        Self { rungs: self.rungs.iter().filter_map(both).collect() }
    }

    pub fn rungs_from(&self, bytes: f64) -> Self {
        Self { rungs: self.rungs.iter().copied().filter(|(rung, _)| *rung >= bytes).collect() }
    }

    /// Returns a lower bound of the mean cost of accesses, if each cost is the mean of uniform draws below its size.
    pub fn mean_cost(&self, law: &Law) -> f64 {
        let ends = self.rungs.iter().skip(1).map(|(rung, _)| *rung).chain([law.own()]);
        let inside = self.rungs.iter().zip(ends).filter(|((rung, _), _)| *rung < law.own());
        let up_to =
            |bytes: f64| if bytes < law.own() { law.uniform_weight(bytes) } else { law.uniform_weight_before_end() };
        let between = inside.map(|(&(rung, cost), end)| (up_to(end) - up_to(rung)).max(0.0) * cost);
        (1.0 - law.uniform_weight_before_end()) * self.cost_at(law.own()).unwrap_or(0.0) + between.sum::<f64>()
    }

    /// Returns a lower bound where each cost belongs to a resource that limits alone: the largest part of a single rung.
    pub fn max_rung_cost(&self, law: &Law) -> f64 {
        let part = |&(rung, cost): &(f64, f64)| {
            let before = if rung < law.own() { law.uniform_weight(rung) } else { law.uniform_weight_before_end() };
            (1.0 - before) * cost
        };
        self.rungs.iter().filter(|(rung, _)| *rung <= law.own()).map(part).fold(0.0, f64::max)
    }
}
