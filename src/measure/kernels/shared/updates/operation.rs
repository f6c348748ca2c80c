use crate::kernels::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

pub const OPERATION: Key<Operation> = choice_key(
    "operation",
    "integer operation of an update: xor, as in the reference implementation, or add, and, or, which the definition also allows; \
     runs with add, and, or are verified by a replay on a second table",
);

choice! {
    /// The order of a word's updates does not change the result. It is xor for kernels without this parameter.
    pub enum Operation {
        Xor = "xor",
        Add = "add",
        And = "and",
        Or = "or",
    }
}

impl Operation {
    pub fn of(point: &Point) -> Self {
        OPERATION.get(point).unwrap_or(Operation::Xor)
    }

    #[inline(always)]
    pub fn apply(self, word: u64, value: u64) -> u64 {
        match self {
            Operation::Xor => word ^ value,
            Operation::Add => word.wrapping_add(value),
            Operation::And => word & value,
            Operation::Or => word | value,
        }
    }

    #[inline(always)]
    pub fn apply_atomically(self, word: &AtomicU64, value: u64) {
        // Relaxed: the updates of a word commute.
        match self {
            Operation::Xor => word.fetch_xor(value, Ordering::Relaxed),
            Operation::Add => word.fetch_add(value, Ordering::Relaxed),
            Operation::And => word.fetch_and(value, Ordering::Relaxed),
            Operation::Or => word.fetch_or(value, Ordering::Relaxed),
        };
    }
}

/// Compiles a loop once per operation. The operation is a constant in each copy.
macro_rules! with_operation {
    ($operation:expr, $name:ident => $loop:expr) => {
        match $operation {
            Operation::Xor => {
                const $name: Operation = Operation::Xor;
                $loop
            }
            Operation::Add => {
                const $name: Operation = Operation::Add;
                $loop
            }
            Operation::And => {
                const $name: Operation = Operation::And;
                $loop
            }
            Operation::Or => {
                const $name: Operation = Operation::Or;
                $loop
            }
        }
    };
}
pub(crate) use with_operation;
