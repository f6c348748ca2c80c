//! Tests of checks for regressions (what they can detect, and at which points), of folders and names of comparisons,
//! and of published machines.

use crate::common::{Scratch, apexmap, check, host, manifest, refusal_message, successful_stdout};
use apexmap_base::point::Value;
use apexmap_base::provenance::Host;
use apexmap_pages::compare::machine::{Machine, name_all};
use apexmap_pages::compare::matching::{AllowedDifferences, Matching};
use apexmap_pages::compare::ratio::ratio;
use apexmap_pages::compare::regression::{Outcome, SlowdownLimit};
use apexmap_pages::compare::sections::headline;
use apexmap_pages::compare::sections::ratios::GroupFigures;
use apexmap_pages::compare::{Comparison, compare, published_machines};
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::disk::parquet;
use apexmap_results::table::column::Column;
use apexmap_results::table::{Table, TableBuilder};
use apexmap_theory::machine::Card;
use apexmap_theory::models;
use apexmap_theory::models::scan::{Numbers, scan_point};
use apexmap_theory::statistics::rank_tests::MannWhitney;
use std::path::Path;

const FIVE_PERCENT: SlowdownLimit = SlowdownLimit { slowdown: 1.05 };

/// Returns a table with three samples of each point in each launch. `speed(launch, point)` is `None` if the launch has
/// not measured the point.
fn table(points: usize, launches: usize, quietness: &str, speed: impl Fn(usize, usize) -> Option<f64>) -> Table {
    let mut table = TableBuilder::default();
    for (launch, point) in (0..launches).flat_map(|launch| (0..points).map(move |point| (launch, point))) {
        let Some(speed) = speed(launch, point) else { continue };
        for sample in 0..3 {
            table.begin_row();
            let mut set = |name: &str, value: Value| table.set(name, &value);
            set("kernel", Value::from("apex_map.sequential"));
            set("ranks", Value::Integer(1));
            set("alpha", Value::Real(1.0));
            set("block_words", Value::Integer(1 << point));
            set("memory_words", Value::Integer(1 << 20));
            set("pages", Value::from("huge"));
            set("status", Value::from("ok"));
            set("launch", Value::from(format!("{launch:04}").as_str()));
            set("build", Value::from("b"));
            set("seconds", Value::Real(1.0 / speed));
            set("quietness", Value::from(quietness));
            set("disturbed_by", Value::from(if quietness == "disturbed" { "run delay" } else { "" }));
            set("bytes_per_second_per_rank", Value::Real(1e9 * speed * (1.0 + 1e-4 * sample as f64)));
        }
    }
    table.finish()
}

fn machine(name: &str, table: Table) -> Machine {
    Machine::from_samples(name, table.into(), None).unwrap()
}

fn compare_machines(machines: &[Machine], allowed: AllowedDifferences) -> Comparison<'_> {
    compare(machines, Matching { allowed, ..Matching::default() }).unwrap()
}

/// Returns factors of launches that differ by this much.
fn launches(spread: f64) -> impl Fn(usize, usize) -> Option<f64> {
    move |launch, point| Some(1.0 + spread * [0.0, 1.0, -1.0, 0.4, -0.4][(launch + point) % 5])
}

#[test]
fn a_check_reports_its_detection_limit_and_may_be_undecided() {
    let pair = |spread: f64, quietness: &str| {
        ["base", "new"].map(|name| machine(name, table(5, 4, quietness, launches(spread))))
    };
    let machines = pair(0.01, "quiet");
    let comparison = compare_machines(&machines, AllowedDifferences::default());
    let report = check(&comparison, FIVE_PERCENT).unwrap();
    // A point shows a slowdown if the lower end of its interval exceeds 1.05.
    let mut tests = MannWhitney::default();
    let mut detectable: Vec<f64> = Vec::new();
    for point in comparison.matched_points() {
        let [base, new] = [0, 1].map(|k| point.by_machine[k].as_ref().unwrap());
        let slowdown = ratio(base, new, &mut tests).unwrap();
        detectable.push(1.05 * slowdown.value / slowdown.interval.unwrap().0);
    }
    detectable.sort_by(f64::total_cmp);
    let smallest = report.smallest_found.unwrap();
    assert!((smallest - detectable[2]).abs() < 1e-12 && smallest < 1.15, "{smallest} of {detectable:?}");
    assert_eq!((report.verdict, report.warnings.as_slice()), (Outcome::Passed, &[][..]));
    assert!(report.power().contains("could have found is") && report.power().ends_with("% (median point)"));

    for (quietness, grounds) in [("quiet", "median point"), ("disturbed", "median point")] {
        let machines = pair(0.3, quietness);
        let report = check(&compare_machines(&machines, AllowedDifferences::default()), FIVE_PERCENT).unwrap();
        assert_eq!(report.verdict, Outcome::Undecided, "{report:#?}");
        assert!(report.smallest_found.is_some_and(|smallest| smallest > 1.15));
        let warnings = report.warnings.iter().filter(|text| text.contains(" was disturbed: 60 of 60")).count();
        assert_eq!(warnings, if quietness == "quiet" { 0 } else { 2 }, "{:?}", report.warnings);
        let sentence = report.sentence();
        assert!(sentence.starts_with("Regression check undecided") && sentence.contains(grounds), "{sentence}");
    }
    // A large slowdown is detected nevertheless.
    let slow = [machine("base", table(5, 4, "quiet", launches(0.01))), {
        machine("new", table(5, 4, "quiet", |launch, point| Some(0.5 * launches(0.01)(launch, point)?)))
    }];
    assert_eq!(
        check(&compare_machines(&slow, AllowedDifferences::default()), FIVE_PERCENT).unwrap().verdict,
        Outcome::Failed
    );
    // Any limit below 1 % counts as 1 %, so a check against 0 % can pass.
    let machines = pair(0.001, "quiet");
    let report =
        check(&compare_machines(&machines, AllowedDifferences::default()), SlowdownLimit { slowdown: 1.0 }).unwrap();
    assert_eq!(report.verdict, Outcome::Passed, "{report:#?}");
}

#[test]
fn points_without_an_interval_are_named_and_do_not_affect_others() {
    // The last two of six points have one launch of three samples.
    let speeds = |times: f64| {
        move |launch: usize, point: usize| {
            (point < 4 || launch == 0).then_some(())?;
            Some(times * launches(0.01)(launch, point)?)
        }
    };
    let machines =
        [("base", 1.0), ("new", 0.3)].map(|(name, times)| machine(name, table(6, 4, "quiet", speeds(times))));
    let comparison = compare_machines(&machines, AllowedDifferences::default());
    let sentences = headline::sentences(&comparison);
    assert!(
        sentences[0].starts_with("base is 3.3") && sentences[0].ends_with("; certain at 4 of 6 points."),
        "{sentences:?}"
    );
    let details = headline::details(&comparison);
    assert!(details[0].starts_with("new / base = 0.30"), "{details:?}");
    assert!(details[0].contains("over the 4 points with several launches, 95 % interval over launches"), "{details:?}");
    assert!(details[0].contains("No interval at 2 points, not included in the mean: L = 16; L = 32"), "{details:?}");
    let report = check(&comparison, FIVE_PERCENT).unwrap();
    assert_eq!((report.verdict, report.slower.len(), report.tested, report.untested), (Outcome::Failed, 4, 4, 2));
    let warning = &report.warnings[0];
    assert!(warning.starts_with("2 of 6 points were not tested") && warning.contains("L = 16; L = 32"), "{warning}");
    // If no point has several launches, the check is refused as before.
    let single = ["base", "new"].map(|name| machine(name, table(3, 1, "quiet", launches(0.01))));
    let refused = check(&compare_machines(&single, AllowedDifferences::default()), FIVE_PERCENT).unwrap_err();
    assert!(refused.message.contains("all 3 points were measured in a single launch"), "{refused}");
}

#[test]
fn a_ratio_curve_names_the_machine_that_is_faster_above_the_line() {
    let machines = [("old", 1.0), ("new", 2.0)].map(|(name, times)| {
        machine(name, table(4, 3, "quiet", |launch, point| Some(times * launches(0.01)(launch, point)?)))
    });
    let comparison = compare_machines(&machines, AllowedDifferences::default());
    let scratch = Scratch::new();
    let section = GroupFigures::new(comparison.groups().next().expect("a group"), &scratch).unwrap();
    let curve = section.shown.iter().find(|picture| picture.title == "Speed ratio new / old").expect("a curve");
    assert!(
        curve.caption.starts_with("Speed ratio new / old: above the line at 1, new is faster;"),
        "{}",
        curve.caption
    );
}

/// Writes a Parquet file to a separate folder and returns its path.
fn parquet(scratch: &Path, folder: &str, table: &Table) -> String {
    let path = scratch.join(folder).join("run.parquet");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    parquet::write(&mut std::fs::File::create(&path).unwrap(), &path, table).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn the_check_exits_with_4_if_undecided_and_5_if_disturbed() {
    let scratch = Scratch::new();
    let side = |folder: &str, times: f64| {
        let speed = |launch: usize, point: usize| Some(times * launches(0.3)(launch, point)?);
        parquet(&scratch, folder, &table(5, 4, "disturbed", speed))
    };
    let (a, b) = (side("a", 1.0), side("b", 0.97));
    let run = |more: &[&str]| {
        let output = apexmap(&[&["compare", &a, &b, "--names", "a,b"], more].concat());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    };
    let (code, out, error) = run(&["--fail-if", "slower=5%", "--no-page"]);
    assert_eq!(code, 4, "{out}{error}");
    assert!(out.contains("warning: DISTURBED: ") && out.contains("UNDECIDED: 0 of 5 points"), "{out}");
    assert!(out.contains("The smallest slowdown that this check could have found is"), "{out}");
    assert!(error.contains("undecided whether b is slower than a"), "{error}");
    assert!(
        error.contains("and the limit is 5 %") && error.contains("help: measure both on a quiet machine"),
        "{error}"
    );
    let (code, out, _) = run(&["--fail-if", "slower=5%", "--no-page", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &json["verdict"]), (4, &"undecided".into()));
    assert_eq!(json["warnings"].as_array().unwrap().len(), 2, "{json}");
    let (code, _, error) = run(&["--fail-if", "slower=5%,noisy", "--no-page"]);
    assert!(code == 5 && error.contains("was disturbed: 60 of 60 samples (run delay 60)"), "{error}");
    let (code, _, error) = run(&["--fail-if", "noisy", "--no-page"]);
    assert!(code == 5 && error.contains("was disturbed"), "{error}");
    let out = scratch.join("page");
    let (code, out, _) = run(&["--fail-if", "slower=900%", "--out", out.to_str().unwrap()]);
    assert_eq!((code, out.matches("DISTURBED: a was").count()), (0, 1), "each banner once: {out}");
    assert!(refusal_message(&["compare", &a, &b, "--fail-if", "noisy", "--json"]).contains("add slower=5%"));
}

#[test]
fn each_of_several_results_is_checked_against_the_first() {
    let scratch = Scratch::new();
    let side = |folder: &str, times: f64| {
        let speed = |launch: usize, point: usize| Some(times * launches(0.01)(launch, point)?);
        parquet(&scratch, folder, &table(5, 4, "quiet", speed))
    };
    let [a, b, c] = [("a", 1.0), ("b", 1.01), ("c", 0.5)].map(|(folder, times)| side(folder, times));
    let run = |results: &[&str], names: &str, more: &[&str]| {
        let fixed = ["--names", names, "--fail-if", "slower=9%"];
        let output = apexmap(&[&["compare"], results, &fixed[..], more].concat());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    };
    let (code, out, error) = run(&[&a, &b, &c], "a,b,c", &["--no-page"]);
    assert!(code == 5 && error.contains("c: 5 points more than 9 % slower than in a"), "{out}{error}");
    assert!(out.contains("0 of 5 points of b are") && out.contains("5 of 5 points of c are"), "{out}");
    assert!(out.contains("controlled at 2 %") || out.contains("controlled at 3 %"), "the checks share 5 %: {out}");
    let (_, out, _) = run(&[&a, &b, &c], "a,b,c", &["--no-page", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((json[0]["verdict"].as_str(), json[1]["verdict"].as_str()), (Some("passed"), Some("failed")));
    let (code, out, error) = run(&[&b, &a], "b,a", &["--no-page"]);
    assert!(code == 0 && out.contains("controlled at 5 %"), "{out}{error}");
    let folder = scratch.join("page");
    run(&[&a, &b, &c], "a,b,c", &["--out", folder.to_str().unwrap()]);
    let page = std::fs::read_to_string(folder.join("compare.html")).unwrap();
    assert!(page.contains("0 of 5 points of b are") && page.contains("5 of 5 points of c are"));
}

#[test]
fn results_of_several_nights_have_their_speeds_in_the_order_of_time() {
    let scratch = Scratch::new();
    let night = |folder: &str, day: f64, times: f64| {
        let speed = |launch: usize, point: usize| Some(times * launches(0.01)(launch, point)?);
        let mut table = table(4, 3, "quiet", speed);
        let times = (0..table.rows).map(|row| 1.7e9 + 86_400.0 * day + row as f64);
        table.insert("unix_seconds", Column::from_numbers(times.collect::<Vec<_>>()));
        parquet(&scratch, folder, &table)
    };
    // The results are named in another order than that of time.
    let [first, last, between] = [night("first", 0.0, 1.0), night("last", 2.0, 0.8), night("between", 1.0, 1.1)];
    let out = scratch.join("page");
    let page = |results: &[&str]| {
        let _ = std::fs::remove_dir_all(&out);
        successful_stdout(&[&["compare"], results, &["--out", out.to_str().unwrap()]].concat());
        std::fs::read_to_string(out.join("compare.html")).unwrap()
    };
    let text = page(&[&first, &last, &between]);
    let section = text.split("id=\"time\"").nth(1).expect("a section").split("<h2").next().unwrap();
    let places = ["2023-11-14", "2023-11-15", "2023-11-16"].map(|date| section.find(date).expect(date));
    assert!(places.is_sorted(), "{section}");
    assert!(section.contains(">1.10<") && section.contains(">0.80"), "{section}");
    let figure = std::fs::read_to_string(out.join("figures/over-time.svg")).unwrap();
    assert!(figure.contains("days since the first result"), "{figure}");
    assert!(!page(&[&first, &last]).contains("id=\"time\""), "two results are no course");
    let same_time = night("same", 1.0, 1.0);
    assert!(!page(&[&first, &between, &same_time]).contains("id=\"time\""), "these were measured at the same time");
}

#[test]
fn two_cards_are_compared_by_their_numbers() {
    let scratch = Scratch::new();
    let path = |name: &str| scratch.join(name).to_str().unwrap().to_owned();
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded/xeon-16-card.toml");
    let mut card = Card::read(Path::new(recorded)).unwrap();
    let latency = card.get("memory_line_seconds").unwrap();
    card.set_base("memory_line_seconds", 2.5 * latency, "a guess").unwrap();
    card.write(Path::new(&path("other.toml"))).unwrap();
    let text = successful_stdout(&["compare", recorded, &path("other.toml"), "--no-page"]);
    let row = text.lines().find(|line| line.starts_with("memory_line_seconds")).expect(&text);
    let [a, b] = [latency, 2.5 * latency].map(apexmap_base::units::seconds);
    assert!(row.contains(&a) && row.contains(&b) && row.ends_with(" 2.5"), "{row}");
    std::fs::write(path("my.toml"), SWEEP).unwrap();
    let message = refusal_message(&["card", &path("my.toml")]);
    assert!(message.contains("is a sweep, not a machine card") && message.contains("apexmap run"), "{message}");
}

#[test]
fn a_comparison_folder_is_not_overwritten_by_another_comparison() {
    let scratch = Scratch::new();
    let side = |folder: &str, times: f64| {
        let speed = |launch: usize, point: usize| Some(times * launches(0.01)(launch, point)?);
        parquet(&scratch, folder, &table(4, 3, "quiet", speed))
    };
    let [a, b, c] = [("a", 1.0), ("b", 2.0), ("c", 3.0)].map(|(folder, times)| side(folder, times));
    let folder = scratch.join("page");
    let out = folder.to_str().unwrap();
    let page = || std::fs::read_to_string(folder.join("compare.html")).unwrap();
    successful_stdout(&["compare", &a, &b, "--out", out, "--names", "a,b"]);
    assert!(page().contains("a against b"));
    successful_stdout(&["compare", &a, &b, "--out", out, "--names", "one,two"]);
    assert!(page().contains("one against two"), "the same results again");
    let text = successful_stdout(&["compare", &a, &c, "--out", out, "--names", "a,c", "--no-page"]);
    assert!(text.starts_with("c is ") && text.contains("4 points matched, 0 without a counterpart"), "{text}");
    let error = refusal_message(&["compare", &a, &c, "--out", out]);
    assert!(error.contains("holds another comparison: ") && error.contains("--replace"), "{error}");
    assert!(page().contains("one against two"), "nothing is written");
    successful_stdout(&["compare", &a, &c, "--out", out, "--names", "a,c", "--replace"]);
    assert!(page().contains("a against c"));
    let kept = std::fs::read_to_string(scratch.join("page.1/compare.html")).unwrap();
    assert!(kept.contains("one against two"));
    std::fs::remove_file(folder.join("comparison.json")).unwrap();
    assert!(
        refusal_message(&["compare", &a, &c, "--out", out]).contains("without comparison.json"),
        "the results of that comparison are unknown"
    );
}

const SWEEP: &str = r#"
title = "t"
[fixed]
kernel = "apex_map.sequential"
M = "64 kwords"
I = 64
N = 2
alpha = 1.0
[axes]
L = [1]
[repeat]
min = 2
"#;

#[test]
fn a_finished_result_is_never_overwritten_by_another_command() {
    let scratch = Scratch::new();
    let path = |name: &str| scratch.join(name).to_str().unwrap().to_owned();
    let (sweep, other, out) = (path("s.toml"), path("other.toml"), path("result"));
    std::fs::write(&sweep, SWEEP).unwrap();
    std::fs::write(&other, SWEEP.replace("L = [1]", "L = [4]")).unwrap();
    successful_stdout(&["run", &sweep, "--out", &out, "--no-report"]);
    let kept = || std::fs::read_to_string(scratch.join("result/sweep.toml")).unwrap();
    let before = kept();
    let error = refusal_message(&["calibrate", "--out", &out]);
    assert!(error.contains("holds the result of another sweep, \"s\"") && error.contains("--replace"), "{error}");
    let error = refusal_message(&["run", "--trial", &other, "--out", &out]);
    assert!(error.contains("holds the result of another sweep") && error.contains("apexmap run --replace"), "{error}");
    let error = refusal_message(&["compare", &out, "red-storm", "--out", &out]);
    assert!(error.contains("holds a result") && !error.contains("and a comparison"), "{error}");
    std::fs::write(scratch.join("result/comparison.json"), "{\"compares\": []}").unwrap();
    let error = refusal_message(&["compare", &out, "red-storm", "--out", &out]);
    assert!(error.contains("holds a result and a comparison"), "{error}");
    assert_eq!(kept(), before);
    assert!(!scratch.join("result.1").exists() && !scratch.join("result/compare.html").exists());
}

#[test]
fn machines_without_samples_do_not_have_the_same_samples() {
    let measured = |name: &str| Machine { name: name.into(), ..streams() };
    let machines = [measured("a"), measured("b")];
    let comparison = compare(&machines, Matching::default()).unwrap();
    assert_eq!(comparison.same_samples(), Some(["a", "b"]));
    let without = |machine: &Machine| Machine { samples: machine.samples.filter_rows(|_| false), ..machine.clone() };
    let empty: Vec<Machine> = machines.iter().map(without).collect();
    assert_eq!(Comparison { machines: &empty, ..comparison }.same_samples(), None);
}

#[test]
fn machines_with_equal_names_are_renamed_by_host_folder_or_date() {
    let named = |given: &str, run: &str, host_name: &str, seconds: f64| {
        let mut table = TableBuilder::default();
        table.begin_row();
        table.set("kernel", &Value::from("apex_map.sequential"));
        table.set("unix_seconds", &Value::Real(seconds));
        let driver_host = Host { name: host_name.into(), ..host() };
        let manifest = Manifest { machine: "vm".into(), driver_host, ..manifest() };
        let mut machine = Machine::from_samples(given, table.finish().into(), Some(manifest)).unwrap();
        machine.run = Some(run.into());
        machine
    };
    let names = |machines: &mut [Machine]| {
        name_all(machines, &[]).unwrap();
        machines.iter().map(|machine| machine.name.clone()).collect::<Vec<_>>()
    };
    let day = |given: &str, run: &str, seconds: f64| named(given, run, "node1", seconds);
    assert_eq!(names(&mut [day("r/old", "/w/r/old", 0.0), day("r/new", "/w/r/new", 0.0)]), ["old", "new"]);
    let mut hosts = [named("r", "/w/r", "node1", 0.0), named("s", "/w/s", "node2", 0.0)];
    assert_eq!(names(&mut hosts), ["node1", "node2"]);
    let mut folders = [day("results/q", "/w/results/q", 0.0), day("A/results/q", "/w/A/results/q", 0.0)];
    assert_eq!(names(&mut folders), ["w/results/q", "A/results/q"]);
    // The same folder, measured twice: 2026-11-24 21:14 and 22:00.
    let dates = [1_795_554_840.0, 1_795_557_600.0];
    assert_eq!(names(&mut dates.map(|date| day("q", "/w/q", date))), ["q@2026-11-24T21:14", "q@2026-11-24T22:00"]);
    assert_eq!(names(&mut [0.0; 2].map(|date| day("q", "/w/q", date))), ["q (1)", "q (2)"]);
}

/// Returns a machine with streams of messages between two ranks.
fn streams() -> Machine {
    let mut table = TableBuilder::default();
    for (bytes, speed) in [(8, 4e7), (1024, 1e9)] {
        table.begin_row();
        let mut set = |name: &str, value: Value| table.set(name, &value);
        set("kernel", Value::from("message_rate.streaming"));
        set("ranks", Value::Integer(2));
        set("message_bytes", Value::Integer(bytes));
        set("status", Value::from("ok"));
        set("launch", Value::from("0001"));
        set("seconds", Value::Real(1.0 / speed));
        set("bytes_per_second", Value::Real(speed));
    }
    machine("streams", table.finish())
}

#[test]
fn the_simulated_nic_has_rates_in_the_headline_unit_of_kernels() {
    let card = Card::find("simulated-nic").unwrap();
    let model = models::find("message_rate.nic").unwrap();
    let numbers = Numbers::new(model, &card, &[]).unwrap();
    let measured = streams();
    let nic = published_machines::machine("simulated-nic", card, std::slice::from_ref(&measured)).unwrap();
    let machines = [nic, measured];
    let comparison = compare_machines(&machines, AllowedDifferences::default());
    assert_eq!(comparison.matched.len(), 2);
    for point in comparison.matched_points() {
        let bytes = point.number("message_bytes").unwrap();
        let rate = scan_point(model, &numbers, vec![bytes, 1.0, 0.0], &|_| Vec::new()).unwrap().prediction.value;
        let speed = point.by_machine[0].as_ref().unwrap().speed().unwrap();
        assert!((speed / (rate * bytes) - 1.0).abs() < 1e-12, "{speed} at {bytes}");
    }
}

#[test]
fn a_published_machine_lists_its_rates_or_explains_their_absence() {
    let rates_of = |name: &str| {
        published_machines::rates(&published_machines::machine(name, Card::find(name).unwrap(), &[]).unwrap())
    };
    for name in ["seaborg", "cheetah", "phoenix"] {
        assert!(rates_of(name).ends_with("has no rates, only a picture in the Apex-Map paper"), "{name}");
    }
    assert!(rates_of("red-storm").contains("random_access.hypercube"), "{}", rates_of("red-storm"));
    assert!(
        rates_of("bluegene-p").contains("random_access.roles")
            && rates_of("bluegene-l").contains("random_access.routed")
    );
    assert!(
        rates_of("simulated-nic").contains("has rates of random_access.one_sided"),
        "{}",
        rates_of("simulated-nic")
    );
}

#[test]
fn the_removed_comparison_with_itself_names_its_replacement() {
    let message = refusal_message(&["compare", "--self", "quickstart"]);
    assert!(message.contains("run `apexmap ab --sweep SWEEP --null`"), "{message}");
}
