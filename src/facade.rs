//! The public modules of the library, except `kernels`: sweeps, results, models, fits and figures.

/// Sweeps: TOML files that say which points to measure.
///
/// [`read`](sweeps::read) reads a file, [`parse`](sweeps::parse) a text, and [`open`](sweeps::ready::open) a ready sweep of the
/// program. Each returns a [`Sweep`](sweeps::Sweep) with a list of complete, valid points. `apexmap run` measures them.
///
/// ```
/// use apexmap::Value;
/// use apexmap::sweeps::{self, Machine};
/// use std::path::Path;
///
/// let text = r#"
///     [fixed]
///     kernel = "apex_map.sequential"
///     M = "64 Mwords"
///     [axes]
///     alpha = [0.01, 0.1, 1.0]
///     L = { from = 1, to = 4096, factor = 4 }
/// "#;
/// let sweep = sweeps::parse(text, Path::new("my.toml"), Machine::detect())?;
/// assert_eq!(sweep.points.len(), 3 * 7);
/// assert_eq!(sweep.points[0].parameter("M")?, &Value::Integer(64 << 20));
///
/// // Errors name the place and the next step.
/// let wrong = sweeps::parse(&text.replace("alpha", "alhpa"), Path::new("my.toml"), Machine::detect());
/// assert!(wrong.unwrap_err().help.contains("did you mean \"alpha\"?"));
/// # Ok::<(), apexmap::Error>(())
/// ```
pub mod sweeps {
    pub use apexmap_measure::comm::TransportKind;
    pub use apexmap_measure::worker::Repeat;
    pub use apexmap_run::sweep::ready::{self, ReadySweep};
    pub use apexmap_run::sweep::{LaunchSpec, Machine, Sweep, parse, read, schema};
}

/// Results: folders with the samples of a sweep, selections of samples, and their medians.
///
/// Open a [`Folder`](results::Folder), choose [`Samples`](results::Samples) with a condition, and group them into
/// [cells](results::Samples::cells) or into a table of medians with [`groups`](results::groups).
///
/// ```no_run
/// use apexmap::results::{Folder, Samples};
/// use std::path::Path;
///
/// let samples = Samples::from(Folder::open(Path::new("results/quickstart"))?.table()?);
/// let random = samples.choose(Some("kernel == \"apex_map.sequential\" && L == 1"))?;
/// for cell in random.cells(&["alpha"])? {
///     println!("alpha = {}: {:?}", cell.by[0], cell.summary("bytes_per_second"));
/// }
/// # Ok::<(), apexmap::Error>(())
/// ```
///
/// A [`TableBuilder`](results::TableBuilder) makes a table of other data:
///
/// ```
/// use apexmap::Value;
/// use apexmap::results::{Samples, TableBuilder, groups, text};
///
/// let mut table = TableBuilder::default();
/// for (ranks, seconds) in [(1, 2.0), (1, 3.0), (1, 7.0), (2, 1.0)] {
///     table.begin_row();
///     table.set("ranks", &Value::Integer(ranks));
///     table.set("seconds", &Value::Real(seconds));
/// }
/// let groups = groups(&Samples::from(table.finish()), &["ranks"], &["seconds"])?;
/// assert_eq!(groups.groups[0].summaries[0].unwrap().median, 3.0);
/// print!("{}", text(&groups));
/// # Ok::<(), apexmap::Error>(())
/// ```
///
/// A [cube](results::Samples::cube) is an array of medians over named axes, with slices, ratios and slopes. The feature `polars`
/// adds conversions between samples and DataFrames: `Samples::to_frame` and `Samples::from_frame`.
pub mod results {
    pub use apexmap_base::condition::Condition;
    pub use apexmap_base::sample::Status;
    pub use apexmap_results::disk::Folder;
    /// The version of polars that this crate uses; requires the feature `polars`.
    ///
    /// ```
    /// use apexmap::results::Samples;
    /// use apexmap::results::polars::prelude::*;
    ///
    /// // A bandwidth that is proportional to the square root of L, on one rank and on two.
    /// let frame = df!(
    ///     "ranks" => [1u64, 1, 1, 2, 2, 2],
    ///     "block_words" => [1u64, 4, 16, 1, 4, 16],
    ///     "bytes_per_second" => [10.0, 20.0, 40.0, 15.0, 30.0, 60.0],
    /// )?;
    /// let samples = Samples::from_frame(&frame)?;
    /// assert!(samples.to_frame()?.equals(&frame));
    /// let cube = samples.cube(["P", "L"], "bytes_per_second")?;
    /// assert_eq!(cube.values[[1, 2]], 60.0);
    /// assert!(cube.elasticity("L")?.values.iter().all(|power| (power - 0.5).abs() < 1e-12));
    /// let scaling = cube.slice("P", 2.0)?.ratio(&cube.slice("P", 1.0)?)?;
    /// assert!(scaling.values.iter().all(|ratio| *ratio == 1.5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "polars")]
    pub use apexmap_results::polars;
    pub use apexmap_results::query::{QueryGroup, QueryGroups, csv, groups, json, text};
    pub use apexmap_results::samples::Mixture;
    pub use apexmap_results::samples::Samples;
    pub use apexmap_results::samples::cells::Cell;
    pub use apexmap_results::samples::cube::{Cube, CubeAxis};
    pub use apexmap_results::table::Table;
    pub use apexmap_results::table::TableBuilder;
    pub use apexmap_results::table::column::{Column, Kind};
    pub use apexmap_theory::statistics::Summary;
}

/// Analytic models of the papers, and the machine parameters that they use.
///
/// [`find`](models::find) a model, take its [`Numbers`](models::Numbers) from the [`Card`](models::Card) of a machine, and
/// [`scan`](models::scan()) ranges of its variables. Outside of the [`Domain`](models::Domain) of the numbers, a prediction is an
/// error or lists its [`Extrapolation`](models::Extrapolation)s. All that limits a prediction is in its
/// [`Reservation`](models::Reservation)s.
///
/// ```
/// use apexmap::models::{self, Card, Numbers, scan};
///
/// // Red Storm on 1024 processors with a look-ahead of 1024: Table 2 of the hypercube paper gives 2.71 GUPS.
/// let model = models::find("random_access.hypercube")?;
/// let numbers = Numbers::new(model, &Card::find("red-storm")?, &[])?;
/// let points = scan(model, &numbers, &[("P".into(), vec![1024.0, 16384.0])])?;
/// assert_eq!(format!("{:.2}", points[0].prediction.value / 1e9), "2.71");
/// // The paper's table has 1 to 8192 processors.
/// assert_eq!(points[1].extrapolations[0].variable, "P");
/// # Ok::<(), apexmap::Error>(())
/// ```
pub mod models {
    pub use apexmap_base::reservation::Reservation;
    pub use apexmap_base::source::Source;
    pub use apexmap_theory::machine::{Card, Domain, Extent, JointFit, Number, PUBLISHED};
    pub use apexmap_theory::models::domains::Extrapolation;
    pub use apexmap_theory::models::scan::{BandBasis, Numbers, ScanPoint, scan};
    pub use apexmap_theory::models::{ALL, About, Break, Model, Parameter, Prediction, ValidNumbers, Variable, find};
}

/// Fits of models to measurements.
///
/// Take [`observations`](fits::observations) from samples or make your own, state which parameters are known, and
/// [`fit`](fits::fit()) the others. Each estimate has a 95 % interval. [`Fit::card`](fits::Fit::card) makes a machine card of the
/// estimates, for predictions at other points.
///
/// ```
/// use apexmap::fits::{Observation, Options, Role, fit};
/// use apexmap::models;
///
/// // Messages with one latency and one bandwidth: 2 us and 1 GB/s. Copies and rendezvous are left out.
/// let model = models::find("point_to_point.switch")?;
/// let rate = |bytes: f64| 1.0 / (2e-6 + bytes * 1e-9);
/// let sizes = [8.0, 64.0, 512.0, 4096.0, 32768.0];
/// let measured = sizes.map(|bytes| Observation { x: vec![bytes], y: rate(bytes), launch: 0 });
/// let roles = [Role::Fit, Role::Fit, Role::Hold(0.0), Role::Hold(0.0), Role::Hold(1.0)];
/// let fit = fit(model, &measured, &roles, Options::default())?;
/// let latency = &fit.estimates[0];
/// assert!((latency.value / 2e-6 - 1.0).abs() < 1e-6 && latency.low <= latency.value);
/// # Ok::<(), apexmap::Error>(())
/// ```
pub mod fits {
    pub use apexmap_study::model_fit::{Data, observations, sentence};
    pub use apexmap_theory::fit::baseline::{Baseline, interpolate as baseline};
    pub use apexmap_theory::fit::quality::Quality;
    pub use apexmap_theory::fit::{Estimate, Fit, Observation, Options, Point, Role, fit};
}

/// Surfaces, contours, heat maps and curves of samples or plain data, as SVG, PNG or PDF.
///
/// [`figure`](figures::figure()) makes a [`Figure`](figures::Figure) from samples; for other data, fill in a `Figure` yourself.
/// Draw it with [`svg`](figures::svg) or [`save`](figures::save).
///
/// ```
/// use apexmap::figures::{self, CurvePoint, Curves, Figure, Quantity, Series, Unit};
///
/// let at = |x: f64, y: f64| CurvePoint { x, y, low: 0.95 * y, high: 1.05 * y };
/// let quantity = |label: &str, unit| Quantity { label: label.into(), unit, log: true };
/// let svg = figures::svg(&Figure::Curves(Curves {
///     title: "Messages".into(),
///     subtitle: "synthetic".into(),
///     x: quantity("message", Unit::Bytes),
///     y: quantity("rate", Unit::PerSecond),
///     series: vec![Series { label: "node A".into(), points: vec![at(8.0, 4e6), at(64.0, 3e6), at(512.0, 1e6)] }],
///     marks: Vec::new(),
///     ordered: false,
/// }))?;
/// assert!(svg.starts_with("<svg") && svg.contains("node A"));
/// # Ok::<(), apexmap::Error>(())
/// ```
pub mod figures {
    pub use apexmap_base::units::Unit;
    pub use apexmap_draw::figure::{
        Axis, CurvePoint, Curves, Figure, Grid, Landmark, LandmarkStyle, Quantity, Series, View, save, svg,
    };
    pub use apexmap_draw::plot::{FigureKind, Request, figure};
}
