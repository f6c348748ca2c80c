//! Columns that a user may mean by an unknown name.

use super::columns::{self, ColumnDescription, Role};
use apexmap_base::name_lookup::nearest_name;
use apexmap_base::units;

/// Words for quantities that columns name otherwise, with a part of their names.
const SYNONYMS: [(&str, &[&str]); 8] = [
    ("latency", &["cycles_per_operation", "seconds"]),
    ("time", &["seconds"]),
    ("rate", &["operations_per_second"]),
    ("throughput", &["bytes_per_second", "operations_per_second"]),
    ("speed", &["bytes_per_second", "operations_per_second"]),
    ("size", &["memory_words", "bytes"]),
    ("cores", &["ranks"]),
    ("processes", &["ranks"]),
];

const MAX_SUGGESTIONS: usize = 2;

/// Returns the advice about an unknown column: the columns among `names` that the user may mean, and the command that lists the rest.
pub fn advise(given: &str, names: &[String]) -> String {
    let list_hint = "`apexmap status RESULT --columns` lists the columns";
    let similar: Vec<String> = similar(given, names).iter().map(|name| format!("\"{name}\"")).collect();
    if similar.is_empty() {
        list_hint.to_owned()
    } else {
        format!("did you mean {}? {list_hint}", similar.join(" or "))
    }
}

fn similar<'a>(given: &str, names: &'a [String]) -> Vec<&'a str> {
    let all_names = names.iter().flat_map(|name| [columns::short(name), name.as_str()]);
    if let Some(name) = nearest_name(given, all_names.collect::<Vec<_>>()) {
        return vec![name];
    }
    let described: Vec<(&str, ColumnDescription)> =
        names.iter().map(|name| (name.as_str(), columns::describe(name))).collect();
    let select = |matches: &dyn Fn(&str, &ColumnDescription) -> bool| {
        let mut selected: Vec<_> = described.iter().filter(|(name, about)| matches(name, about)).collect();
        selected.sort_by_key(|(_, about)| importance(about.role));
        selected.into_iter().map(|(name, _)| columns::short(name)).take(MAX_SUGGESTIONS).collect::<Vec<_>>()
    };
    let word = given.to_lowercase();
    let synonyms = SYNONYMS.iter().find(|(synonym, _)| *synonym == word).map_or(&[][..], |(_, columns)| columns);
    [
        select(&|_, about| units::scale(about.unit, given).is_some()),
        select(&|name, _| synonyms.contains(&name)),
        select(&|name, about| word.len() > 2 && (name.contains(&word) || about.label.to_lowercase().contains(&word))),
    ]
    .into_iter()
    .find(|suggested| !suggested.is_empty())
    .unwrap_or_default()
}

fn importance(role: Role) -> usize {
    [Role::Rate, Role::Output, Role::Parameter, Role::Bound, Role::Sample, Role::Launch]
        .iter()
        .position(|other| *other == role)
        .unwrap_or(usize::MAX)
}
