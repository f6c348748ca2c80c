//! The parameters of a command are known only to the user, as are its values. The whole specification is therefore one parameter of
//! the point, [`COMMAND`], as JSON. Samples thus describe themselves, another command makes samples stale, and readers of earlier
//! versions take it as they take any word.

mod environment;
mod program;
mod specification;
mod start;
mod value;

pub use program::Finished;
use specification::Resolved;
pub use specification::{KEYS, Specification};
pub use start::Program;
pub use value::{Better, PEAK_BYTES, SYSTEM_SECONDS, USER_SECONDS, ValueSpec, is_name, parse_number};

pub use super::parameter::COMMAND;

use super::{CORE_NODE, Kernel, Outcome, Output, Ranks, Refusal, Work};
use crate::observer;
use crate::refusal;
use apexmap_base::error::Result;
use apexmap_base::point::{Point, Value};
use apexmap_base::source::Source;
use apexmap_base::units::Unit;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, OnceLock, PoisonError};

const SOURCE: Source =
    Source { authors: "the user", title: "the program that the sweep names", short: "the sweep's command" };

pub static KERNEL: Kernel = Kernel {
    id: "command",
    summary: "Any program: its wall time, its memory, and values that it prints",
    source: &SOURCE,
    place: "docs/command.md",
    has_own_parameters: true,
    outputs: &[
        Output {
            column: USER_SECONDS,
            unit: Unit::Seconds,
            meaning: "processor time of the program's own instructions",
        },
        Output { column: SYSTEM_SECONDS, unit: Unit::Seconds, meaning: "processor time of the system for the program" },
        Output { column: PEAK_BYTES, unit: Unit::Bytes, meaning: "largest resident memory of one of its processes" },
    ],
    // More than one are started by a launcher, in front of the program.
    ranks: Ranks::Any,
    headline: "seconds",
    method: "A sample is one run of the program, from its start to its end. The time of set-up, clean-up and warm-up runs does not \
        count. A run counts if its exit code is a success and its output has every value.",
    plain_way: Some("a program"),
    refuse,
    work: |_| Work::new(1.0, "run", 0.0, "none"),
    repeated_output: |point| Some(specification(point).ok()?.value.first()?.column()),
    run: |point, _, _| run(point),
    ..Kernel::DEFAULT
};

pub fn specification(point: &Point) -> Result<Specification, String> {
    match point.params.get(COMMAND) {
        Some(Value::Text(text)) => Specification::parse(text),
        _ => Err("the point has no command".into()),
    }
}

fn parameters(point: &Point) -> BTreeMap<String, Value> {
    let ranks = ("ranks".to_owned(), Value::Integer(point.ranks as u64));
    point.params.clone().into_iter().chain([ranks]).collect()
}

fn refuse(point: &Point) -> Result<(), Refusal> {
    let specification = specification(point).map_err(|message| refusal!(["kernel"], "{message}"))?;
    specification.resolve(&parameters(point)).map_err(|message| refusal!(["kernel"], "{message}"))?;
    if point.params.contains_key(CORE_NODE.parameter.name) {
        return Err(refusal!(
            ["core_node"],
            "a command has its cores from the key cores in [fixed], not from core_node"
        ));
    }
    let used = specification.placeholders();
    let is_own = |name: &&String| *name != COMMAND && is_own_parameter(name);
    match point.params.keys().filter(is_own).find(|name| !used.contains(name.as_str())) {
        Some(name) => {
            Err(refusal!(["kernel"], "nothing uses the parameter {name}; write {{{name}}} in the command or in env"))
        }
        None => Ok(()),
    }
}

pub fn is_own_parameter(name: &str) -> bool {
    name != apexmap_base::point::NODE && super::LAUNCH_PARAMETERS.iter().all(|parameter| parameter.name != name)
}

/// After its set-up and its warm-up runs. A run that fails is an outcome without a time.
fn run(point: &Point) -> Result<Outcome> {
    let failed = |why: String| Outcome { seconds: f64::NAN, outputs: BTreeMap::new(), verdict: Err(why) };
    Ok(measure(point).unwrap_or_else(failed))
}

/// The words in front of every program: a launcher that starts it on the ranks of this launch.
static STARTER: OnceLock<Vec<String>> = OnceLock::new();

/// Set-up and clean-up commands run alone.
pub fn start_with(words: Vec<String>) {
    // A worker has one launch.
    let _ = STARTER.set(words);
}

/// Returns why the point has no value.
pub fn measure(point: &Point) -> Result<Outcome, String> {
    let specification = specification(point)?;
    let mut resolved = specification.resolve(&parameters(point))?;
    resolved.program.arguments.splice(0..0, STARTER.get().into_iter().flatten().cloned());
    let runs_before = if specification.warm_up_first > 0 && is_first(point) { specification.warm_up_first } else { 0 };
    (0..runs_before).try_for_each(|_| measure_once(&specification, &resolved).map(drop))?;
    measure_once(&specification, &resolved)
}

/// Whether this process, which has one launch, measures the point for the first time.
fn is_first(point: &Point) -> bool {
    static BEGUN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    BEGUN.lock().unwrap_or_else(PoisonError::into_inner).insert(format!("{point:?}"))
}

fn measure_once(specification: &Specification, resolved: &Resolved) -> Result<Outcome, String> {
    let run = |program: &Program| program.run(specification.time_limit);
    let help = |part: &str, why: String| format!("{part}: {why}");
    if let Some(setup) = &resolved.setup {
        run(setup).and_then(|done| done.require_success(&[0])).map_err(|why| help("set-up", why))?;
    }
    for _ in 0..specification.warm_up {
        run(&resolved.program).map_err(|why| help("warm-up run", why))?;
    }
    observer::clock_starts();
    let finished = run(&resolved.program);
    observer::clock_stops();
    let cleaned = resolved.cleanup.as_ref().map(|cleanup| run(cleanup).and_then(|done| done.require_success(&[0])));
    let finished = finished?;
    observer::replace_facts(finished.facts());
    finished.require_success(&specification.success)?;
    cleaned.transpose().map_err(|why| help("clean-up", why))?;
    let mut outputs = BTreeMap::from([
        (USER_SECONDS, Value::Real(finished.user)),
        (SYSTEM_SECONDS, Value::Real(finished.system)),
        (PEAK_BYTES, Value::Integer(finished.peak_bytes)),
    ]);
    for value in &specification.value {
        if let Some(number) = value.extract(&finished)? {
            outputs.insert(static_name(&value.column()), Value::Real(number));
        }
    }
    Ok(Outcome { seconds: finished.wall, outputs, verdict: Ok(()) })
}

/// Lives as long as the process. Outputs of all other kernels have names in the source; those of commands are few, so that the
/// memory is bounded.
pub fn static_name(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    match names.get(name) {
        Some(name) => name,
        None => {
            let leaked: &'static str = Box::leak(name.to_owned().into_boxed_str());
            names.insert(leaked);
            leaked
        }
    }
}
