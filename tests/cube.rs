//! Tests of cubes: medians over named axes, their slices, ratios, slopes and elasticities against known values, and the
//! map of elasticities.

use apexmap_base::point::Value;
use apexmap_base::units::Unit;
use apexmap_draw::figure::{self, Figure};
use apexmap_draw::plot::{FigureKind, Request, figure};
use apexmap_results::samples::Samples;
use apexmap_results::samples::cube::Cube;
use apexmap_results::table::TableBuilder;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const ALPHAS: [f64; 4] = [0.01, 0.1, 0.5, 1.0];
const BLOCKS: [u64; 6] = [1, 2, 4, 16, 1024, 4096];

/// Returns three samples with this median rate at each alpha and L on 1 and 2 ranks, and none where the rate is NaN.
fn samples(rate: impl Fn(f64, f64, f64) -> f64) -> Samples {
    let mut table = TableBuilder::default();
    for (ranks, alpha, block) in
        [1u64, 2].into_iter().flat_map(|p| ALPHAS.iter().flat_map(move |a| BLOCKS.map(|l| (p, *a, l))))
    {
        let median = rate(ranks as f64, alpha, block as f64);
        for factor in [0.5, 1.0, 3.0].into_iter().filter(|_| !median.is_nan()) {
            table.begin_row();
            table.set("ranks", &Value::Integer(ranks));
            table.set("alpha", &Value::Real(alpha));
            table.set("block_words", &Value::Integer(block));
            table.set("bytes_per_second", &Value::Real(factor * median));
        }
    }
    Samples::from(table.finish())
}

fn samples_of_one_rank(rate: impl Fn(f64, f64, f64) -> f64) -> Samples {
    let both = samples(rate);
    both.filter_rows(|row| both.table().number("ranks", row) == 1.0)
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn a_power_law_has_constant_exponents() {
    let samples_of_law = samples(|p, alpha, l| 3e6 * p * l.powf(0.7) * alpha.powf(-0.25));
    let cube = samples_of_law.cube(["P", "alpha", "L"], "bytes_per_second").expect("a cube");
    assert_eq!(cube.values.dim(), (2, 4, 6));
    assert!(near(cube.values[(1, 3, 2)] / (6e6 * 4f64.powf(0.7)), 1.0));
    for (axis, power) in [("P", 1.0), ("alpha", -0.25), ("L", 0.7), ("block_words", 0.7)] {
        let elasticities = cube.elasticity(axis).expect("an axis");
        assert!(elasticities.values.iter().all(|value| near(*value, power)), "{axis}: {:?}", elasticities.values);
        assert_eq!(elasticities.axes, cube.axes);
    }
}

#[test]
fn a_saturating_rate_has_its_elasticity_within_the_truncation_error() {
    // 1 / (a + b / L) in steps of two: the elasticity is a logistic curve in log L.
    let (a, b) = (1e-10, 6.4e-9);
    let mut table = TableBuilder::default();
    for power in 0..14 {
        table.begin_row();
        table.set("L", &Value::Integer(1 << power));
        table.set("rate", &Value::Real(1.0 / (a + b / f64::from(1 << power))));
    }
    let cube = Samples::from(table.finish()).cube(["L"], "rate").expect("a cube");
    let elasticities = cube.elasticity("L").expect("elasticities").values;
    for (power, value) in elasticities.iter().enumerate() {
        let l = f64::from(1 << power);
        let exact = (b / l) / (a + b / l);
        // The error is h^2/6 times the largest third derivative; at the ends, h/2 times the largest second derivative.
        let h = 2f64.ln();
        let max_error = if power == 0 || power == 13 { h / 2.0 / 4.0 } else { h * h / 6.0 / (6.0 * 3f64.sqrt()) };
        assert!((value - exact).abs() <= max_error, "L = {l}: {value}, not {exact}");
    }
    assert!((elasticities[6] - 0.5).abs() < 1e-9, "half of the time is latency: {}", elasticities[6]);
}

#[test]
fn slopes_next_to_missing_values_use_the_other_neighbour() {
    let gap = |p: f64, alpha: f64, l: f64| match (alpha, l) {
        (0.1, 4.0 | 1024.0) => f64::NAN,
        _ => p * (1.0 + l * l),
    };
    let cube = samples_of_one_rank(gap).cube(["alpha", "L"], "bytes_per_second").expect("a cube");
    let slopes = cube.gradient("L").expect("slopes").values;
    // For a parabola, the slope equals the derivative whatever the steps; at the ends, it is the slope to the
    // neighbour.
    for (place, exact) in [(1, 4.0), (2, 8.0), (3, 32.0), (4, 2048.0), (0, 3.0), (5, 5120.0)] {
        assert!(near(slopes[(0, place)] / exact, 1.0), "{place}: {}", slopes[(0, place)]);
    }
    assert!(near(slopes[(1, 1)], 3.0) && slopes[(1, 2)].is_nan() && slopes[(1, 4)].is_nan());
    assert!(slopes[(1, 3)].is_nan() && slopes[(1, 5)].is_nan(), "no neighbours");
    assert!(near(cube.gradient("alpha").expect("slopes").values[(1, 0)], 0.0));
}

#[test]
fn slices_and_ratios_use_the_medians() {
    let samples_with_gap = samples(|p, alpha, l| if l == 2.0 && p == 2.0 { f64::NAN } else { p * p * l / alpha });
    let cube = samples_with_gap.cube(["P", "L", "alpha"], "bytes_per_second").expect("a cube");
    let [one_rank, two_ranks] = [1.0, 2.0].map(|ranks| cube.slice("P", ranks).expect("a slice"));
    assert_eq!(one_rank.axes.iter().map(|axis| axis.name.as_str()).collect::<Vec<_>>(), ["block_words", "alpha"]);
    assert_eq!(one_rank.slice("alpha", 0.5).expect("a slice").values.to_vec(), BLOCKS.map(|l| 2.0 * l as f64));
    let ratio = two_ranks.ratio(&one_rank).expect("the same axes").values;
    assert!(ratio.row(1).iter().all(|value| value.is_nan()));
    assert!(ratio.iter().filter(|value| !value.is_nan()).all(|value| *value == 4.0));
    let elsewhere = Cube::scatter(["block_words", "alpha"], vec![([1.0, 1.0], 2.0)]).numbers(|value| Some(*value));
    let error = two_ranks.ratio(&elsewhere).expect_err("other axes");
    assert!(error.message.contains("different axes"), "{error}");
}

#[test]
fn impossible_cubes_are_refused_with_the_reason() {
    let full = samples(|p, alpha, l| p * l / alpha);
    let cube = full.cube(["P", "alpha", "L"], "bytes_per_second").expect("a cube");
    for (error, expected) in [
        (full.cube(["alpha", "L"], "bytes_per_second").err(), "(P = 1, 2)"),
        (full.cube(["P", "M", "L"], "bytes_per_second").err(), "no column \"memory_words\""),
        (cube.elasticity("M").err(), "no axis \"M\""),
        (cube.slice("L", 3.0).err(), "no value 3"),
    ] {
        let error = error.expect(expected);
        assert!(error.message.contains(expected), "{error}");
    }
    let zero: Cube<f64, ndarray::Ix1> = Cube::scatter(["L"], vec![([0.0], 1.0), ([1.0], 2.0)]).numbers(|v| Some(*v));
    assert!(zero.elasticity("L").expect_err("no logarithm").message.contains("not positive"));
    assert!(near(zero.gradient("L").expect("slopes").values[0], 1.0));
}

fn request(x: &str, y: &str) -> Request {
    Request {
        kind: FigureKind::Elasticity,
        title: "elasticity".into(),
        x: x.into(),
        by: vec![y.into()],
        z: "bytes_per_second".into(),
    }
}

#[test]
fn an_elasticity_map_refers_to_its_first_axis() {
    let with_gap =
        samples_of_one_rank(|_, alpha, l| if (alpha, l) == (0.5, 4.0) { f64::NAN } else { 1e9 * l * alpha.powf(-0.5) });
    for (x, y, power, label, cells) in
        [("block_words", "alpha", 1.0, "L", 23), ("alpha", "block_words", -0.5, "alpha", 22)]
    {
        let drawn = figure(&with_gap, &request(x, y)).expect("a figure");
        let Figure::Elasticity(grid) = &drawn else { panic!("{drawn:?}") };
        assert_eq!((grid.z.label.as_str(), grid.z.unit), (&*format!("elasticity in {label}"), Unit::None));
        let how = format!("d log(aggregate bandwidth) / d log({label}) by central differences");
        assert!(grid.subtitle.contains(&how), "{}", grid.subtitle);
        let values: Vec<f64> = grid.values.iter().copied().filter(|value| !value.is_nan()).collect();
        assert!(values.len() == cells && values.iter().all(|value| near(*value, power)), "{values:?}");
        let svg = figure::svg(&drawn).expect("a picture");
        assert!(svg.contains(&format!("\n{power:.2}\n")) && svg.contains("no value"), "{svg}");
        assert!(drawn.description().starts_with("Heat map of elasticities."));
    }
    // Without a change, the number has no sign.
    let flat = samples_of_one_rank(|_, _, l| if l > 16.0 { 1.0 - 1e-9 } else { 1.0 });
    let svg = figure::svg(&figure(&flat, &request("block_words", "alpha")).expect("a figure")).expect("a picture");
    assert!(svg.contains("\n0.00\n") && !svg.contains("-0.00"), "{svg}");
    let single = with_gap.filter_rows(|row| with_gap.table().number("block_words", row) == 1.0);
    let error = figure(&single, &request("block_words", "alpha")).expect_err("one value of L");
    assert!(error.message.contains("two values of L"), "{error}");
}

proptest! {
    #[test]
    fn a_cube_stores_each_item_at_its_position(items in prop::collection::btree_map((0u8..5, 0u8..5), any::<u32>(), 0..20)) {
        let list = items.iter().map(|((y, x), item)| ([f64::from(*y), f64::from(*x)], *item)).collect();
        let cube = Cube::scatter(["y", "x"], list);
        let [ys, xs]: [BTreeSet<u8>; 2] = [items.keys().map(|(y, _)| *y).collect(), items.keys().map(|(_, x)| *x).collect()];
        prop_assert_eq!(cube.values.dim(), (ys.len(), xs.len()));
        prop_assert!(cube.axes.iter().all(|axis| axis.values.is_sorted_by(|a, b| a < b)));
        let held: BTreeMap<(u8, u8), u32> = cube.values.indexed_iter().filter_map(|((y, x), item)| {
            Some(((cube.axes[0].values[y] as u8, cube.axes[1].values[x] as u8), (*item)?))
        }).collect();
        prop_assert_eq!(held, items);
    }
}
