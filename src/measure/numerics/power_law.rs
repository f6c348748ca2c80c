//! The non-uniform random addresses of Apex-Map (paper, Section 2): a power function with shape alpha.

use rand::{Rng, RngExt};
use rand_distr::Distribution;

/// Block numbers 0 to `blocks - 1` with P(number < c) = (c / blocks)^alpha.
///
/// alpha = 1 is uniform; the smaller alpha, the more often the first blocks are drawn. The original program scales by
/// `blocks - 1`, so that the last block is never drawn; here it is drawn as the formula says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerLaw {
    blocks: u64,
    alpha: f64,
}

impl PowerLaw {
    /// `blocks` is at least 1 and 0 < alpha <= 1; callers check both and say so to the user.
    pub fn new(blocks: u64, alpha: f64) -> Self {
        debug_assert!(blocks > 0 && alpha > 0.0 && alpha <= 1.0);
        Self { blocks, alpha }
    }
}

impl Distribution<u64> for PowerLaw {
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> u64 {
        let u: f64 = rng.random();
        let share = if self.alpha == 1.0 { u } else { u.powf(1.0 / self.alpha) };
        // u < 1, but the product may round up to `blocks`.
        ((share * self.blocks as f64) as u64).min(self.blocks - 1)
    }
}

/// Share of accesses that leave a rank whose own memory is the hot end: 1 - P^(-alpha).
///
/// 256 ranks: 0.9961 at alpha = 1 and 0.0055 at alpha = 0.001 (Apex-Map paper, Section 2).
pub fn remote_share(ranks: usize, alpha: f64) -> f64 {
    1.0 - (ranks as f64).powf(-alpha)
}

/// The share of the accesses of all ranks that go from one half of them to the other, in both directions: those at distance d are
/// p(d) = ((d + 1)^alpha - d^alpha) / P^alpha of a rank's (paper, Section 2), and of the ranks 2 min(d, P - d) / P have d ranks
/// on the other side of the middle.
pub fn crossing(ranks: f64, alpha: f64) -> f64 {
    let at = |d: f64| ((d + 1.0).powf(alpha) - d.powf(alpha)) * 2.0 * d.min(ranks - d) / ranks;
    (1..ranks as u64).map(|d| at(d as f64)).sum::<f64>() / ranks.powf(alpha)
}
