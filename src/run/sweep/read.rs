//! Reads a sweep file into a checked [`Sweep`].
//!
//! `spec` defines the shape of the file, `values` reads parameters, `expand` makes the points, `settings` checks the rest.

use super::launch_spec::LaunchSpec;
use super::memory::Machine;
use super::spec::Scalar;
use super::{answer_checks, expand, figures, settings, spec, values};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Point;
use apexmap_base::toml_file::{self, TomlSource};
use apexmap_measure::comm::TransportKind;
use apexmap_measure::kernels::command::{KERNEL, KEYS};
use apexmap_measure::kernels::{self, Ranks};
use apexmap_measure::worker::Repeat;
use std::path::{Path, PathBuf};

/// A checked sweep. All its points can run, as far as the kernels can check.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// Name of the result.
    pub name: String,
    /// One line for reports.
    pub title: String,
    /// The file as given.
    pub text: String,
    /// For errors.
    pub path: PathBuf,
    /// Seed of the random order of points and repetitions.
    pub seed: u64,
    /// Completed points, without duplicates, in the order of the file.
    pub points: Vec<Point>,
    /// How ranks are started.
    pub launch: LaunchSpec,
    /// The number of samples of each point. The budget applies to the whole sweep.
    pub repeat: Repeat,
}

impl Sweep {
    /// Whether the points are runs of a program that the user names.
    pub fn runs_commands(&self) -> bool {
        self.points.iter().any(|point| point.kernel == KERNEL.id)
    }

    /// This sweep with parameters fixed instead of varied, without the figures and the answer, which may name them.
    ///
    /// # Errors
    /// If a parameter or its value is not valid, or a point cannot run.
    pub fn with_fixed(&self, settings: &[(&str, Scalar)], machine: Machine) -> Result<Self> {
        self.read_again(machine, |file| settings.iter().for_each(|(name, value)| file.fix(name, value)))
    }

    /// This sweep with other ranks, such as `1,2,cores`. Kernels of one rank keep it.
    ///
    /// # Errors
    /// As [`Sweep::with_fixed`].
    pub fn with_ranks(&self, ranks: &str, machine: Machine) -> Result<Self> {
        let list = ranks.split(',').map(|text| Scalar::from_text(text.trim())).collect();
        let takes_ranks = |point: &Point| kernels::find(&point.kernel).is_ok_and(|kernel| kernel.ranks == Ranks::Any);
        let sweep = self.read_again(machine, |file| file.ranks = list).and_then(|sweep| {
            match sweep.points.iter().any(takes_ranks) || ranks == "1" {
                true => Ok(sweep),
                false => Err(Error::input("it runs on one rank", "choose another sweep, such as stream")),
            }
        });
        sweep.map_err(|error| Error { message: format!("--ranks {ranks}: {}", error.message), ..error })
    }

    fn read_again(&self, machine: Machine, change: impl FnOnce(&mut spec::File)) -> Result<Self> {
        let mut file: spec::File = toml::from_str(&self.text).map_err(|e| self.source().parse_error(&e))?;
        change(&mut file);
        // A change has no place in the file.
        from_file(&file, &self.text, &self.path, machine)
            .map_err(|error| Error { location: error.location.filter(|place| !place.span.is_empty()), ..error })
    }

    /// The text as the source of errors with a place.
    pub fn source(&self) -> TomlSource<'_> {
        source(&self.text, &self.path)
    }
}

impl Scalar {
    /// A number, or any other text.
    pub fn from_text(text: &str) -> Self {
        let real = || text.parse().ok().filter(|number: &f64| number.is_finite()).map(Self::Real);
        text.parse().ok().map(Self::Integer).or_else(real).unwrap_or_else(|| Self::Text(text.to_owned()))
    }
}

fn source<'a>(text: &'a str, path: &'a Path) -> TomlSource<'a> {
    TomlSource { path, text, examples: "sweeps/" }
}

/// Reads a sweep file for a machine.
///
/// # Errors
/// If the file cannot be read, or it is not a sweep whose points can all run. Errors in its text have a place.
pub fn read(path: &Path, machine: Machine) -> Result<Sweep> {
    let text = toml_file::read_text(path, "sweep", "check the path; `apexmap sweeps` lists the ready sweeps")?;
    parse(&text, path, machine)
}

/// Parses the text of the file `path`, which need not exist.
///
/// # Errors
/// If the text is not a sweep whose points can all run. The error has the place.
pub fn parse(text: &str, path: &Path, machine: Machine) -> Result<Sweep> {
    let file: spec::File = toml::from_str(text).map_err(|e| source(text, path).parse_error(&e))?;
    from_file(&file, text, path, machine)
}

fn from_file(file: &spec::File, text: &str, path: &Path, machine: Machine) -> Result<Sweep> {
    let page = source(text, path);
    let name = settings::name(file, &page)?;
    let launch = settings::launch(file, &page, &machine)?;
    let repeat = match launch.transport {
        // Equal runs of a simulation give equal times.
        TransportKind::Simulated => Repeat { min: 1, max: 1, width: None, budget_seconds: None },
        _ => settings::repeat(&file.repeat, &page)?,
    };
    figures::check(file, &page)?;
    answer_checks::check(file, &page)?;
    Ok(Sweep {
        title: file.title.clone().unwrap_or_else(|| name.clone()),
        name,
        text: text.to_owned(),
        path: path.to_owned(),
        seed: file.seed,
        points: expand::points(file, machine, &launch, &page)?,
        launch,
        repeat,
    })
}

/// How often the points of a sweep are measured: in each launch, and in how many launches.
pub fn repeat(text: &str, path: &Path) -> Result<(Repeat, u32)> {
    let page = source(text, path);
    let file: spec::File = toml::from_str(text).map_err(|e| page.parse_error(&e))?;
    let sweep = settings::launch(&file, &page, &Machine::detect())?;
    Ok((settings::repeat(&file.repeat, &page)?, sweep.launches))
}

/// Every name that a table of parameters may contain, with its meaning.
fn all_parameters() -> Vec<(&'static str, String)> {
    let ids: Vec<_> = kernels::ALL.iter().map(|kernel| kernel.id).collect();
    let mut names = vec![("kernel", format!("what is measured: {}", ids.join(", ")))];
    names.extend(["ranks", "P"].map(|name| (name, values::RANKS.meaning.into())));
    names.extend(kernels::LAUNCH_PARAMETERS.map(|parameter| (parameter.name, parameter.meaning.into())));
    for parameter in kernels::ALL.iter().flat_map(|kernel| kernel.parameters) {
        if names.iter().all(|(name, _)| *name != parameter.name) {
            names.push((parameter.name, parameter.meaning.into()));
        }
    }
    names
}

/// The JSON schema of sweep files for editors, with the parameters of every kernel.
pub fn schema() -> String {
    let mut schema = schemars::schema_for!(spec::File).to_value();
    let names: serde_json::Map<_, _> = all_parameters()
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
        if place.ends_with("fixed") {
            let key = |name: &str| (name.to_owned(), serde_json::json!({ "description": "of the kernel command" }));
            properties.extend(KEYS.into_iter().map(key));
        }
        // Other names are refused when the sweep is read, because those of a command are the user's.
        table["properties"] = properties.into();
    }
    serde_json::to_string_pretty(&schema).expect("a schema is JSON")
}
