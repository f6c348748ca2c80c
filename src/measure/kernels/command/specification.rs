use super::environment;
use super::start::Program;
use super::value::{ValueSpec, is_name};
use apexmap_base::point::Value;
use apexmap_base::units::{self, Unit};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// No kernel has a parameter with one of these names.
pub const KEYS: [&str; 12] = [
    "command",
    "value",
    "env",
    "cwd",
    "input",
    "setup",
    "cleanup",
    "warm_up",
    "warm_up_first",
    "time_limit",
    "success",
    "cores",
];

/// In seconds, if the sweep sets none.
const DEFAULT_LIMIT: f64 = 60.0;

/// As the sweep gives it and as the points hold it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Specification {
    pub command: Vec<String>,
    /// Figures show the first.
    #[serde(default = "wall", deserialize_with = "one_or_several")]
    pub value: Vec<ValueSpec>,
    /// In addition to those of apexmap.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// That of apexmap if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The program's standard input; empty if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cleanup: Vec<String>,
    /// Before each run that counts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub warm_up: u32,
    /// Before the first run of a point in a launch.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub warm_up_first: u32,
    #[serde(default = "default_limit", deserialize_with = "time")]
    pub time_limit: f64,
    /// Exit codes.
    #[serde(default = "zero", deserialize_with = "one_or_several")]
    pub success: Vec<i32>,
    /// How many the program may use, such as `1` or `{threads}`; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "text_or_number")]
    pub cores: Option<String>,
}

/// With the values of a point.
pub struct Resolved {
    pub program: Program,
    pub setup: Option<Program>,
    pub cleanup: Option<Program>,
}

impl Specification {
    pub fn parse(text: &str) -> Result<Self, String> {
        let specification: Self =
            serde_json::from_str(text).map_err(|error| format!("the command is not valid: {error}"))?;
        specification.check()?;
        Ok(specification)
    }

    /// With the locale C, unless the variables name another.
    pub fn with_locale(mut self) -> Self {
        let is_locale = |name: &String| name == "LANG" || name.starts_with("LC_");
        if !self.env.keys().any(is_locale) {
            self.env.insert("LC_ALL".into(), "C".into());
        }
        self
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub fn check(&self) -> Result<(), String> {
        if self.command.first().is_none_or(String::is_empty) {
            return Err("command is empty; write a list: command = [\"./bench\", \"--size\", \"{bytes}\"]".into());
        }
        if self.time_limit.is_nan() || self.time_limit <= 0.0 {
            return Err("time_limit must be above 0; write time_limit = \"10 s\"".into());
        }
        let mut columns = BTreeSet::new();
        for value in &self.value {
            value.check()?;
            if !columns.insert(value.column()) {
                return Err(format!("two values have the column {}; give each a name", value.column()));
            }
        }
        if self.value.is_empty() { Err("value is an empty list; write value = \"wall\"".into()) } else { Ok(()) }
    }

    pub fn placeholders(&self) -> BTreeSet<String> {
        let lists = [&self.command, &self.setup, &self.cleanup];
        let single = [&self.cwd, &self.input, &self.cores];
        let texts = lists.into_iter().flatten().chain(self.env.values()).chain(single.into_iter().flatten());
        let mut names = BTreeSet::new();
        for text in texts {
            let _ = replace(text, &mut |name| {
                names.insert(name.to_owned());
                Ok(String::new())
            });
        }
        names
    }

    /// The point's values replace the names in braces.
    pub fn resolve(&self, parameters: &BTreeMap<String, Value>) -> Result<Resolved, String> {
        let fill = |text: &String| replace(text, &mut |name| find(parameters, name));
        let fill_all = |list: &[String]| list.iter().map(fill).collect::<Result<Vec<_>, _>>();
        let env: BTreeMap<String, String> =
            self.env.iter().map(|(name, value)| Ok((name.clone(), fill(value)?))).collect::<Result<_, String>>()?;
        let cwd = self.cwd.as_ref().map(fill).transpose()?;
        let cores = match self.cores.as_ref().map(fill).transpose()? {
            None => None,
            Some(text) => match text.parse() {
                Ok(count) if count > 0 => Some(environment::first_cores(count)?),
                _ => {
                    return Err(format!(
                        "cores = \"{text}\" is not a number of cores; write cores = 1 or cores = \"{{threads}}\""
                    ));
                }
            },
        };
        let program = |list: &[String], input: Option<String>| -> Result<Option<Program>, String> {
            let arguments = fill_all(list)?;
            let program = Program { arguments, env: env.clone(), cwd: cwd.clone(), input, cores: cores.clone() };
            Ok((!list.is_empty()).then_some(program))
        };
        Ok(Resolved {
            program: program(&self.command, self.input.as_ref().map(fill).transpose()?)?.ok_or("command is empty")?,
            setup: program(&self.setup, None)?,
            cleanup: program(&self.cleanup, None)?,
        })
    }
}

/// Replaces `{name}` by a value. `{{name}}` stays as `{name}`; other braces, as in scripts, stay as they are.
fn replace(text: &str, value: &mut dyn FnMut(&str) -> Result<String, String>) -> Result<String, String> {
    let (mut filled, mut rest) = (String::new(), text);
    while let Some(start) = rest.find('{') {
        filled.push_str(&rest[..start]);
        rest = &rest[start..];
        let escaped =
            rest.strip_prefix("{{").and_then(|inner| inner.split_once("}}")).filter(|(name, _)| is_name(name));
        let plain = rest[1..].split_once('}').filter(|(name, _)| is_name(name));
        rest = match (escaped, plain) {
            (Some((name, after)), _) => {
                filled.push_str(&format!("{{{name}}}"));
                after
            }
            (None, Some((name, after))) => {
                filled.push_str(&value(name)?);
                after
            }
            (None, None) => {
                filled.push('{');
                &rest[1..]
            }
        };
    }
    filled.push_str(rest);
    Ok(filled)
}

fn find(parameters: &BTreeMap<String, Value>, name: &str) -> Result<String, String> {
    let value = parameters.get(name).map(Value::to_string);
    value.ok_or_else(|| {
        format!("the command has {{{name}}}, but the sweep has no parameter {name}; add it to [axes], or write {{{{{name}}}}} for the text")
    })
}

fn wall() -> Vec<ValueSpec> {
    vec![ValueSpec::default()]
}

fn zero() -> Vec<i32> {
    vec![0]
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn default_limit() -> f64 {
    DEFAULT_LIMIT
}

fn one_or_several<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "a value is \"wall\", \"user\", \"system\", \"maxrss\", { regex = '...' } or { json = '...' }, with unit, name and better = \"higher\" or \"lower\"; success is an exit code; or a list of them"
    )]
    enum OneOrSeveral<T> {
        // First, because a list would also be read as the fields of one value.
        Several(Vec<T>),
        One(T),
    }
    Ok(match OneOrSeveral::deserialize(deserializer)? {
        OneOrSeveral::Several(several) => several,
        OneOrSeveral::One(one) => vec![one],
    })
}

fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let text = text_or_number(deserializer)?.unwrap_or_default();
    units::parse(&text, Unit::Seconds).map_err(serde::de::Error::custom)
}

fn text_or_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a number, or a text such as \"10 s\" or \"{threads}\"")]
    enum TextOrNumber {
        Text(String),
        Integer(u64),
        Real(f64),
    }
    Ok(Some(match TextOrNumber::deserialize(deserializer)? {
        TextOrNumber::Text(text) => text,
        TextOrNumber::Integer(number) => number.to_string(),
        TextOrNumber::Real(number) => number.to_string(),
    }))
}
