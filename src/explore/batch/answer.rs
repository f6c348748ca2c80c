//! What batch systems answer.

use super::JobState;
use super::template::{Question, Template};
use nix::unistd::Uid;
use std::collections::BTreeMap;

/// What is known of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub id: String,
    /// The job's name, if the answer has it.
    pub name: String,
    pub state: JobState,
    /// The system's own words: the reason why a job waits, the state where that is not known here.
    pub reason: String,
    /// When the system expects it to start, in its own words.
    pub start: String,
}

/// The id of a job that was just submitted; `None` if the output has none.
pub fn submitted(template: &Template, output: &str) -> Option<String> {
    let between = &template.id;
    let line = |line: &str| {
        let start = line.find(&between.behind)? + between.behind.len();
        let end = |c: char| c.is_whitespace() || between.until.contains(c);
        let id = line[start..].trim_start().split(end).next()?;
        is_id(id).then(|| id.to_owned())
    };
    // Sites print news before the answer.
    output.lines().rev().find_map(line)
}

/// Whether a word can be the id of one job: a number that is not 0, whatever follows it; or as Flux writes it, `ƒ` or `f` and digits
/// and letters. Others are options of a command, and words that stand for all jobs of a user: `0` of LSF, `all` of Torque.
pub fn is_id(word: &str) -> bool {
    let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
    let is_number = digits.contains(|digit| digit != '0');
    let of_flux = word.strip_prefix(['ƒ', 'f']).is_some_and(|rest| {
        rest.contains(|c: char| c.is_ascii_digit()) && rest.chars().all(|c| c.is_ascii_alphanumeric())
    });
    (is_number || of_flux) && !word.contains(|c: char| c.is_whitespace() || c.is_control() || c == ',')
}

/// The jobs in an answer, by their short ids. Lines that do not fit are news of the site.
pub fn jobs(template: &Template, question: &Question, output: &str) -> BTreeMap<String, Answer> {
    let mut jobs = BTreeMap::new();
    for line in output.lines() {
        let fields: Vec<&str> = match &question.separator {
            Some(separator) => line.split(separator.as_str()).map(str::trim).collect(),
            None => line.split_whitespace().collect(),
        };
        let field = |at: i32| {
            let at = if at < 0 { fields.len().checked_sub(at.unsigned_abs() as usize)? } else { at as usize };
            fields.get(at).copied().filter(|text| !text.is_empty())
        };
        let optional = |at: Option<i32>| at.and_then(field).unwrap_or_default().to_owned();
        let (Some(id), Some(word)) = (field(question.id), field(question.state)) else { continue };
        let id = template.short(id);
        if !id.contains(|c: char| c.is_alphanumeric()) || !fields_fit(question, fields.len()) {
            continue;
        }
        let reason = optional(question.reason);
        let (state, reason) = meaning(template, word, reason);
        let job =
            Answer { id: id.into(), name: optional(question.name), state, reason, start: optional(question.start) };
        jobs.insert(job.id.clone(), job);
    }
    jobs
}

/// Whether a line has all columns of a question.
fn fields_fit(question: &Question, fields: usize) -> bool {
    let columns = [Some(question.id), Some(question.state), question.name, question.reason, question.start];
    columns
        .into_iter()
        .flatten()
        .all(|at| if at < 0 { at.unsigned_abs() as usize <= fields } else { (at as usize) < fields })
}

/// What a word for a state means, and what more there is to say. Whatever is not known may still run: the job is watched on.
fn meaning(template: &Template, word: &str, reason: String) -> (JobState, String) {
    // "CANCELLED by 1000", and a + where a column is too narrow.
    let (first, by) = word.split_once(" by ").unwrap_or((word.trim_end_matches('+'), ""));
    let known = template.states.get(first);
    let by_reason = template.reasons.iter().find(|(part, _)| reason.contains(part.as_str())).map(|(_, state)| *state);
    match (known, by_reason) {
        (_, Some(state)) => (state, reason),
        (Some(JobState::Cancelled), None) if !by.is_empty() && by != Uid::effective().to_string() => {
            (JobState::Removed, format!("by user {by}"))
        }
        (Some(state), None) => (*state, reason),
        (None, None) => (JobState::Running, format!("its state {word} is not known here")),
    }
}

/// What the least of a partition's nodes has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeSize {
    pub cores_of_socket: usize,
    pub cores: usize,
    pub hardware_threads: usize,
    /// In bytes.
    pub memory: u64,
}

/// The least of each among the nodes of an answer: of the default partition, if one is marked.
pub fn nodes(text: &str) -> Option<NodeSize> {
    let marked = text.lines().any(|line| line.split_whitespace().next().is_some_and(|name| name.ends_with('*')));
    let node = |line: &str| {
        let mut words = line.split_whitespace();
        words.next().filter(|name| !marked || name.ends_with('*'))?;
        // "64+" means 64 or more.
        let mut number = || words.next()?.trim_end_matches('+').parse::<usize>().ok().filter(|number| *number > 0);
        let (sockets, cores, threads, mebibytes) = (number()?, number()?, number()?, number()?);
        let cores_of_node = sockets.checked_mul(cores)?;
        Some(NodeSize {
            cores_of_socket: cores,
            cores: cores_of_node,
            hardware_threads: cores_of_node.checked_mul(threads)?,
            memory: (mebibytes as u64).checked_mul(1 << 20)?,
        })
    };
    text.lines().filter_map(node).reduce(|a, b| NodeSize {
        cores_of_socket: a.cores_of_socket.min(b.cores_of_socket),
        cores: a.cores.min(b.cores),
        hardware_threads: a.hardware_threads.min(b.hardware_threads),
        memory: a.memory.min(b.memory),
    })
}
