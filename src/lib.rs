pub mod error;
pub mod point;
pub mod provenance;
pub mod sample;
pub mod source;
pub mod units;
