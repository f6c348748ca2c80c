//! Finds the points that access other ranks' memory through a window. Not every network and MPI library supports that.

use apexmap_base::point::Point;
use apexmap_measure::kernels::{self, Windows};
use apexmap_results::samples::Samples;

/// Returns true if a run of this point gets, puts or accumulates in a window. Memory shared by the ranks of one node is not a
/// window.
pub fn is_used(point: &Point) -> bool {
    kernels::find(&point.kernel).is_ok_and(|kernel| kernel.windows.are_opened(point))
}

/// Returns true if one of these samples belongs to such a point.
pub fn is_used_in(samples: &Samples) -> bool {
    samples.kernels().iter().any(|(kernel, samples)| match kernel.windows {
        Windows::Never => false,
        Windows::InCheck | Windows::Always => true,
        Windows::If(name, word) => {
            let parameter = kernel.parameters.iter().find(|parameter| parameter.name == name);
            parameter.is_some_and(|parameter| samples.words(parameter.column).contains(&word))
        }
    })
}
