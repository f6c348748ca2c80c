//! The batch system, asked by its own programs.

use crate::batch::JobState;
use crate::batch::answer::{Answer, Limits, NodeSize, cluster, jobs, limits, nodes, submitted};
use crate::batch::script::{self, about, submit};
use crate::batch::template::{Question, Template};
use apexmap_base::error::{Error, Result};
use apexmap_base::regular_file;
use apexmap_base::terminal::printable;
use apexmap_measure::worker::watchdog::LAUNCH;
use nix::sys::signal::Signal;
use nix::unistd::{Uid, User};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What submits jobs and tells of them; tests put a scripted one in its place.
pub trait Queue {
    /// Submits a script to begin after a job, if one is named; returns the new job's id. `None`: the system may have taken it and
    /// does not say its id.
    fn submit(&mut self, script: &Path, after: Option<&str>) -> Result<Option<String>>;
    /// One question about all jobs of this user; those among `ids` that the answer lacks are asked for once more where the system
    /// has another memory.
    fn ask(&mut self, ids: &[String]) -> Result<BTreeMap<String, Answer>>;
    fn cancel(&mut self, ids: &[String]) -> Result<()>;

    /// Names of jobs in the queue, by their ids: of these jobs, of all where none is named. `None` where the system does not tell
    /// names.
    fn names(&mut self, ids: &[String]) -> Result<BTreeMap<String, Option<String>>>;
}

/// A batch system's programs.
pub struct System<'a> {
    pub template: Template,
    /// Jobs begin here.
    pub folder: PathBuf,
    /// Whether the user wants to end: then no answer is waited for.
    pub interrupted: &'a dyn Fn() -> Result<()>,
}

/// What a command of a batch system is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// It ends with this program, and when this program is to end.
    Question,
    /// It submits or cancels: its effect is unknown if it is ended half-way.
    Order,
}

/// What a command of a batch system said; no status if it did not end in time.
struct Reply {
    status: Option<ExitStatus>,
    output: String,
    errors: String,
}

impl Reply {
    fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

/// Longest answer of a batch system, in bytes, and longest time for it.
const LONGEST: u64 = 16 << 20;
const LIMIT: Duration = Duration::from_secs(60);
/// So long after a command's end more of its output may come.
const GRACE: Duration = Duration::from_secs(2);
/// Characters of a refusal that are shown.
const SHOWN: usize = 600;

impl System<'_> {
    /// Runs a command to its end. What a batch system starts is a job's, which outlives this: nothing but the command is ended.
    fn run(&self, argv: &[String], input: Option<&Path>, purpose: Purpose) -> Result<Reply> {
        let (program, arguments) = argv.split_first().ok_or_else(|| Error::internal("an empty command"))?;
        let input = match input {
            None => Stdio::null(),
            Some(path) => Stdio::from(regular_file::open(path).map_err(|e| Error::file("read", path, e))?),
        };
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.folder).env_remove(LAUNCH).process_group(0);
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        if purpose == Purpose::Question {
            // SAFETY: prctl is async-signal-safe.
            unsafe { command.pre_exec(|| Ok(nix::sys::prctl::set_pdeathsig(Signal::SIGTERM)?)) };
        }
        let mut child = command.spawn().map_err(|e| {
            let next = "run this where the batch system's programs are, such as a login node";
            Error::environment(format!("cannot start {program}: {e}"), next)
        })?;
        let (output, errors) = (Pipe::read(child.stdout.take()), Pipe::read(child.stderr.take()));
        let status = self.wait(&mut child, program, purpose)?;
        let until = Instant::now() + GRACE;
        Ok(Reply { status, output: output.text(until), errors: errors.text(until) })
    }

    /// Waits for a command's end. `None` if that does not come in time.
    fn wait(&self, child: &mut Child, program: &str, purpose: Purpose) -> Result<Option<ExitStatus>> {
        let begun = Instant::now();
        let end = |child: &mut Child| {
            let _ = child.kill();
            let _ = child.wait();
        };
        loop {
            match child.try_wait().map_err(|e| Error::environment(format!("cannot wait for {program}: {e}"), ""))? {
                Some(status) => return Ok(Some(status)),
                None if begun.elapsed() >= LIMIT => {
                    end(child);
                    return Ok(None);
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
            if purpose == Purpose::Question {
                (self.interrupted)().inspect_err(|_| end(child))?;
            }
        }
    }

    /// What nodes a partition has, the default one if none is named, what it gives to a job, and the program that told; `None` if
    /// that is not told.
    pub fn nodes(&self, partition: Option<&str>) -> Option<(NodeSize, Limits, String)> {
        let argv = script::nodes(&self.template, partition);
        let program = argv.first()?.clone();
        let reply = self.run(&argv, None, Purpose::Question).ok()?;
        nodes(&reply.output).filter(|_| reply.is_success()).map(|size| (size, limits(&reply.output), program))
    }

    /// The cluster's name, if the system tells.
    pub fn cluster(&self) -> Option<String> {
        self.template.cluster.first()?;
        let reply = self.run(&self.template.cluster, None, Purpose::Question).ok()?;
        cluster(&reply.output).filter(|_| reply.is_success())
    }

    fn question(&self, question: &Question, ids: &[String]) -> Result<BTreeMap<String, Answer>> {
        let user = User::from_uid(Uid::effective())
            .ok()
            .flatten()
            .map_or_else(|| Uid::effective().to_string(), |user| user.name);
        let argv = about(&self.template, &question.command, &user, ids)?;
        let reply = self.run(&argv, None, Purpose::Question)?;
        let found = jobs(&self.template, question, &reply.output);
        // Some fail if they do not know one of several jobs, and tell of the others.
        if found.is_empty() && !reply.is_success() && !unknown(&reply.errors) {
            return Err(refused(&argv, &reply, "see whether the batch system answers: the jobs go on meanwhile"));
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

/// What a command writes to a pipe, read by a thread as it comes.
#[derive(Clone, Default)]
struct Pipe(Arc<(Mutex<Written>, Condvar)>);

#[derive(Default)]
struct Written {
    bytes: Vec<u8>,
    ended: bool,
}

impl Pipe {
    fn read(pipe: Option<impl Read + Send + 'static>) -> Self {
        let answer = Self::default();
        let (copy, mut chunk) = (answer.clone(), vec![0; 1 << 16]);
        std::thread::spawn(move || {
            let mut pipe = pipe.map(|pipe| pipe.take(LONGEST));
            loop {
                let read = pipe.as_mut().map_or(Ok(0), |pipe| pipe.read(&mut chunk));
                match read {
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Ok(read @ 1..) => copy.lock().bytes.extend_from_slice(&chunk[..read]),
                    _ => break,
                }
            }
            copy.lock().ended = true;
            copy.0.1.notify_all();
        });
        answer
    }

    fn lock(&self) -> MutexGuard<'_, Written> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of it; but what was left behind may hold the pipe open for ever, so what has come by then.
    fn text(&self, until: Instant) -> String {
        let mut written = self.lock();
        while !written.ended {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            written = self.0.1.wait_timeout(written, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        String::from_utf8_lossy(&written.bytes).into_owned()
    }
}

/// Whether a system says no more than that it does not know a job.
fn unknown(errors: &str) -> bool {
    let errors = errors.to_lowercase();
    ["invalid job id", "unknown job", "not found", "no matching", "no unfinished job", "has finished"]
        .iter()
        .any(|words| errors.contains(words))
}

fn refused(argv: &[String], reply: &Reply, next: &str) -> Error {
    if reply.status.is_none() {
        let next = "see whether the batch system answers, and rerun: the same command continues";
        return Error::environment(format!("{} does not answer within {} s", argv[0], LIMIT.as_secs()), next);
    }
    let said = if reply.errors.trim().is_empty() { &reply.output } else { &reply.errors };
    let words: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let words: String = printable(&words.join("; ")).chars().take(SHOWN).collect();
    let words = if words.is_empty() { "it does not say why".to_owned() } else { words };
    Error::environment(format!("{} refused: {words}", argv[0]), next)
}

impl Queue for System<'_> {
    fn submit(&mut self, script: &Path, after: Option<&str>) -> Result<Option<String>> {
        let argv = submit(&self.template, &script.to_string_lossy(), after)?;
        let reply = self.run(&argv, self.template.by_input.then_some(script), Purpose::Order)?;
        match reply.status {
            Some(status) if !status.success() => {
                let next = "correct [launch] submit or the flags of the same names; --dry-run shows the scripts";
                Err(refused(&argv, &reply, next))
            }
            _ => Ok(submitted(&self.template, &reply.output)),
        }
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

    fn names(&mut self, ids: &[String]) -> Result<BTreeMap<String, Option<String>>> {
        let has_names = self.template.ask.name.is_some();
        let answers = self.question(&self.template.ask, ids)?;
        Ok(answers.into_iter().map(|(id, answer)| (id, has_names.then_some(answer.name))).collect())
    }

    fn cancel(&mut self, ids: &[String]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let argv = about(&self.template, &self.template.cancel, "", ids)?;
        let reply = self.run(&argv, None, Purpose::Order)?;
        if reply.is_success() || unknown(&reply.errors) {
            Ok(())
        } else {
            Err(refused(&argv, &reply, "try again, or cancel them manually"))
        }
    }
}
