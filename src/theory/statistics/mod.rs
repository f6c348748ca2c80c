//! Statistics. The intervals of fits are in [`crate::fit`].

pub mod autocorrelation;
pub mod distributions;
pub mod nnls;
pub mod outliers;
pub mod patterns;
pub mod rank_tests;

pub use apexmap_measure::numerics::statistics::{Basis, Summary, median, median_interval_rank, quantile};
