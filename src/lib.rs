pub mod error;
#[cfg(feature = "explore")]
pub mod figure;
pub mod point;
pub mod provenance;
pub mod sample;
pub mod source;
pub mod units;
