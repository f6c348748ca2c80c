//! The functions of `quantities`: models, formulas of the papers, and values computed from several rows of a table.
//!
//! The syntax is `NAME = FUNCTION KEY=FORMULA KEY=FORMULA`. A model takes its `card` and its variables. `NAME =
//! FORMULA` is arithmetic alone.

use super::{Call, names::Names, table_functions};
use crate::validate::{predict, simulations::marginal_rate};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Value;
use apexmap_measure::kernels::shared::updates::layout::Layout;
use apexmap_measure::numerics::{gf2, power_law::remote_share};
use apexmap_theory::machine::Card;
use apexmap_theory::models::{self, hypercube, nic, roles, shared_table};
use apexmap_theory::trade::{RequiredBlock, required_block};
use std::f64::consts::PI;

type Function = fn(&Call) -> Result<f64>;

const FUNCTIONS: &[(&str, Function)] = &[
    ("minimum", |call| Ok(call.numbers()?.into_iter().fold(f64::INFINITY, f64::min))),
    ("maximum", |call| Ok(call.numbers()?.into_iter().fold(0.0, f64::max))),
    ("log2", |call| Ok(call.number("x")?.log2())),
    ("remote_share", |call| Ok(remote_share(call.number("P")? as usize, call.number("alpha")?))),
    ("printed_polynomial_period", |_| Ok(period(&[64, 63, 62]) as f64)),
    ("loop_period", |_| Ok(gf2::PERIOD as f64)),
    ("messages", |call| Ok(hypercube::messages(call.number("P")?, call.number("d")?))),
    ("volume", |call| Ok(hypercube::volume(call.number("P")?, call.number("d")?, call.number("Q")?))),
    ("excess_share", |call| Ok(excess_share(call.number("P")?, call.number("Q")?))),
    ("bucket", |call| Ok(roles::bucket(call.number("nodes")?, call.number("Q")?))),
    ("hops", |call| Ok(roles::hops(call.number("nodes")?))),
    ("relative_deviation", |call| Ok(shared_table::relative_deviation(call.number("words")?, call.number("burst")?))),
    ("crossover", crossover),
    ("theorem_words", |_| Ok(layouts().map(|layout| layout.words()).sum::<u64>() as f64)),
    ("theorem_owners", |_| Ok(layouts().map(|layout| predicted_owners(&layout)).sum::<u64>() as f64)),
    ("io_bound", |call| Ok(nic::bounds(&[call.number("bytes")?, 1.0, 0.0], &interface()?)[1].value)),
    ("link_bound", |call| Ok(nic::bounds(&[call.number("bytes")?, 1.0, 0.0], &interface()?)[2].value)),
    ("potential_io_bandwidth", |call| Ok(nic::potential_io_bandwidth(call.number("bytes")?, &interface()?))),
    ("half_bandwidth_bytes", |call| Ok(nic::half_bandwidth_bytes(call.number("senders")?, &interface()?))),
    ("table_2_rate", table_functions::table_2_rate),
    ("table_3_stage", table_functions::table_3_stage),
    ("table_4_rate", table_functions::table_4_rate),
    ("other_rows_mean", table_functions::other_rows_mean),
    ("error_rate", table_functions::error_rate),
    ("burst", table_functions::burst),
    ("lock_rate", table_functions::lock_rate),
    ("rows_below_bisection", table_functions::rows_below_bisection),
    ("simulated", simulated_value),
    ("simulated_marginal_rate", simulated_marginal_rate),
    ("simulated_trade", simulated_trade),
];

pub fn value(names: &Names, formula: &str) -> Result<f64> {
    let (first, rest) = formula.split_once(' ').unwrap_or((formula, ""));
    let function = FUNCTIONS.iter().find(|(name, _)| *name == first);
    let is_model = models::ALL.iter().any(|model| model.about().id == first);
    if function.is_none() && !is_model {
        return names.number(formula);
    }
    let argument = |word| str::split_once(word, '=').ok_or_else(|| Error::internal(format!("\"{word}\" has no value")));
    let call = Call { names, arguments: rest.split_whitespace().map(argument).collect::<Result<_>>()? };
    match function {
        Some((_, function)) => function(&call),
        None => call.predict(first),
    }
}

fn interface() -> Result<Vec<f64>> {
    models::find("message_rate.nic")?.parameters(&Card::find("simulated-nic")?)
}

/// The order of x modulo a polynomial over GF(2): the number of steps after which it returns to 1, small enough to count. `terms` are
/// the exponents, up to 64. A factor x^k is removed first, because x never returns to 1 modulo x^k.
fn period(terms: &[u32]) -> u64 {
    let least = terms.iter().min().copied().unwrap_or(0);
    let terms: Vec<u32> = terms.iter().map(|term| term - least).collect();
    let degree = terms.iter().max().copied().unwrap_or(0);
    let tail = terms.iter().filter(|&&term| term != degree).fold(0u128, |bits, term| bits | 1 << term);
    let advance = |value: u128| {
        let shifted = value << 1;
        if shifted >> degree & 1 == 1 { (shifted ^ 1 << degree) ^ tail } else { shifted }
    };
    let mut value = advance(1);
    let mut steps = 1;
    // The limit ends polynomials whose order is too large to count.
    while value != 1 && steps < 1 << 20 {
        value = advance(value);
        steps += 1;
    }
    steps
}

/// The mean number of updates that a processor receives beyond Q in a round, as a share of Q: Q' of P Q updates, each with
/// probability 1/P. For the normal distribution, the mean excess is the standard deviation over sqrt(2 pi).
fn excess_share(ranks: f64, look_ahead: f64) -> f64 {
    ((1.0 - 1.0 / ranks) / (2.0 * PI * look_ahead)).sqrt()
}

/// The first power of two of nodes at which a model's bottleneck is the bisection.
fn crossover(call: &Call) -> Result<f64> {
    let (model, per_node) = (call.word("model")?, call.number("ranks_per_node")?);
    let mut nodes = 2.0;
    loop {
        let given = [("P", nodes * per_node), ("ranks_per_node", per_node)];
        // The limit ends models whose bisection is never the bottleneck.
        if predict(model, "bluegene-p", &given)?.bottleneck == "bisection" || nodes > 1e9 {
            return Ok(nodes);
        }
        nodes *= 2.0;
    }
}

/// Tables of 2^4 to 2^13 words over every number of nodes that Theorem 4.1 covers.
fn layouts() -> impl Iterator<Item = Layout> {
    (4..=13u32).flat_map(|bits| {
        let is_covered = move |nodes: &usize| (*nodes as u64) < (1 << bits) / *nodes as u64;
        (1..1 << bits).take_while(is_covered).map(move |nodes| Layout::new(bits, nodes))
    })
}

fn predicted_owners(layout: &Layout) -> u64 {
    let holds = |word: &u64| {
        let (owner, predicted) = (layout.owner_by_division(*word), layout.predict_owner(*word));
        owner <= predicted && predicted <= owner + 1
    };
    (0..layout.words()).filter(holds).count() as u64
}

/// The median of a column (`of`) over the samples of a sweep at the point with all other arguments: numbers or words.
pub fn simulated_value(call: &Call) -> Result<f64> {
    Ok(median(call, call.word("sweep")?, &values(call), call.word("of")?))
}

/// The marginal rate of the runs of a sweep at the point with all other arguments.
pub fn simulated_marginal_rate(call: &Call) -> Result<f64> {
    let simulations = call.names.published.simulations;
    let samples = simulations.and_then(|simulations| simulations.select(call.word("sweep").ok()?, &values(call)));
    Ok(samples.and_then(|samples| marginal_rate(&samples)).unwrap_or(f64::NAN))
}

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

/// The factor by which L must grow to hold the bandwidth of alpha = 0.001 and L = 1 at alpha = 1.
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
