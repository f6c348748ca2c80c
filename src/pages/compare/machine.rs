//! The machines of a comparison: samples of a result, or published values.

use crate::html::utc;
use apexmap_base::error::{Error, Result};
use apexmap_base::provenance::{Host, PlainNode};
use apexmap_measure::kernels;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::samples::Samples;
use apexmap_theory::machine::{Card, catalogue, entry_of};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    #[default]
    Measured,
    /// Tables of a paper and, where they have no value, models with the numbers of a machine card.
    Published,
}

apexmap_base::words! {
    #[derive(PartialOrd, Ord)]
    pub enum Source {
        /// Predicted by a model outside of the domain of a number.
        Extrapolated = "extrapolated",
        /// Predicted by a model where the numbers of the card hold.
        Predicted = "predicted",
        Printed = "published",
    }
}

impl Source {
    pub const COLUMN: &str = "rate_source";

    /// None if the samples were measured or simulated.
    pub fn of_samples(samples: &Samples) -> BTreeSet<Self> {
        let words = samples.words(Self::COLUMN);
        Self::ALL.into_iter().filter(|source| words.iter().any(|word| *word == source.name())).collect()
    }
}

#[derive(Clone, Debug, Default)]
pub struct Machine {
    pub name: String,
    pub given: String,
    pub origin: Origin,
    /// Current ones that the condition selects.
    pub samples: Samples,
    pub manifest: Option<Manifest>,
    pub card: Option<Card>,
    /// `None` if unknown. Results of one run share their launches.
    pub run: Option<Arc<str>>,
    /// Hash of all samples of the run, the same in its folder and its archive.
    pub content: Option<u64>,
    pub cores: Option<u64>,
    /// Bytes per second to a device, if speeds contain a transfer of each word once per read.
    pub transfer: Option<f64>,
    /// Why models do not predict some points of a published machine, with the next step.
    pub refused: Vec<String>,
}

impl Machine {
    pub fn from_samples(given: &str, samples: Samples, manifest: Option<Manifest>) -> Result<Self> {
        if samples.is_empty() {
            let (problem, next) = match samples.table().rows {
                0 => ("holds no sample", "run its sweep first: apexmap run"),
                _ => ("has no sample left to compare", "widen the condition; stale samples are never compared"),
            };
            return Err(Error::input(format!("{given} {problem}"), next));
        }
        if samples.words("kernel").iter().all(|kernel| kernels::find(kernel).is_err()) {
            return Err(Error::input(
                format!("{given} has no sample of a kernel known to this version of apexmap"),
                "`apexmap kernels` lists the known kernels",
            ));
        }
        let mut name = manifest.as_ref().map_or_else(|| given.to_owned(), |manifest| manifest.machine.clone());
        if samples.describe_simulation().is_some() {
            name.push_str(" (simulated)");
        }
        if samples.describe_import().is_some() {
            name.push_str(" (imported)");
        }
        let card = manifest.as_ref().map(|manifest| match manifest.simulated_card()? {
            Some(card) => Ok(card),
            None => reported_by_os(manifest, &name),
        });
        let card = card.transpose()?;
        // An import records the cores that its user states.
        let processors = manifest.as_ref().filter(|manifest| manifest.simulated.is_none()).map(|manifest| {
            let host = if manifest.is_measured() { manifest.first_host() } else { &manifest.driver_host };
            host.processors.clone()
        });
        let cores = processors.and_then(|processors| processors.cores.or(processors.hardware_threads)).map(u64::from);
        Ok(Self { name, given: given.to_owned(), samples, manifest, card, cores, ..Self::default() })
    }

    /// It has numbers besides those of the operating system.
    pub fn has_card(&self) -> bool {
        self.card.as_ref().is_some_and(|card| card.source != REPORTED)
    }

    /// Of rank 0 in the first launch; none for simulated ranks and imported values.
    pub fn host(&self) -> Option<&Host> {
        let manifest = self.manifest.as_ref().filter(|manifest| manifest.is_measured())?;
        Some(manifest.first_host())
    }

    /// The content of the run's samples or, without it, the place of the result.
    pub fn identity(&self) -> Option<Arc<str>> {
        self.content.map(|content| format!("{content:016x}").into()).or_else(|| self.run.clone())
    }

    pub fn is_same_run(&self, other: &Self) -> bool {
        self.identity().is_some() && self.identity() == other.identity()
    }

    /// In any order. Equal simulations are two runs.
    pub fn has_same_samples(&self, other: &Self) -> bool {
        let seconds = |machine: &Self| {
            let table = machine.samples.table();
            let mut bits: Vec<u64> =
                machine.samples.rows().iter().map(|&row| table.number("seconds", row).to_bits()).collect();
            bits.sort_unstable();
            bits
        };
        let is_measured = |machine: &Self| {
            let Self { origin, samples, transfer, .. } = machine;
            let measured = *origin == Origin::Measured && transfer.is_none();
            measured && !samples.is_empty() && samples.has("seconds") && samples.describe_origin().is_none()
        };
        is_measured(self) && is_measured(other) && seconds(self) == seconds(other)
    }

    pub fn processor(&self) -> Option<String> {
        self.host().map(Host::plain_name).filter(|processor| !processor.is_empty())
    }

    pub fn plain_node(&self) -> PlainNode {
        self.manifest.as_ref().map(Manifest::plain_node).unwrap_or_default()
    }

    pub fn origins(&self, source: Source) -> Vec<String> {
        let of_source = self.samples.with_word(Source::COLUMN, &[source.name()]);
        of_source.words("origin").into_iter().map(str::to_owned).collect()
    }

    /// Seconds since 1970 of the first and the last sample, and the median load average.
    pub fn time_range(&self) -> Option<(f64, f64, f64)> {
        let times = self.numbers("unix_seconds");
        let load = self.samples.median("load");
        Some((*times.first()?, *times.last()?, load.unwrap_or(f64::NAN)))
    }

    pub fn words(&self, column: &str) -> Vec<String> {
        let mut words: Vec<String> = self.samples.words(column).into_iter().map(str::to_owned).collect();
        words.sort();
        words
    }

    pub fn numbers(&self, column: &str) -> Vec<f64> {
        let mut numbers = self.samples.distinct_numbers(column);
        numbers.retain(|number| *number >= 0.0);
        numbers
    }
}

/// Source of a card with values of the operating system only.
const REPORTED: &str = "reported by the operating system during the measurement";

fn reported_by_os(manifest: &Manifest, name: &str) -> Result<Card> {
    let host = manifest.first_host();
    let mut card = Card::new(name, &host.cpu_model, REPORTED);
    let memory = Some(host.memory_bytes as f64).filter(|bytes| *bytes > 0.0);
    let mut numbers: Vec<_> =
        memory.map(|bytes| (catalogue::MEMORY_BYTES.name.to_owned(), bytes)).into_iter().collect();
    numbers.extend(host.processors.cores.map(|cores| (catalogue::CORES.name.to_owned(), f64::from(cores))));
    numbers.extend(host.cycle_hertz.map(|hertz| (catalogue::CLOCK_HZ.name.to_owned(), hertz)));
    numbers.extend(host.caches.iter().map(|cache| (format!("l{}_bytes", cache.level), cache.bytes as f64)));
    // Cards have no entry for some cache levels.
    for (number, value) in numbers.into_iter().filter(|(number, _)| entry_of(number).is_some()) {
        card.set_base(&number, value, "reported by the operating system")?;
    }
    Ok(card)
}

/// Covers the times of all current samples, in any order; `None` if they state none.
pub fn content_hash(samples: &Samples) -> Option<u64> {
    let samples = samples.current();
    let (table, time) = (samples.table(), samples.column("unix_seconds")?);
    let times = |&row: &usize| [time.number(row).to_bits(), table.number("seconds", row).to_bits()];
    let mut times: Vec<[u64; 2]> = samples.rows().iter().map(times).collect();
    times.sort_unstable();
    let mut hasher = DefaultHasher::new();
    times.hash(&mut hasher);
    (!times.is_empty()).then(|| hasher.finish())
}

/// The requested name, or its own, extended by the input if several machines share it.
pub fn name_all(machines: &mut [Machine], requested: &[String]) -> Result<()> {
    if !requested.is_empty() && requested.len() != machines.len() {
        return Err(Error::input(
            format!("--names has {} names for {} machines", requested.len(), machines.len()),
            "give one name per machine, separated by commas",
        ));
    }
    for (machine, name) in machines.iter_mut().zip(requested) {
        machine.name.clone_from(name);
    }
    let names: Vec<String> = machines.iter().map(|machine| machine.name.clone()).collect();
    let twice = |name: &String| names.iter().filter(|other| *other == name).count() > 1;
    if let Some(name) = requested.iter().find(|name| twice(name)) {
        return Err(Error::input(format!("--names gives \"{name}\" twice"), "give each machine a different name"));
    }
    if requested.is_empty() {
        let names = distinct_names(machines);
        machines.iter_mut().zip(names).for_each(|(machine, name)| machine.name = name);
    }
    Ok(())
}

/// Machines of one name get the first of host, folder, parent folders and date that distinguishes them, otherwise a number.
fn distinct_names(machines: &[Machine]) -> Vec<String> {
    let host = |machine: &Machine| machine.host().map_or_else(String::new, |host| host.name.clone());
    let schemes: [&dyn Fn(&Machine) -> String; 5] = [
        &host,
        &|machine| short_name(machine, 1),
        &|machine| short_name(machine, 2),
        &|machine| short_name(machine, 3),
        &name_with_date,
    ];
    let mut names: Vec<String> = machines.iter().map(|machine| machine.name.clone()).collect();
    let mut unique_names: Vec<String> = names.clone();
    unique_names.dedup();
    for name in unique_names {
        let (same_name, others): (Vec<usize>, Vec<usize>) = (0..names.len()).partition(|&index| names[index] == name);
        if same_name.len() < 2 {
            continue;
        }
        let is_unique = |new: &Vec<String>| {
            let all_names: BTreeSet<&String> = new.iter().chain(others.iter().map(|&index| &names[index])).collect();
            all_names.len() == machines.len() && new.iter().all(|name| !name.is_empty())
        };
        let mut tried = schemes.iter().map(|scheme| same_name.iter().map(|&index| scheme(&machines[index])).collect());
        let numbered = |index: &usize| format!("{} ({})", short_name(&machines[*index], 1), index + 1);
        let new = tried.find(is_unique).unwrap_or_else(|| same_name.iter().map(numbered).collect());
        same_name.into_iter().zip(new).for_each(|(index, name)| names[index] = name);
    }
    names
}

fn name_with_date(machine: &Machine) -> String {
    let first = machine.numbers("unix_seconds").first().map(|seconds| utc(*seconds));
    let date = first.map_or_else(String::new, |utc| format!("@{}", utc.trim_end_matches(" UTC").replace(' ', "T")));
    format!("{}{date}", short_name(machine, 1))
}

/// The last folders of the path, such as `quickstart` of `results/quickstart/`, with the condition.
fn short_name(machine: &Machine, folders: usize) -> String {
    let given = machine.given.as_str();
    let (path, condition) = given.find('[').map_or((given, ""), |bracket| given.split_at(bracket));
    let path = machine.run.as_deref().unwrap_or(path);
    let path = path.trim_end_matches('/').trim_end_matches("/samples.parquet");
    let mut last: Vec<&str> = path.rsplit('/').filter(|part| !part.is_empty()).take(folders).collect();
    last.reverse();
    format!("{} {condition}", last.join("/")).trim().to_owned()
}
