//! Tests of the public library: traits that programs expect of its types, and access to points without panics.

use apexmap::{Point, Value, figures, fits, kernels, models, results, sweeps};
use std::fmt::Debug;

/// Requires the common traits of these types, when the tests are compiled.
fn require<T: Clone + Debug + Send + Sync>() {}

#[test]
fn public_types_can_be_cloned_printed_and_sent() {
    require::<(Point, Value, apexmap::Error, apexmap::ErrorKind, apexmap::Location)>();
    require::<(kernels::Kernel, kernels::Domain, kernels::Outcome, kernels::Output, kernels::Parameter)>();
    require::<(kernels::Ranks, kernels::Rings, kernels::Work)>();
    require::<(sweeps::LaunchSpec, sweeps::Machine, sweeps::ReadySweep, sweeps::Repeat, sweeps::Sweep)>();
    require::<(results::Cell, results::Column, results::Condition, results::CubeAxis, results::Folder, results::Kind)>(
    );
    require::<(results::Mixture, results::QueryGroup, results::QueryGroups, results::Samples, results::Status)>();
    require::<(results::Summary, results::Table, results::TableBuilder)>();
    require::<(models::About, models::Break, models::Card, models::Domain, models::JointFit, models::Number)>();
    require::<(models::Parameter, models::Prediction, models::Source, models::ValidNumbers, models::Variable)>();
    require::<(models::Extent, models::Extrapolation, models::Numbers, models::ScanPoint)>();
    require::<(fits::Baseline, fits::Data, fits::Estimate, fits::Fit, fits::Observation, fits::Options)>();
    require::<(fits::Point, fits::Quality, fits::Role)>();
    require::<(figures::Axis, figures::Curves, figures::Figure, figures::FigureKind, figures::Grid)>();
    require::<(figures::Landmark, figures::Quantity, figures::Request, figures::Series, figures::Unit, figures::View)>(
    );
}

#[test]
fn a_missing_parameter_of_a_point_is_an_error_that_names_the_nearest() {
    let point = Point::new("apex_map.two_sided", 2).with_parameter("alpha", 0.1).with_parameter("M", 4096u64);
    assert_eq!(point.parameter("alpha").unwrap().as_f64(), Some(0.1));
    let error = point.parameter("alhpa").unwrap_err();
    assert_eq!(error.message, "this point of apex_map.two_sided has no parameter alhpa");
    assert_eq!(error.help, "did you mean \"alpha\"? Known are: M, alpha");
}
