//! What is compared: the samples of a result, or what is published of a machine.

use crate::html::utc;
use apexmap_base::error::{Error, Result};
use apexmap_base::provenance::Host;
use apexmap_measure::kernels;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::samples::Samples;
use apexmap_theory::machine::{Card, catalogue, entry_of};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Where a machine's numbers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Measured,
    /// A paper's tables and, where they have nothing, models with the numbers of a machine card.
    Published,
}

/// One side of a comparison.
#[derive(Clone, Debug)]
pub struct Machine {
    /// As in tables and legends; different from all others.
    pub name: String,
    /// As on the command line: for messages and for the page's provenance.
    pub given: String,
    pub origin: Origin,
    /// Those that count: current, and chosen by a condition.
    pub samples: Samples,
    pub manifest: Option<Manifest>,
    pub card: Option<Card>,
    /// The run that measured the samples: results of the same run share their launches. `None` if unknown.
    pub run: Option<Arc<str>>,
}

impl Machine {
    /// A machine of measured samples.
    ///
    /// # Errors
    /// If no sample is of a known kernel; `given` is named.
    pub fn measured(given: &str, samples: Samples, manifest: Option<Manifest>) -> Result<Self> {
        if samples.is_empty() {
            let (what, next) = match samples.table().rows {
                0 => ("holds no sample", "run its sweep first: apexmap run"),
                _ => ("has no sample left to compare", "widen the condition; stale samples are never compared"),
            };
            return Err(Error::input(format!("{given} {what}"), next));
        }
        if samples.words("kernel").iter().all(|kernel| kernels::find(kernel).is_err()) {
            return Err(Error::input(
                format!("{given} has no sample of a kernel known to this version of apexmap"),
                "`apexmap kernels` lists the known kernels",
            ));
        }
        let name = manifest.as_ref().map_or_else(|| given.to_owned(), |manifest| manifest.machine.clone());
        let card = manifest.as_ref().map(|manifest| reported_by_os(manifest, &name)).transpose()?;
        Ok(Self { name, given: given.to_owned(), origin: Origin::Measured, samples, manifest, card, run: None })
    }

    /// Whether its card has numbers that were measured or published, not only what the operating system reports.
    pub fn has_card(&self) -> bool {
        self.card.as_ref().is_some_and(|card| card.source != REPORTED)
    }

    /// The host of rank 0 of its first launch.
    pub fn host(&self) -> Option<&Host> {
        let manifest = self.manifest.as_ref()?;
        Some(manifest.launches.first().map_or(&manifest.driver_host, |end| &end.launch.host))
    }

    /// When its samples were taken: from, to (seconds since 1970), and the median load average.
    pub fn moments(&self) -> Option<(f64, f64, f64)> {
        let times = self.numbers("unix_seconds");
        let load = self.samples.median("load");
        Some((*times.first()?, *times.last()?, load.unwrap_or(f64::NAN)))
    }

    /// Distinct words of a column, in order.
    pub fn words(&self, column: &str) -> Vec<String> {
        let mut words: Vec<String> = self.samples.words(column).into_iter().map(str::to_owned).collect();
        words.sort();
        words
    }

    /// Distinct numbers of a column that are not negative, ascending.
    pub fn numbers(&self, column: &str) -> Vec<f64> {
        let mut numbers = self.samples.distinct(column);
        numbers.retain(|number| *number >= 0.0);
        numbers
    }
}

/// Source of a card without a measurement of its own.
const REPORTED: &str = "reported by the operating system during the measurement";

/// What the operating system reported of a machine, as a card.
///
/// # Errors
/// If the manifest has a value that is none, such as a negative clock.
fn reported_by_os(manifest: &Manifest, name: &str) -> Result<Card> {
    let host = manifest.launches.first().map_or(&manifest.driver_host, |end| &end.launch.host);
    let mut card = Card::new(name, &host.cpu_model, REPORTED);
    let mut numbers = vec![(catalogue::MEMORY_BYTES.name.to_owned(), host.memory_bytes as f64)];
    numbers.extend(host.processors.cores.map(|cores| (catalogue::CORES.name.to_owned(), f64::from(cores))));
    numbers.extend(host.cycle_hertz.map(|hertz| (catalogue::CLOCK_HZ.name.to_owned(), hertz)));
    numbers.extend(host.caches.iter().map(|cache| (format!("l{}_bytes", cache.level), cache.bytes as f64)));
    // A level that cards do not know is left out.
    for (number, value) in numbers.into_iter().filter(|(number, _)| entry_of(number).is_some()) {
        card.set_base(&number, value, "reported by the operating system")?;
    }
    Ok(card)
}

/// Gives every machine a name of its own: what was asked for, or what it is called, with what was given where that is not
/// enough to tell them apart.
///
/// # Errors
/// If the names asked for are too few, too many, or not different.
pub fn name_all(machines: &mut [Machine], asked: &[String]) -> Result<()> {
    if !asked.is_empty() && asked.len() != machines.len() {
        return Err(Error::input(
            format!("--names has {} names for {} machines", asked.len(), machines.len()),
            "give one name per machine, separated by commas",
        ));
    }
    for (machine, name) in machines.iter_mut().zip(asked) {
        machine.name.clone_from(name);
    }
    let names: Vec<String> = machines.iter().map(|machine| machine.name.clone()).collect();
    let twice = |name: &String| names.iter().filter(|other| *other == name).count() > 1;
    if let Some(name) = asked.iter().find(|name| twice(name)) {
        return Err(Error::input(format!("--names gives \"{name}\" twice"), "give each machine a different name"));
    }
    if asked.is_empty() {
        for (at, name) in distinct(machines).into_iter().enumerate() {
            machines[at].name = name;
        }
    }
    Ok(())
}

/// The names of machines, of which those that are called the same get others: by the first of host, folder, folders above it and date
/// that tells them apart, else by numbers.
fn distinct(machines: &[Machine]) -> Vec<String> {
    let host = |machine: &Machine| machine.host().map_or_else(String::new, |host| host.name.clone());
    let schemes: [&dyn Fn(&Machine) -> String; 5] =
        [&host, &|machine| short(machine, 1), &|machine| short(machine, 2), &|machine| short(machine, 3), &dated];
    let mut names: Vec<String> = machines.iter().map(|machine| machine.name.clone()).collect();
    let mut known: Vec<String> = names.clone();
    known.dedup();
    for name in known {
        let (alike, others): (Vec<usize>, Vec<usize>) = (0..names.len()).partition(|&at| names[at] == name);
        if alike.len() < 2 {
            continue;
        }
        let tells_apart = |new: &Vec<String>| {
            let all: BTreeSet<&String> = new.iter().chain(others.iter().map(|&at| &names[at])).collect();
            all.len() == machines.len() && new.iter().all(|name| !name.is_empty())
        };
        let mut tried = schemes.iter().map(|scheme| alike.iter().map(|&at| scheme(&machines[at])).collect());
        let numbered = |at: &usize| format!("{} ({})", short(&machines[*at], 1), at + 1);
        let new = tried.find(tells_apart).unwrap_or_else(|| alike.iter().map(numbered).collect());
        alike.into_iter().zip(new).for_each(|(at, name)| names[at] = name);
    }
    names
}

/// `quickstart@2026-11-24T21:14`, by the first sample.
fn dated(machine: &Machine) -> String {
    let first = machine.numbers("unix_seconds").first().map(|seconds| utc(*seconds));
    let date = first.map_or_else(String::new, |utc| format!("@{}", utc.trim_end_matches(" UTC").replace(' ', "T")));
    format!("{}{date}", short(machine, 1))
}

/// `quickstart` of `results/quickstart/`, or its last two folders and so on; a condition stays.
fn short(machine: &Machine, folders: usize) -> String {
    let given = machine.given.as_str();
    let (path, condition) = given.find('[').map_or((given, ""), |at| given.split_at(at));
    let path = machine.run.as_deref().unwrap_or(path);
    let path = path.trim_end_matches('/').trim_end_matches("/samples.parquet");
    let mut last: Vec<&str> = path.rsplit('/').filter(|part| !part.is_empty()).take(folders).collect();
    last.reverse();
    format!("{} {condition}", last.join("/")).trim().to_owned()
}
