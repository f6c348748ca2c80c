//! The runs in a text: those of one program or of several, one after the other, perhaps with the labels of a launcher.

use super::values::Values;
use super::{READERS, Reader};
use std::collections::HashMap;

/// Reads all runs of a text. Runs that cannot be read are left out with a note. `None` without a run; the error is that of the first.
pub fn read(text: &str) -> Option<Result<Vec<Values>, (&'static Reader, String)>> {
    let text = without_labels(text);
    let runs = split(&text);
    let (count, mut read, mut problems) = (runs.len(), Vec::new(), Vec::new());
    for (index, (reader, run)) in runs.into_iter().enumerate() {
        match (reader.read)(run) {
            Ok(values) => read.push(values),
            Err(problem) => problems.push((reader, problem, index + 1)),
        }
    }
    if read.is_empty() {
        return problems.into_iter().next().map(|(reader, problem, _)| Err((reader, problem)));
    }
    let note = |(reader, problem, number): (&Reader, String, usize)| {
        format!("Run {number} of {count} in a file, of {}, is left out: it {problem}.", reader.name)
    };
    read[0].notes.extend(problems.into_iter().map(note));
    Some(Ok(read))
}

/// The reader of the first run.
pub fn find_reader(text: &str) -> Option<&'static Reader> {
    split(&without_labels(text)).first().map(|(reader, _)| *reader)
}

/// In lower case, the starts of lines that end a table. Later lines belong to the next one.
const TABLE_ENDS: [&str; 4] = ["triad", "dot", "nstream", "end of summary section."];

fn split(text: &str) -> Vec<(&'static Reader, &str)> {
    let (mut starts, mut offset): (Vec<(usize, &'static Reader)>, usize) = (Vec::new(), 0);
    let (mut has_table, mut is_in_stream_of_hpcc, mut table_end) = (false, false, 0);
    for line in text.split_inclusive('\n') {
        let lower = line.to_lowercase();
        let contains_one = |marks: &[&str]| marks.iter().any(|mark| lower.contains(mark));
        if lower.contains("stream section.") {
            is_in_stream_of_hpcc = lower.contains("begin of ");
        }
        for reader in &READERS {
            let is_open = starts.last().is_some_and(|(_, open)| open.name == reader.name);
            let is_table = contains_one(reader.tables);
            let is_start = contains_one(reader.heads) || is_table && (!is_open || has_table && reader.has_one_table);
            if is_start && (is_open || !is_in_stream_of_hpcc) {
                // Settings may precede a table.
                let has_settings = is_table && starts.last().is_none_or(|(start, _)| *start < table_end);
                starts.push((if has_settings { table_end } else { offset }, reader));
                (has_table, is_in_stream_of_hpcc) = (is_table, false);
                break;
            }
            has_table |= is_open && is_table;
        }
        offset += line.len();
        let is_end = contains_one(&["validat"]) || TABLE_ENDS.iter().any(|start| lower.trim_start().starts_with(start));
        table_end = if has_table && is_end { offset } else { table_end };
    }
    let ends = starts.iter().skip(1).map(|(start, _)| *start).chain([text.len()]);
    let runs = starts.iter().zip(ends).map(|((start, reader), end)| (*reader, &text[*start..end]));
    // One line before a run may be the command that started it.
    let is_command = |(reader, run): &(&Reader, &str), next: Option<&(usize, &Reader)>| {
        run.trim_end().lines().count() == 1 && next.is_some_and(|(_, next)| next.name == reader.name)
    };
    (1..).zip(runs).filter(|(number, run)| !is_command(run, starts.get(*number))).map(|(_, run)| run).collect()
}

/// Ends lines as on Linux, and removes colours and the labels that launchers put before each line. Lines with another label follow.
fn without_labels(text: &str) -> String {
    let text = without_colours(text).replace("\r\n", "\n").replace('\r', "\n");
    let (mut parts, mut places): (Vec<String>, HashMap<&str, usize>) = Default::default();
    for line in text.split_inclusive('\n') {
        let (label, rest) = split_label(line);
        let place = *places.entry(label).or_insert(parts.len());
        parts.resize(parts.len().max(place + 1), String::new());
        parts[place].push_str(rest);
    }
    parts.concat()
}

/// Removes sequences such as `\x1b[1;32m`, which terminals show as colours.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.trim_start_matches(|c: char| !c.is_ascii_alphabetic()).get(1..).unwrap_or_default()
    })
}

/// Splits off the label of `srun -l` (`3: `), of Open MPI's `--tag-output` (`[1,3]<stdout>:`) or of MPICH's `-l` (`[3] `).
fn split_label(line: &str) -> (&str, &str) {
    let is_rank = |label: &str| !label.is_empty() && label.len() < 9 && label.bytes().all(|byte| byte.is_ascii_digit());
    let text = line.trim_start_matches(' ');
    for stream in ["<stdout>:", "<stderr>:"] {
        if let Some((label, rest)) = text.split_once(stream).filter(|(label, _)| label.ends_with(']')) {
            // A time may precede.
            return (label.rfind('[').map_or(label, |start| &label[start..]), rest.strip_prefix(' ').unwrap_or(rest));
        }
    }
    let bracketed = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    match bracketed.or_else(|| text.split_once(':')) {
        Some((label, rest)) if is_rank(label) && rest.starts_with([' ', '\n']) => {
            (label, rest.strip_prefix(' ').unwrap_or(rest))
        }
        _ => ("", line),
    }
}
