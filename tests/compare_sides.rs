//! Tests of the sides of a comparison: pairs from one run, sides of different size matched by role, dropped points,
//! decisions about many points.

use crate::common::{host, manifest, successful_stdout};
use apexmap_base::point::Value;
use apexmap_base::provenance::{Cache, Host};
use apexmap_pages::compare::comparison::Warning;
use apexmap_pages::compare::geometric_mean::Scope;
use apexmap_pages::compare::geometric_mean::geometric_mean;
use apexmap_pages::compare::machine::Machine;
use apexmap_pages::compare::matching::{AllowedDifferences, MatchRanks, Matching};
use apexmap_pages::compare::mix::mixes;
use apexmap_pages::compare::ratio::{Basis, Decision, ratio};
use apexmap_pages::compare::sections::headline;
use apexmap_pages::compare::{Comparison, compare};
use apexmap_results::table::TableBuilder;
use apexmap_theory::codes::{Accesses, Code};
use apexmap_theory::statistics::rank_tests::MannWhitney;
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;

fn normal(deviation: f64, random: &mut Pcg64Mcg) -> f64 {
    let z: f64 = StandardNormal.sample(random);
    deviation * z
}

/// Samples of Apex-Map, six for each point of a launch.
#[derive(Default)]
struct SampleRows(TableBuilder);

impl SampleRows {
    /// Adds the samples of a point in a launch with this number of ranks. `speed` is the speed of one rank.
    fn add(
        &mut self,
        ranks: u64,
        (pages, words): (&str, u64),
        launch: u64,
        point: usize,
        mut speed: impl FnMut() -> f64,
    ) {
        for _ in 0..6 {
            self.0.begin_row();
            let mut set = |name: &str, value: Value| self.0.set(name, &value);
            set("kernel", Value::from("apex_map.two_sided"));
            set("ranks", Value::Integer(ranks));
            set("alpha", Value::Real(0.01 * (1 + point / 3) as f64));
            set("block_words", Value::Integer(1 << (point % 3)));
            set("memory_words", Value::Integer(words * ranks));
            set("pages", Value::from(pages));
            set("status", Value::from("ok"));
            set("transport", Value::from("threads"));
            set("launch", Value::from(format!("{launch:04}-{ranks}").as_str()));
            set("block", Value::Integer(launch));
            set("build", Value::from("b"));
            set("bytes_per_second_per_rank", Value::Real(speed()));
        }
    }

    fn machine(self, name: &str, cores: u32) -> Machine {
        let mut driver_host = host();
        driver_host.processors.cores = Some(cores);
        let manifest = apexmap_results::disk::manifest::Manifest {
            machine: name.into(),
            driver_host: Host { name: name.into(), ..driver_host },
            ..manifest()
        };
        Machine::from_samples(name, self.0.finish().into(), Some(manifest)).unwrap()
    }
}

fn compare_machines(machines: &[Machine], ranks: MatchRanks) -> Comparison<'_> {
    let allowed = AllowedDifferences::parse(&["page-size".into()]).unwrap();
    compare(machines, Matching { allowed, ranks, ..Matching::default() }).unwrap()
}

#[test]
fn an_impossible_manifest_number_is_reported_and_an_unknown_level_omitted() {
    let machine_with = |change: &dyn Fn(&mut Host)| {
        let mut rows = SampleRows::default();
        rows.add(1, ("huge", 1 << 20), 0, 0, || 1e9);
        let mut driver_host = host();
        change(&mut driver_host);
        let manifest = apexmap_results::disk::manifest::Manifest { driver_host, launches: Vec::new(), ..manifest() };
        Machine::from_samples("result", rows.0.finish().into(), Some(manifest))
    };
    let count_numbers = |machine: Machine| machine.card.expect("a card").numbers().len();
    let usual = count_numbers(machine_with(&|_| ()).expect("a machine"));
    let with_level = machine_with(&|host| host.caches.push(Cache { level: 9, bytes: 1 << 30, shared_by: 1 }));
    assert_eq!(count_numbers(with_level.expect("a machine")), usual);
    let error = machine_with(&|host| host.cycle_hertz = Some(-1.0)).expect_err("no clock is negative");
    assert!(error.message.contains("clock_hz must be finite and not negative"), "{error}");
}

/// Simulates base and huge pages in the same six launches. `common` are the logarithms of the launches' factors; points
/// differ by 4 %, samples by 2 %. Huge pages have 1.2 times the speed.
fn pages(same_run: bool, common: &[f64], random: &mut Pcg64Mcg) -> [Machine; 2] {
    let mut side = |name: &str, times: f64| {
        let mut rows = SampleRows::default();
        for (launch, common) in common.iter().enumerate() {
            for point in 0..9 {
                let level = times * (common + normal(0.04, random)).exp();
                rows.add(1, (name, 1 << 20), launch as u64, point, || 1e9 * level * normal(0.02, random).exp());
            }
        }
        let mut machine = rows.machine(name, 2);
        machine.run = same_run.then(|| "results/pages".into());
        machine
    };
    [side("base", 1.0), side("huge", 1.2)]
}

#[test]
fn sides_of_one_run_are_compared_in_pairs_and_common_effects_cancel() {
    let mut random = Pcg64Mcg::seed_from_u64(31);
    let tries = 300;
    let (mut held, mut paired, mut apart) = (0, Vec::new(), Vec::new());
    for _ in 0..tries {
        let mean = |machines: &[Machine]| {
            let comparison = compare_machines(machines, MatchRanks::Auto);
            geometric_mean(&comparison.matched_points(), 1, 0, &mut MannWhitney::default()).unwrap()
        };
        let common: Vec<f64> = (0..6).map(|_| normal(0.15, &mut random)).collect();
        let machines = pages(true, &common, &mut random);
        let mean_ratio = mean(&machines);
        let (low, high) = mean_ratio.interval.unwrap();
        assert_eq!((mean_ratio.basis, mean_ratio.cells), (Basis::Pairs, 9));
        held += usize::from(low <= 1.2 && 1.2 <= high);
        paired.push((high / low).ln());
        let unpaired = machines.map(|machine| Machine { run: None, ..machine });
        let mean_ratio = mean(&unpaired);
        assert_eq!(mean_ratio.basis, Basis::Launches);
        apart.push({
            let (low, high) = mean_ratio.interval.unwrap();
            (high / low).ln()
        });
    }
    let share = held as f64 / f64::from(tries);
    assert!((0.91..=0.98).contains(&share), "{share}");
    [&mut paired, &mut apart].into_iter().for_each(|widths| widths.sort_by(f64::total_cmp));
    let (paired, apart) = (paired[150], apart[150]);
    assert!(5.0 * paired < apart, "the interval shrinks: {paired} of {apart}");
}

#[test]
fn a_comparison_of_one_run_states_that_it_is_paired() {
    let common = [-0.25, 0.12, -0.04, 0.25, 0.04, -0.12];
    let machines = pages(true, &common, &mut Pcg64Mcg::seed_from_u64(32));
    let comparison = compare_machines(&machines, MatchRanks::Auto);
    let point = &comparison.points.points[0].by_machine;
    let point_ratio =
        ratio(point[1].as_ref().unwrap(), point[0].as_ref().unwrap(), &mut MannWhitney::default()).unwrap();
    assert_eq!(point_ratio.basis, Basis::Pairs);
    let (sentences, details) = (headline::sentences(&comparison), headline::details(&comparison));
    assert!(
        sentences[0].starts_with("huge is 1.2") && sentences[0].contains(" times as fast as base ("),
        "{sentences:?}"
    );
    assert!(details[0].contains("compared in pairs"), "{details:?}");
    let other = pages(false, &common, &mut Pcg64Mcg::seed_from_u64(32));
    let sentences = headline::sentences(&compare_machines(&other, MatchRanks::Auto));
    assert!(sentences[0].starts_with("No difference found: huge / base = 1.2"), "{sentences:?}");
}

/// Simulates a machine, measured on one core, on two and on all. Its cores have the speed `alone`, or `together` if all
/// are in use.
fn server(name: &str, cores: u64, alone: f64, together: f64, random: &mut Pcg64Mcg) -> Machine {
    let mut rows = SampleRows::default();
    for launch in 0..4 {
        for (ranks, speed) in [(1, alone), (2, alone), (cores, together)] {
            for point in 0..9 {
                let level = speed * normal(0.01, random).exp();
                // Larger than the caches of each machine.
                rows.add(ranks, ("huge", (cores + 1) << 20), launch, point, || level * normal(0.01, random).exp());
            }
        }
    }
    rows.machine(name, cores as u32)
}

#[test]
fn machines_are_compared_on_one_core_on_all_cores_and_per_core() {
    let mut random = Pcg64Mcg::seed_from_u64(33);
    // Four times the cores. Each is as fast alone, and half as fast if all are in use.
    let machines = [server("small", 4, 1e9, 1e9, &mut random), server("large", 16, 1e9, 0.5e9, &mut random)];
    let comparison = compare_machines(&machines, MatchRanks::Auto);
    assert_eq!((comparison.matched.len(), comparison.unmatched_points().count()), (27, 0), "one, two and all cores");
    let warnings: Vec<String> = comparison.warnings().iter().map(Warning::to_string).collect();
    assert!(warnings[0].contains("MATCHED BY ROLE") && warnings[0].contains("large has 16); M as"), "{warnings:?}");
    let scopes = Scope::roles(&comparison.points.points, &comparison.matched);
    assert_eq!(
        scopes.iter().map(|(scope, points)| (*scope, points.len())).collect::<Vec<_>>(),
        [(Scope::OneCore, 9), (Scope::AllCores, 9), (Scope::PerCore, 9), (Scope::OtherRanks, 9),]
    );
    let sentences = headline::sentences(&comparison);
    let starts = [
        "One core: No difference found",
        "All cores, whole machine: large is 2.0",
        "All cores, per core: small is ",
        "Other rank counts: No difference found",
    ];
    assert_eq!(sentences.len(), starts.len(), "{sentences:#?}");
    assert!(sentences.iter().zip(starts).all(|(sentence, start)| sentence.starts_with(start)), "{sentences:#?}");
    let details = headline::details(&comparison);
    assert!(details[1].contains("large / small = 2.0") && details[2].contains("large / small = 0.50"), "{details:#?}");
    assert!(details[1].contains("faster at 9 points") && details[2].contains("slower at 9"), "{details:#?}");
}

#[test]
fn excluded_points_are_listed_last_and_not_judged() {
    let mut random = Pcg64Mcg::seed_from_u64(34);
    let machines = [server("small", 4, 1e9, 1e9, &mut random), server("large", 16, 1e9, 0.5e9, &mut random)];
    let allowed = AllowedDifferences::parse(&["page-size".into()]).unwrap();
    let by_number = |ignored: Vec<String>| {
        compare(&machines, Matching { allowed: allowed.clone(), ranks: MatchRanks::Number, ignored })
            .map(|comparison| (comparison.matched.len(), headline::details(&comparison)))
    };
    let refused = by_number(Vec::new()).unwrap_err();
    assert!(refused.message.contains("they differ in M"), "{refused}");
    let (matched, details) = by_number(vec!["memory_words".into()]).unwrap();
    assert_eq!(matched, 18, "one rank and two");
    assert!(
        details[1].starts_with("Not compared")
            && details[1].contains("9 of 27 points of small (apex_map.two_sided, P = 4: 9)"),
        "{details:#?}"
    );
    assert!(details[1].contains("of large (apex_map.two_sided, P = 16: 9)"), "{details:#?}");
    assert!(details[0].contains("over the 18 points compared"), "{details:#?}");
}

#[test]
fn decisions_on_many_points_are_adjusted_by_default() {
    let mut random = Pcg64Mcg::seed_from_u64(35);
    // 100 points, ten with a difference.
    let mut side = |name: &str, times: f64| {
        let mut rows = SampleRows::default();
        for launch in 0..5 {
            for point in 0..100 {
                let level = if point < 10 { times } else { 1.0 } * normal(0.02, &mut random).exp();
                rows.add(1, ("huge", 1 << 20), launch, point, || 1e9 * level * normal(0.01, &mut random).exp());
            }
        }
        rows.machine(name, 2)
    };
    let (mut adjusted, mut each) = ([0, 0], [0, 0]);
    for _ in 0..40 {
        let machines = [side("a", 1.0), side("b", 1.3)];
        let comparison = compare_machines(&machines, MatchRanks::Auto);
        assert_eq!(comparison.decision, Decision::Adjusted);
        let count = |decision: Decision, counts: &mut [usize; 2]| {
            for (&index, tested) in &comparison.ratios[1].ratios {
                let truly = comparison.points.points[index].number("alpha").unwrap() < 0.034
                    || (comparison.points.points[index].number("alpha") == Some(0.04)
                        && comparison.points.points[index].number("block_words") == Some(1.0));
                counts[usize::from(truly)] += usize::from(decision.differs(tested));
            }
        };
        count(Decision::Adjusted, &mut adjusted);
        count(Decision::Unadjusted, &mut each);
    }
    // 3,600 points without a difference, 400 with one.
    let share = |[wrong, right]: [usize; 2]| wrong as f64 / (wrong + right) as f64;
    assert!(share(adjusted) <= 0.06 && adjusted[1] > 380, "{adjusted:?}");
    assert!((0.03..=0.07).contains(&(each[0] as f64 / 3600.0)) && share(each) > 0.2, "{each:?}");
    assert!(Decision::Adjusted.undecided_label() != Decision::Unadjusted.undecided_label());
}

fn code(name: &str, alpha: f64, block_words: f64, weight: f64) -> Code {
    let (weight, accesses) = (Some(weight), Accesses::Independent);
    Code {
        name: name.into(),
        alpha,
        block_words,
        bytes: None,
        max_bytes: None,
        accesses,
        weight,
        how: String::new(),
        source: String::new(),
        sites: Vec::new(),
    }
}

#[test]
fn a_weighted_mix_of_codes_has_an_interval_over_launches_and_comes_first() {
    let mut random = Pcg64Mcg::seed_from_u64(36);
    // Launches are slow or fast at all points together.
    let mut side = |name: &str, times: f64| {
        let mut rows = SampleRows::default();
        for launch in 0..4 {
            let level = times * normal(0.05, &mut random).exp();
            for point in 0..9 {
                let level = level * normal(0.02, &mut random).exp();
                rows.add(1, ("huge", 1 << 20), launch, point, || 1e9 * level * normal(0.01, &mut random).exp());
            }
        }
        rows.machine(name, 2)
    };
    let (at_a_point, between) = (code("at a point", 0.01, 1.0, 1.0), code("between", 0.015, 3.0, 2.0));
    let tries = 200;
    let mut covered = 0;
    for _ in 0..tries {
        let machines = [side("a", 1.0), side("b", 1.5)];
        let comparison = compare_machines(&machines, MatchRanks::Number);
        let with = |codes: Vec<Code>| Comparison { codes, ..comparison.clone() };
        let ratio_of = |comparison: &Comparison| mixes(comparison)[0].ratio.clone().expect("a ratio").mean;
        let alone = ratio_of(&with(vec![at_a_point.clone()])).interval.expect("an interval");
        let tested = comparison.ratio(1, 0).expect("a ratio").ratio.interval.expect("an interval");
        assert!((alone.0 / tested.0 - 1.0).abs() < 1e-9 && (alone.1 / tested.1 - 1.0).abs() < 1e-9, "{alone:?}");
        let both = with(vec![at_a_point.clone(), between.clone()]);
        let ratio = ratio_of(&both);
        let (low, high) = ratio.interval.expect("an interval");
        covered += usize::from(low <= 1.5 && 1.5 <= high);
        assert_eq!(ratio.basis, Basis::Launches);
        assert!(headline::sentences(&both)[0].starts_with("Mix of codes, "), "{:?}", headline::sentences(&both));
    }
    assert!((181..=199).contains(&covered), "{covered} of {tries}");
}

#[test]
fn a_device_is_compared_with_one_process_and_with_the_node_separately() {
    let result = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded/quickstart-xeon-16");
    let text = successful_stdout(&["compare", result, "h100", "--no-page"]);
    let sentences: Vec<&str> = text.lines().take_while(|line| line.contains(" at P = ")).collect();
    assert_eq!(sentences.len(), 2, "{text}");
    assert!(sentences[0].starts_with("One process at P = 1: ") && sentences[1].starts_with("One node at P = 16: "));
    assert!(sentences.iter().all(|sentence| sentence.contains("NVIDIA H100")), "{text}");
}
