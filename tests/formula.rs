//! Tests of models that users write as formulas: known values, units, errors with places, files.

use super::common::{Scratch, launch, manifest, refusal_message, sample, small_point, successful_stdout};
use apexmap_base::condition::{Dimension, Formula, NameType};
use apexmap_base::point::Value;
use apexmap_base::sample::Event;
use apexmap_base::units::Unit;
use apexmap_results::disk::Folder;
use apexmap_results::disk::journal::Journal;
use apexmap_results::disk::manifest::Manifest;
use apexmap_theory::fit::{self, Fit, MAX_STEPS, Observation, Options, Role, first_guess};
use apexmap_theory::machine::{Card, Domain};
use apexmap_theory::models::formula::{FormulaModel, Names};
use apexmap_theory::models::scan::{Numbers, scan, scan_point};
use apexmap_theory::models::{self, Model};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64Mcg;
use std::hint::black_box;
use std::path::Path;

const QUICK: Options = Options { seed: 1, resamples: 0, leave_out: false, most_points: 400, max_steps: MAX_STEPS };

fn names(parameters: &[&str]) -> Names {
    let typed = |names: &[(&str, Unit)]| names.iter().map(|(name, unit)| ((*name).to_owned(), Some(*unit))).collect();
    Names {
        variables: typed(&[
            ("L", Unit::Words),
            ("P", Unit::None),
            ("alpha", Unit::None),
            ("message_bytes", Unit::Bytes),
        ]),
        columns: typed(&[
            ("seconds", Unit::Seconds),
            ("operations_per_second", Unit::PerSecond),
            ("bytes_per_second", Unit::BytesPerSecond),
        ]),
        parameters: parameters.iter().map(|name| (*name).to_owned()).collect(),
        kernels: vec!["apex_map.sequential".to_owned()],
    }
}

fn model(text: &str, parameters: &[&str]) -> FormulaModel {
    FormulaModel::new(text, &names(parameters)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Returns rates of the model with log-normal noise, in `launches` launches.
fn observe(model: &dyn Model, truth: &[f64], points: &[Vec<f64>], noise: f64, rng: &mut Pcg64Mcg) -> Vec<Observation> {
    let normal = Normal::new(0.0, noise).expect("a deviation");
    let observe = |x: &Vec<f64>| {
        let y = model.predict(x, truth).value * normal.sample(rng).exp();
        Observation { x: x.clone(), y, launch: 0 }
    };
    points.iter().map(observe).collect()
}

fn fit_formula(model: FormulaModel, data: &[Observation], roles: &[Role]) -> (FormulaModel, Fit) {
    let guess = first_guess::search(&model, data, roles).expect("a guess");
    let model = model.start_from(&guess.values, guess.linear, guess.is_linear_itself);
    let fit = fit::fit(&model, data, roles, QUICK).expect("a fit");
    (model, fit)
}

fn lengths(count: i32) -> Vec<Vec<f64>> {
    (0..count).map(|power| vec![2f64.powi(power)]).collect()
}

#[test]
fn parameters_of_many_orders_of_magnitude_are_recovered_without_starting_values() {
    let mut rng = Pcg64Mcg::seed_from_u64(5);
    let cases: [(&str, &[&str], &[f64]); 5] = [
        ("seconds = a + b * L", &["a", "b"], &[3e-6, 2e-9]),
        ("bytes_per_second = L * word_bytes / (a + b * L)", &["a", "b"], &[4e-7, 1.5e-9]),
        ("seconds = a * L ^ k", &["a", "k"], &[7e-8, 1.3]),
        ("seconds = max(a, b * L)", &["a", "b"], &[2e-7, 3e-9]),
        ("seconds = a * sqrt(L) + b * log2(2 * L)", &["a", "b"], &[1e-8, 1e-7]),
    ];
    for (text, parameters, truth) in cases {
        let model = model(text, parameters);
        let order: Vec<f64> = model
            .about()
            .parameters
            .iter()
            .map(|own| truth[parameters.iter().position(|name| *name == own.number).expect("its name")])
            .collect();
        let data = observe(&model, &order, &lengths(16), 0.0, &mut rng);
        let (_, fit) = fit_formula(model, &data, &vec![Role::Fit; truth.len()]);
        for (estimate, truth) in fit.estimates.iter().zip(&order) {
            assert!((estimate.value / truth - 1.0).abs() < 1e-6, "{text}: {estimate:?} is not {truth}");
        }
    }
}

#[test]
fn a_built_in_model_as_a_formula_gives_the_same_numbers() {
    let built_in = models::find("point_to_point.switch").expect("a model");
    let mut rng = Pcg64Mcg::seed_from_u64(11);
    let points: Vec<Vec<f64>> = (3..21).map(|power| vec![2f64.powi(power)]).collect();
    let truth = [2e-6, 3e-10, 0.0, 0.0, 1e18];
    let data = observe(built_in, &truth, &points, 0.05, &mut rng);
    let roles = [Role::Fit, Role::Fit, Role::Hold(0.0), Role::Hold(0.0), Role::Hold(1e18)];
    let expected = fit::fit(built_in, &data, &roles, QUICK).expect("a fit");
    let own = model("operations_per_second = 1 / (a + b * message_bytes)", &["a", "b"]);
    let (own, fit) = fit_formula(own, &data, &[Role::Fit, Role::Fit]);
    assert!(own.about().linear && !own.is_linear_itself());
    for (a, b) in fit.estimates.iter().zip(&expected.estimates) {
        for (a, b) in [(a.value, b.value), (a.low, b.low), (a.high, b.high)] {
            assert!((a / b - 1.0).abs() < 1e-6, "{a} is not {b}");
        }
    }
    assert!((fit.quality.smape / expected.quality.smape - 1.0).abs() < 1e-6);
    // The time has the same parameters as the rate.
    let time = model("seconds = a + b * message_bytes", &["a", "b"]);
    let times: Vec<Observation> = data.iter().map(|seen| Observation { y: 1.0 / seen.y, ..seen.clone() }).collect();
    let (time, fit) = fit_formula(time, &times, &[Role::Fit, Role::Fit]);
    assert!(time.about().linear && time.is_linear_itself());
    for (a, b) in fit.estimates.iter().zip(&expected.estimates) {
        assert!((a.value / b.value - 1.0).abs() < 1e-6 && (a.high / b.high - 1.0).abs() < 1e-6, "{a:?} {b:?}");
    }
}

#[test]
fn intervals_of_formulas_cover_the_true_values() {
    let mut rng = Pcg64Mcg::seed_from_u64(17);
    let (sets, truth) = (200, [3e-6, 2e-9]);
    let mut hits = [0; 2];
    for _ in 0..sets {
        let own = model("seconds = a + b * L", &["a", "b"]);
        let data = observe(&own, &truth, &lengths(16), 0.1, &mut rng);
        let (_, fit) = fit_formula(own, &data, &[Role::Fit, Role::Fit]);
        for ((estimate, truth), hits) in fit.estimates.iter().zip(truth).zip(&mut hits) {
            *hits += i32::from(estimate.low <= truth && truth <= estimate.high);
        }
    }
    // Three standard errors of a coverage of 95 % are 4.6 points.
    assert!(hits.iter().all(|&hits| (0.904..=0.996).contains(&(f64::from(hits) / f64::from(sets)))), "{hits:?}");
}

#[test]
fn points_that_cannot_identify_a_parameter_are_refused() {
    let own = model("seconds = a + b * L", &["a", "b"]);
    let data = observe(&own, &[3e-6, 2e-9], &[vec![4.0], vec![4.0]], 0.0, &mut Pcg64Mcg::seed_from_u64(1));
    let guess = first_guess::search(&own, &data, &[Role::Fit, Role::Fit]).expect("a guess");
    let own = own.start_from(&guess.values, guess.linear, guess.is_linear_itself);
    let error = fit::fit(&own, &data, &[Role::Fit, Role::Fit], QUICK).expect_err("one point");
    assert!(error.message.contains("cannot identify") && error.help.contains("more values of L"), "{error}");
    let own = model("seconds = 0 - a * L", &["a"]);
    let data = [Observation { x: vec![4.0], y: 1.0, launch: 0 }];
    let error = first_guess::search(&own, &data, &[Role::Fit]).expect_err("negative times");
    assert!(error.help.contains("--fit a=1e-9"), "{error}");
}

#[test]
fn parameters_take_the_unit_that_makes_the_sides_agree() {
    for (text, expected) in [
        ("seconds = a + b * L", vec!["s", "s/word"]),
        ("seconds = a + L * word_bytes / b", vec!["s", "B/s"]),
        ("bytes_per_second = 1 / (a / P + b)", vec!["s/B", "s/B"]),
        ("seconds = 1e-6 + a * sqrt(L) + b", vec!["s/word^0.5", "s"]),
        ("seconds = max(a, L * b)", vec!["s", "s/word"]),
    ] {
        let own = model(text, &["a", "b"]);
        let units: Vec<String> = ["a", "b"].iter().filter_map(|name| own.unit_text(name)).collect();
        assert_eq!(units, expected, "{text}");
    }
    let own = model("seconds = a * L ^ b", &["a", "b"]);
    assert_eq!((own.unit_text("a"), own.unit_text("b")), (None, Some("a pure number".to_owned())));
    assert_eq!(Dimension::from_unit(Unit::BytesPerSecond).to_string(), "B/s");
}

/// The error must underline the text between the marks.
#[test]
fn errors_of_formulas_show_their_place() {
    for (marked, expected_message, expected_help) in [
        ("»seconds«", "has no \"=\"", "COLUMN = EXPRESSION"),
        ("»=« a", "left side of the formula is missing", ""),
        ("»second« = a", "found \"second\"", "did you mean \"seconds\"?"),
        ("seconds =»«", "the formula is empty", "functions are"),
        ("seconds = a »=« 2", "one \"=\"", ""),
        ("seconds = a + »Lm« * 2", "names \"Lm\"", "--fit"),
        ("seconds = a * »seconds«", "unknown here", "is measured, so it is no variable"),
        ("seconds = a * »copy_second_per_byte«", "unknown here", "copy_seconds_per_byte"),
        ("seconds = a + »log3«(L)", "no function \"log3\"", "did you mean \"log2\"?"),
        ("seconds = a + »max«(L)", "needs two numbers", "max(a, b)"),
        ("seconds = a + »max«(L, 2", "not closed", ""),
        ("seconds = a + (»)«", "operand is missing", ""),
        ("seconds = a »b«", "operator is missing before b", "base units"),
        ("seconds = »a < 2«", "not a number", ""),
    ] {
        let start = marked.find('»').expect("a mark");
        let end = marked.find('«').expect("a mark") - '»'.len_utf8();
        let text = marked.replace(['»', '«'], "");
        let error = FormulaModel::new(&text, &names(&["a"])).expect_err(&text);
        let place = error.location.as_ref().unwrap_or_else(|| panic!("{text}: no place"));
        assert!(error.message.contains(expected_message) && error.help.contains(expected_help), "{text}: {error}");
        assert_eq!(place.span, start..end, "{text}: {error}");
    }
    for (text, place, message) in [
        ("seconds = L", 10..11, "s on one side, word on the other"),
        ("seconds = L + P * alpha", 10..23, "word on one side, a pure number on the other"),
        ("seconds = network_latency_seconds + L * word_bytes", 10..50, "s on one side, B on the other"),
        ("seconds = exp(L)", 10..16, "word on one side"),
    ] {
        let error = FormulaModel::new(text, &names(&[])).expect_err(text);
        assert!(error.message.contains(message) && error.help.contains("--fit"), "{text}: {error}");
        assert_eq!(error.location.expect("a place").span, place, "{text}");
    }
    let error = FormulaModel::new("seconds = a * L", &names(&["a", "L"])).expect_err("a column");
    assert!(error.message.contains("L is a name of the result"), "{error}");
    let error = FormulaModel::new("seconds = a * L", &names(&["a", "bb"])).expect_err("unused");
    assert!(error.message.contains("no parameter \"bb\""), "{error}");
}

proptest! {
    #[test]
    fn functions_of_formulas_compute_as_rust_does(a in 0.01f64..1e6, b in 0.01f64..1e6) {
        let known_names = [("a", NameType::Number), ("b", NameType::Number)];
        let lookup = |name: &str| Some(Value::Real(if name == "a" { a } else { b }));
        // The compiler would turn a power with a known exponent into a product, whose last bit may differ.
        for (text, expected) in [
            ("log2(a)", a.log2()),
            ("sqrt(a * b)", (a * b).sqrt()),
            ("exp(-a / 1e5)", (-a / 1e5).exp()),
            ("min(a, b) + max(a, b)", a.min(b) + a.max(b)),
            ("-max(min(a, 3), b) ^ 2", -a.min(3.0).max(b).powf(black_box(2.0))),
        ] {
            let formula = Formula::parse(text, &known_names).expect("a formula");
            prop_assert_eq!(formula.evaluate(&lookup), Some(expected), "{}", text);
        }
    }

    #[test]
    fn no_text_breaks_the_parser_of_formulas(text in "[ -~=+*/()a-dL,]{0,40}") {
        let place = FormulaModel::new(&text, &names(&["a", "b"])).err().and_then(|error| error.location);
        if let Some(place) = place {
            prop_assert!(text.get(place.span.clone()).is_some(), "{:?} of {:?}", place.span, text);
        }
    }
}

#[test]
fn a_saved_formula_predicts_as_the_fit_and_says_where_it_holds() {
    let own = model("seconds = a + b * L / memory_bandwidth_bytes_per_second", &["a", "b"]);
    let truth = [3e-6, 8.0, 1e10];
    let data = observe(&own, &truth, &lengths(12), 0.02, &mut Pcg64Mcg::seed_from_u64(2));
    let (own, fit) = fit_formula(own, &data, &[Role::Fit, Role::Fit, Role::Hold(1e10)]);
    let mut domain = Domain::default();
    data.iter().for_each(|seen| domain.include("L", seen.x[0]));
    let saved = fit.to_saved(&own, "node1", "apexmap fit", &domain);
    let text = saved.to_toml().expect("TOML");
    let read = FormulaModel::parse(&text, Path::new("mine.toml")).expect("a model");
    assert_eq!(read.file(), Some(&saved));
    let error = Numbers::new(&read, &Card::new("none", "", ""), &[]).expect_err("no bandwidth");
    assert!(error.message.contains("memory_bandwidth_bytes_per_second"), "{error}");
    let mut card = Card::new("made up", "", "");
    card.set_base("memory_bandwidth_bytes_per_second", 1e10, "made up").expect("a number");
    let numbers = Numbers::new(&read, &card, &[]).expect("numbers");
    for point in &fit.points {
        let row = scan_point(&read, &numbers, point.x.clone(), &|_| Vec::new()).expect("a prediction");
        assert!((row.prediction.value / point.predicted - 1.0).abs() < 1e-12 && row.extrapolations.is_empty());
        let (low, high) = row.band.expect("a band");
        assert!((low / point.low - 1.0).abs() < 1e-3 && (high / point.high - 1.0).abs() < 1e-3, "{row:?} {point:?}");
    }
    let outside = scan(&read, &numbers, &[("L".to_owned(), vec![1e6])]).expect("a prediction");
    assert_eq!(outside[0].extrapolations.len(), 1);
    let doubled = Numbers::new(&read, &card, &[("a".to_owned(), 6e-6)]).expect("numbers");
    assert_eq!(doubled.values[0], 6e-6);
    for (from, to, message) in [
        ("value = ", "value = -", "low <= value <= high"),
        ("[parameters.a]", "[parameters.c]", "c"),
        ("formula = \"seconds = a", "formula = \"seconds = z", "names \"z\""),
        ("noise = ", "noise = -", "covariance"),
        ("[domain]", "[dominion]", "dominion"),
    ] {
        let damaged = text.replacen(from, to, 1);
        let error = FormulaModel::parse(&damaged, Path::new("mine.toml")).expect_err(from);
        assert!(error.to_string().contains(message) && !error.help.is_empty(), "{from}: {error}");
    }
}

/// Writes a result with times of 3 us + L * 2 ns per access, in three launches, over M words.
fn result_of(words: u64, path: &Path) -> String {
    let folder = Folder::create(path).expect("a folder");
    let mut points = Vec::new();
    for (number, factor) in [0.99, 1.0, 1.01].into_iter().enumerate() {
        let name = format!("{number:04}");
        let mut journal = Journal::create(&folder.journal(&name)).expect("a journal");
        journal.append(&Event::Hello(Box::new(launch(&name, 1, "b1")))).expect("a line");
        for power in 0..12 {
            let point =
                small_point("apex_map.sequential", 1).with_parameter("L", 1u64 << power).with_parameter("M", words);
            let seconds = factor * (3e-6 + f64::from(1u32 << power) * 2e-9);
            let mut sample = sample(&point, &point.label(), 0, seconds);
            sample.block = number as u32;
            journal.append(&Event::Sample(Box::new(sample))).expect("a line");
            points.push(point);
        }
        journal.finish().expect("on disk");
    }
    let manifest = Manifest { title: "made up".into(), machine: "node1".into(), points: 12, blocks: 3, ..manifest() };
    let records = folder.records().expect("journals");
    manifest.with_records(&records).write(&folder).expect("a manifest");
    folder.compact().expect("a table");
    folder.path.to_str().expect("a path").to_owned()
}

fn result(scratch: &Scratch) -> String {
    result_of(4096, &scratch.join("result"))
}

#[test]
fn a_saved_formula_holds_for_the_parameters_and_the_condition_of_its_samples() {
    let scratch = Scratch::new();
    let (path, larger) = (result(&scratch), result_of(8192, &scratch.join("larger")));
    let file = scratch.join("mine.toml").to_str().expect("a path").to_owned();
    let fit = ["fit", &path, "--formula", "seconds = a + b * L", "--fit", "a,b", "--where", "L >= 4 && M == 4096"];
    successful_stdout(&[&fit[..], &["--save", &file]].concat());
    let saved = FormulaModel::read(Path::new(&file)).expect("a model").file().expect("a file").clone();
    assert!(saved.source.contains("--where 'L >= 4 && M == 4096'"), "{}", saved.source);
    let extent = |name: &str| saved.domain.extent(name).map(ToString::to_string);
    assert_eq!(["L", "M", "P", "I"].map(extent), ["4 to 2048", "4096", "1", "64"].map(|text| Some(text.to_owned())));
    assert_eq!(extent("seed"), None);
    let text = successful_stdout(&["fit", &path, "--model", &file]);
    assert!(text.contains("extrapolated from L = 4 to 2048"), "{text}");
    let error = refusal_message(&["fit", &larger, "--model", &file]);
    assert!(error.contains("no term for M: a and b hold for M = 4096, not for M = 8192"), "{error}");
    assert!(error.contains("use apex_map.surface, which has M as a variable, or M = 4096"), "{error}");
}

#[test]
fn fit_saves_a_formula_that_predict_and_fit_take() {
    let scratch = Scratch::new();
    let path = result(&scratch);
    let file = scratch.join("mine.toml").to_str().expect("a path").to_owned();
    let figures = scratch.join("figures").to_str().expect("a path").to_owned();
    let fit = ["fit", &path, "--formula", "seconds = a + b * L", "--fit", "a,b"];
    let text = successful_stdout(&[&fit[..], &["--save", &file, "--figures", &figures]].concat());
    for part in ["seconds = a + b * L (a in s, b in s/word)", "bootstrap", "values left out", "3 us"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(scratch.join("figures/formula-curves.svg").is_file());
    let toml = successful_stdout(&[&fit[..], &["--format", "toml"]].concat());
    assert_eq!(toml.trim(), std::fs::read_to_string(&file).expect("a file").trim());
    let json = successful_stdout(&[&fit[..], &["--format", "json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["formula"], "seconds = a + b * L");
    let value = json["fit"]["estimates"][0]["value"].as_f64().expect("a value");
    assert!((value / 3e-6 - 1.0).abs() < 0.01, "{value}");
    let text = successful_stdout(&["predict", &file, "--set", "L=1..4096"]);
    assert!(text.contains("extrapolated from L = 1 to 2048") && text.contains("a, b hold for"), "{text}");
    let text = successful_stdout(&["fit", &path, "--model", &file]);
    assert!(text.contains("nothing fitted") && text.contains("mine.toml predicts the measurement to within"), "{text}");
    for (arguments, message) in [
        (vec!["--formula", "seconds = a"], "--fit a,b"),
        (vec!["--formula", "seconds = a * kernel", "--fit", "a"], "\"kernel\""),
        (vec!["--formula", "seconds = a * L", "--fit", "a,a"], "a twice"),
        (vec!["--formula", "seconds = a * L", "--fit", "a=0"], "above 0"),
        (vec!["--formula", "seconds = a * L", "--fit", "a", "--hold", "a=1"], "in --fit and in --hold"),
        (vec!["--formula", "seconds = a * L + memory_line_seconds", "--fit", "a"], "--machine CARD"),
    ] {
        let error = refusal_message(&[&["fit", &path][..], &arguments].concat());
        assert!(error.contains(message), "{arguments:?}: {error}");
    }
    let error = refusal_message(&["predict", "random_access.hypercube", "--ranks", "1"]);
    assert!(error.contains("--machine CARD") && error.contains("red-storm"), "{error}");
}

#[test]
fn reports_and_comparisons_fit_a_saved_formula_beside_the_built_in_models() {
    let scratch = Scratch::new();
    let path = result(&scratch);
    let [mine, held] = ["mine.toml", "held.toml"].map(|name| scratch.join(name).to_str().expect("a path").to_owned());
    let formula = ["fit", &path, "--formula", "seconds = a + b * L", "--fit"];
    successful_stdout(&[&formula[..], &["a,b", "--save", &mine]].concat());
    successful_stdout(&[&formula[..], &["b", "--hold", "a=3e-6", "--save", &held]].concat());
    successful_stdout(&["report", &path, "--model", &mine, "--model", &held]);
    let page = std::fs::read_to_string(Path::new(&path).join("report.html")).expect("a page");
    for part in [
        "<h3>mine.toml: apex_map.sequential</h3>",
        "<h3>mine.toml: apex_map.sequential, from the numbers of its file alone</h3>",
        "<h3>held.toml: apex_map.sequential</h3>",
        ".toml explains it: ",
        "With the numbers of its file and nothing fitted, mine.toml predicts the measurement to within",
        "3 us",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("Bottleneck: formula"), "a formula has no terms");
    let first = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    assert!(first("<h3>mine.toml: ") < first("<h3>apex_map.linear: "), "the best model comes first");
    successful_stdout(&["report", &path]);
    let page = std::fs::read_to_string(Path::new(&path).join("report.html")).expect("a page");
    assert!(!page.contains("mine.toml"), "a model takes part only where it is named");
    for (model, message) in
        [("apex_map.linear", "take part anyway"), (mine.as_str(), "two models are called mine.toml")]
    {
        let error = refusal_message(&["report", &path, "--model", &mine, "--model", model]);
        assert!(error.contains(message), "{error}");
    }
    let out = scratch.join("compared").to_str().expect("a path").to_owned();
    let other = format!("{path}[L >= 2]");
    successful_stdout(&["compare", &path, &other, "--names", "all,long", "--model", &mine, "--out", &out]);
    let page = std::fs::read_to_string(scratch.join("compared/compare.html")).expect("a page");
    assert!(page.contains("mine.toml (seconds = a + b * L") && page.contains("<td>a</td>"), "fitted side by side");
    assert!(page.contains("<h1>Example CPU, 2 cores: all against long</h1>"), "the title names the processor");
    let foreign = std::fs::read_to_string(&mine).expect("a file").replace("apex_map.sequential", "apex_map.two_sided");
    std::fs::write(scratch.join("foreign.toml"), foreign).expect("a file");
    let foreign = scratch.join("foreign.toml").to_str().expect("a path").to_owned();
    let error = refusal_message(&["report", &path, "--model", &foreign]);
    assert!(error.contains("no successful sample of a kernel that foreign.toml models"), "{error}");
    let error = refusal_message(&["compare", &path, &other, "--model", &foreign, "--no-page"]);
    assert!(error.contains("no two results have a kernel that it models"), "{error}");
}
