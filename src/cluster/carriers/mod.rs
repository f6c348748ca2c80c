//! The carriers of campaigns on clusters: jobs of a batch system, and launches by hand. The carrier on this machine is
//! `apexmap_run::campaign::local`.

pub mod batch;
pub mod manual;
mod site_record;
