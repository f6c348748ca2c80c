//! Tests of the control of comparisons: how often launches of the same point are found to differ.

use crate::common::{Scratch, apexmap};
use apexmap_base::point::Value;
use apexmap_pages::compare::compare;
use apexmap_pages::compare::control::{self, binomial};
use apexmap_pages::compare::machine::Machine;
use apexmap_pages::compare::matching::Matching;
use apexmap_results::samples::Samples;
use apexmap_results::table::TableBuilder;
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;

/// Computed by scipy 1.17.1: binomtest(k, n).proportion_ci(0.95, "exact").
#[test]
fn the_interval_of_a_rate_matches_scipy() {
    for (hits, trials, low, high) in [
        (5, 126, 0.013008364496261174, 0.09017638056799747),
        (0, 56, 0.0, 0.06375009666236248),
        (7, 7, 0.5903836027749514, 1.0),
    ] {
        let interval = binomial(hits, trials);
        assert!((interval.0 - low).abs() < 1e-9 && (interval.1 - high).abs() < 1e-9, "{interval:?}");
    }
}

/// Simulates six launches of 20 points. Launches differ by 5 % at each point, samples by 2 %; `odd` is the relative
/// speed of odd blocks.
fn samples(odd: f64, random: &mut Pcg64Mcg) -> Samples {
    let mut table = TableBuilder::default();
    let mut normal = |deviation: f64| -> f64 {
        let z: f64 = StandardNormal.sample(random);
        deviation * z
    };
    for block in 0..6 {
        for point in 0..20 {
            let level = if block % 2 == 1 { odd } else { 1.0 } * normal(0.05).exp();
            for _ in 0..3 {
                table.begin_row();
                let mut set = |name: &str, value: Value| table.set(name, &value);
                set("kernel", Value::from("apex_map.sequential"));
                set("ranks", Value::Integer(1));
                set("block_words", Value::Integer(1 << point));
                set("memory_words", Value::Integer(1 << 20));
                set("pages", Value::from("huge"));
                set("status", Value::from("ok"));
                set("launch", Value::from(format!("{block:04}").as_str()));
                set("block", Value::Integer(block));
                set("build", Value::from("b"));
                set("bytes_per_second_per_rank", Value::Real(1e9 * level * normal(0.02).exp()));
            }
        }
    }
    table.finish().into()
}

fn control_of(samples: &Samples) -> control::Control {
    let sides = control::sides(samples).unwrap();
    let machines = sides.map(|side| Machine::from_samples("self", side, None).unwrap());
    control::count_findings(&compare(&machines, Matching::default()).unwrap()).unwrap()
}

#[test]
fn equal_launches_differ_in_at_most_5_per_cent_of_points() {
    let mut random = Pcg64Mcg::seed_from_u64(41);
    let (mut mean_over_all_ways, mut mean_rate, tries) = (0.0, 0.0, 150);
    for _ in 0..tries {
        let control = control_of(&samples(1.0, &mut random));
        assert_eq!((control.points, control.launches, control.untested), (20, 3, 0));
        let (rate, ways) = control.over_all_ways.unwrap();
        assert_eq!(ways, 10, "half of the 20 ways to choose three of six");
        mean_over_all_ways += rate / f64::from(tries);
        mean_rate += control.rate / f64::from(tries);
    }
    // 3,000 points. With three launches per side, Welch's test finds fewer differences than its level allows.
    assert!((0.02..=0.06).contains(&mean_rate), "{mean_rate}");
    assert!((0.02..=0.055).contains(&mean_over_all_ways), "{mean_over_all_ways}");
}

#[test]
fn a_slower_side_is_detected_and_reported() {
    let control = control_of(&samples(0.5, &mut Pcg64Mcg::seed_from_u64(42)));
    assert!(control.found >= 19 && control.found_adjusted >= 19 && control.ratio < 0.6, "{control:?}");
    assert!(control.over_all_ways.unwrap().0 < 0.5, "the other ways mix both");
    let text = control::text(&control, "s");
    assert!(text.contains("MORE THAN EXPECTED") && text.contains("of 20 points"), "{text}");
}

const SWEEP: &str = r#"
[fixed]
kernel = "apex_map.sequential"
M = "64 kwords"
I = 64
N = 2
pages = "base"
[axes]
alpha = [0.01, 1.0]
L = [1, 16]
[launch]
preflight = "0 s"
[repeat]
min = 2
"#;

#[test]
fn the_command_measures_both_sides_alternately_and_keeps_them() {
    let scratch = Scratch::new();
    let (sweep, out) = (scratch.join("s.toml"), scratch.join("control"));
    std::fs::write(&sweep, SWEEP).unwrap();
    let (sweep, out) = (sweep.to_str().unwrap(), out.to_str().unwrap());
    let run_control = |more: &[&str]| {
        let run = apexmap(&[&["compare", "--self", sweep, "--launches", "2", "--out", out], more].concat());
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        String::from_utf8(run.stdout).unwrap()
    };
    let text = run_control(&[]);
    assert!(text.contains("2 launches each of A and B, alternating") && text.contains(" of 4 points"), "{text}");
    assert!(text.contains("over all 3 ways"), "{text}");
    let folder = scratch.join("control");
    let page = std::fs::read_to_string(folder.join("compare.html")).unwrap();
    assert!(page.contains("A against B"));
    let kept: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("self.json")).unwrap()).unwrap();
    assert_eq!((&kept["points"], &kept["launches"]), (&4.into(), &2.into()));
    // The second call measures nothing and gives the same result.
    let again: serde_json::Value = serde_json::from_str(&run_control(&["--no-page", "--json"])).unwrap();
    assert_eq!(again, kept);
    let launches = std::fs::read_dir(folder.join("result/journals")).unwrap();
    let journals = launches.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|end| end == "jsonl"));
    assert_eq!(journals.count(), 4);
    for (arguments, expected) in [
        (&["compare", "--self", sweep, "a", "b"][..], "cannot be used with"),
        (&["compare", "a", "b", "--launches", "3"], "--launches applies only to"),
        (&["compare", "a", "b", "--json"], "--json applies only to --fail-if"),
    ] {
        let run = apexmap(arguments);
        let stderr_text = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(!run.status.success() && stderr_text.contains(expected), "{stderr_text}");
    }
}
