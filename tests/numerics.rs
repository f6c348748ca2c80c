//! Tests of power law, mixing function and order statistics against independent values.

use apexmap_measure::numerics::block_powers::{block_powers, scalar};
use apexmap_measure::numerics::mix::{mix, seed};
use apexmap_measure::numerics::power_law::{PowerLaw, remote_share};
use apexmap_measure::numerics::statistics::{Summary, median, median_interval_rank, quantile};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_distr::Distribution;
use rand_pcg::Pcg64Mcg;
use statrs::distribution::{Binomial, ChiSquared, ContinuousCDF, DiscreteCDF};

const DRAWS: usize = 200_000;

/// Returns edges of bins that double in width, with a separate bin for the last block. Bins with few expected draws are
/// merged.
fn logarithmic_bins(blocks: u64, cdf: impl Fn(u64) -> f64) -> Vec<(u64, f64)> {
    let mut edges: Vec<u64> = (0..63).map(|k| 1 << k).take_while(|&edge| edge < blocks).collect();
    edges.extend([blocks - 1, blocks]);
    edges.sort_unstable();
    edges.dedup();
    let (mut bins, mut below): (Vec<(u64, f64)>, f64) = (Vec::new(), 0.0);
    for &edge in edges.iter().filter(|&&edge| edge > 0) {
        let expected = DRAWS as f64 * (cdf(edge) - below);
        if expected >= 8.0 {
            bins.push((edge, expected));
            below = cdf(edge);
        }
    }
    let last = bins.last_mut().expect("some bin expects draws");
    *last = (blocks, last.1 + DRAWS as f64 * (1.0 - below));
    bins
}

/// Returns Pearson's statistic of these draws, and the value that fair draws exceed once in 10^5 times.
fn chi_square(blocks: u64, alpha: f64, mut draw: impl FnMut() -> u64) -> (f64, f64) {
    let bins = logarithmic_bins(blocks, |c| (c as f64 / blocks as f64).powf(alpha));
    let mut counts = vec![0u32; bins.len()];
    for _ in 0..DRAWS {
        let block = draw();
        assert!(block < blocks, "block {block} of {blocks}");
        counts[bins.partition_point(|&(edge, _)| edge <= block)] += 1;
    }
    let distance = |(&count, &(_, expected)): (&u32, &(u64, f64))| (f64::from(count) - expected).powi(2) / expected;
    let statistic = counts.iter().zip(&bins).map(distance).sum();
    let freedom = (bins.len() - 1).max(1) as f64;
    (statistic, ChiSquared::new(freedom).expect("degrees of freedom").inverse_cdf(1.0 - 1e-5))
}

#[test]
fn addresses_follow_the_power_law_on_logarithmic_bins() {
    for blocks in [2, 3, 5, 7, 12, 100, 1000, 1 << 16, 3 << 20, 1 << 40] {
        for alpha in [1.0, 0.5, 0.1, 0.01, 0.001] {
            let mut rng = Pcg64Mcg::seed_from_u64(seed(&[blocks, f64::to_bits(alpha)]));
            let law = PowerLaw::new(blocks, alpha);
            let (statistic, critical) = chi_square(blocks, alpha, || law.sample(&mut rng));
            assert!(statistic < critical, "{blocks} blocks, alpha {alpha}: {statistic} should be below {critical}");
        }
    }
}

#[test]
fn many_draws_at_once_are_the_draws_one_by_one() {
    for blocks in [1, 2, 3, 64, 1000, 1 << 16, 3 << 20, 1 << 26, 1 << 40, 1 << 50] {
        for alpha in [1.0, 0.999, 0.7, 0.5, 1.0 / 3.0, 0.1, 0.0316, 0.01, 0.001, 1e-6] {
            let law = PowerLaw::new(blocks, alpha);
            let [mut one_by_one, mut at_once] = [(); 2].map(|()| Pcg64Mcg::seed_from_u64(blocks ^ alpha.to_bits()));
            let mut drawn = vec![0; 20_011];
            law.fill(&mut at_once, &mut drawn);
            let differs = |&block: &u64| block != law.sample(&mut one_by_one);
            let first = drawn.iter().position(differs);
            assert_eq!(first, None, "{blocks} blocks, alpha {alpha}");
        }
    }
}

/// Powers that are whole numbers of blocks, and their neighbours, which rounding could move to another block.
#[test]
fn block_powers_at_the_edges_of_blocks_are_the_scalar_ones() {
    for blocks in [2u64, 10, 1 << 10, 12_345, 1 << 40] {
        for alpha in [1.0, 0.5, 0.25, 0.01, 0.001] {
            let edges = (0..2048u64).map(|k| (((k % blocks) as f64) / blocks as f64).powf(alpha));
            let near = |edge: f64| [edge, edge.next_down().max(0.0), edge.next_up().min(1f64.next_down())];
            let numbers: Vec<f64> = edges.flat_map(near).collect();
            let mut drawn = vec![0; numbers.len()];
            block_powers(&numbers, 1.0 / alpha, blocks, &mut drawn);
            for (&number, &block) in numbers.iter().zip(&drawn) {
                assert_eq!(block, scalar(number, 1.0 / alpha, blocks), "{number} with {blocks} blocks, alpha {alpha}");
            }
        }
    }
}

/// The test above must detect the original program, which never draws the last block.
#[test]
fn the_test_detects_the_scaling_of_the_original_program() {
    for blocks in [2u64, 5, 100, 1000] {
        let mut rng = Pcg64Mcg::seed_from_u64(blocks);
        let original = || (rng.random::<f64>() * (blocks - 1) as f64) as u64;
        let (statistic, critical) = chi_square(blocks, 1.0, original);
        assert!(statistic > critical, "{blocks} blocks: {statistic} should be above {critical}");
    }
}

#[test]
fn every_block_up_to_the_last_is_drawn() {
    for blocks in 1..=9 {
        let law = PowerLaw::new(blocks, 1.0);
        let mut rng = Pcg64Mcg::seed_from_u64(blocks);
        let mut seen = vec![false; blocks as usize];
        (0..1000).for_each(|_| seen[law.sample(&mut rng) as usize] = true);
        assert!(seen.iter().all(|&seen| seen), "{blocks} blocks: {seen:?}");
    }
}

#[test]
fn the_remote_share_for_256_ranks_matches_the_paper() {
    assert_eq!(format!("{:.4}", remote_share(256, 1.0)), "0.9961");
    assert_eq!(format!("{:.4}", remote_share(256, 0.001)), "0.0055");
    assert_eq!(remote_share(1, 0.3), 0.0);
    assert!((remote_share(4, 0.5) - 0.5).abs() < 1e-15);
}

#[test]
fn mix_is_splitmix64() {
    // The first outputs of Vigna's splitmix64.c from seed 0.
    let outputs = [
        0xe220_a839_7b1d_cdaf,
        0x6e78_9e6a_a1b9_65f4,
        0x06c4_5d18_8009_454f,
        0xf88b_b8a8_724c_81ec,
        0x1b39_896a_51a8_749b,
    ];
    for (step, output) in outputs.into_iter().enumerate() {
        assert_eq!(mix(0x9e37_79b9_7f4a_7c15u64.wrapping_mul(step as u64)), output, "output {step}");
    }
}

#[test]
fn seeds_depend_on_every_part_and_on_the_order() {
    let seeds = [seed(&[1, 2]), seed(&[2, 1]), seed(&[1, 3]), seed(&[0, 2]), seed(&[1]), seed(&[1, 2, 0])];
    let distinct: std::collections::HashSet<_> = seeds.iter().collect();
    assert_eq!(distinct.len(), seeds.len());
}

/// Returns the probability that the j-th smallest and j-th largest of n samples enclose the median.
fn coverage(n: usize, j: usize) -> f64 {
    if j == 0 { 1.0 } else { 1.0 - 2.0 * Binomial::new(0.5, n as u64).expect("a binomial").cdf(j as u64 - 1) }
}

#[test]
fn interval_ranks_match_the_sign_test_tables() {
    // One more than the two-sided 5 % critical values of the sign test (Conover, Practical Nonparametric Statistics).
    for (n, rank) in
        [(6, 1), (8, 1), (9, 2), (12, 3), (15, 4), (17, 5), (20, 6), (25, 8), (30, 10), (40, 14), (100, 40)]
    {
        assert_eq!(median_interval_rank(n), Some(rank), "n = {n}");
    }
}

#[test]
fn fewer_than_six_samples_have_no_interval() {
    (0..6).for_each(|n| assert_eq!(median_interval_rank(n), None));
    assert_eq!(Summary::from_samples(&[1.0, 2.0, 3.0, 4.0, 5.0]).expect("samples").interval, None);
}

#[test]
fn interval_ranks_are_the_largest_with_the_coverage() {
    for n in 6..=300 {
        let j = median_interval_rank(n).expect("an interval");
        assert!(coverage(n, j) >= 0.95, "n = {n}, rank {j} covers {}", coverage(n, j));
        assert!(coverage(n, j + 1) < 0.95, "n = {n}, rank {} covers enough", j + 1);
    }
}

/// Returns the same rank from sums of logarithms, for n beyond the range of 2^-n.
fn exact_rank(n: usize) -> usize {
    let (mut log_term, mut tail) = (-(n as f64) * 2f64.ln(), 0.0);
    for j in 0..n {
        tail += f64::exp(log_term);
        if 2.0 * tail > 0.05 {
            return j;
        }
        log_term += ((n - j) as f64).ln() - ((j + 1) as f64).ln();
    }
    n
}

#[test]
fn the_approximation_for_many_samples_loses_at_most_one_rank() {
    for n in (950..=2000).chain([5000, 10_001, 100_000]) {
        let (rank, exact) = (median_interval_rank(n).expect("an interval"), exact_rank(n));
        assert!(rank <= exact && rank + 1 >= exact, "n = {n}: rank {rank}, exactly {exact}");
    }
}

#[test]
fn summaries_of_known_data_are_correct() {
    let summary = Summary::from_samples(&[9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 100.0, 5.0, 4.0]).expect("samples");
    // Sorted 1 2 3 4 5 7 8 9 100; distances from 5: 0 1 1 2 2 3 3 4 95; limit 3 x 1.4826 x 2 = 8.9.
    assert_eq!((summary.n, summary.min, summary.median, summary.max), (9, 1.0, 5.0, 100.0));
    assert_eq!(summary.interval, Some((2.0, 9.0)));
    assert_eq!(summary.outliers, 1);
    assert_eq!(summary.relative_width(), Some(7.0 / 5.0));
    assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    assert_eq!(median(&[]), None);
    assert_eq!(Summary::from_samples(&[3.0]).map(|s| (s.min, s.median, s.max, s.outliers)), Some((3.0, 3.0, 3.0, 0)));
}

proptest! {
    #[test]
    fn the_median_and_its_interval_lie_within_the_samples(samples in prop::collection::vec(-1e9f64..1e9, 1..200)) {
        let summary = Summary::from_samples(&samples).expect("samples");
        prop_assert!(summary.min <= summary.median && summary.median <= summary.max);
        prop_assert_eq!(summary.interval.is_some(), samples.len() >= 6);
        if let Some((low, high)) = summary.interval {
            prop_assert!(summary.min <= low && low <= summary.median && summary.median <= high && high <= summary.max);
        }
        prop_assert!(summary.outliers < samples.len());
        let mut reversed = samples.clone();
        reversed.reverse();
        prop_assert_eq!(Summary::from_samples(&reversed), Some(summary));
    }
}

/// Values computed by Python's `statistics.quantiles(..., n=100, method="inclusive")`.
#[test]
fn quantiles_lie_between_order_statistics() {
    let sorted = [1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 17.0];
    for (p, expected) in [(0.0, 1.5), (0.05, 1.65), (0.5, 4.0), (0.95, 16.7), (0.99, 16.94), (1.0, 17.0)] {
        let actual = quantile(&sorted, p).expect("samples");
        assert!((actual - expected).abs() < 1e-12, "{p}: {actual}");
    }
    assert_eq!(quantile(&[2.5], 0.3), Some(2.5));
    assert_eq!(quantile(&[], 0.5), None);
}
