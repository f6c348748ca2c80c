//! The names that a kernel needs: `use crate::kernels::prelude::*;`

pub(super) use super::parameter::{choice_key, chosen, integers, key, require_power_of_two};
pub(super) use super::refusal::{require_even_ranks, require_two_ranks};
pub(super) use super::{
    Bounded, Computations, Divided, Division, Domain, Kernel, Key, Outcome, Output, Pattern, Ranks, Refusal, Rings,
    Traffic, Windows, Work, output, parameters,
};
pub(super) use crate::choice::choice;
pub(super) use crate::comm::arena::{Arena, GrantedPages, Pages};
pub(super) use crate::comm::{Collectives, Comm, Computation, Mailboxes, PointToPoint, Rma, Tag, World};
pub(super) use crate::numerics::join;
pub(super) use crate::numerics::mix::{mix, seed};
pub(super) use crate::{on_transport, refusal};
pub(super) use apexmap_base::error::{Error, Result};
pub(super) use apexmap_base::point::{Point, Value};
pub(super) use apexmap_base::source;
pub(super) use apexmap_base::units::{Unit, WORD_BYTES};
pub(super) use std::collections::BTreeMap;
pub(super) use std::hint::black_box;
