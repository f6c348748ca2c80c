//! Known causes of failed launches: messages of launchers, MPI libraries and batch systems, their meaning, and the next step.
//!
//! The informative line is rarely the last one, so [`Search`] looks for known texts in all lines. If several causes match, it
//! reports the first of [`CAUSES`]: what ended the launch precedes what may be a warning. Warnings are no causes, and neither are
//! faults of the start of a launch that has started.

mod table;

pub use table::CAUSES;

use apexmap_base::terminal::to_printable;
use foldhash::fast::RandomState;
use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// A fault of the set-up: every launch of this kind ends the same way until the set-up is fixed.
    Setup,
    Memory,
    JobOver,
    /// A fault that may not recur: a node or a connection was lost, or a process died.
    Transient,
}

/// The consequence of a message for the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The launcher or the batch system cannot start the ranks. This is final, so the driver does not wait for their greeting.
    Refused,
    /// The ranks may not start, or this is a warning: the greeting of the ranks refutes it.
    Starting,
    /// The ranks may end or be slow because of it.
    Running,
}

/// A cause for which this program knows more than the advice in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// Windows fail: Open MPI between hosts without remote memory access.
    NoWindow,
    /// Launcher and MPI library do not fit, so that no world of ranks started.
    LauncherMismatch,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Cause {
    pub summary: &'static str,
    pub advice: &'static str,
    pub nature: Nature,
    pub stage: Stage,
    /// A line with one of these texts shows this cause, in upper or lower case; `..` matches any text. At least [`SIGN_PREFIX`]
    /// bytes precede the first `..`.
    signs: &'static [&'static str],
    extra_lines: usize,
    pub special: Option<Special>,
    of_srun: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CauseMatch {
    pub cause: &'static Cause,
    pub line: String,
}

/// Separates a reason from its advice in one line.
pub const ADVICE: &str = "; what to do: ";

const MAX_LINE_CHARACTERS: usize = 500;

/// Length of the prefix by which signs are indexed, in bytes. With the index, one pass over a line finds all signs.
const SIGN_PREFIX: usize = 4;

/// Signs in lower case and the positions of their causes in [`CAUSES`], by prefix.
type Signs = HashMap<Vec<u8>, Vec<(usize, String)>, RandomState>;

static SIGNS: LazyLock<Signs> = LazyLock::new(|| {
    let mut signs = Signs::default();
    for (rank, cause) in CAUSES.iter().enumerate() {
        for sign in cause.signs.iter().map(|sign| sign.to_ascii_lowercase()) {
            signs.entry(sign.as_bytes()[..SIGN_PREFIX].to_vec()).or_default().push((rank, sign));
        }
    }
    signs
});

/// Texts of lines that report no fault: levels of log messages, messages about parts that are not used, and known false alarms.
const WARNINGS: &[&str] = &[
    " WARN ",
    " DIAG ",
    " INFO ",
    " DEBUG ",
    " TRACE ",
    "INFO: ",
    "<warn>",
    "<info>",
    "<debug>",
    "arning:",
    "ARNING:",
    "(ignored)",
    "gnoring ",
    "be ignored",
    "falling back",
    // Components of PMIx for shared memory, which it replaces by messages.
    "gds_",
    // PSM2 waits for an adapter that the node does not have.
    "device failed to appear after",
    // Slurm's scripts around a task.
    "task_prolog",
    "task_epilog",
];

/// Searches the lines of a launch's output for the cause of its end.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// Faults that keep ranks from starting, and others: the position of the first in [`CAUSES`], and its line.
    found: [Option<(usize, String)>; 2],
    /// Position of the cause whose message continues, and the number of further lines that belong to it.
    open_message: (usize, usize),
    has_started: bool,
    without_srun: bool,
    /// Open MPI frames its messages by lines of dashes.
    is_in_frame: bool,
    is_warning: bool,
}

impl Search {
    /// Searches the output of this command, which may start a launcher.
    pub fn of_command(words: &[String]) -> Self {
        Self { without_srun: !words.iter().any(|word| word.contains("srun")), ..Self::default() }
    }

    pub fn add_line(&mut self, line: &str) {
        if self.skips(line) {
            self.open_message = (0, 0);
            return;
        }
        let text = to_printable(line.trim());
        let mut is_new = false;
        for rank in ranks(line).filter(|rank| !(self.without_srun && CAUSES[*rank].of_srun)) {
            let is_running = CAUSES[rank].stage == Stage::Running;
            let best = &mut self.found[usize::from(is_running)];
            if (is_running || !self.has_started) && best.as_ref().is_none_or(|(best_rank, _)| rank < *best_rank) {
                *best = Some((rank, text.clone().into_owned()));
                is_new = true;
                self.open_message = (rank, CAUSES[rank].extra_lines);
            }
        }
        let (open_rank, extra_lines) = self.open_message;
        if !is_new && extra_lines > 0 && !text.is_empty() {
            for (_, message) in self.found.iter_mut().flatten().filter(|(rank, _)| *rank == open_rank) {
                message.push_str(&format!(" {text}"));
            }
            self.open_message.1 -= 1;
        }
    }

    /// Skips lines of dashes, single warnings and all lines of framed ones. Lines that continue an unframed warning are indented.
    fn skips(&mut self, line: &str) -> bool {
        let text = line.trim();
        if text.ends_with("----------") {
            self.is_in_frame = !self.is_in_frame;
            self.is_warning = false;
            return true;
        }
        if text.is_empty() {
            return false;
        }
        self.is_warning &= self.is_in_frame || line.starts_with([' ', '\t']);
        let is_warning = WARNINGS.iter().any(|words| line.contains(words));
        self.is_warning |= is_warning && text.contains("WARNING:");
        is_warning || self.is_warning
    }

    /// The ranks have greeted, which refutes all faults of the start.
    pub fn record_start(&mut self) {
        self.has_started = true;
        self.found[0] = None;
    }

    pub fn cause(&self) -> Option<CauseMatch> {
        let (rank, line) = self.found.iter().flatten().min()?;
        Some(CauseMatch { cause: &CAUSES[*rank], line: line.chars().take(MAX_LINE_CHARACTERS).collect() })
    }
}

pub fn find(text: &str) -> Option<CauseMatch> {
    let mut search = Search::default();
    text.lines().for_each(|line| search.add_line(line));
    search.cause()
}

/// The fault of the set-up that this line of a launch that measures shows, also as a warning.
pub fn find_handicap(line: &str) -> Option<&'static Cause> {
    let is_handicap = |cause: &&Cause| cause.stage == Stage::Running && cause.nature == Nature::Setup;
    ranks(line).map(|rank| &CAUSES[rank]).find(is_handicap)
}

fn ranks(line: &str) -> impl Iterator<Item = usize> {
    let line = line.to_ascii_lowercase();
    let indexed = |prefix: &[u8]| SIGNS.get(prefix).into_iter().flatten();
    let candidates: BTreeSet<&(usize, String)> = line.as_bytes().windows(SIGN_PREFIX).flat_map(indexed).collect();
    candidates.into_iter().filter(move |(_, sign)| matches_sign(&line, sign)).map(|(rank, _)| *rank)
}

fn matches_sign(line: &str, sign: &str) -> bool {
    let mut rest = line;
    sign.split("..").all(|part| match rest.find(part) {
        Some(offset) => {
            rest = &rest[offset + part.len()..];
            true
        }
        None => false,
    })
}
