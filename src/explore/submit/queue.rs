//! The batch system, asked by its own programs.

use crate::error::{Error, Result};
use crate::explore::batch::JobState;
use crate::explore::batch::answer::{Answer, Limits, NodeSize, cluster, jobs, limits, nodes, submitted};
use crate::explore::batch::script::{self, about, submit};
use crate::explore::batch::template::{Question, Template};
use crate::measure::worker::watchdog::LAUNCH;
use crate::terminal::printable;
use nix::unistd::{Uid, User};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// What submits jobs and tells of them; tests put a scripted one in its place.
pub trait Queue {
    /// Submits a script to begin after a job, if one is named; returns the new job's id.
    fn submit(&mut self, script: &Path, after: Option<&str>) -> Result<String>;
    /// One question about all jobs of this user; those among `ids` that the answer lacks are asked for once more where the system
    /// has another memory.
    fn ask(&mut self, ids: &[String]) -> Result<BTreeMap<String, Answer>>;
    fn cancel(&mut self, ids: &[String]) -> Result<()>;
}

/// A batch system's programs.
pub struct System {
    pub template: Template,
    /// Jobs begin here.
    pub folder: PathBuf,
}

/// Longest answer of a batch system, in bytes, and longest time for it.
const LONGEST: u64 = 16 << 20;
const LIMIT: Duration = Duration::from_secs(60);
/// Characters of a refusal that are shown.
const SHOWN: usize = 600;

impl System {
    /// Runs a command to its end. What a batch system starts is a job's, which outlives this: nothing but the command is ended.
    fn run(&self, argv: &[String], input: Option<&Path>) -> Result<(ExitStatus, String, String)> {
        let (program, arguments) = argv.split_first().ok_or_else(|| Error::internal("an empty command"))?;
        let input = match input {
            None => Stdio::null(),
            Some(path) => Stdio::from(File::open(path).map_err(|e| Error::file("read", path, e))?),
        };
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.folder).env_remove(LAUNCH).process_group(0);
        let spawned = command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|e| {
            let next = "run this where the batch system's programs are, such as a login node";
            Error::environment(format!("cannot start {program}: {e}"), next)
        })?;
        let (output, errors) = (read(child.stdout.take()), read(child.stderr.take()));
        let begun = Instant::now();
        let status = loop {
            match child.try_wait().map_err(|e| Error::environment(format!("cannot wait for {program}: {e}"), ""))? {
                Some(status) => break status,
                None if begun.elapsed() < LIMIT => std::thread::sleep(Duration::from_millis(5)),
                None => {
                    let _ = child.kill();
                    let _ = child.wait();
                    let next = "see whether the batch system answers, and rerun: the same command goes on";
                    let what = format!("{program} does not answer within {} s", LIMIT.as_secs());
                    return Err(Error::environment(what, next));
                }
            }
        };
        // Whatever it left behind may hold the pipes open: nobody waits for that.
        let text = |reader: Receiver<Vec<u8>>| {
            let bytes = reader.recv_timeout(Duration::from_secs(2)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Ok((status, text(output), text(errors)))
    }

    /// What nodes a partition has, the default one if none is named, what it gives to a job, and the program that told; `None` if
    /// that is not told.
    pub fn nodes(&self, partition: Option<&str>) -> Option<(NodeSize, Limits, String)> {
        let argv = script::nodes(&self.template, partition);
        let program = argv.first()?.clone();
        let (status, output, _) = self.run(&argv, None).ok()?;
        nodes(&output).filter(|_| status.success()).map(|size| (size, limits(&output), program))
    }

    /// The cluster's name, if the system tells.
    pub fn cluster(&self) -> Option<String> {
        self.template.cluster.first()?;
        let (status, output, _) = self.run(&self.template.cluster, None).ok()?;
        cluster(&output).filter(|_| status.success())
    }

    fn question(&self, question: &Question, ids: &[String]) -> Result<BTreeMap<String, Answer>> {
        let user = User::from_uid(Uid::effective())
            .ok()
            .flatten()
            .map_or_else(|| Uid::effective().to_string(), |user| user.name);
        let argv = about(&self.template, &question.command, &user, ids)?;
        let (status, output, errors) = self.run(&argv, None)?;
        let found = jobs(&self.template, question, &output);
        // Some fail if they do not know one of several jobs, and tell of the others.
        if found.is_empty() && !status.success() && !unknown(&errors) {
            return Err(refused(&argv, &errors, "see whether the batch system answers: the jobs go on meanwhile"));
        }
        Ok(with_long_ids(&self.template, found, ids))
    }
}

/// The answers, by the ids that were asked for, where the system gave those in short.
fn with_long_ids(template: &Template, mut found: BTreeMap<String, Answer>, ids: &[String]) -> BTreeMap<String, Answer> {
    for id in ids {
        if let Some(answer) = found.remove(template.short(id)) {
            found.insert(id.clone(), Answer { id: id.clone(), ..answer });
        }
    }
    found
}

/// Reads to the end, in a thread of its own.
fn read(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.map(|pipe| pipe.take(LONGEST).read_to_end(&mut bytes));
        let _ = sender.send(bytes);
    });
    receiver
}

/// Whether a system says no more than that it does not know a job.
fn unknown(errors: &str) -> bool {
    let errors = errors.to_lowercase();
    ["invalid job id", "unknown job", "not found", "no matching", "no unfinished job", "has finished"]
        .iter()
        .any(|words| errors.contains(words))
}

fn refused(argv: &[String], errors: &str, next: &str) -> Error {
    let words: Vec<&str> = errors.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let words: String = printable(&words.join("; ")).chars().take(SHOWN).collect();
    let words = if words.is_empty() { "it does not say why".to_owned() } else { words };
    Error::environment(format!("{} refused: {words}", argv[0]), next)
}

impl Queue for System {
    fn submit(&mut self, script: &Path, after: Option<&str>) -> Result<String> {
        let argv = submit(&self.template, &script.to_string_lossy(), after)?;
        let (status, output, errors) = self.run(&argv, self.template.by_input.then_some(script))?;
        let id = submitted(&self.template, &output).filter(|_| status.success());
        id.ok_or_else(|| {
            let said = if errors.trim().is_empty() { &output } else { &errors };
            let next = "correct [launch] submit or the flags of the same names; --dry-run shows the scripts";
            refused(&argv, said, next)
        })
    }

    fn ask(&mut self, ids: &[String]) -> Result<BTreeMap<String, Answer>> {
        let mut found = self.question(&self.template.ask, ids)?;
        let told = |id: &String| found.get(id).is_some_and(|job| job.state != JobState::Cancelled);
        let missing: Vec<String> = ids.iter().filter(|id| !told(id)).cloned().collect();
        if let (Some(question), false) = (&self.template.ask_ended, missing.is_empty()) {
            // Not every site keeps accounts: what is not told stays unknown.
            found.extend(self.question(question, &missing).unwrap_or_default());
        }
        Ok(found)
    }

    fn cancel(&mut self, ids: &[String]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let argv = about(&self.template, &self.template.cancel, "", ids)?;
        let (status, _, errors) = self.run(&argv, None)?;
        if status.success() || unknown(&errors) {
            Ok(())
        } else {
            Err(refused(&argv, &errors, "try again, or cancel them by hand"))
        }
    }
}
