//! Where accesses fall: the power law of Apex-Map in whole blocks.

/// A share of the accesses of a rank by the hottest bytes of a rank's memory.
///
/// SOURCE: Apex-Map paper, Section 2: the address of an access is M u^(1/alpha), u uniform, in whole blocks, with the rank's own
/// memory first. Of its own memory the hottest c bytes get (c / own)^alpha of a rank's local accesses. In the memory of the rank
/// d beyond it the same bytes get ((d + x)^alpha - d^alpha) / ((d + 1)^alpha - d^alpha) with x = c / own: at most as much as with
/// d = 1, which stands for all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    alpha: f64,
    /// Bytes of a rank's memory.
    own: f64,
    /// Bytes of a block, whose words are all read: a cache that does not hold a block holds the same part of all its accesses.
    block: f64,
    /// Share of the accesses that come from other ranks.
    remote: f64,
}

impl Law {
    /// Of one rank with its own memory, word by word.
    pub fn power(alpha: f64, own: f64) -> Self {
        Self { alpha, own, block: 0.0, remote: 0.0 }
    }

    /// In blocks of so many bytes.
    pub fn in_blocks(self, block: f64) -> Self {
        Self { block: block.min(self.own), ..self }
    }

    /// With a share of accesses from other ranks.
    pub fn with_remote(self, remote: f64) -> Self {
        Self { remote, ..self }
    }

    /// Bytes of a rank's memory.
    pub fn own(&self) -> f64 {
        self.own
    }

    /// The share of the accesses to the first `bytes`, at ends of blocks.
    fn smooth(&self, bytes: f64) -> f64 {
        let x = (bytes / self.own).min(1.0);
        let of_others =
            if self.remote > 0.0 { ((1.0 + x).powf(self.alpha) - 1.0) / (2f64.powf(self.alpha) - 1.0) } else { 0.0 };
        (1.0 - self.remote) * x.powf(self.alpha) + self.remote * of_others
    }

    /// The shares up to the block that `bytes` lie in, and with it, and what part of it they are.
    fn around(&self, bytes: f64) -> (f64, f64, f64) {
        let before = (bytes / self.block).floor();
        (self.smooth(before * self.block), self.smooth((before + 1.0) * self.block), bytes / self.block - before)
    }

    /// The largest share of the words read that any `bytes` can hold.
    pub fn below(&self, bytes: f64) -> f64 {
        if bytes >= self.own {
            return 1.0;
        }
        if self.block <= 0.0 {
            return self.smooth(bytes);
        }
        let (before, with, part) = self.around(bytes);
        before + part * (with - before)
    }

    /// The law is a mixture of uniform ones, as hotter bytes come first: the weight of those over no more than `bytes`. A law
    /// with density f has F(c) - c f(c) of it (integration by parts).
    pub fn mixed(&self, bytes: f64) -> f64 {
        if bytes >= self.own {
            return 1.0;
        }
        if self.block > 0.0 {
            let (before, with, _) = self.around(bytes);
            return (self.below(bytes) - bytes * (with - before) / self.block).max(0.0);
        }
        self.smoothly_mixed(bytes / self.own)
    }

    /// The same of all that are over less than the whole memory.
    pub fn mixed_before_end(&self) -> f64 {
        if self.block > 0.0 {
            let last = self.own - self.block / 2.0;
            return self.mixed(last);
        }
        self.smoothly_mixed(1.0)
    }

    fn smoothly_mixed(&self, x: f64) -> f64 {
        let of_others = if self.remote > 0.0 {
            ((1.0 + x).powf(self.alpha) - 1.0 - x * self.alpha * (1.0 + x).powf(self.alpha - 1.0))
                / (2f64.powf(self.alpha) - 1.0)
        } else {
            0.0
        };
        (1.0 - self.remote) * (1.0 - self.alpha) * x.powf(self.alpha) + self.remote * of_others
    }
}
