use apexmap_base::point::Point;
use apexmap_base::units::plural;
use std::fmt;

/// The reason why a point cannot be run: a sentence for people, and the facts in it for the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The sentence with gaps for its values. Refusals with the same kind and the same names have the same fault.
    pub kind: &'static str,
    /// The parameters at fault, with `ranks` for the number of ranks, and the kernel's id if other kernels would run the point.
    pub names: Vec<&'static str>,
    /// What is wrong, and which values would be accepted.
    pub message: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<Refusal> for String {
    fn from(refusal: Refusal) -> Self {
        refusal.message
    }
}

/// Creates a [`Refusal`] from an array of names, and the arguments of `format!`.
#[doc(hidden)]
#[macro_export]
macro_rules! refusal {
    ($names:expr, $kind:literal $($arguments:tt)*) => {
        $crate::kernels::Refusal { kind: $kind, names: $names.to_vec(), message: format!($kind $($arguments)*) }
    };
}

/// For kernels that pair the first half of the ranks with the second.
pub(super) fn require_even_ranks(point: &Point) -> Result<(), Refusal> {
    if !point.ranks.is_multiple_of(2) {
        return Err(refusal!(["ranks"], "{} cannot be paired; use an even number", plural(point.ranks, "rank")));
    }
    Ok(())
}

pub(super) fn require_two_ranks(point: &Point) -> Result<(), Refusal> {
    match point.ranks {
        1 => Err(refusal!(["ranks"], "needs at least two ranks")),
        _ => Ok(()),
    }
}
