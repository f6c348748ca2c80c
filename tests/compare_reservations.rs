//! Tests of what keeps a comparison undecided: single launches, and a disturbance that may have cost as much as the difference.

use crate::common::{Scratch, apexmap, check};
use apexmap_base::point::Value;
use apexmap_base::reservation::Reservation;
use apexmap_pages::compare::machine::Machine;
use apexmap_pages::compare::matching::Matching;
use apexmap_pages::compare::regression::SlowdownLimit;
use apexmap_pages::compare::regression::{Outcome, RegressionCheck};
use apexmap_pages::compare::sections::{headline, text, write};
use apexmap_pages::compare::verdict::verdicts;
use apexmap_pages::compare::{Comparison, compare};
use apexmap_results::disk::parquet;
use apexmap_results::samples::Samples;
use apexmap_results::samples::health::Health;
use apexmap_results::table::{Table, TableBuilder};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;

const POINTS: usize = 6;
const SAMPLES: usize = 6;

/// A synthetic machine.
#[derive(Clone, Copy)]
struct Side {
    speed: f64,
    launches: usize,
    /// Standard deviation of the logarithms between launches. Within a launch it is 2 %.
    spread: f64,
    /// Fraction of disturbed samples, and the factor by which they take longer.
    disturbed: (f64, f64),
}

const QUIET: Side = Side { speed: 1.0, launches: 5, spread: 0.05, disturbed: (0.0, 1.0) };

impl Side {
    fn table(self, random: &mut Pcg64Mcg) -> Table {
        let mut table = TableBuilder::default();
        for launch in 0..self.launches {
            let level = self.speed * noise(self.spread, random);
            for point in 0..POINTS * SAMPLES {
                let (point, sample) = (point / SAMPLES, point % SAMPLES);
                let is_disturbed = random.random::<f64>() < self.disturbed.0;
                let slow = if is_disturbed { self.disturbed.1 * noise(0.1, random) } else { 1.0 };
                let speed = 1e9 * level * noise(0.02, random) / slow;
                table.begin_row();
                let mut set = |name: &str, value: Value| table.set(name, &value);
                set("key", Value::from(format!("{point}").as_str()));
                set("kernel", Value::from("apex_map.sequential"));
                set("ranks", Value::Integer(1));
                set("alpha", Value::Real(1.0));
                set("block_words", Value::Integer(1 << point));
                set("memory_words", Value::Integer(1 << 20));
                set("pages", Value::from("huge"));
                set("status", Value::from("ok"));
                set("launch", Value::from(format!("{launch:04}").as_str()));
                set("build", Value::from("b"));
                set("unix_seconds", Value::Real((launch * POINTS * SAMPLES + point * SAMPLES + sample) as f64));
                set("seconds", Value::Real(1e9 / speed));
                set("quietness", Value::from(if is_disturbed { "disturbed" } else { "quiet" }));
                set("disturbed_by", Value::from(if is_disturbed { "other programs" } else { "" }));
                set("bytes_per_second_per_rank", Value::Real(speed));
            }
        }
        table.finish()
    }

    fn machine(self, name: &str, random: &mut Pcg64Mcg) -> Machine {
        Machine::from_samples(name, self.table(random).into(), None).unwrap()
    }
}

fn noise(deviation: f64, random: &mut Pcg64Mcg) -> f64 {
    let z: f64 = StandardNormal.sample(random);
    (deviation * z).exp()
}

fn compare_machines(machines: &[Machine]) -> Comparison<'_> {
    compare(machines, Matching::default()).unwrap()
}

fn first_sentence(comparison: &Comparison) -> String {
    headline::sentences(comparison).remove(0)
}

const FIVE_PERCENT: SlowdownLimit = SlowdownLimit { slowdown: 1.05 };

fn check_machines(machines: &[Machine]) -> RegressionCheck {
    check(&compare_machines(machines), FIVE_PERCENT).unwrap()
}

#[test]
fn at_most_5_per_cent_of_identical_machines_get_a_winner_at_any_number_of_launches() {
    let mut random = Pcg64Mcg::seed_from_u64(62);
    for launches in [1, 2, 3, 5] {
        let side = Side { launches, spread: 0.1, ..QUIET };
        let (mut winners, mut certain) = (0, 0);
        for _ in 0..200 {
            let machines = [side.machine("a", &mut random), side.machine("b", &mut random)];
            let comparison = compare_machines(&machines);
            let terminal = text(&comparison).unwrap();
            assert!(terminal.starts_with(&first_sentence(&comparison)), "{terminal}");
            winners += usize::from(terminal.contains("times as fast"));
            let verdict = verdicts(&comparison, 1).remove(0);
            certain += usize::from(verdict.faster + verdict.slower > 0);
        }
        println!("{launches} launches: {winners} of 200 pairs have a winner, {certain} have certain points");
        // 5 % plus three standard deviations of a binomial distribution.
        assert!(winners as f64 <= 10.0 + 3.0 * 9.5f64.sqrt(), "{launches} launches: {winners} of 200");
        assert!(launches > 1 || (winners, certain) == (0, 0), "{winners} winners, {certain} with certain points");
    }
}

#[test]
fn single_launches_are_undecided_on_the_page_and_in_all_figures() {
    let mut random = Pcg64Mcg::seed_from_u64(63);
    let single = Side { launches: 1, spread: 0.01, ..QUIET };
    let mut machines = vec![single.machine("a", &mut random), Side { speed: 2.0, ..single }.machine("b", &mut random)];
    let comparison = compare_machines(&machines);
    let sentence = first_sentence(&comparison);
    assert!(sentence.starts_with("b / a = "), "{sentence}");
    assert!(
        sentence.contains(
            " in these two launches; launches of one machine differ, so this is undecided: 3 launches of each \
             (apexmap run ... --launches 3) would show a difference of this size."
        ),
        "{sentence}"
    );
    let names = |machine: usize| verdicts(&comparison, machine)[0].reservations.clone();
    assert_eq!(names(1), ["b", "a"].map(|name| Reservation::SingleLaunch { name: name.into() }));
    let scratch = Scratch::new();
    let output = write(&comparison, &scratch.join("page"), "apexmap compare", &[]).unwrap();
    let page = std::fs::read_to_string(output.page).unwrap();
    let shown = page.split("<h2 id=\"method\">").next().unwrap();
    assert!(shown.contains("so this is undecided") && !shown.contains("times as fast"), "{shown}");
    // Small differences need more launches than a sentence may ask for.
    let near = [machines[0].clone(), single.machine("c", &mut random)];
    let sentence = first_sentence(&compare_machines(&near));
    assert!(sentence.contains("--launches 10) would show a difference of 10 % or more."), "{sentence}");
    // One side with a single launch.
    let several = [QUIET.machine("several", &mut random), machines[1].clone()];
    let sentence = first_sentence(&compare_machines(&several));
    assert!(sentence.contains("with a single launch of b; ") && sentence.contains("3 launches of it ("), "{sentence}");
    // Three machines: neither a ranking nor the pairs decide.
    machines.push(QUIET.machine("c", &mut random));
    let comparison = compare_machines(&machines);
    let output = write(&comparison, &scratch.join("three"), "apexmap compare", &[]).unwrap();
    assert!(
        output
            .summary
            .contains("Fastest overall: not decided, because a has a single launch and b has a single launch."),
        "{}",
        output.summary
    );
    let page = std::fs::read_to_string(output.page).unwrap();
    assert!(page.contains("(single launch), n = 6"), "the matrix");
}

#[test]
fn a_few_points_with_single_launches_do_not_hide_what_the_others_decide() {
    let mut random = Pcg64Mcg::seed_from_u64(64);
    let side = |speed: f64, random: &mut Pcg64Mcg| {
        let samples = Samples::from(Side { speed, ..QUIET }.table(random));
        let first = |row: usize| samples.table().word("launch", row) == "0000";
        let kept = samples.filter_rows(|row| samples.table().number("block_words", row) > 1.0 || first(row));
        Machine::from_samples("m", kept, None).unwrap()
    };
    let mut machines = [side(1.0, &mut random), side(2.0, &mut random)];
    (machines[0].name, machines[1].name) = ("a".into(), "b".into());
    let sentence = first_sentence(&compare_machines(&machines));
    assert!(sentence.starts_with("b is ") && sentence.ends_with("; certain at 5 of 6 points."), "{sentence}");
}

#[test]
fn the_same_machine_with_another_program_on_all_cores_loses_nothing() {
    let mut random = Pcg64Mcg::seed_from_u64(65);
    for pair in 0..10 {
        // Other programs cost 30 to 210 %, in most samples.
        let disturbed = (0.8, 1.3 + 0.2 * f64::from(pair));
        let machines =
            [QUIET.machine("quiet", &mut random), Side { disturbed, ..QUIET }.machine("loaded", &mut random)];
        let comparison = compare_machines(&machines);
        let sentence = first_sentence(&comparison);
        assert!(sentence.starts_with("Not decided: loaded / quiet = 0."), "{sentence}");
        assert!(sentence.contains("), and loaded was disturbed by as much (up to "), "{sentence}");
        let verdict = verdicts(&comparison, 1).remove(0);
        assert_eq!((verdict.faster, verdict.slower), (0, 0), "no point is certain");
        let report = check_machines(&machines);
        assert_eq!((report.verdict, report.slower.len()), (Outcome::Undecided, 0), "{report:#?}");
        assert!(report.explained > 0 && report.sentence().contains("slower, but loaded was disturbed by as much"));
        let [quiet, loaded] = machines;
        let sentence = first_sentence(&compare_machines(&[loaded, quiet]));
        assert!(sentence.starts_with("Not decided: quiet / loaded = "), "{sentence}");
    }
}

#[test]
fn a_real_difference_is_found_between_quiet_results_and_despite_a_disturbance_of_the_faster_side() {
    let mut random = Pcg64Mcg::seed_from_u64(66);
    let slow = Side { speed: 0.7, ..QUIET };
    for _ in 0..10 {
        // A tenth of the samples is disturbed: the machine counts as quiet.
        let base = Side { disturbed: (0.1, 1.2), ..QUIET }.machine("base", &mut random);
        let machines = [base, slow.machine("new", &mut random)];
        assert!(first_sentence(&compare_machines(&machines)).starts_with("base is 1."));
        assert_eq!(check_machines(&machines).verdict, Outcome::Failed);
        // What is faster although it was disturbed is faster.
        let loaded = Side { speed: 2.0, disturbed: (0.8, 1.3), ..QUIET }.machine("loaded", &mut random);
        let sentence = first_sentence(&compare_machines(&[machines[1].clone(), loaded]));
        assert!(sentence.starts_with("loaded is 2."), "{sentence}");
        // What is slower by more than the disturbance costs is slower.
        let loaded = Side { speed: 0.3, disturbed: (0.8, 1.3), ..QUIET }.machine("loaded", &mut random);
        let machines = [QUIET.machine("quiet", &mut random), loaded];
        assert!(first_sentence(&compare_machines(&machines)).starts_with("quiet is "));
        assert_eq!(check_machines(&machines).verdict, Outcome::Failed);
    }
}

#[test]
fn a_disturbance_of_unknown_cost_decides_nothing_and_one_of_the_base_may_hide_a_slowdown() {
    let mut random = Pcg64Mcg::seed_from_u64(67);
    let loaded = Side { disturbed: (1.0, 3.0), ..QUIET };
    let machines = [QUIET.machine("quiet", &mut random), loaded.machine("loaded", &mut random)];
    let sentence = first_sentence(&compare_machines(&machines));
    assert!(sentence.ends_with(", and loaded was disturbed, by an unknown amount."), "{sentence}");
    let half_slower = Side { disturbed: (0.8, 1.5), ..QUIET }.machine("known", &mut random);
    let [quiet, loaded] = machines;
    let report = check_machines(&[half_slower, quiet.clone()]);
    assert_eq!(report.verdict, Outcome::Undecided, "{report:#?}");
    assert!(report.smallest_found.unwrap() > 1.5 * 1.05 - 0.05 && report.reservations.len() == 1, "{report:#?}");
    assert!(report.reservations[0].to_string().starts_with("known was disturbed by as much"), "{report:#?}");
    assert!(
        check_machines(&[loaded, quiet]).smallest_found.unwrap() < 1.5,
        "the cost is unknown, not known to be large"
    );
}

/// By the definition of [`apexmap_results::samples::health::Slowing::factor`]; the cost of a constant slowdown is that slowdown.
#[test]
fn the_median_of_samples_is_slowed_by_at_most_the_cost_of_those_that_are_disturbed() {
    let table = |disturbed: usize, total: usize| -> Samples {
        let mut table = TableBuilder::default();
        for row in 0..total {
            let is_disturbed = row < disturbed;
            table.begin_row();
            table.set("key", &Value::from("k"));
            table.set("status", &Value::from("ok"));
            table.set("quietness", &Value::from(if is_disturbed { "disturbed" } else { "quiet" }));
            table.set("seconds", &Value::Real(if is_disturbed { 2.0 } else { 1.0 }));
        }
        table.finish().into()
    };
    let factor = |disturbed, total| {
        let samples = table(disturbed, total);
        Health::from_samples(&samples).slowing(&samples).factor()
    };
    let is_near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 1e-12;
    assert_eq!(factor(0, 40), 1.0);
    assert!(is_near(factor(10, 40), 2f64.powf(0.25)), "{}", factor(10, 40));
    assert!(is_near(factor(20, 40), 2.0) && is_near(factor(30, 40), 2.0));
    assert_eq!(factor(40, 40), f64::INFINITY, "no quiet sample shows the cost");
    assert_eq!((factor(3, 40), factor(3, 10)), (1.0, f64::INFINITY), "three pairs have no interval");
}

#[test]
fn the_json_of_a_check_has_its_reservations_and_a_disturbed_result_exits_with_4() {
    let mut random = Pcg64Mcg::seed_from_u64(68);
    let scratch = Scratch::new();
    let mut file = |name: &str, side: Side| {
        let path = scratch.join(format!("{name}.parquet"));
        parquet::write(&mut std::fs::File::create(&path).unwrap(), &path, &side.table(&mut random)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (base, new) = (file("base", QUIET), file("new", Side { disturbed: (0.8, 1.5), ..QUIET }));
    let output =
        apexmap(&["compare", &base, &new, "--names", "base,new", "--fail-if", "slower=5%", "--no-page", "--json"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{error}");
    assert!(error.contains("slower, but new was disturbed by as much (up to "), "{error}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["reservations"][0]["kind"], "disturbed", "{json}");
    assert!(json["reservations"][0]["factor"].as_f64().is_some_and(|factor| (1.4..1.7).contains(&factor)), "{json}");
}
