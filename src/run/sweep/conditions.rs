//! Conditions of a sweep, and the names that they may have.

use super::command;
use super::spec::{Axis, File, Scalar};
use apexmap_base::condition::{Condition, NameType};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::{Point, Value};
use apexmap_base::toml_file::TomlSource;
use apexmap_measure::comm::TransportKind;
use apexmap_measure::kernels::{self, Domain, Kernel, command::Specification};
use toml::Spanned;

pub struct KnownNames<'a> {
    pub kernels: &'a [&'static Kernel],
    /// Parameters and values that the user named.
    pub own: Vec<(String, NameType)>,
    pub values: Vec<String>,
}

impl<'a> KnownNames<'a> {
    /// The names that a file gives to the parameters and values of a command.
    pub fn new(file: &File, kernels: &'a [&'static Kernel], page: &TomlSource) -> Result<Self> {
        let mut known_names = Self { kernels, own: Vec::new(), values: Vec::new() };
        let has_command = kernels.iter().any(|kernel| kernel.has_own_parameters);
        let Some(text) = command::specification(file, has_command, page)? else { return Ok(known_names) };
        known_names.values =
            Specification::parse(&text).map_or(Vec::new(), |c| c.value.iter().map(|v| v.column()).collect());
        let tables = file.together.iter().chain(&file.include).map(Spanned::get_ref).chain([&file.axes]);
        let varied = tables.flatten().map(|(name, axis)| (name, scalars(axis.get_ref())));
        let fixed = file.fixed.entries.iter().map(|(name, scalar)| (name, vec![scalar.get_ref()]));
        for (name, scalars) in varied.chain(fixed) {
            let word =
                |scalar: &&Scalar| if let Value::Text(word) = command::value(scalar) { Some(word) } else { None };
            let words: Vec<String> = scalars.iter().filter_map(word).collect();
            let kind = if words.is_empty() { NameType::Number } else { NameType::Word(words) };
            known_names.own.push((name.get_ref().clone(), kind));
        }
        Ok(known_names)
    }
}

fn scalars(axis: &Axis) -> Vec<&Scalar> {
    match axis {
        Axis::One(scalar) => vec![scalar],
        Axis::List(list) => list.iter().map(Spanned::get_ref).collect(),
        Axis::Range(_) => Vec::new(),
    }
}

pub struct Filter {
    required: Vec<Condition>,
    excluded: Vec<Condition>,
    transport: TransportKind,
}

impl Filter {
    pub fn new(file: &File, known_names: &KnownNames, transport: TransportKind, page: &TomlSource) -> Result<Self> {
        let parse = |texts: &[Spanned<String>]| -> Result<Vec<Condition>> {
            texts.iter().map(|text| condition(text, known_names, page)).collect()
        };
        Ok(Self { required: parse(&file.conditions)?, excluded: parse(&file.exclude)?, transport })
    }

    pub fn accepts(&self, point: &Point) -> bool {
        let value = |name: &str| match name {
            "kernel" => Some(Value::from(point.kernel.as_str())),
            "ranks" | "P" => Some(Value::Integer(point.ranks as u64)),
            "transport" if !point.params.contains_key(name) => Some(Value::from(self.transport.name())),
            _ => point.params.get(name).cloned(),
        };
        self.required.iter().all(|condition| condition.is_true_for(&value) != Some(false))
            && self.excluded.iter().all(|condition| condition.is_true_for(&value) != Some(true))
    }
}

pub fn condition(text: &Spanned<String>, known_names: &KnownNames, page: &TomlSource) -> Result<Condition> {
    let word_type = |words: &[&str]| NameType::Word(words.iter().map(|&word| word.to_owned()).collect());
    let ids: Vec<_> = kernels::ALL.iter().map(|kernel| kernel.id).collect();
    let mut names = vec![("kernel", word_type(&ids)), ("ranks", NameType::Number), ("P", NameType::Number)];
    names.extend(kernels::LAUNCH_PARAMETERS.map(|parameter| (parameter.name, NameType::Number)));
    for parameter in known_names.kernels.iter().flat_map(|kernel| kernel.parameters) {
        if names.iter().all(|(name, _)| *name != parameter.name) {
            let kind = if let Domain::Choice(words) = parameter.domain { word_type(words) } else { NameType::Number };
            names.push((parameter.name, kind));
        }
    }
    names.extend(known_names.own.iter().map(|(name, kind)| (name.as_str(), kind.clone())));
    // Last, because a command may have a parameter of this name, which comes first.
    names.push(("transport", word_type(&TransportKind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>())));
    Condition::parse(text.get_ref(), &names).map_err(|e| place_error(e, text, page))
}

fn place_error(error: Error, condition: &Spanned<String>, page: &TomlSource) -> Error {
    let inner = error.location.as_ref().map_or(0..0, |place| place.span.clone());
    // Escapes in the text would shift the place, so the whole text is underlined then.
    let start =
        page.text[condition.span()].find(condition.get_ref().as_str()).map(|offset| condition.span().start + offset);
    let span = start.map_or(condition.span(), |start| start + inner.start..start + inner.end);
    error.with_location(page.path, page.text, span)
}
