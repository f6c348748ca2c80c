//! Statistics: medians, quantiles and their intervals, distributions, rank tests, autocorrelation, least squares without negative
//! coefficients. The intervals of fits are with the fits ([`crate::fit`]).

pub mod autocorrelation;
pub mod distributions;
pub mod nnls;
pub mod rank_tests;

pub use apexmap_measure::numerics::statistics::{Basis, Summary, median, median_interval_rank, quantile};
