//! Look-up of names that users write: "did you mean ...?", families, parts of names.

use crate::error::{Error, Result};

/// Returns the most similar known name, if one is similar enough. `hypercube` matches `random_access.hypercube`.
pub fn nearest_name<'a>(
    name: &str,
    known_names: impl IntoIterator<Item = &'a str, IntoIter: Clone>,
) -> Option<&'a str> {
    let lowercase = name.to_lowercase();
    // "alfa" sounds like "alpha".
    let sound = |text: &str| text.to_lowercase().replace("ph", "f");
    let distance = |candidate: &str| {
        let spelt = strsim::damerau_levenshtein(&lowercase, &candidate.to_lowercase());
        spelt.min(strsim::damerau_levenshtein(&sound(name), &sound(candidate)))
    };
    // For equal distances, prefer the longest common beginning: people mistype ends.
    let common_prefix = |candidate: &str| name.chars().zip(candidate.chars()).take_while(|(a, b)| a == b).count();
    let known_names = known_names.into_iter();
    let mut last_parts = known_names.clone().filter_map(|candidate| Some((candidate, candidate.rsplit_once('.')?.1)));
    if let Some((candidate, _)) = last_parts.find(|(_, last)| *last == lowercase) {
        return Some(candidate);
    }
    let best =
        known_names.min_by_key(|candidate| (distance(candidate), std::cmp::Reverse(common_prefix(candidate))))?;
    // Up to a third of wrong letters counts as a typing error; more is a different word.
    (distance(best) <= lowercase.chars().count().max(best.chars().count()) / 3).then_some(best)
}

/// Returns the advice about an unknown name: the nearest known name, if one is similar, then all known names.
pub fn suggest(name: &str, known_names: &[&str]) -> String {
    let list = known_names.join(", ");
    match nearest_name(name, known_names.iter().copied()) {
        Some(other) => format!("did you mean \"{other}\"? Known are: {list}"),
        None => format!("known are: {list}"),
    }
}

/// The meaning of a name that a user gives among `family.variant` ids.
pub enum NameMatch<'a> {
    /// The indices of the entries that match: one id, all ids of a family, or all ids with this last part.
    Entries(Vec<usize>),
    /// The name is no id, but these ids or summaries mention it.
    Mentioned(Vec<(&'a str, &'a str)>),
}

/// Looks a name up among ids with their summaries. `-` counts as `_`. `kind` is the kind of entry: `kernel`.
pub fn look_up<'a>(kind: &str, name: &str, entries: &[(&'a str, &'a str)]) -> Result<NameMatch<'a>> {
    let normalised = name.to_lowercase().replace('-', "_");
    let entries_with = |matches: &dyn Fn(&str) -> bool| -> Vec<usize> {
        (0..entries.len()).filter(|&index| matches(entries[index].0)).collect()
    };
    let exact = entries_with(&|id| id == normalised);
    // A family comes before last parts: gpu.apex_map has the name of another family.
    let of_family = entries_with(&|id| family(id) == normalised);
    let by_last_part = entries_with(&|id| id.split_once('.').is_some_and(|(_, last)| last == normalised));
    let matching = [exact, of_family, by_last_part].into_iter().find(|indices| !indices.is_empty()).unwrap_or_default();
    let mut families: Vec<&str> = entries.iter().map(|(id, _)| family(id)).collect();
    families.sort();
    families.dedup();
    let is_family = matching.iter().all(|&index| family(entries[index].0) == normalised);
    // A last part is ambiguous if it is also in the names of other families: "random" is in random_access.
    let others: Vec<&&str> = families.iter().filter(|family| family.contains(&normalised)).collect();
    let is_ambiguous = |index: &usize| others.iter().any(|other| **other != family(entries[*index].0));
    if !matching.is_empty() && (is_family || !matching.iter().any(is_ambiguous)) {
        return Ok(NameMatch::Entries(matching));
    }
    let mentions_name = |text: &str| text.to_lowercase().contains(&name.to_lowercase());
    let mentioned: Vec<_> =
        entries.iter().copied().filter(|(id, about)| mentions_name(id) || mentions_name(about)).collect();
    if !mentioned.is_empty() {
        return Ok(NameMatch::Mentioned(mentioned));
    }
    let list = format!("`apexmap {kind}s` lists the {kind}s; families are {}", families.join(", "));
    let help = match nearest_name(&normalised, entries.iter().map(|(id, _)| *id).chain(families)) {
        Some(other) => format!("did you mean \"{other}\"? {list}"),
        None => list,
    };
    Err(Error::input(format!("there is no {kind} and no family \"{name}\""), help))
}

fn family(id: &str) -> &str {
    id.split('.').next().unwrap_or(id)
}
