//! The list of launchers. Sweep files, schemas and command lines take their names from it.

use super::{LauncherEntry, custom, local, openmpi, template};
use apexmap_base::error::{Error, Result};
use apexmap_base::name_lookup::suggest;
use apexmap_measure::comm::TransportKind;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;
use std::sync::LazyLock;

const TEMPLATES: &[(&str, &str)] = &[
    ("mpich", include_str!("templates/mpich.toml")),
    ("srun", include_str!("templates/srun.toml")),
    ("pals", include_str!("templates/pals.toml")),
    ("flux", include_str!("templates/flux.toml")),
];

/// A test reads each template.
pub static LAUNCHERS: LazyLock<Vec<LauncherEntry>> = LazyLock::new(|| {
    let templates = TEMPLATES.iter().map(|(id, text)| template::entry(id, text).expect("a built-in template is valid"));
    [local::entry(), local::simulated_entry(), openmpi::entry()]
        .into_iter()
        .chain(templates)
        .chain([custom::entry()])
        .collect()
});

/// Launchers of machines out of service: the name, the equivalent `custom` command, and its arguments for ranks per node.
const RETIRED: &[(&str, &str, &str)] = &[
    (
        "aprun",
        r#"["aprun", "-n", "{ranks}", "-j", "1", "-cc", "cpu", "{worker}", "{arguments}"]"#,
        r#""-N", "{ranks_per_node}""#,
    ),
    (
        "jsrun",
        r#"["jsrun", "--nrs={ranks}", "--tasks_per_rs=1", "--cpu_per_rs=1", "--bind=rs", "--exit_on_error=1", "{worker}", "{arguments}"]"#,
        r#""--rs_per_host={ranks_per_node}""#,
    ),
];

/// The launcher with this id; the error suggests the nearest name.
pub fn find(id: &str) -> Result<&'static LauncherEntry> {
    if let Some(entry) = LAUNCHERS.iter().find(|entry| entry.id == id) {
        return Ok(entry);
    }
    if let Some((_, command, per_node)) = RETIRED.iter().find(|(retired, ..)| *retired == id) {
        return Err(Error::input(
            format!("apexmap no longer has the launcher \"{id}\": its machines are out of service"),
            format!("use launcher = \"custom\" with command = {command}; if ranks_per_node is set, add {per_node}"),
        ));
    }
    let ids: Vec<&str> = LAUNCHERS.iter().map(|entry| entry.id).collect();
    Err(Error::input(format!("unknown launcher \"{id}\""), suggest(id, &ids)))
}

pub fn launchers_for(transport: TransportKind) -> impl Iterator<Item = &'static LauncherEntry> {
    LAUNCHERS.iter().filter(move |entry| entry.transport == transport)
}

/// As in `"openmpi", "mpich" or "srun"`.
pub fn list_ids(entries: impl Iterator<Item = &'static LauncherEntry>) -> String {
    let names: Vec<String> = entries.map(|entry| format!("\"{}\"", entry.id)).collect();
    match names.split_last() {
        Some((last, rest @ [_, ..])) => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

impl JsonSchema for LauncherEntry {
    fn schema_name() -> Cow<'static, str> {
        "Launcher".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let launcher_schema = |entry: &LauncherEntry| serde_json::json!({ "description": entry.summary, "type": "string", "const": entry.id });
        json_schema!({ "description": "The program that starts the ranks.", "oneOf": LAUNCHERS.iter().map(launcher_schema).collect::<Vec<_>>() })
    }
}
