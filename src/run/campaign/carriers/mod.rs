//! The carriers of a campaign: the ways to carry out its launches.

pub mod batch;
pub mod local;
pub mod manual;
pub mod site_record;
