//! Facts about the machine and the settings of a result, for the report's last section.

use apexmap_base::point::Value;
use apexmap_base::units;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::samples::Samples;

/// Returns names and values in display order.
pub fn list(manifest: &Manifest, samples: &Samples) -> Vec<(&'static str, String)> {
    let distinct = |column: &str| {
        let mut values: Vec<String> = samples.values(column).iter().map(Value::to_string).collect();
        values.sort();
        values
    };
    let mut facts = vec![("Machine", manifest.machine.clone())];
    if let Some(import) = &manifest.imported {
        facts.push(("Values", import.label()));
        facts.extend(import.notes.iter().map(|note| ("Note", note.clone())));
    } else if let Some(machine) = samples.describe_simulation() {
        facts.push(("Ranks", machine));
        facts.push(("Simulated on", manifest.driver_host.name.clone()));
    } else if let Some(launch) = manifest.launches.last() {
        let host = &launch.launch.host;
        let caches = host.caches.iter().map(|c| {
            let shared = if c.shared_by > 1 { format!(" shared by {}", c.shared_by) } else { String::new() };
            format!("L{} {}{shared}", c.level, units::bytes(c.bytes as f64))
        });
        facts.push(("Processor", format!("{}, {}", host.cpu_model, host.processors)));
        let seen = manifest.driver_host.last_cache_seen_bytes;
        let seen = seen.map(|bytes| format!("reads see about {} of the last one", units::bytes(bytes as f64)));
        facts.push(("Caches", caches.chain(seen).collect::<Vec<_>>().join(", ")));
        facts.push(("Memory", host.memory()));
        if let Some(hertz) = host.cycle_hertz {
            facts.push(("Cycles", format!("{} GHz, {}", units::short_number(hertz / 1e9), host.cycle_source)));
        }
    }
    let pages: Vec<String> = distinct("page_bytes").iter().filter_map(|p| p.parse().ok()).map(units::bytes).collect();
    facts.push(("Page size granted", if pages.is_empty() { "mixed or unknown".into() } else { pages.join(", ") }));
    facts.push(("Kernels", distinct("kernel").join(", ")));
    facts.push(("Ranks", distinct("ranks").join(", ")));
    facts.push(("Transport", distinct("library").join(", ")));
    let environment = distinct("environment").join("; ");
    if !environment.is_empty() {
        facts.push(("Environment", environment));
    }
    facts
}
