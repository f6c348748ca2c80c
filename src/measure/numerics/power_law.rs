use super::block_powers::{block_powers, scalar};
use rand::{Rng, RngExt};
use rand_distr::Distribution;

/// The addresses of Apex-Map (paper, Section 2): block numbers from 0 to `blocks - 1` with P(number < c) = (c / blocks)^alpha. The
/// original program scales by `blocks - 1` and so never draws the last block; this one draws it according to the formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerLaw {
    blocks: u64,
    alpha: f64,
}

impl PowerLaw {
    /// `blocks` is at least 1, and 0 < alpha <= 1.
    pub fn new(blocks: u64, alpha: f64) -> Self {
        debug_assert!(blocks > 0 && alpha > 0.0 && alpha <= 1.0);
        Self { blocks, alpha }
    }

    /// Draws the same blocks as [`Distribution::sample`] would, in the same order.
    pub fn fill<R: Rng + ?Sized>(&self, rng: &mut R, blocks: &mut [u64]) {
        let mut numbers = [0.0; 256];
        for blocks in blocks.chunks_mut(numbers.len()) {
            let numbers = &mut numbers[..blocks.len()];
            numbers.fill_with(|| rng.random());
            block_powers(numbers, 1.0 / self.alpha, self.blocks, blocks);
        }
    }
}

impl Distribution<u64> for PowerLaw {
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> u64 {
        scalar(rng.random(), 1.0 / self.alpha, self.blocks)
    }
}

/// The share of accesses that leave a rank, if its own memory is the hot end: 1 - P^(-alpha). For 256 ranks it is 0.9961 at alpha =
/// 1 and 0.0055 at alpha = 0.001 (Apex-Map paper, Section 2).
pub fn remote_share(ranks: usize, alpha: f64) -> f64 {
    1.0 - (ranks as f64).powf(-alpha)
}

/// The share of all accesses that cross the middle of the ranks, in both directions. A share p(d) = ((d + 1)^alpha - d^alpha) /
/// P^alpha of a rank's accesses goes to distance d (paper, Section 2). At distance d, a share 2 min(d, P - d) / P of the ranks has
/// its target on the other side of the middle.
pub fn crossing_share(ranks: f64, alpha: f64) -> f64 {
    let share_at_distance = |d: f64| ((d + 1.0).powf(alpha) - d.powf(alpha)) * 2.0 * d.min(ranks - d) / ranks;
    (1..ranks as u64).map(|d| share_at_distance(d as f64)).sum::<f64>() / ranks.powf(alpha)
}
