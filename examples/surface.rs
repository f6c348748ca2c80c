//! Draws a surface from a result folder with the library. This is the first notebook in Rust.
//!
//!     cargo run --release --example surface -- results/quickstart surface.svg
//!
//! Reads the samples, prints how they were measured and the median bandwidth of every cell with its 95 % interval, and
//! draws the surface of one process.

use apexmap::figures::{self, FigureKind, Request};
use apexmap::results::{self, Folder, Samples};
use apexmap::{Error, Result};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.as_slice() {
        [result, picture] => draw(Path::new(result), Path::new(picture)),
        _ => Err(Error::input("a result and a picture are needed", "surface results/quickstart surface.svg")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn draw(result: &Path, picture: &Path) -> Result<()> {
    let result_samples = Samples::from(Folder::open(result)?.table()?);
    // The syntax of conditions is that of sweeps and of --where. The result has only good samples of the present plan.
    let samples = result_samples.choose(Some("kernel == \"apex_map.sequential\""))?;
    print_conditions(&samples);

    let rate = "bytes_per_second_per_rank";
    let groups = results::groups(&samples, &["alpha", "block_words"], &[rate])?;
    print!("{}", results::text(&groups));

    let request = Request {
        kind: FigureKind::Surface,
        title: "Bandwidth of one process".into(),
        x: "block_words".into(),
        by: vec!["alpha".into()],
        z: rate.into(),
    };
    let surface = figures::figure(&samples, &request)?;
    std::fs::write(picture, figures::svg(&surface)?).map_err(|e| Error::file("write", picture, e))?;
    println!("\n{}", picture.display());
    Ok(())
}

/// Prints the properties that all samples share: where and how they were measured.
fn print_conditions(samples: &Samples) {
    for name in ["host", "cpu_model", "library", "memory_words", "page_bytes", "oversubscribed"] {
        if let Some(value) = samples.common_value(name) {
            println!("{name}: {value}");
        }
    }
    println!();
}
