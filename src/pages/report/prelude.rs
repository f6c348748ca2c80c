//! Names that most sections of a report use.

pub(super) use super::input::Input;
pub(super) use crate::html::{Drawing, Picture};
pub(super) use apexmap_base::error::{Error, Result};
pub(super) use apexmap_base::units::{self, Unit, plural, short_number};
pub(super) use apexmap_draw::figure::{CurvePoint, Curves, Figure, Quantity, Series};
pub(super) use apexmap_results::disk::Folder;
pub(super) use apexmap_results::disk::manifest::Manifest;
pub(super) use apexmap_results::samples::Samples;
pub(super) use apexmap_results::samples::cells::Cell;
pub(super) use apexmap_results::samples::groups::SampleGroup;
pub(super) use apexmap_results::samples::health::Health;
pub(super) use apexmap_results::table::columns::{self, ALPHA, BLOCK};
pub(super) use apexmap_theory::machine::Card;
pub(super) use serde::Serialize;
pub(super) use std::collections::BTreeMap;
