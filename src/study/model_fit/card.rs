//! Predicts a measurement from a machine card alone, whose numbers were measured individually or published.

pub use super::sentence::NEAR;
use super::sentence::{bias, failure};
use super::{Data, observations};
use apexmap_base::error::Result;
use apexmap_base::reservation;
use apexmap_results::samples::Samples;
use apexmap_results::table::columns;
use apexmap_theory::fit::{Observation, Point, RateWords, quality::smape};
use apexmap_theory::machine::Card;
use apexmap_theory::models::Model;
use apexmap_theory::models::scan::{Numbers, scan_point};

#[derive(Clone, Debug, PartialEq)]
pub struct CardPrediction {
    pub numbers: Numbers,
    pub points: Vec<Point>,
    pub smape: f64,
    /// Share of the points whose measurement is within a factor of [`NEAR`] of the prediction.
    pub near: f64,
    /// Median of measured over predicted rates.
    pub bias: f64,
    pub words: RateWords,
    pub extrapolated: usize,
    /// The limits of the predictions, each with the number of points.
    pub reservations: Vec<(String, usize)>,
}

/// The bands of the predictions follow from the intervals of the card's numbers.
pub fn predict(samples: &Samples, model: &dyn Model, card: &Card) -> Result<(Data, CardPrediction)> {
    let data = observations(samples, model, &[])?;
    let numbers = Numbers::new(model, card, &[])?;
    let samples = super::select_kernels(samples, model.about().explains);
    let option = |name: &str| samples.values(columns::resolve(name));
    let (mut points, mut reservations, mut extrapolated) = (Vec::new(), Vec::new(), 0);
    for Observation { x, y, launch } in &data.observations {
        let row = scan_point(model, &numbers, x.clone(), &option)?;
        extrapolated += usize::from(!row.extrapolations.is_empty());
        reservations.push(row.reservations);
        let (low, high) = row.band.unwrap_or((f64::NAN, f64::NAN));
        let (predicted, bottleneck) = (row.prediction.value, row.prediction.bottleneck);
        points.push(Point {
            x: row.x,
            launch: *launch,
            measured: *y,
            predicted,
            low,
            high,
            bottleneck,
            left_out: None,
        });
    }
    if let Some(wrong) = points.iter().find(|point| !point.predicted.is_finite()) {
        let place = super::place(model, &wrong.x, &(0..wrong.x.len()).collect::<Vec<_>>());
        return Err(apexmap_base::error::Error::input(
            format!("the card of {} has no value for some inputs of {} at {place}", card.name, model.about().id),
            "calibrate with at least two ranks, which also measures the network: apexmap calibrate",
        ));
    }
    let ratios: Vec<f64> = points.iter().map(|point| point.measured / point.predicted).collect();
    let predicted = CardPrediction {
        numbers,
        near: ratios.iter().filter(|ratio| (1.0 / NEAR..=NEAR).contains(*ratio)).count() as f64 / ratios.len() as f64,
        smape: smape(points.iter().map(|point| (point.measured, point.predicted))),
        bias: bias(&points),
        words: RateWords::new(data.simulated.as_deref()),
        extrapolated,
        reservations: reservation::count(reservations.iter().map(Vec::as_slice)),
        points,
    };
    Ok((data, predicted))
}

/// How well a card predicts a measurement, and where it does not, in one sentence.
pub fn sentence(model: &dyn Model, card: &Card, predicted: &CardPrediction) -> String {
    let source = predicted.words.source;
    let direction = if predicted.bias >= 1.0 { "faster" } else { "slower" };
    let factor = predicted.bias.max(1.0 / predicted.bias);
    let farthest =
        super::farthest(model, &predicted.points, source).map(|words| format!("; {words}")).unwrap_or_default();
    let verdict = match failure(predicted.smape, &predicted.points) {
        None => format!("predicts the {source} to within {:.1} % (SMAPE)", 100.0 * predicted.smape),
        Some(why) => format!("does not describe the {source}: {why}"),
    };
    let limits = reservation::clauses(&predicted.reservations, predicted.points.len(), "point").join("; ");
    let limits = if limits.is_empty() { limits } else { format!(" Limits of this prediction: {limits}.") };
    let origin = match model.formula() {
        Some(_) => "the numbers of its file".to_owned(),
        None => format!("the card of {}", card.name),
    };
    format!(
        "With {origin} and nothing fitted, {} {verdict}; {:.0} % of \
         the points are within a factor of {NEAR} of it, and the median point is {factor:.2} times {direction} than predicted{farthest}.\
         {limits}",
        model.about().id,
        100.0 * predicted.near
    )
}
