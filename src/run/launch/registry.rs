//! The list of launchers, and the names that sweep files, schemas and command lines take from it.

use super::{LauncherEntry, custom, local, openmpi, template};
use apexmap_base::error::{Error, Result};
use apexmap_base::nearest::suggest;
use apexmap_measure::comm::TransportKind;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;
use std::sync::LazyLock;

/// Launchers that are data: name and template.
const TEMPLATES: &[(&str, &str)] = &[
    ("mpich", include_str!("templates/mpich.toml")),
    ("srun", include_str!("templates/srun.toml")),
    ("pals", include_str!("templates/pals.toml")),
    ("flux", include_str!("templates/flux.toml")),
];

/// Every launcher of the program. A test reads each template.
pub static ALL: LazyLock<Vec<LauncherEntry>> = LazyLock::new(|| {
    let templates = TEMPLATES.iter().filter_map(|(id, text)| template::entry(id, text).ok());
    [local::entry(), openmpi::entry()].into_iter().chain(templates).chain([custom::entry()]).collect()
});

/// Launchers of machines that are no longer in service, the commands that start ranks as they did, and the arguments for ranks on a node.
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

/// The launcher with this id; the error names the nearest one.
pub fn find(id: &str) -> Result<&'static LauncherEntry> {
    if let Some(entry) = ALL.iter().find(|entry| entry.id == id) {
        return Ok(entry);
    }
    if let Some((_, command, per_node)) = RETIRED.iter().find(|(retired, ..)| *retired == id) {
        return Err(Error::input(
            format!("launcher \"{id}\" was removed: its machines are no longer in service"),
            format!("use launcher = \"custom\" with command = {command}; where ranks_per_node is set, add {per_node}"),
        ));
    }
    let ids: Vec<&str> = ALL.iter().map(|entry| entry.id).collect();
    Err(Error::input(format!("\"{id}\" is not known here"), suggest(id, &ids)))
}

/// The launchers of a transport.
pub fn starting(transport: TransportKind) -> impl Iterator<Item = &'static LauncherEntry> {
    ALL.iter().filter(move |entry| entry.transport == transport)
}

/// `"openmpi", "mpich" or "srun"`.
pub fn ids(entries: impl Iterator<Item = &'static LauncherEntry>) -> String {
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
        let one = |entry: &LauncherEntry| serde_json::json!({ "description": entry.summary, "type": "string", "const": entry.id });
        json_schema!({ "description": "What starts the ranks.", "oneOf": ALL.iter().map(one).collect::<Vec<_>>() })
    }
}
