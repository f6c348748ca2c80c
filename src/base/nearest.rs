//! Names as users write them: "did you mean ...?", families, parts of names.

use crate::error::{Error, Result};

/// The known name that is most like `name`, unless none is alike. `hypercube` is like `random_access.hypercube`.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str, IntoIter: Clone>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let distance = |other: &str| strsim::damerau_levenshtein(&wanted, &other.to_lowercase());
    // Of equally distant names the one that begins alike: people mistype ends.
    let alike = |other: &str| name.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let known = known.into_iter();
    let last = |other: &&str| other.rsplit_once('.').is_some_and(|(_, last)| last == wanted);
    if let Some(other) = known.clone().find(last) {
        return Some(other);
    }
    let best = known.min_by_key(|other| (distance(other), std::cmp::Reverse(alike(other))))?;
    // A third of the letters wrong is still a typing error; more is another word.
    (distance(best) <= wanted.chars().count().max(best.chars().count()) / 3).then_some(best)
}

/// What to do about an unknown name: the nearest one if there is one, then all of them.
pub fn suggest(name: &str, known: &[&str]) -> String {
    let all = known.join(", ");
    match nearest(name, known.iter().copied()) {
        Some(other) => format!("did you mean \"{other}\"? Known are: {all}"),
        None => format!("known are: {all}"),
    }
}

/// What a user means by a name among `family.variant` ids.
pub enum NameMatch<'a> {
    /// These entries: an id, all ids of a family, or all with this last part.
    Entries(Vec<usize>),
    /// No id, but a word in the ids or summaries of these.
    Mentioned(Vec<(&'a str, &'a str)>),
}

/// Looks a name up among ids with their summaries; `-` counts as `_`. `what` is what they are: `kernel`.
///
/// # Errors
/// If nothing matches: the error names the nearest id or family.
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
