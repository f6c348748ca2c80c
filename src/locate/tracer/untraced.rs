//! Programs that a program started, from the log of valgrind and of the tool.

use apexmap_base::terminal::to_printable;
use apexmap_base::units::seconds;
use std::collections::{BTreeMap, BTreeSet};

/// How the tool begins its lines: `child 4711 /bin/ls`, without a program for a process that was only forked.
const CHILD: &str = "child ";
/// The line of a program that begins: what others that it replaced had started does not count.
const BEGIN: &str = "\nbegin\n";
const MOST_NAMES: usize = 3;
/// SOURCE: `USER_HZ` of Linux, the same on all processors.
const TICKS_PER_SECOND: f64 = 100.0;

/// Returns a sentence about all that was not traced. `ticks`: processor time of the traced program and of its children.
pub fn sentence(log: &str, ticks: [u64; 2], is_replaced: bool) -> Option<String> {
    let own = log.rsplit_once(BEGIN).map_or(log, |(_, own)| own);
    let lines = own.lines().filter_map(|line| line.strip_prefix(CHILD)?.split_once(' '));
    let last_lines: BTreeMap<&str, &str> = lines.collect();
    let (forked, started): (Vec<&str>, Vec<&str>) = last_lines.into_values().partition(|program| program.is_empty());
    let names: BTreeSet<_> = started.iter().map(|name| to_printable(name)).collect();
    let names: Vec<_> = names.into_iter().take(MOST_NAMES).collect();
    let parts = [
        (!started.is_empty()).then(|| format!("programs that it started ({}: {})", started.len(), names.join(", "))),
        (!forked.is_empty()).then(|| format!("copies of itself that it forked ({})", forked.len())),
        is_replaced.then(|| "the program that replaced it, which valgrind cannot run".to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let [own, waited] = ticks.map(|ticks| seconds(ticks as f64 / TICKS_PER_SECOND));
    let time = match ticks[1] {
        0 => String::new(),
        _ => format!(" They took {waited} of processor time, the traced part {own} under valgrind."),
    };
    let advice = names.first().map_or(String::new(), |name| format!(" Name one itself: apexmap locate -- {name}"));
    (!parts.is_empty()).then(|| format!("Not traced: {}.{time}{advice}", parts.join(", ")))
}

/// Returns the first message of valgrind.
pub fn first_message(log: &str) -> String {
    let lines = log.lines().filter(|line| !line.starts_with(CHILD) && *line != BEGIN.trim());
    let line = lines.map(|line| line.trim_start_matches("valgrind:").trim()).find(|line| !line.is_empty());
    line.unwrap_or("it printed no message").to_owned()
}
