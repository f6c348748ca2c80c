//! The names that a model needs: `use crate::models::prelude::*;`

pub(in crate::models) use super::variables::{cores, count, dimensions, single_choice, variable, variable_value};
pub(in crate::models) use super::{
    About, Break, LOOK_AHEAD, Model, Parameter, Prediction, RANKS, RANKS_PER_NODE, RATES, ValidNumbers, Variable,
    array, bound, card_number, parameter_values, sum, tightest_bound,
};
pub(in crate::models) use crate::machine::{Card, catalogue};
pub(in crate::models) use apexmap_base::error::{Error, Result};
pub(in crate::models) use apexmap_base::source;
pub(in crate::models) use apexmap_base::units::{Unit, WORD_BYTES};
