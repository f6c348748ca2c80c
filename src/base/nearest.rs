//! Look-up of names that users write: "did you mean ...?", families, parts of names.

use crate::error::{Error, Result};

/// Returns the known name that is most similar to `name`, if one is similar enough. `hypercube` matches
/// `random_access.hypercube`.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str, IntoIter: Clone>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let distance = |other: &str| strsim::damerau_levenshtein(&wanted, &other.to_lowercase());
    // For equal distances, prefer the longest common beginning: people mistype ends.
    let alike = |other: &str| name.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let known = known.into_iter();
    let last = |other: &&str| other.rsplit_once('.').is_some_and(|(_, last)| last == wanted);
    if let Some(other) = known.clone().find(last) {
        return Some(other);
    }
    let best = known.min_by_key(|other| (distance(other), std::cmp::Reverse(alike(other))))?;
    // Up to a third of wrong letters counts as a typing error; more is a different word.
    (distance(best) <= wanted.chars().count().max(best.chars().count()) / 3).then_some(best)
}

/// Returns the advice about an unknown name: the nearest known name, if one is similar, then all known names.
pub fn suggest(name: &str, known: &[&str]) -> String {
    let all = known.join(", ");
    match nearest(name, known.iter().copied()) {
        Some(other) => format!("did you mean \"{other}\"? Known are: {all}"),
        None => format!("known are: {all}"),
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
///
/// # Errors
/// Fails if nothing matches. The error suggests the nearest id or family.
pub fn look_up<'a>(what: &str, name: &str, entries: &[(&'a str, &'a str)]) -> Result<NameMatch<'a>> {
    let wanted = name.to_lowercase().replace('-', "_");
    let with = |matches: &dyn Fn(&str) -> bool| -> Vec<usize> {
        (0..entries.len()).filter(|&at| matches(entries[at].0)).collect()
    };
    let exact = with(&|id| id == wanted);
    let parts = || with(&|id| id.split_once('.').is_some_and(|(family, last)| family == wanted || last == wanted));
    let found = if exact.is_empty() { parts() } else { exact };
    if !found.is_empty() {
        return Ok(NameMatch::Entries(found));
    }
    let mentions = |text: &str| text.to_lowercase().contains(&name.to_lowercase());
    let mentioned: Vec<_> = entries.iter().copied().filter(|(id, about)| mentions(id) || mentions(about)).collect();
    if !mentioned.is_empty() {
        return Ok(NameMatch::Mentioned(mentioned));
    }
    let mut families: Vec<&str> = entries.iter().filter_map(|(id, _)| id.split('.').next()).collect();
    families.sort();
    families.dedup();
    let list = format!("`apexmap {what}s` lists the {what}s; families are {}", families.join(", "));
    let next = match nearest(&wanted, entries.iter().map(|(id, _)| *id).chain(families)) {
        Some(other) => format!("did you mean \"{other}\"? {list}"),
        None => list,
    };
    Err(Error::input(format!("there is no {what} and no family \"{name}\""), next))
}
