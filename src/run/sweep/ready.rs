//! The ready sweeps of the program. Each is one file in `sweeps/` with its name in [`READY_SWEEPS`].

use super::read::{Sweep, parse, read};
use super::{memory::Machine, spec};
use apexmap_base::error::{Error, Result};
use apexmap_base::name_lookup::nearest_name;
use apexmap_measure::comm::TransportKind;
use std::path::Path;

/// The default sweep.
pub const QUICKSTART: &str = "quickstart";

/// A ready sweep.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ReadySweep {
    /// The sweep's name: `memory-sizes`.
    pub name: &'static str,
    /// The TOML file.
    pub text: &'static str,
}

macro_rules! ready_sweeps {
    ($($name:literal,)*) => {
        &[$(ReadySweep { name: $name, text: include_str!(concat!("../ready/", $name, ".toml")) }),*]
    };
}

/// All ready sweeps, in the order of `apexmap sweeps`.
pub const READY_SWEEPS: &[ReadySweep] = ready_sweeps![
    "quickstart",
    "memory-sizes",
    "memory-latency",
    "memory-pages",
    "memory-strides",
    "memory-random-share",
    "memory-mountain",
    "memory-writes",
    "memory-concurrency",
    "codes",
    "memory-loaded",
    "stream",
    "core-to-core",
    "memory-nodes",
    "apex-map-neighbours",
    "apex-map-ranks",
    "protocol",
    "message-latency",
    "message-rate-sizes",
    "message-rate-one-to-n",
    "message-rate-senders",
    "eager-limit",
    "log-gp",
    "calibrate-network",
    "two-ranks",
    "random-access-hpcc",
    "random-access-ranks",
    "random-access-scaling",
    "random-access-algorithms",
    "random-access-lookahead",
    "random-access-rounds",
    "random-access-terms",
    "random-access-dimensions",
    "random-access-page-sizes",
    "random-access-optimisations",
    "random-access-division",
    "random-access-roles",
    "random-access-loads",
    "random-access-modes",
    "random-access-puts",
    "random-access-locks",
    "gpu",
    "gpu-memory-sizes",
    "gpu-loaded",
    "gpu-random-access",
    "gpu-stream",
    "gpu-transfer",
    "gpu-parallelism",
    "paper-figure-2",
    "paper-figures-3-to-7",
];

impl ReadySweep {
    /// The question that the sweep answers.
    pub fn question(&self) -> String {
        self.file().question.unwrap_or_default()
    }

    /// The needs of the sweep besides this machine: `mpi, srun`; empty if its ranks are threads.
    pub fn needs(&self) -> String {
        match self.file().launch {
            spec::Launch { transport: Some(transport), launcher: Some(launcher), .. }
                if *transport.get_ref() == TransportKind::Mpi =>
            {
                format!("{}, {}", transport.get_ref(), launcher.get_ref())
            }
            _ => String::new(),
        }
    }

    fn file(&self) -> spec::File {
        toml::from_str(self.text).expect("a test reads every ready sweep")
    }
}

/// The ready sweep with this name. `memory-sizes.toml` and `sweeps/memory-sizes.toml` also name `memory-sizes`.
pub fn find_by_name(path: &Path) -> Option<&'static ReadySweep> {
    let name = path.strip_prefix("sweeps").unwrap_or(path).to_str()?;
    let name = name.strip_suffix(".toml").unwrap_or(name);
    READY_SWEEPS.iter().find(|sweep| sweep.name == name)
}

/// The ready sweeps whose name, title or question has this word.
pub fn search(word: &str) -> Vec<&'static ReadySweep> {
    let word = word.to_lowercase();
    let mentions = |text: &str| text.to_lowercase().contains(&word);
    let has = |sweep: &&ReadySweep| {
        let file = sweep.file();
        mentions(sweep.name)
            || mentions(&file.title.unwrap_or_default())
            || mentions(&file.question.unwrap_or_default())
    };
    READY_SWEEPS.iter().filter(has).collect()
}

/// The ready sweep with this name.
///
/// # Errors
/// If no ready sweep has this name. The error suggests the nearest one.
pub fn find(path: &Path) -> Result<&'static ReadySweep> {
    find_by_name(path).ok_or_else(|| {
        let message = format!("there is no ready sweep \"{}\"", path.display());
        Error::input(message, advice(path))
    })
}

/// Reads the sweep file at this path if it exists, else the ready sweep of this name.
pub fn open(path: &Path, machine: Machine) -> Result<Sweep> {
    if path.exists() && !path.is_dir() {
        return read(path, machine);
    }
    match find_by_name(path) {
        Some(ready) => parse(ready.text, &Path::new("sweeps").join(ready.name).with_extension("toml"), machine),
        None => {
            let file = path.join("sweep.toml");
            if file.is_file() {
                let help = format!("apexmap run {} --out {}", file.display(), path.display());
                return Err(Error::input(format!("{} is a result, not a sweep", path.display()), help));
            }
            let message = format!("there is no sweep file {0}, and no ready sweep of this name", path.display());
            Err(Error::input(message, advice(path)))
        }
    }
}

/// Words that users look for, with the sweep that answers them.
const KEYWORDS: [(&str, &str); 7] = [
    ("l1", "memory-sizes"),
    ("tlb", "memory-sizes"),
    ("stride", "memory-mountain"),
    ("triad", "stream"),
    ("pointer", "memory-concurrency"),
    ("sparse", "memory-random-share"),
    ("gups", "random-access-hpcc"),
];

fn advice(path: &Path) -> String {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let list_hint = "`apexmap sweeps` lists the ready sweeps";
    if let Some((_, sweep)) = KEYWORDS.iter().find(|(word, _)| *word == name) {
        return format!("\"{sweep}\" is about it; {list_hint}");
    }
    match nearest_name(&name, READY_SWEEPS.iter().map(|sweep| sweep.name)) {
        Some(other) => format!("did you mean \"{other}\"? {list_hint}"),
        None => match search(&name).as_slice() {
            _ if name.len() < 4 => format!("check the path; {list_hint}"),
            [] => format!("check the path; {list_hint}"),
            found => {
                let names: Vec<&str> = found.iter().map(|sweep| sweep.name).collect();
                format!("sweeps about \"{name}\": {}; {list_hint}", names.join(", "))
            }
        },
    }
}
