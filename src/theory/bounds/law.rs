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
    /// Bytes of a block. All words of a block are read, so a cache that holds part of a block holds this part of each access
    /// to it.
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

    /// Adds accesses from other ranks with this share.
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

    /// Returns the shares of the accesses before and up to the end of the block that contains `bytes`, and the part of this
    /// block below `bytes`.
    fn block_shares(&self, bytes: f64) -> (f64, f64, f64) {
        let before = (bytes / self.block).floor();
        (
            self.smooth_share(before * self.block),
            self.smooth_share((before + 1.0) * self.block),
            bytes / self.block - before,
        )
    }

    /// Returns the largest share of the words read that `bytes` of cache can hold.
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
    /// because hotter bytes come first; with density f, this weight is F(c) - c f(c) (integration by parts).
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
