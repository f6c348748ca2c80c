//! Reading a sweep file into a checked [`Sweep`].
//!
//! `spec` is the shape of the file, `values` reads parameters, `expand` makes the points, `settings` checks the rest.

use super::settings::LaunchSpec;
use super::{expand, settings, spec, values};
use crate::error::{Error, Result};
use crate::nearest::suggest;
use crate::point::Point;
use crate::provenance;
use crate::worker::Repeat;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A checked sweep: all its points can be run, as far as the kernels can tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// Name of the result.
    pub name: String,
    /// One line for reports.
    pub title: String,
    /// The file as given, and where it was.
    pub text: String,
    pub path: PathBuf,
    /// Seed of the random order of points and repetitions.
    pub seed: u64,
    /// Completed points, without duplicates, in the order of the file.
    pub points: Vec<Point>,
    pub launch: LaunchSpec,
    /// The budget is of the whole sweep.
    pub repeat: Repeat,
}

/// The machine that a sweep is read for: what `ranks = "cores"` and a share of memory are.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    pub cores: usize,
    /// Of a node, in bytes; 0 if it is not known.
    pub memory: u64,
}

impl Machine {
    pub fn here() -> Self {
        Self { cores: provenance::cores(), memory: provenance::memory_bytes().unwrap_or(0) }
    }
}

/// Reads a sweep file for a machine.
///
/// Every error names the file; those about its text hold the place.
pub fn read(path: &Path, machine: Machine) -> Result<Sweep> {
    let bytes = std::fs::read(path).map_err(|e| Error {
        next: "check the path; the ready sweeps are the files of the folder sweeps/".into(),
        ..Error::file("read the sweep", path, e)
    })?;
    let text = String::from_utf8(bytes).map_err(|e| {
        let first = e.utf8_error().valid_up_to();
        Error::input(
            format!("{} is not a text in UTF-8 (byte {first})", path.display()),
            "a sweep is a TOML text; save the file as UTF-8",
        )
    })?;
    parse(&text, path, machine)
}

/// As [`read`], of a text that stands in the file `path`.
pub fn parse(text: &str, path: &Path, machine: Machine) -> Result<Sweep> {
    let page = Page { path, text };
    let file: spec::File = toml::from_str(text).map_err(|e| page.unreadable(&e))?;
    let name = settings::name(&file, &page)?;
    let launch = settings::launch(&file.launch, &page)?;
    let repeat = settings::repeat(&file.repeat, &page)?;
    Ok(Sweep {
        title: file.title.clone().unwrap_or_else(|| name.clone()),
        name,
        text: text.to_owned(),
        path: path.to_owned(),
        seed: file.seed,
        points: expand::points(&file, machine, launch.ranks_per_node, &page)?,
        launch,
        repeat,
    })
}

/// The JSON schema of sweep files, for editors: with every kernel's parameters.
pub fn schema() -> String {
    let mut schema = schemars::schema_for!(spec::File).to_value();
    let names: serde_json::Map<_, _> = values::all_parameters()
        .into_iter()
        .map(|(name, meaning)| (name.to_owned(), serde_json::json!({ "description": meaning })))
        .collect();
    let places = ["/properties/fixed", "/properties/axes", "/properties/together/items", "/properties/include/items"];
    for place in places {
        let table = schema.pointer_mut(place).expect("a table of parameters in the schema");
        let mut properties = names.clone();
        for property in properties.values_mut() {
            property["$ref"] = table["additionalProperties"]["$ref"].clone();
        }
        table["properties"] = properties.into();
        table["additionalProperties"] = false.into();
    }
    serde_json::to_string_pretty(&schema).expect("a schema is JSON")
}

/// The file that is read, for errors about places in it.
pub(super) struct Page<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

impl Page<'_> {
    pub fn wrong(&self, span: Range<usize>, what: impl Into<String>, next: impl Into<String>) -> Error {
        Error::input(what, next).at(self.path, self.text, span)
    }

    /// Number of the line, from 1.
    pub fn line(&self, at: usize) -> usize {
        self.text[..at].matches('\n').count() + 1
    }

    /// An error of the TOML parser, or of serde about a key or a type.
    fn unreadable(&self, error: &toml::de::Error) -> Error {
        let message = error.message();
        let span = error.span().unwrap_or(0..0);
        // serde names what it found and what it knows in backticks: unknown field `x`, expected one of `y`, `z`
        let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
        let (what, next) = match quoted.split_first() {
            Some((key, known)) if message.starts_with("unknown field") => {
                (format!("there is no key \"{key}\" here"), suggest(key, known))
            }
            Some((word, known)) if message.starts_with("unknown variant") => {
                (format!("\"{word}\" is not known here"), suggest(word, known))
            }
            Some((key, [])) if message.starts_with("missing field") => {
                (format!("the key \"{key}\" is missing here"), format!("add {key} = ..."))
            }
            _ if message.contains("expected a sequence") => {
                (message.to_owned(), "write a list, [a, b], or the table's name in double brackets, [[name]]".into())
            }
            _ if message.starts_with("invalid type: sequence") => {
                (message.to_owned(), "one value is needed here; lists and ranges stand in [axes]".into())
            }
            _ => (message.to_owned(), "correct the text here; the files of sweeps/ are examples".to_owned()),
        };
        self.wrong(span, what.replace('\n', "; "), next)
    }
}
