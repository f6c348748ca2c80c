//! Compiles and runs the examples of docs/appendix/extending.md; `docs` checks that the page shows these files.

#[path = "worked/figure.rs"]
mod figure;
#[path = "worked/kernel.rs"]
mod kernel;
#[path = "worked/model.rs"]
mod model;

use super::common::{samples, table};
use apexmap_base::point::{Point, Value};
use apexmap_draw::figure::{Figure, svg};
use apexmap_measure::comm::{Transport, World, threads};
use apexmap_measure::kernels::Outcome;
use apexmap_results::samples::Samples;
use apexmap_theory::fit::{Observation, Options, Role, fit};
use apexmap_theory::models::Model;
use std::path::Path;

fn run(ranks: usize, words: u64, stride: u64) -> Outcome {
    let point = Point::new("example.stride", ranks).with_parameter("M", words).with_parameter("S", stride);
    kernel::STRIDE.check(&point).expect("a point that can be run");
    let run = |comm: &threads::ThreadComm, arena: &mut _| {
        kernel::STRIDE.run(&point, 0, &mut World { transport: Transport::Threads(comm), arena })
    };
    threads::run(ranks, run).swap_remove(0).expect("no rank panics").expect("no rank fails")
}

#[test]
fn a_kernel_runs_and_verifies_on_one_and_on_several_ranks() {
    for (ranks, words, stride, reads) in [(1, 1 << 16, 1, 1 << 16), (1, 1000, 7, 143), (3, 3000, 1024, 1)] {
        let outcome = run(ranks, words, stride);
        assert_eq!(outcome.verdict, Ok(()));
        assert_eq!(outcome.outputs["words_read"], Value::Integer(reads));
        assert!(outcome.seconds > 0.0);
    }
    let odd = Point::new("example.stride", 3).with_parameter("M", 1000u64).with_parameter("S", 1u64);
    assert!(kernel::STRIDE.check(&odd).is_err_and(|why| why.message.contains("no multiple")));
    let work = kernel::STRIDE.work(&odd.with_parameter("M", 3000u64).with_parameter("S", 10u64));
    assert_eq!((work.operations, work.bytes), (300.0, 2400.0));
}

#[test]
fn a_model_predicts_and_a_fit_recovers_its_numbers() {
    let model = &model::SharedMemory;
    // 10 GB/s per process and 40 GB/s per node: 8 GB/s for one process, 20 GB/s for four.
    let truth = [1e-10, 2.5e-11];
    let predict_on = |ranks: f64| model.predict(&[ranks], &truth);
    assert!((predict_on(1.0).value / 8e9 - 1.0).abs() < 1e-12 && predict_on(1.0).bottleneck == "processes");
    assert!((predict_on(4.0).value / 20e9 - 1.0).abs() < 1e-12 && predict_on(16.0).bottleneck == "memory of the node");
    let observations: Vec<Observation> = [1.0, 2.0, 4.0, 8.0, 16.0]
        .map(|ranks| Observation { x: vec![ranks], y: predict_on(ranks).value, launch: 0 })
        .to_vec();
    let options = Options { resamples: 0, ..Options::default() };
    let estimated = fit(model, &observations, &[Role::Fit, Role::Fit], options).expect("a fit");
    for (estimate, truth) in estimated.estimates.iter().zip(truth) {
        assert!((estimate.value / truth - 1.0).abs() < 1e-6, "{estimate:?}");
    }
    let same_ranks = vec![observations[0].clone(); 3];
    assert!(fit(model, &same_ranks, &[Role::Fit, Role::Fit], options).is_err(), "one rank does not identify both");
}

#[test]
fn the_figure_shows_the_share_of_samples_at_or_below_each_value() {
    let samples = Samples::from(table(samples())).current();
    let drawn = figure::distribution(&samples, "block_words", "seconds").expect("a figure");
    let Figure::Curves(curves) = &drawn else { panic!("curves") };
    let points: Vec<_> = curves.series[1].points.iter().map(|point| (point.x, point.y)).collect();
    assert_eq!(points, [(1.0, 0.2), (2.0, 0.4), (3.0, 0.6), (4.0, 0.8), (10.0, 1.0)]);
    let picture = svg(&drawn).expect("a picture");
    assert!(picture.contains("L = 1") && picture.contains("14 samples"));
    assert!(figure::distribution(&samples.with_rows(Vec::new()), "block_words", "seconds").is_err());
    if let Some(path) = std::env::var_os("APEXMAP_WORKED_FIGURE") {
        apexmap_draw::figure::save(&drawn, Path::new(&path)).expect("written");
    }
}
