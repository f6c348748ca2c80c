//! The names that a kernel needs: `use crate::kernels::prelude::*;`

pub(in crate::kernels) use super::parameter::{choice_key, chosen, integers, key, require_power_of_two};
pub(in crate::kernels) use super::refusal::{require_even_ranks, require_two_ranks};
pub(in crate::kernels) use super::{
    Bounded, Computations, Divided, Division, Domain, Kernel, Key, Outcome, Output, Pattern, Ranks, Refusal, Rings,
    Traffic, Windows, Work, output, parameters,
};
pub(in crate::kernels) use crate::choice::choice;
pub(in crate::kernels) use crate::comm::arena::{Arena, GrantedPages, Pages};
pub(in crate::kernels) use crate::comm::{Collectives, Comm, Computation, Mailboxes, PointToPoint, Rma, Tag, World};
pub(in crate::kernels) use crate::numerics::join;
pub(in crate::kernels) use crate::numerics::mix::{mix, seed};
pub(in crate::kernels) use crate::{on_transport, refusal};
pub(in crate::kernels) use apexmap_base::error::{Error, Result};
pub(in crate::kernels) use apexmap_base::point::{Point, Value};
pub(in crate::kernels) use apexmap_base::source;
pub(in crate::kernels) use apexmap_base::units::{Unit, WORD_BYTES};
pub(in crate::kernels) use std::collections::BTreeMap;
pub(in crate::kernels) use std::hint::black_box;
