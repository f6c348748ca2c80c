//! Figures of a model and a measurement: curves with bands, surfaces, their ratio, and bottlenecks.

use super::varied;
use apexmap_base::units::Unit;
use apexmap_draw::figure::{Axis, CurvePoint, Curves, Figure, Grid, Quantity, Regions, Series, View};
use apexmap_results::table::columns;
use apexmap_theory::fit::Point;
use apexmap_theory::models::Model;
use apexmap_theory::statistics::median;
use ndarray::Array2;

/// Maximum number of curves in one figure, and of planes shown.
const MOST: usize = 3;

/// A figure with a name that becomes part of its file name.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFigure {
    pub name: String,
    pub caption: String,
    pub figure: Figure,
}

/// The index of a variable that varies, and its values, ascending.
type Varied = (usize, Vec<f64>);

/// Returns curves over the variable with the most values. If at least half of the combinations of the two variables
/// with the most values were measured, returns surfaces, ratios and bottlenecks over these too.
pub fn of(model: &dyn Model, points: &[Point], subtitle: &str) -> Vec<ModelFigure> {
    let values = |at: usize| ascending(points.iter().map(|point| point.x[at]));
    let mut variables: Vec<Varied> = varied(points).into_iter().map(|at| (at, values(at))).collect();
    let is_word = |at: usize| !model.about().variables[at].words.is_empty();
    // Words cannot be an axis.
    variables.sort_by_key(|(at, values)| (is_word(*at), std::cmp::Reverse(values.len())));
    let Some(((x, _), others)) = variables.split_first() else { return Vec::new() };
    let mut shown = vec![ModelFigure {
        name: "curves".into(),
        caption: "Measured (marks) and predicted (lines; the bands show where 95 % of further measurements are \
             expected)."
            .into(),
        figure: Figure::Model(curves(
            model,
            points,
            subtitle,
            *x,
            &others.iter().map(|(at, _)| *at).collect::<Vec<_>>(),
        )),
    }];
    if let [x, y, rest @ ..] = variables.as_slice()
        && !is_word(y.0)
    {
        let rest: Vec<usize> = rest.iter().map(|(at, _)| *at).collect();
        for (number, slice) in spread(&slices(points, &rest)).into_iter().enumerate() {
            let here: Vec<&Point> = points.iter().filter(|point| lies_in(point, &rest, &slice)).collect();
            let name = named(model, &rest, &slice);
            let subtitle = if name.is_empty() { subtitle.to_owned() } else { format!("{name}; {subtitle}") };
            let plane = Plane::new(model, &here, subtitle, x, y);
            if plane.filled() {
                shown.extend(plane.pictures(number));
            }
        }
    }
    shown
}

pub(super) fn ascending(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// Returns the distinct combinations of some variables.
fn slices(points: &[Point], variables: &[usize]) -> Vec<Vec<f64>> {
    let mut all: Vec<Vec<f64>> = points.iter().map(|point| variables.iter().map(|&at| point.x[at]).collect()).collect();
    all.sort_by(|a, b| {
        a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    });
    all.dedup();
    all
}

fn lies_in(point: &Point, variables: &[usize], slice: &[f64]) -> bool {
    variables.iter().zip(slice).all(|(&at, value)| point.x[at] == *value)
}

/// Returns the first, the middle and the last item.
fn spread<T: Clone>(all: &[T]) -> Vec<T> {
    match all.len() {
        0..=MOST => all.to_vec(),
        n => vec![all[0].clone(), all[n / 2].clone(), all[n - 1].clone()],
    }
}

/// Returns `alpha = 0.1, L = 64`.
pub(super) fn named(model: &dyn Model, variables: &[usize], slice: &[f64]) -> String {
    let one = |(&at, value): (&usize, &f64)| {
        let (name, said) = (model.about().variables[at].name, super::value_text(model, at, *value));
        // The end of a kernel's name identifies it.
        if name == "kernel" { said.rsplit('.').next().unwrap_or_default().into() } else { format!("{name} = {said}") }
    };
    variables.iter().zip(slice).map(one).collect::<Vec<_>>().join(", ")
}

fn quantity(label: String, unit: Unit, values: &[f64]) -> Quantity {
    let (low, high) =
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)));
    Quantity { label, unit, log: low > 0.0 && high / low >= 8.0 }
}

pub(super) fn axis(model: &dyn Model, (at, values): &Varied) -> Axis {
    let variable = &model.about().variables[*at];
    let clause = variable.meaning.split([':', ',', ';']).next().unwrap_or_default();
    let label = format!("{} ({clause})", variable.name);
    Axis { quantity: quantity(label, variable.unit, values), values: values.clone() }
}

pub(super) fn rates_of(model: &dyn Model, rates: &[f64]) -> Quantity {
    let about = model.about();
    quantity(columns::describe(about.column).label, about.unit, rates)
}

/// Returns measured rates, the median of the launches at each x, and the prediction with its band.
fn curves(model: &dyn Model, points: &[Point], subtitle: &str, x: usize, others: &[usize]) -> Curves {
    let mut series = Vec::new();
    // A curve needs two points. If no slice has two, show the single points.
    let long = |slice: &&Vec<f64>| {
        let here = points.iter().filter(|point| lies_in(point, others, slice));
        ascending(here.map(|point| point.x[x])).len() > 1
    };
    let all = slices(points, others);
    let some: Vec<Vec<f64>> = all.iter().filter(long).cloned().collect();
    for slice in spread(if some.is_empty() { &all } else { &some }) {
        let members: Vec<&Point> = points.iter().filter(|point| lies_in(point, others, &slice)).collect();
        let name = named(model, others, &slice);
        let comma = if name.is_empty() { "" } else { ", " };
        let places = ascending(members.iter().map(|point| point.x[x]));
        let here = |place: f64| members.iter().filter(move |point| point.x[x] == place);
        let measured = |&place: &f64| {
            let all: Vec<f64> = here(place).map(|point| point.measured).collect();
            CurvePoint { x: place, y: median(&all).unwrap_or(f64::NAN), low: f64::NAN, high: f64::NAN }
        };
        let predicted = |&place: &f64| {
            let point = here(place).next().expect("one point per position");
            CurvePoint { x: place, y: point.predicted, low: point.low, high: point.high }
        };
        series.push(Series { label: format!("{name}{comma}measured"), points: places.iter().map(measured).collect() });
        series.push(Series { label: format!("{name}{comma}model"), points: places.iter().map(predicted).collect() });
    }
    let rates: Vec<f64> = series.iter().flat_map(|series| &series.points).map(|point| point.y).collect();
    let places = ascending(points.iter().map(|point| point.x[x]));
    Curves {
        title: format!("{}: model and measurement", model.about().id),
        subtitle: subtitle.to_owned(),
        x: axis(model, &(x, places)).quantity,
        y: rates_of(model, &rates),
        series,
        marks: Vec::new(),
    }
}

/// Points that differ only in two variables.
struct Plane<'a> {
    model: &'a dyn Model,
    points: &'a [&'a Point],
    subtitle: String,
    x: &'a Varied,
    y: &'a Varied,
    /// The points at each [y, x].
    here: Array2<Vec<&'a Point>>,
}

impl<'a> Plane<'a> {
    fn new(model: &'a dyn Model, points: &'a [&'a Point], subtitle: String, x: &'a Varied, y: &'a Varied) -> Self {
        let mut here = Array2::from_elem((y.1.len(), x.1.len()), Vec::new());
        let place = |(at, values): &Varied, point: &Point| values.partition_point(|value| *value < point.x[*at]);
        points.iter().for_each(|point| here[(place(y, point), place(x, point))].push(*point));
        Self { model, points, subtitle, x, y, here }
    }

    fn filled(&self) -> bool {
        let known = self.cells(|_| 1.0).iter().filter(|v| v.is_finite()).count();
        2 * known >= self.x.1.len() * self.y.1.len()
    }

    /// Returns a value at each [y, x], computed from the points there; NaN without points.
    fn cells(&self, value: impl Fn(&[&Point]) -> f64) -> Array2<f64> {
        self.here.map(|here| if here.is_empty() { f64::NAN } else { value(here) })
    }

    /// Returns all figures of the first plane, and ratio and bottleneck of the others.
    fn pictures(&self, number: usize) -> Vec<ModelFigure> {
        let measured = self.cells(|here| middle(here, |point| point.measured));
        let predicted = self.cells(|here| here[0].predicted);
        let mut shown = Vec::new();
        let mut add = |name: &str, caption: &str, figure: Figure| {
            let name = if number == 0 { name.to_owned() } else { format!("{name}-{}", number + 1) };
            shown.push(ModelFigure { name, caption: caption.to_owned(), figure });
        };
        if number == 0 && self.x.1.len() > 2 && self.y.1.len() > 2 {
            let rates: Vec<f64> = measured.iter().chain(&predicted).copied().filter(|v| v.is_finite()).collect();
            let range = rates.iter().fold((f64::INFINITY, 0.0f64), |(low, high), v| (low.min(*v), high.max(*v)));
            let z = rates_of(self.model, &rates);
            for (name, words, values) in
                [("measured", "measured", measured.clone()), ("model", "predicted", predicted.clone())]
            {
                let grid = self.grid(words, z.clone(), values).turned();
                let caption = format!("The surface as {words}; both surfaces have the same scale.");
                add(name, &caption, Figure::Within(Box::new(Figure::Surface(grid, View::default())), range));
            }
        }
        let ratio = |label: &str| Quantity { label: label.into(), unit: Unit::None, log: true };
        let caption = "Measured / predicted: blue where the machine is faster than the model, red where it is \
             slower, white at 1.";
        let grid = self.grid("measured / predicted", ratio("measured / predicted"), &measured / &predicted);
        add("ratio", caption, Figure::Ratio(grid));
        let left_out =
            self.cells(|here| middle(here, |p| p.left_out.map_or(f64::NAN, |predicted| p.measured / predicted)));
        if number == 0 && left_out.iter().any(|v| v.is_finite()) {
            let caption = "The residual of each point relative to a fit to all other points: the prediction for a \
                 held-out point.";
            let label = "measured / held-out prediction";
            add("residuals", caption, Figure::Ratio(self.grid("residuals of held-out points", ratio(label), left_out)));
        }
        if let Some(regions) = self.regions() {
            let caption = "The bottleneck at each point: the model's term that takes most of the time, or sets the \
                 bound.";
            add("bottleneck", caption, Figure::Regions(regions));
        }
        shown
    }

    fn grid(&self, what: &str, z: Quantity, values: Array2<f64>) -> Grid {
        Grid {
            title: format!("{}: {what}", self.model.about().id),
            subtitle: self.subtitle.clone(),
            x: axis(self.model, self.x),
            y: axis(self.model, self.y),
            z,
            values,
            failed: Vec::new(),
        }
    }

    /// Returns the bottleneck at each point; `None` if it is the same everywhere.
    fn regions(&self) -> Option<Regions> {
        let mut names: Vec<&'static str> = self.points.iter().map(|point| point.bottleneck).collect();
        names.sort_unstable();
        names.dedup();
        let class = |point: &&Point| names.iter().position(|name| *name == point.bottleneck);
        let cells = self.here.map(|here| here.first().and_then(class));
        (names.len() > 1).then(|| Regions {
            title: format!("{}: bottleneck", self.model.about().id),
            subtitle: self.subtitle.clone(),
            x: axis(self.model, self.x),
            y: axis(self.model, self.y),
            names: names.into_iter().map(str::to_owned).collect(),
            cells,
        })
    }
}

fn middle(here: &[&Point], of: impl Fn(&Point) -> f64) -> f64 {
    median(&here.iter().map(|point| of(point)).collect::<Vec<_>>()).unwrap_or(f64::NAN)
}
