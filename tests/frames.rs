//! Tests of samples as DataFrames of polars, and back.

use apexmap_base::point::Value;
use apexmap_results::polars::prelude::*;
use apexmap_results::samples::Samples;
use apexmap_results::table::TableBuilder;
use proptest::prelude::*;

#[test]
fn foreign_frames_become_samples_or_the_wrong_column_is_named() {
    let frame = df!(
        "L" => [1u32, 2, 3], "steps" => [-1i64, 0, 1], "quick" => [Some(true), None, Some(false)],
        "seconds" => [1.0, f64::NAN, f64::INFINITY], "host" => [Some("a"), None, Some("a")],
    );
    let mut frame = frame.expect("a frame");
    let samples = Samples::from_frame(&frame).expect("samples");
    assert_eq!((samples.len(), samples.words("host"), samples.values("L").len()), (3, vec!["a"], 3));
    assert_eq!(samples.table().value("L", 2), Some(Value::Integer(3)));
    assert_eq!((samples.numbers("steps"), samples.numbers("quick")), (vec![-1.0, 0.0, 1.0], vec![1.0, 0.0]));
    assert_eq!((samples.numbers("seconds"), samples.has("host")), (vec![1.0, f64::INFINITY], true));
    let types: Vec<String> = samples.to_frame().expect("a frame").dtypes().iter().map(ToString::to_string).collect();
    assert_eq!(types, ["u64", "f64", "f64", "f64", "str"]);
    frame.with_column(Series::new("raw".into(), [b"x".as_slice(); 3]).into()).expect("a column");
    let error = Samples::from_frame(&frame).expect_err("no column of samples");
    assert!(error.message.contains("\"raw\"") && error.message.contains("binary"), "{error}");
    assert_eq!(Samples::from_frame(&DataFrame::empty()).expect("none").len(), 0);
}

/// Values of three columns: real numbers, whole numbers and words. Each may be missing.
type Row = (Option<f64>, Option<u64>, Option<String>);

fn samples(rows: &[Row]) -> Samples {
    let mut table = TableBuilder::default();
    for (real, whole, word) in rows {
        table.begin_row();
        real.iter().for_each(|&value| table.set("seconds", &Value::Real(value)));
        whole.iter().for_each(|&value| table.set("ranks", &Value::Integer(value)));
        word.iter().for_each(|value| table.set("host", &Value::from(value.as_str())));
    }
    table.finish().into()
}

proptest! {
    #[test]
    fn samples_survive_conversion_to_a_frame(
        rows in prop::collection::vec((any::<Option<f64>>(), any::<Option<u64>>(), any::<Option<String>>()), 1..20),
        kept in any::<u32>(),
    ) {
        let before = samples(&rows).filter_rows(|row| kept >> row & 1 == 1);
        let after = Samples::from_frame(&before.to_frame().expect("a frame")).expect("samples");
        prop_assert_eq!(after.len(), before.len());
        for (row_after, &row_before) in before.rows().iter().enumerate() {
            for column in ["seconds", "ranks", "host"] {
                let value = |samples: &Samples, row| samples.table().value(column, row);
                prop_assert_eq!(value(&before, row_before), value(&after, row_after), "{} of row {}", column, row_before);
            }
        }
    }
}
