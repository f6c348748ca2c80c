//! Uses samples as DataFrames of polars: groups, a join, and the way back to samples for a figure.
//!
//!     cargo run --release --features polars --example frames -- results/laptop results/server ratio.svg
//!
//! Without arguments it compares two synthetic machines and draws `ratio.svg` in the folder of temporary files. Python
//! programs can read a result's `samples.parquet` with `polars.read_parquet` instead.

use apexmap::figures::{self, FigureKind, Request};
use apexmap::results::polars::prelude::*;
use apexmap::results::{Folder, Samples, TableBuilder};
use apexmap::{Error, Value};
use std::path::{Path, PathBuf};

const POINT: [&str; 2] = ["alpha", "block_words"];
const RATE: &str = "bytes_per_second_per_rank";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (base, other, picture) = match arguments.as_slice() {
        [] => (made_up(1e9), made_up(3e9), std::env::temp_dir().join("ratio.svg")),
        [base, other, picture] => (read(base)?, read(other)?, PathBuf::from(picture)),
        _ => return Err(Error::input("two results and a picture are needed", "frames A B ratio.svg").into()),
    };

    // One row per point of both machines. The second machine's median has a name with "_right".
    let joined = medians(base)?.inner_join(&medians(other)?, POINT, POINT)?;
    let ratio = (joined.column(&format!("{RATE}_right"))? / joined.column(RATE)?)?;
    let mut frame = joined.select(POINT)?;
    frame.with_column(ratio.with_name("ratio".into()))?;
    let best = frame.sort(["ratio"], SortMultipleOptions::default().with_order_descending(true))?.head(Some(3));
    for row in 0..best.height() {
        let value = |name: &str| best.column(name)?.get(row);
        println!("alpha = {}, L = {}: ratio {}", value("alpha")?, value("block_words")?, value("ratio")?);
    }

    // A DataFrame with the columns of the axes can become a table of samples again, from which any figure can be made.
    let request = Request {
        kind: FigureKind::Heat,
        title: "Ratio of the medians".into(),
        x: "block_words".into(),
        by: vec!["alpha".into()],
        z: "ratio".into(),
    };
    let heat = figures::figure(&Samples::from_frame(&frame)?, &request)?;
    std::fs::write(&picture, figures::svg(&heat)?)?;
    println!("{}", picture.display());
    Ok(())
}

/// Returns the good samples of Apex-Map on one rank in a result.
fn read(folder: &str) -> Result<Samples, Error> {
    let samples = Samples::from(Folder::open(Path::new(folder))?.table()?);
    samples.choose(Some("kernel == \"apex_map.sequential\""))
}

/// Returns the median rate at each point.
fn medians(samples: Samples) -> PolarsResult<DataFrame> {
    let frame = samples.to_frame().map_err(|e| polars_err!(ComputeError: "{e}"))?;
    frame.select(POINT.into_iter().chain([RATE]))?.group_by_stable(POINT)?.apply(|point| {
        let median = point.column(RATE)?.f64()?.median();
        let mut row = point.select(POINT)?.head(Some(1));
        row.with_column(Column::new(RATE.into(), [median]))?;
        Ok(row)
    })
}

/// Returns samples of a machine with this bandwidth and a latency of alpha times 100 ns: 8 L bytes take the latency and
/// their transfer.
fn made_up(bandwidth: f64) -> Samples {
    let mut table = TableBuilder::default();
    for alpha in [0.01, 0.1, 1.0] {
        for words in [1u64, 16, 256, 4096] {
            for repetition in 0..6 {
                let bytes = 8.0 * words as f64;
                let seconds = (alpha * 100e-9 + bytes / bandwidth) * (1.0 + 0.01 * f64::from(repetition));
                table.begin_row();
                table.set("alpha", &Value::Real(alpha));
                table.set("block_words", &Value::Integer(words));
                table.set(RATE, &Value::Real(bytes / seconds));
            }
        }
    }
    Samples::from(table.finish())
}
