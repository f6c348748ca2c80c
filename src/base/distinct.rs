//! Lists that hold each item once, in the order of the first.

/// In order, each once.
pub fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    items.into_iter().for_each(|item| push_new(&mut seen, item));
    seen
}

/// Adds an item that the list does not have.
pub fn push_new<T: PartialEq>(items: &mut Vec<T>, item: T) {
    if !items.contains(&item) {
        items.push(item);
    }
}
