//! The carriers of a campaign: how its launches are carried out.

pub mod batch;
pub mod local;
pub mod manual;
