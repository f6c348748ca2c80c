//! Parses the answers of batch systems.

use super::JobState;
use super::template::{Question, Template};
use apexmap_run::launch::causes::matches_sign;
use nix::unistd::Uid;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The state of a job, as the batch system reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub id: String,
    /// The job's name, if the answer has it.
    pub name: String,
    pub state: JobState,
    /// The reason why the job waits, in the system's words. For a state that this program does not know, it names the state.
    pub reason: String,
    /// The expected start, in the system's words.
    pub start: String,
    /// The next step if the job may never start, otherwise empty.
    pub help: String,
}

/// Returns the id of the job that was just submitted, or `None` if the output contains none.
pub fn parse_job_id(template: &Template, output: &str) -> Option<String> {
    let id_format = &template.id;
    let is_end = |c: char| c.is_whitespace() || id_format.until.contains(c);
    let read_behind = |text: &str, line: &str| {
        let start = line.find(text).filter(|_| !text.is_empty())? + text.len();
        let id = line[start..].trim_start().split(is_end).next()?;
        is_id(id).then(|| id.to_owned())
    };
    let read_line = |line: &str| {
        let line = line.trim();
        let id = line.split(is_end).next().filter(|_| !line.contains(char::is_whitespace))?;
        // A line of news may begin with digits: 2026-12-01. In an id, `.server` or `[]` may follow the digits.
        let rest = id.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_suffix = rest.is_empty()
            || rest.starts_with('[')
            || rest.starts_with('.') && !rest[1..].starts_with(|c: char| c.is_ascii_digit());
        (is_id(id) && (is_suffix || rest == id)).then(|| id.to_owned())
    };
    // Sites print news before and after the answer.
    let last = |read: &dyn Fn(&str) -> Option<String>| output.lines().rev().find_map(read);
    match id_format.behind.as_str() {
        "" => last(&read_line).or_else(|| last(&|line| read_behind(&id_format.sentence, line))),
        text => last(&|line| read_behind(text, line)),
    }
}

/// Returns true if the word can be the id of one job. An id starts with digits that are not all 0, or it has Flux's form: `ƒ` or
/// `f`, then letters and digits with at least one digit. Other words are options, or stand for all jobs of a user: `0` in LSF,
/// `all` in Torque.
pub fn is_id(word: &str) -> bool {
    let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
    let is_number = digits.contains(|digit| digit != '0');
    let of_flux = word.strip_prefix(['ƒ', 'f']).is_some_and(|rest| {
        rest.contains(|c: char| c.is_ascii_digit()) && rest.chars().all(|c| c.is_ascii_alphanumeric())
    });
    (is_number || of_flux) && !word.contains(|c: char| c.is_whitespace() || c.is_control() || c == ',')
}

/// Returns the jobs of an answer by their short ids. Lines with other columns are news of the site.
pub fn parse_jobs(template: &Template, question: &Question, output: &str) -> BTreeMap<String, Answer> {
    let mut jobs = BTreeMap::new();
    for line in output.lines() {
        let fields: Vec<&str> = match &question.separator {
            Some(separator) => line.split(separator.as_str()).map(str::trim).collect(),
            None => line.split_whitespace().collect(),
        };
        let field = |column: i32| {
            let index =
                if column < 0 { fields.len().checked_sub(column.unsigned_abs() as usize)? } else { column as usize };
            fields.get(index).copied().filter(|text| !text.is_empty())
        };
        let optional = |column: Option<i32>| column.and_then(field).unwrap_or_default().to_owned();
        let (Some(id), Some(word)) = (field(question.id), field(question.state)) else { continue };
        let id = template.short_id(id);
        if !id.contains(|c: char| c.is_alphanumeric()) || !fields_fit(question, fields.len()) {
            continue;
        }
        let reason = optional(question.reason);
        let (state, reason) = interpret_state(template, word, reason);
        let (name, start, help) =
            (optional(question.name), optional(question.start), advise_waiting(template, id, state, &reason));
        jobs.insert(id.to_owned(), Answer { id: id.to_owned(), name, state, reason, start, help });
    }
    jobs
}

/// Returns true if a line with this number of fields has all columns of the question.
fn fields_fit(question: &Question, fields: usize) -> bool {
    let columns = [Some(question.id), Some(question.state), question.name, question.reason, question.start];
    columns
        .into_iter()
        .flatten()
        .all(|column| if column < 0 { column.unsigned_abs() as usize <= fields } else { (column as usize) < fields })
}

/// Translates a state into a [`JobState`] and a reason. A job with an unknown state counts as running, so it is still watched.
fn interpret_state(template: &Template, word: &str, reason: String) -> (JobState, String) {
    // sacct prints "CANCELLED by 1000", and appends a + where a column is too narrow.
    let (first, user) = word.split_once(" by ").unwrap_or((word.trim_end_matches('+'), ""));
    let is_cut = |(name, _): &(&String, &JobState)| word.ends_with('+') && name.starts_with(first);
    let known_state =
        template.states.get(first).or_else(|| template.states.iter().find(is_cut).map(|(_, state)| state));
    let by_reason = template.reasons.iter().find(|(part, _)| matches_sign(&reason, part)).map(|(_, state)| *state);
    match (known_state, by_reason) {
        // The reason of a held job may remain after its release.
        (Some(state), Some(JobState::Held)) if *state != JobState::Waiting => (*state, reason),
        (_, Some(state)) => (state, reason),
        (Some(JobState::Cancelled), None) if !user.is_empty() && user != Uid::effective().to_string() => {
            (JobState::Removed, format!("by user {user}"))
        }
        (Some(state), None) => (*state, reason),
        (None, None) => (JobState::Running, format!("apexmap does not know its state {word}")),
    }
}

/// Parses the cluster's name.
pub fn parse_cluster_name(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.trim().strip_prefix("ClusterName"))?;
    let name = value.trim_start_matches([' ', '=']).trim();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (!name.is_empty() && name.chars().all(is_plain)).then(|| name.to_owned())
}

/// Returns the advice for a job that may wait forever, by its state and the system's reason; empty for other jobs.
fn advise_waiting(template: &Template, id: &str, state: JobState, reason: &str) -> String {
    let release = template.release.join(" ").replace("{ids}", id);
    match state {
        JobState::Held if release.is_empty() => {
            "a held job does not start by itself: release it, or cancel it with `apexmap cancel`".into()
        }
        JobState::Held => format!(
            "a held job does not start by itself: release it with `{release}` (only an administrator may release what an administrator \
             holds), or cancel it with `apexmap cancel`"
        ),
        JobState::Unsatisfiable => advice(reason).into(),
        JobState::Waiting
            if ["PartitionDown", "PartitionInactive", "FrontEndDown"].iter().any(|sign| reason.contains(sign)) =>
        {
            "the job waits until an administrator brings the partition up; `sinfo` shows the others (--partition)"
                .into()
        }
        _ => String::new(),
    }
}

/// The advice for a job that needs more memory than it may have.
pub const LOWER_MEMORY: &str =
    "lower M, or use fewer ranks per node (--ranks-per-node) or another partition (--partition)";

/// Returns the advice for a job that can never start, by the system's reason.
pub fn advice(reason: &str) -> &'static str {
    let advice_by_sign: [(&[&str], &str); 6] = [
        (
            &["TimeLimit", "WallDuration", "Minutes"],
            "set a shorter time with --time-limit; a longer sweep becomes a chain of jobs",
        ),
        (&["Node"], "use fewer ranks, more ranks per node (--ranks-per-node) or another partition (--partition)"),
        (
            &["BadConstraints"],
            "choose features that the partition's nodes have (--constraint; `sinfo --format='%P %f'` lists them)",
        ),
        (&["Mem"], LOWER_MEMORY),
        (
            &["Account", "QOS"],
            "use an account or QOS that you have access to (--account, --qos; `sacctmgr show associations` lists them), \
                               or request less (`sacctmgr show qos` lists the limits)",
        ),
        (
            &[""],
            "request fewer nodes, a shorter time (--time-limit), other features (--constraint) or another partition (--partition); `sinfo` \
             shows what a partition has",
        ),
    ];
    let fits = |(signs, _): &&(&[&str], &str)| signs.iter().any(|sign| reason.contains(sign));
    advice_by_sign.iter().find(fits).map_or("", |(_, advice)| advice)
}
