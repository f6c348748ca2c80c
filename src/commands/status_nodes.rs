//! The nodes of a sweep that each node runs alone, for `apexmap status`.

use apexmap_base::error::Result;
use apexmap_base::units::plural;
use apexmap_results::disk::Folder;
use apexmap_run::sweep::plan::{Entry, Progress, State};
use serde::Serialize;
use std::collections::BTreeMap;

/// The progress of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeState {
    Done,
    /// Its job runs.
    Running,
    /// Its job waits in the queue.
    Queued,
    /// All points have ended, and some have failed.
    Failed,
    /// Points are missing, and it has no job.
    Incomplete,
}

impl NodeState {
    const ALL: [(Self, &str); 5] = [
        (Self::Done, "done"),
        (Self::Running, "running"),
        (Self::Queued, "queued"),
        (Self::Failed, "failed"),
        (Self::Incomplete, "incomplete"),
    ];
}

/// A node, and its progress.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeStatus {
    pub node: String,
    pub state: NodeState,
}

/// Returns the nodes of the plan by name; empty for other sweeps. `open_job` returns the state of a node that has a job.
pub fn list(
    folder: &Folder,
    progress: &Progress,
    open_job: impl Fn(&str) -> Option<NodeState>,
) -> Result<Vec<NodeStatus>> {
    let entries: Vec<Entry> = folder.plan_lines()?.unwrap_or_default();
    let mut states: BTreeMap<&str, Vec<State>> = BTreeMap::new();
    for entry in &entries {
        if let Some(node) = entry.point.node() {
            states.entry(node).or_default().push(progress.point_state(&entry.key));
        }
    }
    let status = |(node, states): (&&str, &Vec<State>)| {
        let state = match () {
            () if states.iter().all(|state| *state == State::Done) => NodeState::Done,
            () => open_job(node).unwrap_or_else(|| {
                let is_open = states.iter().any(|state| matches!(state, State::Missing | State::Partial));
                if is_open { NodeState::Incomplete } else { NodeState::Failed }
            }),
        };
        NodeStatus { node: (*node).to_owned(), state }
    };
    Ok(states.iter().map(status).collect())
}

/// Largest number of names of a state.
const MAX_NAMES: usize = 20;

/// Returns one line: `7 nodes: 6 done, 1 queued (n07)`.
pub fn describe(nodes: &[NodeStatus]) -> String {
    let part = |(state, word): (NodeState, &str)| {
        let names: Vec<&str> = nodes.iter().filter(|row| row.state == state).map(|row| row.node.as_str()).collect();
        let shown = names[..names.len().min(MAX_NAMES)].join(", ");
        let more = if names.len() > MAX_NAMES { ", ..." } else { "" };
        match names.len() {
            0 => None,
            count if state == NodeState::Done => Some(format!("{count} {word}")),
            count => Some(format!("{count} {word} ({shown}{more})")),
        }
    };
    let parts: Vec<String> = NodeState::ALL.into_iter().filter_map(part).collect();
    format!("{}: {}\n", plural(nodes.len(), "node"), parts.join(", "))
}
