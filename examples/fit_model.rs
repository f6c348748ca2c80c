//! Fits a model to a result: latency and bandwidth of messages between two ranks.
//!
//!     apexmap run notebooks/notebooks.toml
//!     cargo run --release --example fit_model -- results/notebooks
//!
//! This is equivalent to `apexmap fit results/notebooks --model point_to_point.switch --where 'message_bytes <= 32768'
//! --hold rendezvous_seconds=0 --hold eager_seconds_per_byte=0`.

use apexmap::fits::{self, Options, Role};
use apexmap::results::{Folder, Samples};
use apexmap::{Error, Result, models};
use std::path::Path;

fn main() -> Result<()> {
    let path =
        std::env::args().nth(1).ok_or_else(|| Error::input("a result is needed", "fit_model results/notebooks"))?;
    let result_samples = Samples::from(Folder::open(Path::new(&path))?.table()?);
    let samples = result_samples.choose(Some("message_bytes <= 32768"))?;

    // One observation per point and launch: the median of its samples.
    let model = models::find("point_to_point.switch")?;
    let data = fits::observations(&samples, model, &[])?;

    // Threads have no eager or rendezvous protocol, so only latency and bandwidth are fitted.
    let fitted = ["network_latency_seconds", "network_seconds_per_byte"];
    let role = |number: &str| if fitted.contains(&number) { Role::Fit } else { Role::Hold(0.0) };
    let roles: Vec<Role> = model.about().parameters.iter().map(|parameter| role(parameter.number)).collect();
    let fit = fits::fit(model, &data.observations, &roles, Options::default())?;

    for estimate in &fit.estimates {
        println!("{}: {:.3e} [{:.3e}, {:.3e}]", estimate.number, estimate.value, estimate.low, estimate.high);
    }
    println!("{}", fits::sentence(model, &fit, None));
    Ok(())
}
