//! Tests of parameters where a model jumps or bends, found from data (the eager limit of messages, sizes of caches),
//! and of LogGP's parameters.

use apexmap_theory::fit::{self, Fit, MAX_STEPS, Observation, Options, Role};
use apexmap_theory::machine::{Card, Domain};
use apexmap_theory::models::{self, Model};
use apexmap_theory::statistics::distributions::f_quantile_beyond;
use rand::SeedableRng;
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64Mcg;

const QUICK: Options = Options { seed: 1, resamples: 0, leave_out: false, most_points: 400, max_steps: MAX_STEPS };

fn simulate_measurements(
    model: &dyn Model,
    points: &[Vec<f64>],
    truth: &[f64],
    noise: f64,
    seed: u64,
) -> Vec<Observation> {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let normal = Normal::new(0.0, noise).expect("a deviation");
    let observe = |x: &Vec<f64>| Observation {
        x: x.clone(),
        y: model.predict(x, truth).value * normal.sample(&mut rng).exp(),
        launch: 0,
    };
    points.iter().map(observe).collect()
}

/// Returns points with messages of 8 bytes to 1 MiB, each length twice.
fn lengths() -> Vec<Vec<f64>> {
    (3..=20).chain(3..=20).map(|power| vec![f64::from(1 << power)]).collect()
}

fn fit_switch(truth: &[f64], noise: f64, seed: u64) -> Fit {
    let model = models::find("point_to_point.switch").expect("a model");
    let data = simulate_measurements(model, &lengths(), truth, noise, seed);
    fit::fit(model, &data, &[Role::Fit; 5], QUICK).expect("a fit")
}

#[test]
fn an_eager_limit_is_found_at_the_right_size() {
    let truth = [300e-9, 5e-11, 1e-6, 2.5e-10, 8192.0];
    let exact = fit_switch(&truth, 0.0, 1);
    for (estimate, truth) in exact.estimates.iter().zip(truth) {
        assert!((estimate.value / truth - 1.0).abs() < 1e-4, "{estimate:?} is not {truth}");
    }
    let mut held = 0;
    for seed in 0..100 {
        let fit = fit_switch(&truth, 0.05, seed);
        let limit = fit.estimates.iter().find(|estimate| estimate.number == "eager_bytes").expect("a switch");
        held += u32::from(limit.low <= 8192.0 && 8192.0 < limit.high);
    }
    // Few points determine a break. Its interval ends at measured lengths, so it covers more often than 95 %.
    assert!(held >= 93, "{held} of 100 intervals hold the limit");
}

#[test]
fn no_switch_is_found_in_data_without_one() {
    let truth = [300e-9, 5e-11, 0.0, 0.0, 1e12];
    let without = |seed: &u64| fit_switch(&truth, 0.05, *seed).absent.contains(&"eager_bytes");
    let false_switches = (0..200).filter(|seed| !without(seed)).count();
    // Bonferroni's bound: at most one set in twenty, within two standard errors.
    assert!(false_switches <= 16, "{false_switches} of 200 sets without a switch have one");
    let fit = fit_switch(&truth, 0.05, (0..200).find(without).expect("one"));
    assert_eq!(fit.absent, ["rendezvous_seconds", "eager_seconds_per_byte", "eager_bytes"]);
    let card = fit.card("no switch", "a test", &Domain::default()).expect("a card");
    let model = models::find("point_to_point.switch").expect("a model");
    let numbers = model.parameters(&card).expect("a card without a switch");
    assert_eq!((numbers[2], numbers[3], numbers[4]), (0.0, 0.0, f64::INFINITY));
}

#[test]
fn too_few_message_sizes_show_no_switch() {
    let model = models::find("point_to_point.switch").expect("a model");
    let few_lengths: Vec<Vec<f64>> = [8.0, 64.0, 512.0, 4096.0, 65536.0].map(|bytes| vec![bytes]).to_vec();
    let data = simulate_measurements(model, &few_lengths, &[1e-6, 1e-9, 1e-6, 0.0, 1024.0], 0.01, 1);
    let refusal = fit::fit(model, &data, &[Role::Fit; 5], QUICK).expect_err("too few");
    assert!(refusal.message.contains("5 values of message_bytes cannot identify eager_bytes"), "{refusal}");
    assert!(refusal.help.contains("--hold eager_bytes="), "{refusal}");
}

#[test]
fn quantiles_of_f_match_scipy() {
    // Computed by scipy 1.17.1, scipy.stats.f.isf.
    for (numerator, denominator, tail, expected) in
        [(2, 10, 0.05, 4.102821015), (1, 30, 0.005, 9.179677278), (3, 44, 0.01, 4.260642873)]
    {
        let actual = f_quantile_beyond(numerator, denominator, tail);
        assert!((actual / expected - 1.0).abs() < 1e-6, "{actual} is not {expected}");
    }
}

#[test]
fn log_gp_needs_ping_pong_streaming_and_call_times_together() {
    let model = models::find("point_to_point.log_gp").expect("a model");
    let truth = [700e-9, 150e-9, 50e-9, 400e-9, 2e-10];
    let points = log_gp_points();
    let two = points[..points.len() - 2].to_vec();
    let fit =
        fit::fit(model, &simulate_measurements(model, &points, &truth, 0.0, 1), &[Role::Fit; 5], QUICK).expect("a fit");
    for (estimate, truth) in fit.estimates.iter().zip(truth) {
        assert!((estimate.value / truth - 1.0).abs() < 1e-4, "{estimate:?} is not {truth}");
    }
    let refusal = fit::fit(model, &simulate_measurements(model, &two, &truth, 0.02, 1), &[Role::Fit; 5], QUICK)
        .expect_err("no calls");
    assert!(refusal.message.contains("wire_latency_seconds") && refusal.help.contains("calibrate.send"), "{refusal}");
}

/// Returns points of ping-pong and streaming for several lengths, and of the calls alone.
fn log_gp_points() -> Vec<Vec<f64>> {
    let lengths = [8.0, 64.0, 512.0, 1024.0, 2048.0, 4096.0];
    let both_kernels = lengths.iter().flat_map(|&bytes| [vec![0.0, bytes], vec![1.0, bytes]]);
    both_kernels.chain([vec![2.0, 8.0], vec![3.0, 8.0]]).collect()
}

#[test]
fn a_gap_hidden_by_the_overhead_is_bounded_and_not_fitted() {
    let model = models::find("point_to_point.log_gp").expect("a model");
    let truth = [50e-6, 20e-6, 1e-6, 5e-6, 8e-9];
    let data = simulate_measurements(model, &log_gp_points(), &truth, 0.01, 1);
    let fit = fit::fit(model, &data, &[Role::Fit; 5], QUICK).expect("a fit");
    let names: Vec<_> = fit.estimates.iter().map(|estimate| estimate.symbol).collect();
    assert_eq!(names, ["L", "o_s", "o_r", "G"]);
    for (estimate, truth) in fit.estimates.iter().zip([truth[0], truth[1], truth[2], truth[4]]) {
        assert!(estimate.low < truth && truth < estimate.high, "{estimate:?} does not hold {truth}");
    }
    let [gap] = fit.at_most[..] else { panic!("{:?}", fit.at_most) };
    assert_eq!((gap.number, gap.of), ("network_gap_seconds", "network_send_overhead_seconds"));
    assert!(gap.most == fit.estimates[1].high && gap.most > truth[3], "{gap:?}");
    assert!(!fit.held.iter().any(|(name, _)| *name == gap.number));
    // The card predicts the same values as the fit.
    let card = fit.card("hidden", "a test", &Domain::default()).expect("a card");
    let numbers = model.parameters(&card).expect("all numbers");
    for point in &fit.points {
        let predicted = model.predict(&point.x, &numbers).value;
        assert!((predicted / point.predicted - 1.0).abs() < 1e-6, "{predicted} at {:?}", point.x);
    }
    assert_eq!(card.numbers()["network_gap_seconds"].low, Some(0.0));
}

#[test]
fn a_card_with_one_overhead_uses_it_for_sending_and_receiving() {
    let model = models::find("point_to_point.log_gp").expect("a model");
    let mut card = Card::new("old", "an older fit", "a test");
    for (name, value) in [
        ("wire_latency_seconds", 7e-7),
        ("network_overhead_seconds", 1.5e-7),
        ("network_gap_seconds", 4e-7),
        ("network_seconds_per_byte", 2e-10),
    ] {
        card.set_base(name, value, "a test").expect("a number");
    }
    assert_eq!(model.parameters(&card).expect("all numbers"), [7e-7, 1.5e-7, 1.5e-7, 4e-7, 2e-10]);
    card.set_base("network_receive_overhead_seconds", 1e-8, "a test").expect("a number");
    assert_eq!(model.parameters(&card).expect("all numbers")[1..3], [1.5e-7, 1e-8]);
}

#[test]
fn disagreeing_kernels_widen_an_interval_and_agreeing_ones_do_not() {
    let model = models::find("point_to_point.log_gp").expect("a model");
    let truth = [200e-6, 1e-6, 2e-7, 12e-6, 80e-9];
    let interval_of_gap_per_byte = |streaming: f64| {
        let mut data = simulate_measurements(model, &log_gp_points(), &truth, 0.001, 2);
        let other = simulate_measurements(
            model,
            &log_gp_points(),
            &[truth[0], truth[1], truth[2], truth[3], streaming],
            0.001,
            2,
        );
        for (observation, other) in data.iter_mut().zip(other).filter(|(pair, _)| pair.x[0] == 1.0) {
            *observation = other;
        }
        let fit = fit::fit(model, &data, &[Role::Fit; 5], QUICK).expect("a fit");
        let estimate = fit.estimates.iter().find(|estimate| estimate.symbol == "G").expect("fitted").clone();
        (estimate.low, estimate.high)
    };
    let (low, high) = interval_of_gap_per_byte(92e-9);
    assert!(low < 80.2e-9 && high > 91.8e-9, "{low} to {high}");
    let (low, high) = interval_of_gap_per_byte(80e-9);
    assert!(low > 79e-9 && high < 81e-9, "{low} to {high}");
}

#[test]
fn cache_sizes_are_found_if_the_memory_sizes_span_them() {
    let model = models::find("apex_map.surface").expect("a model");
    let truth = [
        32768.0, 1048576.0, 3.6e7, 8.0, 1024.0, 0.0, 0.0, 0.6e-9, 5e-12, 0.5e-9, 2e-9, 6e-9, 1.5, 64.0, 25e-9, 150e-9,
        24e-9, 50e-9, 13e-9, 110e-9, 7e-11, 190e-9, 9e-9, 5e-9, 2.4e-11, 20e-9, 1e11, 1e10, 0.0, 0.0,
    ];
    let mut points = Vec::new();
    for power in (11..=27).step_by(2) {
        for alpha in [0.1, 1.0] {
            for block in [1.0, 64.0, 1024.0] {
                points.push(vec![alpha, block, f64::from(1 << power), 1.0, 2097152.0, 0.0, 0.0, 0.0]);
            }
        }
    }
    // Sizes as the system might report them, wrong by up to a factor of two.
    let mut roles: Vec<Role> = truth.map(Role::Hold).into();
    [10, 11].iter().for_each(|index| roles[*index] = Role::Fit);
    (roles[0], roles[1], roles[2]) = (Role::StartAt(65536.0), Role::StartAt(6e5), Role::StartAt(2.5e7));
    let data = simulate_measurements(model, &points, &truth, 0.02, 4);
    let fit = fit::fit(model, &data, &roles, QUICK).expect("a fit");
    for (index, name) in ["l1_bytes", "l2_bytes", "l3_bytes"].into_iter().enumerate() {
        let estimate = fit.estimates.iter().find(|estimate| estimate.number == name).expect("fitted");
        assert!((estimate.value / truth[index]).ln().abs() < 0.25, "{estimate:?} is not {}", truth[index]);
        assert!(
            estimate.low < truth[index] && truth[index] < estimate.high,
            "{estimate:?} does not hold {}",
            truth[index]
        );
    }
    // With one size of memory, no bend is visible.
    let same_size: Vec<Vec<f64>> = points.iter().filter(|x| x[2] == 134217728.0).cloned().collect();
    let refusal = fit::fit(model, &simulate_measurements(model, &same_size, &truth, 0.02, 4), &roles, QUICK)
        .expect_err("one size");
    assert!(refusal.message.contains("cannot identify"), "{refusal}");
    assert!(refusal.help.contains("smaller M that fit each cache"), "{refusal}");
}
