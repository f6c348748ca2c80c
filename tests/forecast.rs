//! Tests of the estimated time to the end of a sweep: after a tenth of the sweep, the estimate is within a factor of
//! two.

use apexmap_base::point::{LaunchSize, Point};
use apexmap_measure::worker::{Job, Repeat, Schedule, Task};
use apexmap_run::drive::forecast::{Forecast, OpenLaunch, OpenPoint};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// An event of a sweep, with its time in seconds since the start.
enum SweepEvent {
    Launch { ranks: usize },
    Sample { ranks: usize, point: usize, seconds: f64 },
}

struct Recording {
    repeat: Repeat,
    launches: Vec<OpenLaunch>,
    events: Vec<(f64, SweepEvent)>,
    end: f64,
}

impl Recording {
    /// Returns the estimated and the true time left after this share of the total time.
    fn estimate_at(&self, share: f64) -> (f64, f64) {
        let now = self.end * share;
        let mut forecast = Forecast::new(self.repeat, &self.launches, 0.0);
        let mut taken: Vec<Vec<Vec<f64>>> = self.launches.iter().map(|l| vec![Vec::new(); l.points.len()]).collect();
        for (time, event) in self.events.iter().take_while(|(time, _)| *time <= now) {
            match *event {
                SweepEvent::Launch { ranks } => forecast.start_launch(0, size(ranks), *time),
                SweepEvent::Sample { ranks, point, seconds } => {
                    let launch = self.launches.iter().position(|l| l.size.ranks == ranks).expect("a launch");
                    let times = &mut taken[launch][point];
                    times.push(seconds);
                    let finished = self.repeat.is_satisfied(times);
                    forecast.add_sample(
                        0,
                        &self.launches[launch].points[point].key,
                        Some((seconds, seconds)),
                        finished,
                        *time,
                    );
                }
            }
        }
        (forecast.outlook(now).seconds, self.end - now)
    }

    fn assert_within_two(&self, parts: &[f64]) {
        for &part in parts {
            let (estimate, truth) = self.estimate_at(part);
            assert!((0.5..=2.0).contains(&(estimate / truth)), "at {part} of {} s: {estimate} of {truth} s", self.end);
        }
    }
}

fn size(ranks: usize) -> LaunchSize {
    LaunchSize { ranks, nodes: None, ranks_per_node: None, node: None }
}

fn launch(ranks: usize, costs: &[f64]) -> OpenLaunch {
    let point = |(index, &cost): (usize, &f64)| OpenPoint { key: format!("{ranks}-{index}"), values: Vec::new(), cost };
    OpenLaunch { block: 0, size: size(ranks), points: costs.iter().enumerate().map(point).collect() }
}

fn repeat(min: u32, max: u32, width: Option<f64>, budget_seconds: Option<f64>) -> Repeat {
    Repeat { min, max, width, budget_seconds }
}

/// Reads a recorded quickstart. Its forecast knows nothing about the points except a guess that two ranks take half
/// again as long.
fn quickstart(recorded: &str) -> Recording {
    let (mut events, mut begun, mut ranks) = (Vec::new(), 0.0, 0);
    for line in recorded.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |index: usize| words[index].parse::<f64>().expect("a number");
        if words[0] == "launch" {
            (ranks, begun) = (number(1) as usize, number(2) / 1e3);
            events.push((begun, SweepEvent::Launch { ranks }));
        } else {
            let sample = SweepEvent::Sample { ranks, point: number(0) as usize, seconds: number(1) / 1e3 };
            events.push((begun + number(2) / 1e3, sample));
        }
    }
    let end = events.last().expect("samples").0;
    let launches = vec![launch(1, &[1e-3; 56]), launch(2, &[1.5e-3; 56])];
    Recording { repeat: repeat(6, 20, Some(0.05), Some(90.0)), launches, events, end }
}

#[test]
fn the_quickstart_forecast_is_within_a_factor_of_two() {
    // Two recordings on a shared machine: one noisy to its end, one noisy during its first launch.
    for recorded in [include_str!("recorded/quickstart.txt"), include_str!("recorded/quickstart-2.txt")] {
        quickstart(recorded).assert_within_two(&[0.1, 0.5, 0.7, 0.9]);
    }
}

#[test]
fn the_budget_caps_the_forecast_by_the_share_of_each_launch() {
    let open = [launch(1, &[10.0; 4]), launch(2, &[10.0; 12])];
    let mut forecast = Forecast::new(repeat(6, 6, None, Some(100.0)), &open, 0.0);
    assert_eq!(forecast.outlook(0.0).seconds, 100.0);
    forecast.start_launch(0, size(1), 0.0);
    assert_eq!(forecast.outlook(0.0).seconds, 100.0);
    // The launch's share of the budget was 25 s, and 15 s of it are left. The other launch gets 75 s.
    forecast.add_sample(0, "1-0", Some((10.0, 10.0)), false, 10.0);
    assert!((forecast.outlook(10.0).seconds - 90.0).abs() < 1e-9);
    // The next launch gets the budget that a launch leaves.
    forecast.start_launch(0, size(2), 20.0);
    assert!((forecast.outlook(20.0).seconds - 80.0).abs() < 1e-9);
}

#[test]
fn the_forecast_of_a_long_run_counts_down_without_new_samples() {
    let mut forecast = Forecast::new(repeat(6, 6, None, None), &[launch(1, &[100.0])], 0.0);
    forecast.start_launch(0, size(1), 0.0);
    forecast.add_sample(0, "1-0", Some((100.0, 100.0)), false, 100.0);
    forecast.add_sample(0, "1-0", Some((100.0, 100.0)), false, 200.0);
    assert_eq!(forecast.outlook(200.0).seconds, 400.0);
    assert_eq!(forecast.outlook(250.0).seconds, 350.0);
    assert_eq!(forecast.outlook(400.0).seconds, 300.0, "longer than expected: the others are still to come");
}

#[test]
fn a_point_of_another_block_has_the_same_expected_cost() {
    let mut second = launch(1, &[1.0, 1.0]);
    second.block = 1;
    let mut forecast = Forecast::new(repeat(2, 2, None, None), &[launch(1, &[1.0, 1.0]), second], 0.0);
    forecast.start_launch(0, size(1), 0.0);
    for (key, now) in [("1-0", 8.0), ("1-1", 10.0), ("1-0", 18.0), ("1-1", 20.0)] {
        let cost = if key == "1-0" { 8.0 } else { 2.0 };
        forecast.add_sample(0, key, Some((cost, cost)), now > 10.0, now);
    }
    let left = forecast.outlook(20.0);
    assert!((left.seconds - 20.0).abs() < 1e-9 && left.samples == 4.0, "{left:?}");
}

#[test]
fn noisy_points_are_expected_to_need_more_samples() {
    let asked = repeat(6, 30, Some(0.05), None);
    let left = |spread: f64| {
        let mut forecast = Forecast::new(asked, &[launch(1, &[1.0])], 0.0);
        forecast.start_launch(0, size(1), 0.0);
        for (index, z) in [-1.2, 0.3, 0.9, -0.4].into_iter().enumerate() {
            forecast.add_sample(0, "1-0", Some((1.0, 1.0 + spread * z)), false, index as f64 + 1.0);
        }
        forecast.outlook(4.0).samples
    };
    assert_eq!(left(0.001), 2.0, "up to the minimum");
    assert!(left(0.03) > 2.0 && left(0.03) < 26.0, "{}", left(0.03));
    assert_eq!(left(1.0), 26.0, "up to the maximum");
}

/// Simulates a sweep of two launches. `costs` are seconds per sample and launch. The share `clocked` is measured by the
/// clock, with noise of this standard deviation.
fn simulate_sweep(costs: [&[f64]; 2], clocked: f64, noise: f64, repeat_rule: Repeat, seed: u64) -> Recording {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let (mut events, mut now) = (Vec::new(), 0.0);
    for (ranks, costs) in [(1, costs[0]), (2, costs[1])] {
        events.push((now, SweepEvent::Launch { ranks }));
        now += 0.2;
        let task = |index: usize| Task {
            key: format!("{ranks}-{index}"),
            point: Point::new("k", ranks),
            seconds_so_far: Vec::new(),
            next_repetition: 0,
            costs: None,
            resampled_costs: Vec::new(),
        };
        let job = Job {
            launch: String::new(),
            block: 0,
            launcher: String::new(),
            transport: String::new(),
            ranks,
            seed,
            repeat: repeat_rule,
            preflight_seconds: 0.0,
            node_type: None,
            environment: Default::default(),
            machine: None,
            resampled: Vec::new(),
            first_round_seconds: None,
            eager_bytes: None,
            on_request: false,
            tasks: (0..costs.len()).map(task).collect(),
        };
        let mut schedule = Schedule::new(&job, "");
        while let Some(point) = schedule.next_point(false) {
            // Approximately normal.
            let z: f64 = (0..12).map(|_| random.random_range(0.0..1.0)).sum::<f64>() - 6.0;
            let factor = (1.0 + noise * z).max(0.2);
            now += costs[point] * factor;
            let seconds = costs[point] * clocked * factor;
            schedule.record(point, Some(seconds));
            events.push((now, SweepEvent::Sample { ranks, point, seconds }));
        }
    }
    let launches = vec![launch(1, costs[0]), launch(2, costs[1])];
    Recording { repeat: repeat_rule, launches, events, end: now }
}

/// Sweeps with costs over four decades, little and much noise, and small and large clocked shares. They are the same in
/// every run.
#[test]
fn a_simulated_forecast_is_nearly_always_within_a_factor_of_two() {
    const SWEEPS: u64 = 300;
    for noise in [0.002, 0.02, 0.1] {
        let mut outside = [0; 3];
        for seed in 0..SWEEPS {
            let mut random = Pcg64Mcg::seed_from_u64(seed);
            let mut costs = || -> Vec<f64> {
                let points = random.random_range(20..60);
                (0..points).map(|_| 10f64.powf(random.random_range(-3.0..1.0))).collect()
            };
            let (one_rank_costs, two_rank_costs) = (costs(), costs());
            let clocked = random.random_range(0.2..1.0);
            let sweep = simulate_sweep(
                [&one_rank_costs, &two_rank_costs],
                clocked,
                noise,
                repeat(6, 30, Some(0.05), None),
                seed,
            );
            for (outside, part) in outside.iter_mut().zip([0.1, 0.3, 0.6]) {
                let (estimate, truth) = sweep.estimate_at(part);
                let ratio = estimate / truth;
                assert!((1.0 / 3.0..=3.0).contains(&ratio), "at {part}: {estimate} of {truth} s, noise {noise}");
                *outside += u64::from(!(0.5..=2.0).contains(&ratio));
            }
        }
        assert!(outside.iter().all(|count| count * 50 <= SWEEPS), "noise {noise}: {outside:?} of {SWEEPS}");
    }
}
