//! Numbers where a model jumps or bends, found from data: the eager limit of messages, the sizes of caches; and LogGP's numbers.

use apexmap::explore::fit::interval::f_quantile_beyond;
use apexmap::explore::fit::{self, Fit, Observation, Options, Role};
use apexmap::explore::models::{self, Model};
use rand::SeedableRng;
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64Mcg;

const QUICK: Options = Options { seed: 1, resamples: 0, leave_out: false, most_points: 400 };

fn measured(model: &dyn Model, points: &[Vec<f64>], truth: &[f64], noise: f64, seed: u64) -> Vec<Observation> {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let normal = Normal::new(0.0, noise).expect("a deviation");
    let one = |x: &Vec<f64>| Observation {
        x: x.clone(),
        y: model.predict(x, truth).value * normal.sample(&mut rng).exp(),
        launch: 0,
    };
    points.iter().map(one).collect()
}

/// Messages of 8 bytes to 1 MiB, each length twice.
fn lengths() -> Vec<Vec<f64>> {
    (3..=20).chain(3..=20).map(|power| vec![f64::from(1 << power)]).collect()
}

fn switch(truth: &[f64], noise: f64, seed: u64) -> Fit {
    let model = models::find("point_to_point.switch").expect("a model");
    let data = measured(model, &lengths(), truth, noise, seed);
    fit::fit(model, &data, &[Role::Fit; 5], QUICK).expect("a fit")
}

#[test]
fn an_eager_limit_is_found_where_it_is() {
    let truth = [300e-9, 5e-11, 1e-6, 2.5e-10, 8192.0];
    let exact = switch(&truth, 0.0, 1);
    for (estimate, truth) in exact.estimates.iter().zip(truth) {
        assert!((estimate.value / truth - 1.0).abs() < 1e-4, "{estimate:?} is not {truth}");
    }
    let mut held = 0;
    for seed in 0..100 {
        let fit = switch(&truth, 0.05, seed);
        let limit = fit.estimates.iter().find(|estimate| estimate.number == "eager_bytes").expect("a switch");
        held += u32::from(limit.low <= 8192.0 && 8192.0 < limit.high);
    }
    // A break lies on few points, so that its interval is of whole steps and covers more often than 95 %.
    assert!(held >= 93, "{held} of 100 intervals hold the limit");
}

#[test]
fn where_there_is_no_switch_none_is_found() {
    let truth = [300e-9, 5e-11, 0.0, 0.0, 1e12];
    let without = |seed: &u64| switch(&truth, 0.05, *seed).absent.contains(&"eager_bytes");
    let found = (0..200).filter(|seed| !without(seed)).count();
    // Bonferroni's bound: at most one in twenty, within two standard errors.
    assert!(found <= 16, "{found} of 200 sets without a switch have one");
    let fit = switch(&truth, 0.05, (0..200).find(without).expect("one"));
    assert_eq!(fit.absent, ["rendezvous_seconds", "eager_seconds_per_byte", "eager_bytes"]);
    let card = fit.card("no switch", "a test").expect("a card");
    let model = models::find("point_to_point.switch").expect("a model");
    let numbers = model.parameters(&card).expect("a card without a switch");
    assert_eq!((numbers[2], numbers[3], numbers[4]), (0.0, 0.0, f64::INFINITY));
}

#[test]
fn too_few_lengths_show_no_switch() {
    let model = models::find("point_to_point.switch").expect("a model");
    let few: Vec<Vec<f64>> = [8.0, 64.0, 512.0, 4096.0, 65536.0].map(|bytes| vec![bytes]).to_vec();
    let data = measured(model, &few, &[1e-6, 1e-9, 1e-6, 0.0, 1024.0], 0.01, 1);
    let refusal = fit::fit(model, &data, &[Role::Fit; 5], QUICK).expect_err("too few");
    assert!(refusal.what.contains("5 values of message_bytes cannot identify eager_bytes"), "{refusal}");
    assert!(refusal.next.contains("--hold eager_bytes="), "{refusal}");
}

#[test]
fn quantiles_of_f_are_those_of_scipy() {
    // scipy 1.17.1, scipy.stats.f.isf
    for (above, below, tail, known) in
        [(2, 10, 0.05, 4.102821015), (1, 30, 0.005, 9.179677278), (3, 44, 0.01, 4.260642873)]
    {
        let found = f_quantile_beyond(above, below, tail);
        assert!((found / known - 1.0).abs() < 1e-6, "{found} is not {known}");
    }
}

#[test]
fn log_gp_is_identified_by_ping_pong_streaming_and_the_calls_together_and_by_no_two_of_them() {
    let model = models::find("point_to_point.log_gp").expect("a model");
    let truth = [700e-9, 150e-9, 400e-9, 2e-10];
    let mut points = Vec::new();
    for bytes in [8.0, 64.0, 512.0, 1024.0, 4096.0] {
        points.extend([vec![0.0, bytes], vec![1.0, bytes]]);
    }
    let two = points.clone();
    points.extend([vec![2.0, 8.0], vec![3.0, 8.0]]);
    let fit = fit::fit(model, &measured(model, &points, &truth, 0.0, 1), &[Role::Fit; 4], QUICK).expect("a fit");
    for (estimate, truth) in fit.estimates.iter().zip(truth) {
        assert!((estimate.value / truth - 1.0).abs() < 1e-4, "{estimate:?} is not {truth}");
    }
    let refusal =
        fit::fit(model, &measured(model, &two, &truth, 0.02, 1), &[Role::Fit; 4], QUICK).expect_err("L + 2 o");
    assert!(refusal.what.contains("wire_latency_seconds") && refusal.next.contains("calibrate.send"), "{refusal}");
}

#[test]
fn sizes_of_caches_are_found_where_memory_sizes_span_them() {
    let model = models::find("apex_map.surface").expect("a model");
    let truth = [
        32768.0, 1048576.0, 3.6e7, 8.0, 1024.0, 0.6e-9, 5e-12, 0.5e-9, 2e-9, 6e-9, 1.5, 64.0, 25e-9, 150e-9, 24e-9,
        50e-9, 13e-9, 110e-9, 7e-11, 190e-9, 9e-9, 5e-9, 2.4e-11, 20e-9, 1e11, 1e10,
    ];
    let mut points = Vec::new();
    for power in (11..=27).step_by(2) {
        for alpha in [0.1, 1.0] {
            for block in [1.0, 64.0, 1024.0] {
                points.push(vec![alpha, block, f64::from(1 << power), 1.0, 2097152.0, 0.0, 0.0, 0.0]);
            }
        }
    }
    // What the system would tell, wrong by up to a factor of two.
    let mut roles: Vec<Role> = truth.map(Role::Hold).into();
    [8, 9].iter().for_each(|at| roles[*at] = Role::Fit);
    (roles[0], roles[1], roles[2]) = (Role::From(65536.0), Role::From(6e5), Role::From(2.5e7));
    let data = measured(model, &points, &truth, 0.05, 4);
    let fit = fit::fit(model, &data, &roles, QUICK).expect("a fit");
    for (at, name) in ["l1_bytes", "l2_bytes", "l3_bytes"].into_iter().enumerate() {
        let found = fit.estimates.iter().find(|estimate| estimate.number == name).expect("fitted");
        assert!((found.value / truth[at]).ln().abs() < 0.25, "{found:?} is not {}", truth[at]);
        assert!(found.low < truth[at] && truth[at] < found.high, "{found:?} does not hold {}", truth[at]);
    }
    // One size of memory bends nowhere.
    let one: Vec<Vec<f64>> = points.iter().filter(|x| x[2] == 134217728.0).cloned().collect();
    let refusal = fit::fit(model, &measured(model, &one, &truth, 0.05, 4), &roles, QUICK).expect_err("one size");
    assert!(refusal.what.contains("cannot identify"), "{refusal}");
    assert!(refusal.next.contains("smaller M that fit each cache"), "{refusal}");
}
