//! Where predictions hold. Inside of the domains of all numbers, a prediction is a value. Outside, it is extrapolated and
//! labelled so in a variable that the model has a term for, and refused in all others.

use super::{ALL, About, Model, Parameter, Variable, card_number};
use crate::machine::{Card, Domain, Extent, KERNEL, entry_of};
use apexmap_base::distinct::push_new;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Value;
use apexmap_base::units::exact_number;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq)]
pub struct NumberDomain {
    /// Symbol of the number in the paper.
    pub symbol: &'static str,
    pub domain: Domain,
}

/// A variable in which a prediction is extrapolated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Extrapolation {
    pub variable: &'static str,
    /// The values for which the numbers hold.
    pub from: Extent,
}

/// Returns words such as `P = 1 to 8192`; `None` inside of the domains.
pub fn label<'a>(extrapolations: impl IntoIterator<Item = &'a Extrapolation>) -> Option<String> {
    let parts: Vec<String> = extrapolations.into_iter().map(|e| format!("{} = {}", e.variable, e.from)).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Returns the domains of a card's numbers for a model. Numbers with these names have other values than on the card, and no domain.
pub fn domains(model: &dyn Model, card: &Card, replaced: &[(String, f64)]) -> Result<Vec<NumberDomain>> {
    let about = model.about();
    let mut domains = Vec::new();
    for parameter in about.parameters {
        if !is_of_card(parameter, card, replaced) {
            continue;
        }
        let own = domains_of(card, parameter.name_on(card));
        let is_known = |variable: &&&str| own.iter().all(|domain| domain.extent(variable).is_none());
        if let Some(variable) = model.fixed_variables().iter().find(is_known) {
            let (symbol, number) = (parameter.symbol, parameter.number);
            return Err(Error::input(
                format!("the card of {} does not say for which {variable} {symbol} holds ({number})", card.name),
                format!(
                    "add the {variable} of the measurement to [numbers.{number}], such as domain = {{ {variable} = 1024 }}; cards of \
                     `apexmap fit RESULT --model {} --format toml` have it",
                    about.id
                ),
            ));
        }
        domains.extend(own.into_iter().map(|domain| NumberDomain { symbol: parameter.symbol, domain }));
    }
    Ok(domains)
}

fn is_of_card(parameter: &Parameter, card: &Card, replaced: &[(String, f64)]) -> bool {
    let is_replaced = replaced.iter().any(|(name, _)| name == parameter.number);
    !is_replaced && card_number(card, parameter.name_on(card)).is_some()
}

/// Returns the symbols of the numbers without a stated domain. Sizes and other given numbers are properties of the machine.
pub fn without_domain(model: &dyn Model, card: &Card, replaced: &[(String, f64)]) -> Vec<&'static str> {
    let is_without = |parameter: &&Parameter| {
        !parameter.is_given
            && is_of_card(parameter, card, replaced)
            && domains_of(card, parameter.name_on(card)).is_empty()
    };
    model.about().parameters.iter().filter(is_without).map(|parameter| parameter.symbol).collect()
}

fn domains_of(card: &Card, number: &str) -> Vec<Domain> {
    let parts = entry_of(number).and_then(|entry| entry.composite).filter(|_| card.get(number).is_none());
    let names = parts.map_or(vec![number], |composite| composite.parts.to_vec());
    names.into_iter().filter_map(|name| card.domain(name)).cloned().collect()
}

/// Returns the variables in which the model extrapolates at `x`. `option` returns values of kernel and options.
pub fn extrapolations(
    model: &dyn Model,
    domains: &[NumberDomain],
    x: &[f64],
    option: &dyn Fn(&str) -> Vec<Value>,
) -> Result<Vec<Extrapolation>> {
    let about = model.about();
    let mut extrapolations: Vec<Extrapolation> = Vec::new();
    for (name, extent) in domains.iter().flat_map(|number| number.domain.extents()) {
        let variable = about.variable_index(name).map(|place| (&about.variables[place], x[place]));
        let values = variable.map_or_else(|| option(name), |(variable, value)| vec![value_of(variable, value)]);
        let Some(value) = values.into_iter().find(|value| !holds(extent, value)) else { continue };
        match variable.filter(|_| !model.fixed_variables().contains(&name)) {
            None => return Err(refusal(model, domains, name, extent, &value)),
            Some((variable, _)) => {
                push_new(&mut extrapolations, Extrapolation { variable: variable.name, from: extent.clone() });
            }
        }
    }
    Ok(extrapolations)
}

fn value_of(variable: &Variable, value: f64) -> Value {
    variable.words.get(value as usize).map_or(Value::Real(value), |word| Value::from(*word))
}

fn holds(extent: &Extent, value: &Value) -> bool {
    match value {
        Value::Text(word) => extent.has_word(word),
        value => value.as_f64().is_none_or(|number| extent.contains(number)),
    }
}

fn refusal(model: &dyn Model, domains: &[NumberDomain], name: &str, extent: &Extent, value: &Value) -> Error {
    let About { id, explains, .. } = model.about();
    let value = value.as_f64().map_or_else(|| value.to_string(), exact_number);
    let has_term = |other: &&&dyn Model| {
        other.about().variable_index(name).is_some()
            && !other.fixed_variables().contains(&name)
            && other.about().explains.iter().any(|kernel| explains.contains(kernel))
    };
    let with_same = domains.iter().filter(|number| number.domain.extent(name) == Some(extent));
    let mut symbols: Vec<&str> = with_same.map(|number| number.symbol).collect();
    symbols.dedup();
    let next = match ALL.iter().find(has_term) {
        Some(other) => format!("use {}, which has {name} as a variable, or {name} = {extent}", other.about().id),
        None if name == KERNEL => format!("fit {id} to a result of {value}"),
        None => format!("use {name} = {extent}, or fit {id} to a result with {name} = {value}"),
    };
    let holds = if symbols.len() > 1 { "hold" } else { "holds" };
    Error::input(
        format!(
            "{id} has no term for {name}: {} {holds} for {name} = {extent}, not for {name} = {value}",
            symbols.join(" and ")
        ),
        next,
    )
}
