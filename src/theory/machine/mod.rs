//! Machine cards: the numbers of a machine, each with its unit, interval and origin, as TOML.
//!
//! ```toml
//! name = "Red Storm"
//! summary = "Cray XT3 of Sandia National Laboratories"
//! source = "hypercube paper, Section 1"
//!
//! [numbers.network_latency_seconds]
//! value = 7
//! unit = "us"             # unit of the source; "cycles" are cycles of clock_hz
//! low = 6.8               # 95 % interval, in the same unit; both or neither
//! high = 7.3
//! range = [6.7, 7.5]      # smallest and largest of few launches or runs
//! best = 6.7              # best of the runs; bounds use it
//! how = "MPI send and receive, Section 1"
//! domain = { P = 2 }      # where it holds; [domain] has that of all other numbers
//! ```
//!
//! Names are those of [`CATALOGUE`], with a qualifier after two dashes if they hold under a condition: words joined by single
//! dashes, the size first, as in `update_seconds--128MiB-huge`. Models use unqualified names, unless a parameter prefers
//! another; [`Card::variants`] lists the qualified ones.
//!
//! `[network]` is a [`NetworkShape`], and `[fit]` the covariance of fitted numbers, a [`JointFit`]. Of the inverses
//! `NAME_seconds_per_byte` and `NAME_bandwidth_bytes_per_second`, a card holds one, and [`Card::get`] returns either.

pub mod catalogue;
mod domain;
mod name;
mod network;
mod number;
mod uncertainty;

pub use catalogue::{CATALOGUE, Entry, entry_of};
pub use domain::{Domain, Extent, KERNEL};
pub use name::{NumberName, Word};
pub use network::{NetworkShape, TopologyKind};
pub use number::Number;
pub use uncertainty::JointFit;

use apexmap_base::provenance::Granularity;
use number::{Conversion, check, conversion};

use apexmap_base::error::{Error, Result};
use apexmap_base::name_lookup::suggest;
use apexmap_base::new_file;
use apexmap_base::toml_file::{self, TomlSource};
use apexmap_base::units::Unit;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use toml::Spanned;

/// The published machines: name as for [`Card::find`], and TOML text of the card.
pub const PUBLISHED: &[(&str, &str)] = &[
    ("red-storm", include_str!("../data/red-storm.toml")),
    ("bluegene-l", include_str!("../data/bluegene-l.toml")),
    ("bluegene-p", include_str!("../data/bluegene-p.toml")),
    ("seaborg", include_str!("../data/seaborg.toml")),
    ("cheetah", include_str!("../data/cheetah.toml")),
    ("phoenix", include_str!("../data/phoenix.toml")),
    ("simulated-nic", include_str!("../data/simulated-nic.toml")),
    ("h100", include_str!("../data/h100.toml")),
    ("hypothetical-smp", include_str!("../data/hypothetical-smp.toml")),
    ("hypothetical-vector", include_str!("../data/hypothetical-vector.toml")),
];

/// Dimensions of a torus or mesh whose card gives neither sides nor dimensions.
pub const DEFAULT_DIMENSIONS: usize = 3;

/// Key in a card's provenance: disturbances of the machine during the measurement.
pub const DISTURBED: &str = "disturbed";

/// Key in a card's provenance: the simulation or the imported result to which the numbers were fitted.
pub const SIMULATED: &str = "simulated";

/// Key in a card's provenance: numbers that the measurements do not give, with the reasons.
pub const UNKNOWN: &str = "unknown";

/// A machine: its numbers, each with unit, interval and origin. See `models/` for files.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Card {
    /// Name of the machine: "Red Storm".
    pub name: String,
    /// Description of the machine in one line.
    pub summary: String,
    /// Paper and section, or the command that measured the card.
    pub source: String,
    /// Further origin of the numbers: host, pages, build, options.
    #[serde(skip_serializing_if = "toml::Table::is_empty")]
    pub provenance: toml::Table,
    /// How the nodes are connected; a crossbar without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkShape>,
    /// Where the numbers without a domain of their own hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<Domain>,
    /// Covariance of numbers that were fitted together.
    #[serde(rename = "fit", skip_serializing_if = "Option::is_none")]
    pub joint: Option<JointFit>,
    numbers: BTreeMap<String, Number>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    summary: String,
    source: String,
    #[serde(default)]
    provenance: toml::Table,
    network: Option<Spanned<NetworkShape>>,
    domain: Option<Spanned<Domain>>,
    fit: Option<JointFit>,
    #[serde(default)]
    numbers: BTreeMap<Spanned<String>, Spanned<Number>>,
}

pub fn is_published(name: &str) -> bool {
    PUBLISHED.iter().any(|(published, _)| *published == name)
}

impl Card {
    /// Creates a card without numbers, from the name of the machine, one line about it, and the source of its numbers.
    pub fn new(name: &str, summary: &str, source: &str) -> Self {
        Self { name: name.into(), summary: summary.into(), source: source.into(), ..Self::default() }
    }

    /// Reads a card, also as JSON.
    pub fn read(path: &Path) -> Result<Self> {
        let published: Vec<_> = PUBLISHED.iter().map(|(name, _)| *name).collect();
        let write = if path.is_dir() { "name the card.toml in it, which" } else { "check the path: a card is what" };
        let next = format!("{write} `apexmap calibrate` writes; or name a published machine: {}", published.join(", "));
        let text = toml_file::read_text(path, "machine card", &next)?;
        Self::parse(&toml_file::from_json(text, path)?, path)
    }

    /// Reads a card from the text of the file `path`.
    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        let page = TomlSource { path, text, examples: "models/" };
        let file: File = toml::from_str(text).map_err(|error| match toml::from_str::<toml::Table>(text) {
            Ok(other) if other.contains_key("axes") || other.contains_key("fixed") => {
                let named = path.display();
                Error::input(
                    format!("{named} is a sweep, not a machine card"),
                    format!("measure it: apexmap run {named}"),
                )
            }
            _ => page.parse_error(&error),
        })?;
        let mut card = Self { provenance: file.provenance, ..Self::new(&file.name, &file.summary, &file.source) };
        if let Some(network) = file.network {
            let span = network.span();
            network.get_ref().check().map_err(|e| page.error_at(span, e.message, e.help))?;
            card.network = Some(network.into_inner());
        }
        if let Some(domain) = file.domain {
            let span = domain.span();
            domain.get_ref().check().map_err(|e| e.with_location(path, text, span))?;
            card.domain = Some(domain.into_inner());
        }
        let clocked = file.numbers.keys().any(|name| name.get_ref() == catalogue::CLOCK_HZ.name);
        for (name, number) in file.numbers {
            let span = name.span();
            let (name, number) = (name.into_inner(), number.into_inner());
            check(&name, &number, clocked).map_err(|e| e.with_location(path, text, span))?;
            card.numbers.insert(name, number);
        }
        file.fit.as_ref().map_or(Ok(()), |fit| fit.check(&card))?;
        card.joint = file.fit;
        Ok(card)
    }

    /// Reads a published machine by its name in `models/` (`red-storm`), or a file. An error names the nearest machine.
    pub fn find(name: &str) -> Result<Self> {
        match PUBLISHED.iter().find(|(candidate, _)| *candidate == name) {
            Some((candidate, text)) => Self::parse(text, Path::new(&format!("models/{candidate}.toml"))),
            None if !name.contains(['/', '.']) && !Path::new(name).exists() => {
                let published: Vec<_> = PUBLISHED.iter().map(|(name, _)| *name).collect();
                let next = format!("{}; or give the path of a card", suggest(name, &published));
                Err(Error::input(format!("there is no machine \"{name}\""), next))
            }
            None => Self::read(Path::new(name)),
        }
    }

    /// Returns the card as TOML text. [`Card::parse`] reads it back to the last bit.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).expect("a card is TOML")
    }

    /// Writes the card to a file.
    pub fn write(&self, path: &Path) -> Result<()> {
        new_file::write_user_file_contents(path, self.to_toml())
    }

    /// Adds or replaces a number. An error says what the catalogue, the unit, the sign or the interval forbids. Numbers in
    /// cycles need `clock_hz` first.
    pub fn set(&mut self, name: &str, number: Number) -> Result<()> {
        check(name, &number, self.numbers.contains_key(catalogue::CLOCK_HZ.name))?;
        self.numbers.insert(name.to_owned(), number);
        Ok(())
    }

    /// Adds or replaces a number in its base unit, removes its inverse, and returns its name on the card.
    pub fn set_base(&mut self, name: &str, value: f64, how: &str) -> Result<String> {
        let instead = inverse(name).filter(|_| entry_of(name::split(name).0).is_none());
        let (name, value) = instead.map_or((name.to_owned(), value), |instead| (instead, 1.0 / value));
        let unit = entry_of(name::split(&name).0).map_or("", |entry| entry.unit.symbol());
        if let Some(other) = inverse(&name) {
            self.numbers.remove(&other);
        }
        self.set(&name, Number::new(value, unit, how))?;
        Ok(name)
    }

    /// Returns the numbers by name, with units as on the card.
    pub fn numbers(&self) -> &BTreeMap<String, Number> {
        &self.numbers
    }

    /// Returns a number in its base unit (seconds, bytes, bytes per second, hertz).
    pub fn get(&self, name: &str) -> Option<f64> {
        self.base(name, |number| Some(number.value))
            .or_else(|| Some(1.0 / self.base(&inverse(name)?, |n| Some(n.value))?))
    }

    /// Returns the sizes of lines and pages. A card without them has those of x86-64.
    pub fn granularity(&self) -> Granularity {
        let usual = Granularity::default();
        let bytes = |number: &Entry, usual| self.get(number.name).map_or(usual, |bytes| bytes as u64);
        Granularity {
            line_bytes: bytes(catalogue::LINE_BYTES, usual.line_bytes),
            base_page_bytes: bytes(catalogue::BASE_PAGE_BYTES, usual.base_page_bytes),
            huge_page_bytes: bytes(catalogue::HUGE_PAGE_BYTES, usual.huge_page_bytes),
        }
    }

    /// Returns the kinds of pages and their sizes in bytes.
    pub fn page_sizes(&self) -> [(Word, f64); 2] {
        let Granularity { base_page_bytes, huge_page_bytes, .. } = self.granularity();
        [(Word::Base, base_page_bytes as f64), (Word::Huge, huge_page_bytes as f64)]
    }

    /// Returns a number as [`Card::get`] does. The error of a missing one gives its meaning and how to add it.
    pub fn require(&self, name: &str) -> Result<f64> {
        self.get(name).ok_or_else(|| {
            let meaning = meaning_of(name).unwrap_or_default();
            Error::input(
                format!("the card of {} has no {name} ({meaning})", self.name),
                format!("add [numbers.{name}] to the card, or give it with --set {name}=..."),
            )
        })
    }

    pub fn missing_error(&self, names: &[&str]) -> Error {
        if let [name] = names
            && let Err(error) = self.require(name)
        {
            return error;
        }
        Error::input(
            format!("the card of {} has no {}", self.name, names.join(", ")),
            "add [numbers.NAME] to the card for each, give them with --set NAME=..., or measure a card: apexmap calibrate",
        )
    }

    /// Returns where a number holds: its own domain, or that of the card.
    pub fn domain(&self, name: &str) -> Option<&Domain> {
        let own = |name: &str| self.numbers.get(name).and_then(|number| number.domain.as_ref());
        own(name).or_else(|| own(&inverse(name)?)).or(self.domain.as_ref())
    }

    pub fn variants(&self, base: &str) -> Vec<NumberName> {
        let names = self.numbers.keys().filter(|name| name::split(name).0 == base);
        names.filter_map(|name| NumberName::parse(name).ok()).filter(|name| !name.qualifier.is_empty()).collect()
    }

    /// Returns a part of a number, such as an end of its interval, in the base unit.
    fn base(&self, name: &str, select: impl Fn(&Number) -> Option<f64>) -> Option<f64> {
        let number = self.numbers.get(name)?;
        let entry = entry_of(name::split(name).0)?;
        match conversion(entry.unit, &number.unit)? {
            Conversion::Scale(scale) => Some(scale.apply(select(number)?)),
            Conversion::Clock => Some(select(number)? / self.get(catalogue::CLOCK_HZ.name)?),
        }
    }
}

/// Returns the base unit of a number or of the inverse of a number in the catalogue.
pub fn unit_of(name: &str) -> Option<Unit> {
    if let Some(entry) = entry_of(name) {
        return Some(entry.unit);
    }
    entry_of(&inverse(name)?).map(|entry| match entry.unit {
        Unit::BytesPerSecond => Unit::SecondsPerByte,
        _ => Unit::BytesPerSecond,
    })
}

pub fn meaning_of(name: &str) -> Option<String> {
    match entry_of(name) {
        Some(entry) => Some(entry.meaning.to_owned()),
        None => entry_of(&inverse(name)?).map(|entry| format!("{}: reciprocal of the rate", entry.meaning)),
    }
}

pub fn inverse(name: &str) -> Option<String> {
    const PAIR: [&str; 2] = ["_seconds_per_byte", "_bandwidth_bytes_per_second"];
    let (base, qualifier) = name::split(name);
    let swapped = match base.strip_suffix(PAIR[0]) {
        Some(stem) => format!("{stem}{}", PAIR[1]),
        None => format!("{}{}", base.strip_suffix(PAIR[1])?, PAIR[0]),
    };
    Some(qualifier.map_or(swapped.clone(), |qualifier| format!("{swapped}--{qualifier}")))
}
