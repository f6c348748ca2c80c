//! Tests of samples: varying columns, groups, mixtures, and the registry of columns.

use super::common::{sample, small_point, table};
use apexmap_base::point::{Point, Value};
use apexmap_base::provenance::PlainNode;
use apexmap_base::sample::Sample;
use apexmap_measure::kernels;
use apexmap_measure::kernels::keys::{ALPHA, L};
use apexmap_pages::report::summary;
use apexmap_results::samples::Samples;
use apexmap_results::samples::design::Design;
use apexmap_results::table::TableBuilder;
use apexmap_results::table::columns::{self, Role};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Simulates Apex-Map with two kernels, three pairs of kernel and rank count, three L and two alpha. I follows from L,
/// M from P.
fn sweep() -> Vec<Sample> {
    let mut samples = Vec::new();
    for (kernel, ranks) in [("apex_map.sequential", 1), ("apex_map.two_sided", 2), ("apex_map.two_sided", 4)] {
        for block in [1u64, 2, 4] {
            for alpha in [0.5, 1.0] {
                let point = small_point(kernel, ranks)
                    .with_parameter("L", block)
                    .with_parameter("I", 64 / block)
                    .with_parameter("alpha", alpha);
                let point = point.with_parameter("M", 4096 * ranks as u64);
                let key = format!("{kernel} {ranks} {block} {alpha}");
                samples.extend((0..6).map(|k| sample(&point, &key, k, f64::from(k + 1) * alpha / block as f64)));
            }
        }
    }
    samples
}

fn samples() -> Samples {
    Samples::from(table(sweep())).current()
}

#[test]
fn the_axes_are_the_varying_and_independent_columns() {
    assert_eq!(samples().axes(), ["ranks", "alpha", "block_words"], "the kernel follows from the rank count");
    let two_sided = samples().with_kernel("apex_map.two_sided");
    assert_eq!(two_sided.axes(), ["ranks", "alpha", "block_words"]);
    assert_eq!(two_sided.varying_columns_beyond(&["alpha", "block_words"]), ["ranks", "memory_words"]);
    assert_eq!(samples().filter(&condition("alpha == 1 && P == 1")).axes(), ["block_words"]);
    assert!(samples().with_rows(vec![0, 1]).axes().is_empty(), "one point has no axes");
}

fn condition(text: &str) -> apexmap_base::condition::Condition {
    use apexmap_base::condition::{Condition, NameType};
    Condition::parse(text, &["alpha", "P"].map(|name| (name, NameType::Number))).expect("a condition")
}

#[test]
fn a_column_derived_from_the_axes_does_not_split_a_surface() {
    let arrays = |mut sample: Sample| {
        let point = &sample.point;
        let arrays = point.ranks as u64 * L.of(point) * (2.0 * ALPHA.of(point)) as u64;
        sample.point = sample.point.with_parameter("N", 1 + arrays);
        sample
    };
    let samples = Samples::from(table(sweep().into_iter().map(arrays).collect())).current();
    let two_sided = samples.with_kernel("apex_map.two_sided");
    assert_eq!(two_sided.key_columns(), ["kernel", "ranks"]);
    let groups = two_sided.groups().expect("groups");
    assert_eq!(groups.len(), 2);
    assert!(groups.iter().all(|group| group.alphas.len() == 2 && group.blocks.len() == 3));
}

#[test]
fn the_summary_gives_surface_corners_and_the_shortest_time() {
    let groups = samples().with_kernel("apex_map.two_sided").groups().expect("groups");
    let rows = summary::rows(&groups[0], &PlainNode::default()).expect("rows");
    let summaries: Vec<_> = rows.iter().map(|row| (row.extremes(), row.place(), row.first)).collect();
    assert_eq!(
        summaries,
        [
            ("corner, worst", "alpha = 1, L = 1 word (8 B)", true),
            ("corner", "alpha = 1, L = 4 words (32 B)", false),
            ("corner", "alpha = 0.5, L = 1 word (8 B)", false),
            ("corner, best", "alpha = 0.5, L = 4 words (32 B)", false)
        ]
        .map(|(extremes, place, first)| (extremes.to_owned(), place.to_owned(), first))
    );
    let chase = |bytes: u64, seconds: f64| {
        let point =
            kernels::complete(Point::new("calibrate.chase", 1).with_parameter("bytes", bytes)).expect("a point");
        let outputs = [("operation_seconds".to_owned(), Value::Real(seconds))].into();
        Sample { outputs, ..sample(&point, &bytes.to_string(), 0, seconds) }
    };
    let times = Samples::from(table(vec![chase(1 << 16, 3.0), chase(1 << 20, 1.0), chase(1 << 22, 2.0)])).current();
    let rows = summary::rows(&times.groups().expect("groups")[0], &PlainNode::default()).expect("rows");
    let summaries: Vec<_> = rows.iter().map(|row| (row.extremes(), row.place().contains("1 MiB"))).collect();
    assert_eq!(summaries, [("worst".to_owned(), false), ("best".to_owned(), true)], "{rows:?}");
}

#[test]
fn a_column_that_depends_on_two_others_is_not_an_axis() {
    let mut design = Design::default();
    let codes = |code: fn(u64, u64) -> Option<u64>| (0..6).map(|k| code(k / 3, k % 3)).collect();
    design.add("a", codes(|a, _| Some(a)));
    design.add("b", codes(|_, b| Some(b)));
    design.add("both", codes(|a, b| Some(10 * a + b)));
    design.add("same", codes(|_, _| Some(7)));
    design.add("gap", codes(|a, b| (a == 0).then_some(b)));
    assert_eq!(design.varying_columns(), ["a", "b", "both", "gap"]);
    assert_eq!(design.independent_columns(&["a", "b", "both", "same"]), ["a", "b"]);
    assert_eq!(design.independent_columns(&["both", "a", "b"]), ["both"], "the first stays");
    assert!(design.depends_on("gap", &["a", "b"]) && !design.depends_on("gap", &["b"]));
    assert!(!design.depends_on("b", &["gap"]), "a column says nothing about points without a value");
    design.add("within", codes(|a, b| (a == 0).then_some(b / 2)));
    assert!(design.depends_on("within", &["gap"]), "both are of the same points");
}

#[test]
fn each_group_is_a_surface_of_one_kernel_with_its_own_grid() {
    let groups = samples().groups().expect("groups");
    let labels: Vec<String> = groups.iter().map(|group| group.label()).collect();
    assert_eq!(labels.len(), 3, "{labels:?}");
    assert!(labels[0].starts_with("apex_map.sequential, P = 1") && labels[2].contains("P = 4"), "{labels:?}");
    for group in &groups {
        assert!(group.is_surface());
        assert_eq!((group.alphas.as_slice(), group.blocks.as_slice()), (&[0.5, 1.0][..], &[1.0, 2.0, 4.0][..]));
        let medians = group.samples.cube(["alpha", "block_words"], "seconds").expect("a cube");
        let [alpha, block] = [0, 1].map(|axis| medians.axes[axis].values.as_slice());
        assert_eq!((alpha, block), (&[0.5, 1.0][..], &[1.0, 2.0, 4.0][..]));
        // The median of 1 to 6, multiplied by alpha / L.
        assert_eq!(medians.values[(1, 2)], 3.5 / 4.0);
        assert_eq!(medians.values[(0, 0)], 3.5 / 2.0);
        let ranked = group.cells_by_median("seconds").expect("ranked");
        assert_eq!(group.place(&ranked[0].0), "alpha = 0.5, L = 4");
        assert_eq!((ranked.len(), ranked[5].1.median), (6, 3.5));
    }
    assert!(samples().cube(["alpha", "kernel"], "seconds").is_err(), "a word is no axis");
}

#[test]
fn samples_of_several_points_are_distinguished_from_samples_of_one() {
    let samples = samples();
    let mixed = samples.single_point(&["kernel", "ranks", "memory_words"]).expect_err("L varies");
    assert_eq!((mixed.name.as_str(), mixed.values.as_str(), mixed.choice.as_str()), ("I", "16, 32, 64", "I == 16"));
    let by: Vec<&str> = samples.axes();
    for cell in samples.cells(&by).expect("cells") {
        assert_eq!(cell.samples.single_point(&by), Ok(()), "axes distinguish all points");
        assert_eq!(cell.samples.len(), 6);
    }
    assert!(samples.mixed_columns(&[]).collect::<HashSet<_>>().is_superset(&by.into_iter().collect()));
}

#[test]
fn launches_kernels_and_headlines_are_taken_from_the_samples() {
    let samples = samples();
    let kernels: Vec<(&str, usize)> =
        samples.kernels().iter().map(|(kernel, samples_of_kernel)| (kernel.id, samples_of_kernel.len())).collect();
    assert_eq!(kernels, [("apex_map.sequential", 36), ("apex_map.two_sided", 72)]);
    assert_eq!(samples.headlines(), ["bytes_per_second_per_rank"]);
    // One launch for each number of ranks.
    assert_eq!(samples.launches().len(), 3);
    assert_eq!(Samples::default().headlines(), ["seconds"]);
}

#[test]
fn a_symbol_resolves_to_a_column_of_the_samples() {
    let samples = samples();
    assert_eq!(
        [samples.resolve("L"), samples.resolve("block_words"), samples.resolve("none")],
        ["block_words", "block_words", "none"]
    );
    assert_eq!(samples.resolve("bytes"), "bytes", "only calibrations have regions with a size in bytes");
}

/// Kernels share columns and symbols. Columns with the same name must have the same meaning.
#[test]
fn columns_with_the_same_name_have_the_same_meaning() {
    let (mut columns, mut symbols, mut clashes) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
    for column in columns::list_declared() {
        let properties = (column.symbol.as_str(), column.unit, column.role);
        let first = *columns.entry(column.name.as_str()).or_insert(properties);
        assert_eq!(first, properties, "{} is declared twice, differently", column.name);
        let first = *symbols.entry(column.symbol.as_str()).or_insert(column.name.as_str());
        if first != column.name {
            clashes.insert((first, column.name.as_str()));
        }
    }
    // Expected clashes: a calibration's region and the bytes that a run moved; messages of a block and the launch of a
    // sample; requested rounds and completed ones.
    let expected = [("block_messages", "block"), ("region_bytes", "bytes"), ("rounds_asked", "rounds")];
    assert_eq!(clashes, BTreeSet::from(expected));
    // Names in --where and in sweeps must not be mistaken for other columns of a store.
    for kernel in kernels::ALL {
        for parameter in kernel.parameters {
            assert_eq!(columns::resolve(parameter.name), parameter.column);
            assert_eq!(columns::short(parameter.column), parameter.name);
        }
    }
    assert_eq!(columns::describe("bytes_per_second").role, Role::Rate);
    assert_eq!(columns::describe("share_of_bound").role, Role::Bound);
    assert_eq!((columns::describe("launch").role, columns::describe("x").role), (Role::Launch, Role::Unknown));
}

proptest! {
    /// The axes distinguish all points that the columns distinguish, and each axis is needed.
    #[test]
    fn the_axes_distinguish_all_points_and_each_axis_is_needed(points in prop::collection::vec((0u64..3, 0u64..3, 0u64..2, 0u64..2), 1..24)) {
        let names = ["a", "b", "c", "d"];
        let value = |point: &(u64, u64, u64, u64), name: &str| match name {
            "a" => point.0,
            "b" => point.1,
            "c" => point.2,
            _ => point.3,
        };
        let mut design = Design::default();
        for name in names {
            design.add(name, points.iter().map(|point| Some(value(point, name))).collect());
        }
        let axes = design.independent_columns(&names);
        let apart = |names: &[&str]| {
            let keys: HashSet<Vec<u64>> =
                points.iter().map(|point| names.iter().map(|name| value(point, name)).collect()).collect();
            keys.len()
        };
        prop_assert_eq!(apart(&axes), apart(&names));
        for spared in &axes {
            let rest: Vec<&str> = axes.iter().copied().filter(|name| name != spared).collect();
            prop_assert!(apart(&rest) < apart(&axes), "{} is not needed in {:?}", spared, axes);
        }
    }

    /// A table that is built row by row holds the values that were set, whichever columns a row omits.
    #[test]
    fn a_table_contains_the_values_that_were_set(rows in prop::collection::vec((prop::option::of(0u64..9), prop::option::of("[ab]{0,2}")), 0..30)) {
        let mut builder = TableBuilder::default();
        let whole = builder.column("whole");
        for (number, word) in &rows {
            builder.begin_row();
            number.iter().for_each(|number| builder.set_integer(whole, *number));
            word.iter().for_each(|word| builder.set("word", &Value::from(word.as_str())));
        }
        let table = builder.finish();
        prop_assert_eq!(table.rows, rows.len());
        for (row, (number, word)) in rows.iter().enumerate() {
            prop_assert_eq!(table.value("whole", row), number.map(Value::Integer));
            prop_assert_eq!(table.value("word", row), word.clone().map(Value::Text));
        }
        let distinct: HashSet<&String> = table.words("word").iter().collect();
        prop_assert_eq!(distinct.len(), table.words("word").len());
    }
}
