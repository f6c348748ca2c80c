//! Reads the values of parameters: names, units, domains, lists and ranges.

use super::command;
use super::memory::{Amount, BEYOND_CACHES, Machine, parse_memory_share};
use super::spec::{Axis, Scalar, Scale, Steps};
use apexmap_base::error::{Error, Result};
use apexmap_base::name_lookup::{nearest_name, suggest};
use apexmap_base::point::Value;
use apexmap_base::toml_file::TomlSource;
use apexmap_base::units::{self, Unit};
use apexmap_measure::kernels::{self, Domain, Kernel, Parameter, gpu};
use std::ops::Range;
use toml::Spanned;

/// Largest number of points of a sweep. At a millisecond each, a larger sweep would take hours.
pub const MAX_POINTS: usize = 1_000_000;

/// The number of processes, which is read like a parameter.
pub const RANKS: Parameter = Parameter {
    name: "ranks",
    column: "ranks",
    unit: Unit::None,
    meaning: "number of processes, the papers' P; \"cores\" means one per core that this process may use, \"hardware threads\" \
              one per hardware thread of these, \"node\" one per core of one NUMA node, \"devices\" one per GPU or other device of OpenCL",
    domain: Domain::Integer { min: 1, max: 1 << 24, default: 1 },
};

/// Before the number of ranks is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    pub value: Value,
    pub amount: Amount,
}

impl Setting {
    pub fn value_on(&self, ranks: usize) -> Value {
        match &self.value {
            Value::Integer(v) if self.amount == Amount::PerRank => {
                v.checked_mul(ranks as u64).unwrap_or(u64::MAX).into()
            }
            Value::Real(v) if self.amount == Amount::PerRank => (v * ranks as f64).into(),
            value => value.clone(),
        }
    }
}

pub struct Values<'a> {
    pub page: &'a TomlSource<'a>,
    pub kernels: Vec<&'static Kernel>,
    pub machine: Machine,
}

impl Values<'_> {
    /// Checks a name in the file; `P` becomes `ranks`.
    pub fn name(&self, name: &Spanned<String>) -> Result<String> {
        let text = name.get_ref().as_str();
        if text == "P" {
            return Ok("ranks".into());
        }
        let has_parameter = |kernel: &&Kernel| kernel.parameters.iter().any(|p| p.name == text);
        let is_launch_parameter = kernels::LAUNCH_PARAMETERS.iter().any(|parameter| parameter.name == text);
        if matches!(text, "ranks" | "kernel") || is_launch_parameter || self.kernels.iter().any(has_parameter) {
            return Ok(text.to_owned());
        }
        if self.takes_any_name() {
            return match command::check_name(text) {
                Ok(()) => Ok(text.to_owned()),
                Err(message) => Err(self.page.error_at(name.span(), message, "docs/command.md shows every key")),
            };
        }
        let name_error = |message: String, help: String| Err(self.page.error_at(name.span(), message, help));
        let selected: Vec<_> = self.kernels.iter().map(|kernel| kernel.id).collect();
        if let Some(other) = kernels::ALL.iter().copied().find(has_parameter) {
            return name_error(
                format!("{} has no parameter \"{text}\"", selected.join(", ")),
                format!("leave it out, or add the kernel {}, which has it", other.id),
            );
        }
        if matches!(text, "where" | "exclude" | "name" | "title") {
            return name_error(
                format!("\"{text}\" is not a parameter"),
                format!("move {text} = ... above the first [table], to the top of the file"),
            );
        }
        let mut names = vec!["kernel", "ranks"];
        names.extend(kernels::LAUNCH_PARAMETERS.map(|parameter| parameter.name));
        names.extend(self.kernels.iter().flat_map(|kernel| kernel.parameters).map(|p| p.name));
        names.sort_unstable();
        names.dedup();
        name_error(format!("there is no parameter \"{text}\""), suggest(text, &names))
    }

    /// Reads one value, in the base unit and within the domain.
    pub fn setting(&self, name: &str, scalar: &Scalar, span: Range<usize>) -> Result<Setting> {
        match name {
            "kernel" => Ok(Setting { value: kernel_id(scalar, span, self.page)?, amount: Amount::Total }),
            "ranks" => self.ranks(&RANKS, scalar, span),
            "ranks_per_node" => self.ranks(&kernels::LAUNCH_PARAMETERS[1], scalar, span),
            "nodes" => read_value(&kernels::LAUNCH_PARAMETERS[0], scalar)
                .map_err(|message| self.page.error_at(span, message, "write a whole number of nodes")),
            "memory_node" => self.numa_node(&kernels::LAUNCH_PARAMETERS[2], scalar, span),
            "core_node" => self.numa_node(&kernels::LAUNCH_PARAMETERS[3], scalar, span),
            _ if self.takes_any_name() => Ok(Setting { value: command::value(scalar), amount: Amount::Total }),
            _ => self.kernel_setting(name, scalar, span),
        }
    }

    /// Whether the user names the parameters.
    pub fn takes_any_name(&self) -> bool {
        self.kernels.iter().any(|kernel| kernel.has_own_parameters)
    }

    fn numa_node(&self, parameter: &Parameter, scalar: &Scalar, span: Range<usize>) -> Result<Setting> {
        let advice = "write the number of a NUMA node, a list of numbers, or as an axis \"all\"";
        read_value(parameter, scalar).map_err(|message| self.page.error_at(span, message, advice))
    }

    /// All NUMA nodes with cores, for `core_node`, or with memory, for `memory_node`.
    fn all_numa_nodes(&self, name: &str, span: Range<usize>) -> Result<Vec<Setting>> {
        let Machine { numa_cores, memory_nodes, .. } = &self.machine;
        let nodes = if name == "core_node" { numa_cores.keys().copied().collect() } else { memory_nodes.clone() };
        if nodes.is_empty() {
            let message = format!("the NUMA nodes for {name} = \"all\" are not known: the system does not report them");
            return Err(self.page.error_at(span, message, "list their numbers, such as [0, 1]"));
        }
        let setting = |node: usize| Setting { value: (node as u64).into(), amount: Amount::Total };
        Ok(nodes.into_iter().map(setting).collect())
    }

    fn ranks(&self, parameter: &Parameter, scalar: &Scalar, span: Range<usize>) -> Result<Setting> {
        let Machine { cores, hardware_threads, cores_of_numa_node, .. } = self.machine;
        let (count, amount) = match scalar {
            Scalar::Text(word) if word == "cores" => (cores, Amount::Total),
            Scalar::Text(word) if word == "hardware threads" => (hardware_threads, Amount::Total),
            Scalar::Text(word) if word == "node" => {
                let count = cores_of_numa_node.ok_or_else(|| {
                    let message = "this system does not report the cores of its NUMA nodes";
                    self.page.error_at(span, message, "write a whole number, or \"cores\"")
                })?;
                (count, Amount::OneNumaNode)
            }
            Scalar::Text(word) if word == "devices" => (gpu::platforms::list_apart()?.len(), Amount::Total),
            _ => {
                let advice = "write a whole number, \"cores\", \"hardware threads\", \"node\" or \"devices\"";
                return read_value(parameter, scalar).map_err(|message| self.page.error_at(span, message, advice));
            }
        };
        Ok(Setting { value: (count as u64).into(), amount })
    }

    /// The selected kernels must agree on the unit.
    fn kernel_setting(&self, name: &str, scalar: &Scalar, span: Range<usize>) -> Result<Setting> {
        let (mut accepted, mut rejection): (Option<Setting>, Option<(String, String)>) = (None, None);
        for kernel in &self.kernels {
            let Some(parameter) = kernel.parameters.iter().find(|p| p.name == name) else { continue };
            match read_value(parameter, scalar) {
                Ok(setting) if accepted.as_ref().is_some_and(|other| *other != setting) => {
                    return Err(self.page.error_at(
                        span,
                        format!("the kernels of this sweep take {name} in different units"),
                        "sweep them in separate files",
                    ));
                }
                Ok(setting) => accepted = Some(setting),
                Err(message) => rejection = Some((message, advice(kernel.id, parameter, scalar))),
            }
        }
        let (message, help) = rejection.unwrap_or_default();
        accepted.ok_or_else(|| self.page.error_at(span, message, help))
    }

    pub fn settings(&self, name: &str, axis: &Spanned<Axis>) -> Result<Vec<Setting>> {
        match axis.get_ref() {
            Axis::One(Scalar::Text(word)) if word == "all" && ["core_node", "memory_node"].contains(&name) => {
                self.all_numa_nodes(name, axis.span())
            }
            Axis::One(scalar) => Ok(vec![self.setting(name, scalar, axis.span())?]),
            Axis::List(list) if list.is_empty() => Err(self.page.error_at(
                axis.span(),
                format!("{name} has no values"),
                "write at least one value, or remove the line",
            )),
            Axis::List(list) => list.iter().map(|value| self.setting(name, value.get_ref(), value.span())).collect(),
            Axis::Range(steps) => self.range(name, steps, axis.span()),
        }
    }

    fn range(&self, name: &str, steps: &Steps, span: Range<usize>) -> Result<Vec<Setting>> {
        let read_end = |value: &Spanned<Scalar>| {
            let mut setting = self.setting(name, value.get_ref(), value.span())?;
            if setting.amount == Amount::OneNumaNode {
                setting.amount = Amount::Total;
            }
            let number = setting.value.as_f64().ok_or_else(|| {
                self.page.error_at(
                    value.span(),
                    format!("{name} takes words, which have no range"),
                    "write a list of words",
                )
            })?;
            Ok::<_, Error>((number, setting))
        };
        let ((from, first), (to, last)) = (read_end(&steps.from)?, read_end(&steps.to)?);
        if first.amount != last.amount || matches!(first.amount, Amount::MemoryShare(_) | Amount::BeyondCaches) {
            let message = "the ends of the range have different kinds: total, per rank, or relative to the machine";
            return Err(self.page.error_at(
                span,
                message,
                "write numbers, with \"per rank\" at both ends or at neither",
            ));
        }
        if from > to {
            let message = format!("the range of {name} begins at {from} but ends at {to}");
            return Err(self.page.error_at(span, message, "swap from and to"));
        }
        let numbers = self.numbers(name, steps, (from, to), span.clone())?;
        let integer = matches!(first.value, Value::Integer(_));
        let value = |number: f64| if integer { Value::Integer(number.round() as u64) } else { Value::Real(number) };
        let mut settings: Vec<Setting> =
            numbers.into_iter().map(|number| Setting { value: value(number), amount: first.amount }).collect();
        // Neighbours may round to the same whole number.
        settings.dedup();
        Ok(settings)
    }

    fn numbers(&self, name: &str, steps: &Steps, ends: (f64, f64), span: Range<usize>) -> Result<Vec<f64>> {
        let (from, to) = ends;
        let range_error =
            |span: Range<usize>, message: String, next: &str| Err(self.page.error_at(span, message, next));
        let factor = match (&steps.factor, &steps.step, &steps.points, steps.scale.as_ref().map(|s| *s.get_ref())) {
            (Some(factor), None, None, None) if factor.get_ref().is_finite() && *factor.get_ref() > 1.0 => {
                *factor.get_ref()
            }
            (Some(factor), None, None, None) => {
                return range_error(
                    factor.span(),
                    "factor must be greater than 1".into(),
                    "write factor = 2, for example",
                );
            }
            (None, Some(step), None, None | Some(Scale::Linear)) => {
                let step = self.step(name, step)?;
                // The factor keeps rounding from leaving out the last value.
                let count = ((to - from) / step * (1.0 + 1e-12)).floor() + 1.0;
                self.check_count(name, count, span)?;
                return Ok((0..count as usize)
                    .map(|k| round_to_twelve_digits(from + k as f64 * step, from, to))
                    .collect());
            }
            (None, None, Some(points), scale) => return self.evenly_spaced_values(name, points, scale, ends),
            (None, None, None, Some(Scale::Log2)) => 2.0,
            (None, None, None, Some(Scale::Log10)) => 10.0,
            _ => {
                let advice = "add one of factor = 2, step = 1, points = 8 (with scale = \"log2\", \"log10\" or \"linear\"), \
                            scale = \"log2\" or scale = \"log10\"";
                return range_error(span, format!("the steps of {name} must be given in exactly one way"), advice);
            }
        };
        self.check_logarithm(name, from, &steps.from)?;
        let count = ((to / from).ln() / factor.ln() * (1.0 + 1e-12)).floor() + 1.0;
        self.check_count(name, count, span)?;
        Ok((0..count as usize).map(|k| round_to_twelve_digits(from * factor.powi(k as i32), from, to)).collect())
    }

    fn evenly_spaced_values(
        &self,
        name: &str,
        points: &Spanned<u32>,
        scale: Option<Scale>,
        ends: (f64, f64),
    ) -> Result<Vec<f64>> {
        let ((from, to), count) = (ends, *points.get_ref());
        if count < 2 && !(count == 1 && from == to) {
            return Err(self.page.error_at(
                points.span(),
                "points must be at least 2: both ends",
                "write points = 2 or more",
            ));
        }
        self.check_count(name, f64::from(count), points.span())?;
        let logarithmic = matches!(scale, Some(Scale::Log2 | Scale::Log10));
        if logarithmic {
            self.check_logarithm(name, from, points)?;
        }
        let fraction = |k: u32| f64::from(k) / f64::from(count.max(2) - 1);
        let value_at =
            |k: u32| if logarithmic { from * (to / from).powf(fraction(k)) } else { from + (to - from) * fraction(k) };
        Ok((0..count)
            .map(|k| if k + 1 == count { to } else { round_to_twelve_digits(value_at(k), from, to) })
            .collect())
    }

    fn step(&self, name: &str, step: &Spanned<Scalar>) -> Result<f64> {
        let unit = |kernel: &&Kernel| kernel.parameters.iter().find(|p| p.name == name).map(|p| p.unit);
        let unit = self.kernels.iter().find_map(unit).unwrap_or(Unit::None);
        let step_error = |message: String| {
            self.page.error_at(step.span(), message, "write a number greater than 0, with a unit if it has one")
        };
        let own = self.takes_any_name().then(|| command::value(step.get_ref()));
        match own.map_or_else(|| quantity(step.get_ref(), unit), Ok).map_err(step_error)?.as_f64() {
            Some(step) if step.is_finite() && step > 0.0 => Ok(step),
            _ => Err(step_error("step must be greater than 0".into())),
        }
    }

    fn check_logarithm<T>(&self, name: &str, from: f64, place: &Spanned<T>) -> Result<()> {
        if from > 0.0 {
            return Ok(());
        }
        let message = format!("logarithmic steps of {name} cannot begin at {from}");
        Err(self.page.error_at(place.span(), message, "begin above 0, or use linear steps"))
    }

    fn check_count(&self, name: &str, count: f64, span: Range<usize>) -> Result<()> {
        if count <= MAX_POINTS as f64 {
            return Ok(());
        }
        let message = format!("this range gives {name} {} values, more than {MAX_POINTS}", units::short_number(count));
        Err(self.page.error_at(span, message, "take larger steps"))
    }
}

/// 0.1 + 0.2 becomes 0.3, but no number leaves the ends.
fn round_to_twelve_digits(number: f64, from: f64, to: f64) -> f64 {
    if let Some(end) = [from, to].into_iter().find(|end| (number - end).abs() <= 1e-12 * end.abs()) {
        return end;
    }
    let rounded = if number.fract() == 0.0 { number } else { format!("{number:.11e}").parse().unwrap_or(number) };
    rounded.clamp(from, to)
}

pub fn kernel_id(scalar: &Scalar, span: Range<usize>, page: &TomlSource) -> Result<Value> {
    let ids: Vec<_> = kernels::ALL.iter().map(|kernel| kernel.id).collect();
    match scalar {
        Scalar::Text(id) if ids.contains(&id.as_str()) => Ok(Value::from(id.as_str())),
        Scalar::Text(id) => Err(page.error_at(span, format!("there is no kernel \"{id}\""), suggest(id, &ids))),
        _ => Err(page.error_at(span, "the name of a kernel must be text", format!("use one of {}", ids.join(", ")))),
    }
}

/// The error says what is wrong with the value.
fn read_value(parameter: &Parameter, scalar: &Scalar) -> Result<Setting, String> {
    if matches!(parameter.domain, Domain::Choice(_)) {
        let value = match scalar {
            Scalar::Text(word) => Value::from(word.as_str()),
            other => quantity(other, Unit::None)?,
        };
        return Ok(Setting { value: parameter.convert(&value)?, amount: Amount::Total });
    }
    if let (Domain::Size { default, .. }, Some(share)) = (parameter.domain, parse_memory_share(scalar)?) {
        return Ok(Setting { value: default.into(), amount: Amount::MemoryShare(share) });
    }
    if let (Domain::Global { default, .. }, Scalar::Text(word)) = (parameter.domain, scalar)
        && word == BEYOND_CACHES
    {
        return Ok(Setting { value: default.into(), amount: Amount::BeyondCaches });
    }
    let (number, amount) = match scalar {
        Scalar::Text(text) => match text.trim_end().strip_suffix("per rank") {
            Some(number) => (quantity(&Scalar::Text(number.to_owned()), parameter.unit)?, Amount::PerRank),
            None => (quantity(scalar, parameter.unit)?, Amount::Total),
        },
        _ => (quantity(scalar, parameter.unit)?, Amount::Total),
    };
    if amount == Amount::PerRank && matches!(parameter.name, "ranks" | "nodes" | "ranks_per_node") {
        return Err(format!("{} cannot be counted per rank", parameter.name));
    }
    Ok(Setting { value: parameter.convert(&number)?, amount })
}

fn advice(kernel: &str, parameter: &Parameter, scalar: &Scalar) -> String {
    let general = format!("see `apexmap kernels {kernel}` for the meaning and range of {}", parameter.name);
    let Scalar::Text(text) = scalar else { return general };
    let word = text.trim_start_matches(|c: char| c.is_ascii_digit() || " ._".contains(c));
    let choices = match parameter.domain {
        Domain::Choice(words) => words.to_vec(),
        Domain::Global { .. } => [units::suffix_names(parameter.unit), vec![BEYOND_CACHES]].concat(),
        _ => units::suffix_names(parameter.unit),
    };
    match nearest_name(word, choices.iter().copied()) {
        Some(other) if other != word => format!("did you mean \"{other}\"? Otherwise {general}"),
        _ => general,
    }
}

pub fn quantity(scalar: &Scalar, unit: Unit) -> Result<Value, String> {
    match scalar {
        Scalar::Integer(v) => Ok(u64::try_from(*v).map_or(Value::Real(*v as f64), Value::Integer)),
        Scalar::Real(v) => Ok(Value::Real(*v)),
        Scalar::Text(text) => units::parse(text, unit).map(Value::Real),
    }
}
