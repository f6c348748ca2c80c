//! The partners of a rank in each stage (Plimpton et al., Section 2: Figure 2 for powers of two, and the text after it for any
//! number of ranks).

use super::layout::Layout;

/// The rank's partition is divided into a lower and an upper half, and updates for the other half are sent there. In an odd
/// partition of 2 n + 1 ranks the lower half has n + 1 ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// First word of the upper half.
    pub boundary: u64,
    pub upper: bool,
    /// One or two ranks of the other half.
    pub peers: Vec<usize>,
    /// The fraction (numerator, denominator) of the updates for the other half that the first of two peers receives.
    pub first_share: (usize, usize),
}

impl Stage {
    /// `count` updates are for the other half.
    pub fn first_peer_updates(&self, count: usize) -> usize {
        if self.peers.len() == 1 { count } else { count * self.first_share.0 / self.first_share.1 }
    }

    #[inline(always)]
    pub fn keeps(&self, word: u64) -> bool {
        (word >= self.boundary) == self.upper
    }
}

/// ceil(log2 P) stages, or one less for some ranks of odd partitions.
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

/// For an odd partition, with n + 1 ranks from `low` and n ranks from `middle`. Upper rank i exchanges updates with the lower ranks
/// i and i + 1. With these shares, all ranks of a half receive equal numbers of updates if all ranks of the other half send equal
/// numbers.
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
