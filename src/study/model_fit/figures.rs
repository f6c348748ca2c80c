//! Figures of a model and a measurement: curves with bands, surfaces, their ratio, and bottlenecks.

use super::varying_variables;
use apexmap_base::units::Unit;
use apexmap_draw::figure::{
    Axis, Categories, CellText, CurvePoint, Curves, Figure, FigureOptions, Grid, Quantity, Series, View,
};
use apexmap_theory::fit::{Point, RateWords};
use apexmap_theory::models::{Model, scan::BandBasis};
use apexmap_theory::statistics::median;
use ndarray::Array2;

/// Maximum number of curves in one figure, and of planes shown.
const MAX_CURVES: usize = 3;

/// The name becomes part of the name of its file.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFigure {
    pub name: String,
    pub caption: String,
    pub figure: Figure,
}

/// The index of a variable that varies, and its values, ascending.
type VariedVariable = (usize, Vec<f64>);

/// Curves over the variable with the most values; also surfaces, ratios and bottlenecks over the two with the most values if at least
/// half of their combinations were measured. `basis` says what the bands cover.
pub fn model_figures(
    model: &dyn Model,
    points: &[Point],
    (words, basis): (RateWords, BandBasis),
    subtitle: &str,
) -> Vec<ModelFigure> {
    let values = |index: usize| ascending(points.iter().map(|point| point.x[index]));
    let mut variables: Vec<VariedVariable> =
        varying_variables(points).into_iter().map(|index| (index, values(index))).collect();
    let is_word = |index: usize| !model.about().variables[index].words.is_empty();
    // Words cannot be an axis.
    variables.sort_by_key(|(index, values)| (is_word(*index), std::cmp::Reverse(values.len())));
    let Some(((x, _), others)) = variables.split_first() else { return Vec::new() };
    let mut shown = vec![ModelFigure {
        name: "curves".into(),
        caption: format!(
            "Rates, {} (marks) and predicted (lines; the bands show {}).",
            words.rates,
            basis.to_string().replace("measurement", words.source)
        ),
        figure: Figure::Model(curves(
            model,
            points,
            (words, subtitle),
            *x,
            &others.iter().map(|(index, _)| *index).collect::<Vec<_>>(),
        )),
    }];
    if let [x, y, rest @ ..] = variables.as_slice()
        && !is_word(y.0)
    {
        let rest: Vec<usize> = rest.iter().map(|(index, _)| *index).collect();
        for (number, slice) in spread(&slices(points, &rest)).into_iter().enumerate() {
            let plane_points: Vec<&Point> = points.iter().filter(|point| is_in_slice(point, &rest, &slice)).collect();
            let name = slice_label(model, &rest, &slice);
            let subtitle = if name.is_empty() { subtitle.to_owned() } else { format!("{name}; {subtitle}") };
            let plane = Plane::new(model, &plane_points, (words, subtitle), x, y);
            if plane.is_filled() {
                shown.extend(plane.figures(number));
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

fn slices(points: &[Point], variables: &[usize]) -> Vec<Vec<f64>> {
    let mut slices: Vec<Vec<f64>> =
        points.iter().map(|point| variables.iter().map(|&index| point.x[index]).collect()).collect();
    slices.sort_by(|a, b| {
        a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    });
    slices.dedup();
    slices
}

fn is_in_slice(point: &Point, variables: &[usize], slice: &[f64]) -> bool {
    variables.iter().zip(slice).all(|(&index, value)| point.x[index] == *value)
}

fn spread<T: Clone>(items: &[T]) -> Vec<T> {
    match items.len() {
        0..=MAX_CURVES => items.to_vec(),
        n => vec![items[0].clone(), items[n / 2].clone(), items[n - 1].clone()],
    }
}

/// `alpha = 0.1, L = 64`.
pub(super) fn slice_label(model: &dyn Model, variables: &[usize], slice: &[f64]) -> String {
    let label = |(&index, value): (&usize, &f64)| {
        let (name, text) = (model.about().variables[index].name, super::value_text(model, index, *value));
        // The end of a kernel's name identifies it.
        if name == "kernel" { text.rsplit('.').next().unwrap_or_default().into() } else { format!("{name} = {text}") }
    };
    variables.iter().zip(slice).map(label).collect::<Vec<_>>().join(", ")
}

fn quantity(label: String, unit: Unit, values: &[f64]) -> Quantity {
    let (low, high) =
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)));
    Quantity { label, unit, log: low > 0.0 && high / low >= 8.0 }
}

pub(super) fn axis(model: &dyn Model, (index, values): &VariedVariable) -> Axis {
    let variable = &model.about().variables[*index];
    let clause = variable.meaning.split([':', ',', ';']).next().unwrap_or_default();
    let label = format!("{} ({clause})", variable.name);
    Axis { quantity: quantity(label, variable.unit, values), values: values.clone() }
}

pub(super) fn rate_quantity(model: &dyn Model, rates: &[f64]) -> Quantity {
    let described = super::described_rate(model);
    quantity(described.label, described.unit, rates)
}

/// Measured or simulated rates, the median of the launches at each x, and the prediction with its band.
fn curves(
    model: &dyn Model,
    points: &[Point],
    (words, subtitle): (RateWords, &str),
    x: usize,
    others: &[usize],
) -> Curves {
    let mut series = Vec::new();
    // A curve needs two points. If no slice has two, show the single points.
    let is_curve = |slice: &&Vec<f64>| {
        let slice_points = points.iter().filter(|point| is_in_slice(point, others, slice));
        ascending(slice_points.map(|point| point.x[x])).len() > 1
    };
    let slices = slices(points, others);
    let long_slices: Vec<Vec<f64>> = slices.iter().filter(is_curve).cloned().collect();
    for slice in spread(if long_slices.is_empty() { &slices } else { &long_slices }) {
        let members: Vec<&Point> = points.iter().filter(|point| is_in_slice(point, others, &slice)).collect();
        let name = slice_label(model, others, &slice);
        let comma = if name.is_empty() { "" } else { ", " };
        let places = ascending(members.iter().map(|point| point.x[x]));
        let (mut measured, mut predicted) = (Vec::new(), Vec::new());
        for place in places {
            let launches: Vec<&Point> = members.iter().filter(|point| point.x[x] == place).copied().collect();
            let &Point { predicted: y, low, high, .. } = launches[0];
            measured.push(CurvePoint::new(place, median_of(&launches, |point| point.measured), None));
            predicted.push(CurvePoint { x: place, y, low, high });
        }
        series.push(Series { label: format!("{name}{comma}{}", words.rates), points: measured });
        series.push(Series { label: format!("{name}{comma}model"), points: predicted });
    }
    let rates: Vec<f64> = series.iter().flat_map(|series| &series.points).map(|point| point.y).collect();
    let places = ascending(points.iter().map(|point| point.x[x]));
    Curves::new(
        format!("{}: model and {}", model.about().id, words.source),
        subtitle,
        axis(model, &(x, places)).quantity,
        rate_quantity(model, &rates),
        series,
    )
}

/// Points that differ only in two variables.
struct Plane<'a> {
    model: &'a dyn Model,
    points: &'a [&'a Point],
    words: RateWords,
    subtitle: String,
    x: &'a VariedVariable,
    y: &'a VariedVariable,
    /// At each [y, x].
    cell_points: Array2<Vec<&'a Point>>,
}

impl<'a> Plane<'a> {
    fn new(
        model: &'a dyn Model,
        points: &'a [&'a Point],
        (words, subtitle): (RateWords, String),
        x: &'a VariedVariable,
        y: &'a VariedVariable,
    ) -> Self {
        let mut cell_points = Array2::from_elem((y.1.len(), x.1.len()), Vec::new());
        let place =
            |(index, values): &VariedVariable, point: &Point| values.partition_point(|value| *value < point.x[*index]);
        points.iter().for_each(|point| cell_points[(place(y, point), place(x, point))].push(*point));
        Self { model, points, words, subtitle, x, y, cell_points }
    }

    fn is_filled(&self) -> bool {
        let filled = self.cells(|_| 1.0).iter().filter(|v| v.is_finite()).count();
        2 * filled >= self.x.1.len() * self.y.1.len()
    }

    /// A value at each [y, x], computed from the points there; NaN without points.
    fn cells(&self, value: impl Fn(&[&Point]) -> f64) -> Array2<f64> {
        self.cell_points.map(|cell_points| if cell_points.is_empty() { f64::NAN } else { value(cell_points) })
    }

    /// All figures of the first plane, and ratio and bottleneck of the others.
    fn figures(&self, number: usize) -> Vec<ModelFigure> {
        let measured = self.cells(|cell_points| median_of(cell_points, |point| point.measured));
        let predicted = self.cells(|cell_points| cell_points[0].predicted);
        let (mut shown, rates) = (Vec::new(), self.words.rates);
        let mut add = |name: &str, caption: &str, figure: Figure| {
            let name = if number == 0 { name.to_owned() } else { format!("{name}-{}", number + 1) };
            shown.push(ModelFigure { name, caption: caption.to_owned(), figure });
        };
        if number == 0 && self.x.1.len() > 2 && self.y.1.len() > 2 {
            let both: Vec<f64> = measured.iter().chain(&predicted).copied().filter(|v| v.is_finite()).collect();
            let range = both.iter().fold((f64::INFINITY, 0.0f64), |(low, high), v| (low.min(*v), high.max(*v)));
            let z = rate_quantity(self.model, &both);
            for (name, words, values) in [(rates, rates, measured.clone()), ("model", "predicted", predicted.clone())] {
                let grid = self.grid(words, z.clone(), values).transpose();
                let caption = format!("The surface as {words}; both surfaces have the same scale.");
                add(
                    name,
                    &caption,
                    Figure::Surface(grid, View::default())
                        .with(FigureOptions { range: Some(range), ..FigureOptions::default() }),
                );
            }
        }
        let ratio = |label: &str| Quantity::log(label, Unit::None);
        let label = format!("{rates} / predicted");
        let caption = format!(
            "Rates, {label}: blue where the machine is faster than the model, red where it is slower, white at 1."
        );
        add("ratio", &caption, Figure::Ratio(self.grid(&label, ratio(&label), &measured / &predicted)));
        let left_out = self.cells(|cell_points| {
            median_of(cell_points, |p| p.left_out.map_or(f64::NAN, |predicted| p.measured / predicted))
        });
        if number == 0 && left_out.iter().any(|v| v.is_finite()) {
            let caption = "The residual of each point relative to a fit to all other points: the prediction for a \
                 held-out point.";
            let label = format!("{rates} / held-out prediction");
            add(
                "residuals",
                caption,
                Figure::Ratio(self.grid("residuals of held-out points", ratio(&label), left_out)),
            );
        }
        if let Some(bottlenecks) = self.bottlenecks() {
            let caption = "The bottleneck at each point: the model's term that takes most of the time, or sets the \
                 bound.";
            add("bottleneck", caption, Figure::Categories(bottlenecks));
        }
        shown
    }

    fn grid(&self, subject: &str, z: Quantity, values: Array2<f64>) -> Grid {
        Grid {
            title: format!("{}: {subject}", self.model.about().id),
            subtitle: self.subtitle.clone(),
            x: axis(self.model, self.x),
            y: axis(self.model, self.y),
            z,
            values,
            failed: Vec::new(),
        }
    }

    /// `None` if the bottleneck is the same everywhere.
    fn bottlenecks(&self) -> Option<Categories> {
        let mut names: Vec<&'static str> = self.points.iter().map(|point| point.bottleneck).collect();
        names.sort_unstable();
        names.dedup();
        let class = |point: &&Point| names.iter().position(|name| *name == point.bottleneck);
        let cells = self.cell_points.map(|cell_points| cell_points.first().and_then(class));
        let [x, y] = [self.x, self.y].map(|variable| axis(self.model, variable));
        let title = format!("{}: bottleneck", self.model.about().id);
        (names.len() > 1).then(|| Categories {
            grid: Grid::without_values(title, self.subtitle.clone(), x, y),
            cells,
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            shown: CellText::Name,
        })
    }
}

fn median_of(points: &[&Point], value: impl Fn(&Point) -> f64) -> f64 {
    median(&points.iter().map(|point| value(point)).collect::<Vec<_>>()).unwrap_or(f64::NAN)
}
