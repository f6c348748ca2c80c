//! Names that most sections of a comparison use.

pub(super) use crate::compare::comparison::{Comparison, Group};
pub(super) use crate::compare::geometric_mean::{GeometricMean, Scope};
pub(super) use crate::compare::machine::{Machine, Origin};
pub(super) use crate::compare::points::{Point, PointData};
pub(super) use crate::compare::ratio::{
    Basis, Direction, EXACT, TestedRatio, format_interval, format_ratio, format_with_interval,
};
pub(super) use crate::compare::verdict::{self, BasisWords, Verdict};
pub(super) use crate::html::{Drawing, Picture, capitalize};
pub(super) use apexmap_base::error::Result;
pub(super) use apexmap_base::reservation::Reservation;
pub(super) use apexmap_base::units::{self, NumberStyle, Unit, number, plural, short_number};
pub(super) use apexmap_draw::figure::{CurvePoint, Curves, Figure, Grid, Quantity, Series};
pub(super) use apexmap_results::table::columns::{self, ALPHA, BLOCK, label};
pub(super) use apexmap_theory::statistics::median;
pub(super) use serde::Serialize;
pub(super) use serde_json::{Value, json};
pub(super) use std::collections::BTreeMap;
pub(super) use std::path::Path;
