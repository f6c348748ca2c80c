//! The carriers of a campaign: the ways to carry out its launches.

pub mod batch;
mod job_files;
pub mod local;
pub mod manual;
