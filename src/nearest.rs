//! "Did you mean ...?"

/// The known name that is most like `name`, unless none is alike.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let distance = |other: &str| strsim::damerau_levenshtein(&wanted, &other.to_lowercase());
    let best = known.into_iter().map(|other| (distance(other), other)).min_by_key(|(distance, _)| *distance);
    // A third of the letters wrong is still a typing error; more is another word.
    best.filter(|(distance, other)| *distance <= wanted.chars().count().max(other.chars().count()) / 3).map(|(_, n)| n)
}

/// What to do about an unknown name: the nearest one if there is one, then all of them.
pub fn suggest(name: &str, known: &[&str]) -> String {
    let all = known.join(", ");
    match nearest(name, known.iter().copied()) {
        Some(other) => format!("did you mean \"{other}\"? Known are: {all}"),
        None => format!("known are: {all}"),
    }
}
