//! The recursive halving of a set of ranks: the partners of a rank, stage by stage.
//!
//! SOURCE: Plimpton et al., Section 2, Figure 2 for powers of two, and the text after it for any number of ranks.

use super::layout::Layout;

/// A rank's part of one stage: its partition falls into a lower and an upper half, and what belongs to the other half is
/// sent there. Of an odd partition of 2 n + 1 ranks the lower half has n + 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// First word of the upper half.
    pub boundary: u64,
    /// Whether the rank is in the upper half.
    pub upper: bool,
    /// One or two ranks of the other half, with which the rank exchanges updates.
    pub peers: Vec<usize>,
    /// Share of the updates for the other half that the first of two peers gets, as a fraction.
    pub first_share: (usize, usize),
}

impl Stage {
    /// How many of `count` updates go to the first peer.
    pub fn cut(&self, count: usize) -> usize {
        if self.peers.len() == 1 { count } else { count * self.first_share.0 / self.first_share.1 }
    }

    /// Whether a word lies in the half that the rank is in.
    #[inline(always)]
    pub fn keeps(&self, word: u64) -> bool {
        (word >= self.boundary) == self.upper
    }
}

/// The stages of a rank, ceil(log2 P) of them or, in odd partitions, one less.
pub fn stages(layout: &Layout, rank: usize) -> Vec<Stage> {
    let (mut low, mut high) = (0, layout.parts());
    let mut stages = Vec::new();
    while high - low > 1 {
        let middle = low + (high - low).div_ceil(2);
        let (lower, upper) = (middle - low, high - middle);
        let in_upper = rank >= middle;
        let (peers, first_share) = if lower == upper {
            (vec![if in_upper { rank - upper } else { rank + lower }], (1, 1))
        } else {
            partners(rank, low, middle, upper)
        };
        stages.push(Stage { boundary: layout.first(middle), upper: in_upper, peers, first_share });
        if in_upper { low = middle } else { high = middle }
    }
    stages
}

/// In an odd partition: n + 1 ranks from `low`, n from `middle`. The i-th upper rank exchanges with the lower ranks i and
/// i + 1. The shares are such that all ranks of a half receive alike if all of the other half send alike.
fn partners(rank: usize, low: usize, middle: usize, n: usize) -> (Vec<usize>, (usize, usize)) {
    if rank >= middle {
        let i = rank - middle;
        return (vec![low + i, low + i + 1], (n - i, n + 1));
    }
    match rank - low {
        0 => (vec![middle], (1, 1)),
        j if j == n => (vec![middle + n - 1], (1, 1)),
        j => (vec![middle + j - 1, middle + j], (j, n)),
    }
}
