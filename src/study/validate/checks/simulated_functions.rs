//! Values of the papers' experiments on simulated machines. They are NaN until `make papers` has simulated them.

use super::call::Call;
use crate::validate::simulations::marginal_rate;
use apexmap_base::error::Result;
use apexmap_base::point::Value;
use apexmap_theory::trade::{RequiredBlock, required_block};

/// Returns the median of a column (`of`) over the samples of a sweep at the point with all other arguments: numbers or words.
pub fn simulated_value(call: &Call) -> Result<f64> {
    Ok(median(call, call.word("sweep")?, &values(call), call.word("of")?))
}

/// Returns the marginal rate of the runs of a sweep at the point with all other arguments.
pub fn simulated_marginal_rate(call: &Call) -> Result<f64> {
    let simulations = call.names.published.simulations;
    let samples = simulations.and_then(|simulations| simulations.select(call.word("sweep").ok()?, &values(call)));
    Ok(samples.and_then(|samples| marginal_rate(&samples)).unwrap_or(f64::NAN))
}

/// Returns the values of a point's parameters.
fn values<'a>(call: &Call<'a>) -> Vec<(&'a str, Value)> {
    let values = call.arguments.iter().filter(|(key, _)| !["sweep", "of"].contains(key)).map(|(key, formula)| {
        let number = call.names.number(formula).map(Value::Real);
        (*key, number.unwrap_or_else(|_| Value::Text((*formula).to_owned())))
    });
    values.collect()
}

fn median(call: &Call, sweep: &str, values: &[(&str, Value)], column: &str) -> f64 {
    let simulations = call.names.published.simulations;
    simulations.and_then(|simulations| simulations.median(sweep, values, column)).unwrap_or(f64::NAN)
}

/// Returns the factor by which L must grow to hold the bandwidth of alpha = 0.001 and L = 1 at alpha = 1.
pub fn simulated_trade(call: &Call) -> Result<f64> {
    let bandwidth = |alpha: f64, block: f64| {
        let values = [("alpha", Value::Real(alpha)), ("L", Value::Real(block))];
        median(call, call.word("sweep").unwrap_or_default(), &values, "bytes_per_second")
    };
    let blocks: Vec<f64> = (0..=16).map(|power| f64::from(1 << power)).collect();
    let far: Vec<f64> = blocks.iter().map(|block| bandwidth(1.0, *block)).collect();
    let level = bandwidth(0.001, 1.0);
    Ok(match required_block(&blocks, &far, level) {
        RequiredBlock::Words(words) | RequiredBlock::AtMost(words) if !level.is_nan() => words,
        RequiredBlock::Never if !level.is_nan() => f64::INFINITY,
        _ => f64::NAN,
    })
}
