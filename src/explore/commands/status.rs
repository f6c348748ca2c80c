//! `apexmap status`: what a result holds, what failed and why.

use crate::error::Result;
use crate::explore::store::Folder;
use crate::explore::store::manifest::Manifest;
use crate::sample::Status;
use crate::terminal::print;
use std::collections::HashMap;
use std::fmt::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Example: apexmap status results/quickstart")]
pub struct Arguments {
    /// The result folder
    #[arg(default_value = "results/quickstart")]
    result: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let folder = Folder::open(&arguments.result)?;
    let records = folder.outcomes()?;
    let mut text = String::new();
    match Manifest::read(&folder) {
        Ok(manifest) => {
            let launches =
                if manifest.blocks == 1 { "1 launch".into() } else { format!("{} launches", manifest.blocks) };
            let (name, title, points) = (&manifest.name, &manifest.title, manifest.points);
            let _ = writeln!(text, "{name}: {title} ({points} points, {launches} a rank count)");
        }
        Err(error) if folder.manifest().is_file() => eprintln!("note: {error}"),
        Err(_) => {}
    }
    let keys = folder.planned_keys();
    let current = |key: &str| keys.as_ref().is_none_or(|keys| keys.contains(key));
    let mut points: HashMap<&str, (usize, Option<Status>)> = HashMap::new();
    let mut stale = 0;
    let mut failures = Vec::new();
    for sample in records.iter().flat_map(|record| &record.samples) {
        if !current(&sample.key) {
            stale += 1;
            continue;
        }
        let point = points.entry(&sample.key).or_default();
        if sample.status == Status::Ok {
            point.0 += 1;
        } else {
            point.1 = Some(sample.status);
            failures.extend(sample.failure.as_deref());
        }
    }
    let measured = points.values().filter(|(samples, failure)| *samples > 0 && failure.is_none()).count();
    let failed = points.values().filter(|(_, failure)| failure.is_some()).count();
    let planned = keys.as_ref().map_or(points.len(), |keys| keys.len());
    let samples: usize = points.values().map(|(samples, _)| samples).sum();
    let _ = writeln!(
        text,
        "points: {planned} planned, {measured} measured, {failed} failed, {} missing",
        planned - measured - failed
    );
    let _ = writeln!(text, "samples: {samples} good, {stale} stale (another build, machine or plan)");
    for record in &records {
        let Some(launch) = &record.launch else { continue };
        let end = record.ended.as_ref().map_or("no end was recorded", |(status, _)| status.name());
        // The torn last line of a killed driver, or damage: such samples are measured again.
        let lost = match record.unreadable {
            0 => String::new(),
            1 => ", one line of its journal cannot be read".into(),
            lines => format!(", {lines} lines of its journal cannot be read"),
        };
        let _ = writeln!(
            text,
            "launch {}: {}, {} on {}, {} samples, {end}{lost}",
            launch.launch,
            super::ranks(launch.ranks),
            launch.library,
            launch.host.name,
            record.samples.len()
        );
    }
    for sample in failures {
        let _ = writeln!(text, "{}: {}: {}", sample.status.name(), sample.point.label(), sample.message);
    }
    print(&text)
}
