//! "Did you mean ...?"

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
