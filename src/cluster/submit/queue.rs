//! Runs the programs of the batch system.

use super::record::user_name;
use crate::batch::JobState;
use crate::batch::answer::{Answer, parse_cluster_name, parse_job_id, parse_jobs};
use crate::batch::nodes::NodeTable;
use crate::batch::script::{self, query_command, submit_command};
use crate::batch::template::{Question, Template};
use apexmap_base::error::{Error, Result};
use apexmap_base::guarded::LAUNCH_VARIABLE;
use apexmap_base::regular_file;
use apexmap_base::terminal::to_printable;
use apexmap_run::launch::causes::matches_sign;
use nix::sys::signal::Signal;
use nix::unistd::Uid;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The outcome of a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submission {
    /// The system accepted the job; the id is `None` if the system may have accepted it without printing an id.
    Accepted(Option<String>),
    /// The system accepts no more jobs of this user now, for this reason.
    Postponed(String),
}

/// Submits, queries and cancels jobs. Tests use a scripted implementation.
pub trait Queue {
    /// Submits a script, to start after the job `predecessor` ends if one is given.
    fn submit(&mut self, script: &Path, predecessor: Option<&str>) -> Result<Submission>;
    /// Asks for all jobs of the user in one question. If the system also keeps accounts of ended jobs, a second question covers
    /// the `ids` missing from the first answer.
    fn ask(&mut self, ids: &[String]) -> Result<BTreeMap<String, Answer>>;
    fn cancel(&mut self, ids: &[String]) -> Result<()>;

    /// Returns the names of jobs in the queue by id: of these jobs, or of all jobs if `ids` is empty. A name is `None` if the
    /// system does not report names.
    fn names(&mut self, ids: &[String]) -> Result<BTreeMap<String, Option<String>>>;
}

/// The programs of a batch system.
pub struct System<'a> {
    pub template: Template,
    /// The user who submitted the jobs.
    pub user: String,
    /// The working folder of the commands, and of submitted jobs.
    pub folder: PathBuf,
    /// Returns an error if the user wants to stop. A pending question is then abandoned.
    pub interrupted: &'a dyn Fn() -> Result<()>,
}

/// The purpose of a command of the batch system.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// It is killed when this program dies or is interrupted.
    Question,
    /// It submits or cancels. It is not interrupted, because its effect would be unknown.
    Order,
}

/// The output of a command. The status is `None` if the command did not end in time.
struct Reply {
    status: Option<ExitStatus>,
    output: String,
    errors: String,
}

impl Reply {
    fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// Returns the errors in one line, or the output if there are none.
    fn words(&self) -> String {
        let text = if self.errors.trim().is_empty() { &self.output } else { &self.errors };
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        to_printable(&lines.join("; ")).chars().take(MAX_REFUSAL_CHARACTERS).collect()
    }
}

/// Largest answer of a batch system in bytes, and the time limit for it.
const MAX_ANSWER_BYTES: u64 = 16 << 20;
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Time to wait for further output after a command has ended.
const OUTPUT_GRACE: Duration = Duration::from_secs(2);
/// Largest number of characters shown of a refusal.
const MAX_REFUSAL_CHARACTERS: usize = 600;

impl<'a> System<'a> {
    /// Returns the batch system for jobs of this user.
    pub fn new(template: Template, folder: &Path, interrupted: &'a dyn Fn() -> Result<()>) -> Self {
        Self { template, user: user_name(Uid::effective()), folder: folder.to_owned(), interrupted }
    }

    /// Returns the batch system for jobs of another user, if one is given.
    pub fn for_user(self, user: Option<String>) -> Self {
        Self { user: user.unwrap_or(self.user), ..self }
    }

    /// Runs a command to its end. Only the command itself is ever killed: other processes that the batch system starts belong to
    /// jobs and must survive.
    fn run(&self, argv: &[String], input: Option<&Path>, purpose: Purpose) -> Result<Reply> {
        let (program, arguments) = argv.split_first().ok_or_else(|| Error::internal("an empty command"))?;
        let input = match input {
            None => Stdio::null(),
            Some(path) => Stdio::from(regular_file::open(path).map_err(|e| Error::file("read", path, e))?),
        };
        let mut command = Command::new(program);
        // Without the mark and in its own group, a program that the system starts from here outlives this launch and Ctrl-C.
        command.args(arguments).current_dir(&self.folder).env_remove(LAUNCH_VARIABLE).process_group(0);
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        if purpose == Purpose::Question {
            // SAFETY: prctl is async-signal-safe.
            unsafe { command.pre_exec(|| Ok(nix::sys::prctl::set_pdeathsig(Signal::SIGTERM)?)) };
        }
        let mut child = command.spawn().map_err(|e| {
            let advice = "run this on a machine with the batch system's programs, such as a login node";
            Error::environment(format!("cannot start {program}: {e}"), advice)
        })?;
        // Threads read both pipes, because the command would wait for ever on a full one.
        let (output, errors) = (Pipe::read(child.stdout.take()), Pipe::read(child.stderr.take()));
        let status = self.wait(&mut child, program, purpose)?;
        let until = Instant::now() + OUTPUT_GRACE;
        Ok(Reply { status, output: output.text(until), errors: errors.text(until) })
    }

    /// Waits for a command's end. Returns `None` if the command does not end in time.
    fn wait(&self, child: &mut Child, program: &str, purpose: Purpose) -> Result<Option<ExitStatus>> {
        let begun_at = Instant::now();
        let end = |child: &mut Child| {
            let _ = child.kill();
            let _ = child.wait();
        };
        loop {
            let wait_error = |e| {
                let advice = "look for the job with the batch system's own programs, then rerun the same command";
                Error::environment(format!("cannot wait for {program}: {e}"), advice)
            };
            match child.try_wait().map_err(wait_error)? {
                Some(status) => return Ok(Some(status)),
                None if begun_at.elapsed() >= ANSWER_TIMEOUT => {
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

    /// Returns the system's table of the nodes of a partition, or of the default partition, and the program that printed it.
    /// Returns `None` if the system has no such table.
    pub fn nodes(&self, partition: Option<&str>) -> Option<(NodeTable, String)> {
        let argv = script::nodes_command(&self.template, partition);
        let program = argv.first()?.clone();
        let reply = self.run(&argv, None, Purpose::Question).ok()?;
        reply.is_success().then(|| (NodeTable::parse(&reply.output), program))
    }

    /// Returns the cluster's name, if the system reports it.
    pub fn cluster(&self) -> Option<String> {
        self.template.cluster.first()?;
        let reply = self.run(&self.template.cluster, None, Purpose::Question).ok()?;
        parse_cluster_name(&reply.output).filter(|_| reply.is_success())
    }

    fn ask_question(&self, question: &Question, ids: &[String]) -> Result<BTreeMap<String, Answer>> {
        let argv = query_command(&self.template, &question.command, &self.user, ids)?;
        let reply = self.run(&argv, None, Purpose::Question)?;
        let answers = parse_jobs(&self.template, question, &reply.output);
        // Some programs fail if they do not know one of several jobs, but still list the others.
        if answers.is_empty() && !reply.is_success() && !is_unknown_job(&reply.errors) {
            return Err(refusal(&argv, &reply, "check that the batch system answers; the jobs continue meanwhile"));
        }
        Ok(restore_long_ids(&self.template, answers, ids))
    }
}

/// Replaces short ids in the answers by the ids that were asked for.
fn restore_long_ids(
    template: &Template,
    mut answers: BTreeMap<String, Answer>,
    ids: &[String],
) -> BTreeMap<String, Answer> {
    for id in ids {
        if let Some(answer) = answers.remove(template.short_id(id)) {
            answers.insert(id.clone(), Answer { id: id.clone(), ..answer });
        }
    }
    answers
}

/// The output of a command on a pipe, read by a thread.
#[derive(Clone, Default)]
struct Pipe(Arc<(Mutex<Written>, Condvar)>);

#[derive(Default)]
struct Written {
    bytes: Vec<u8>,
    ended: bool,
}

impl Pipe {
    fn read(pipe: Option<impl Read + Send + 'static>) -> Self {
        let pipe_text = Self::default();
        let (copy, mut chunk) = (pipe_text.clone(), vec![0; 1 << 16]);
        std::thread::spawn(move || {
            let mut pipe = pipe.map(|pipe| pipe.take(MAX_ANSWER_BYTES));
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
        pipe_text
    }

    fn lock(&self) -> MutexGuard<'_, Written> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all output. A process that the command left behind may hold the pipe open forever, so the wait ends at `until`.
    fn text(&self, until: Instant) -> String {
        let mut written = self.lock();
        while !written.ended {
            let time_left = until.saturating_duration_since(Instant::now());
            if time_left.is_zero() {
                break;
            }
            written = self.0.1.wait_timeout(written, time_left).unwrap_or_else(PoisonError::into_inner).0;
        }
        String::from_utf8_lossy(&written.bytes).into_owned()
    }
}

/// Returns true if the errors only say that a job is unknown.
fn is_unknown_job(errors: &str) -> bool {
    let errors = errors.to_lowercase();
    ["invalid job id", "unknown job", "not found", "no matching", "no unfinished job", "has finished"]
        .iter()
        .any(|words| errors.contains(words))
}

fn refusal(argv: &[String], reply: &Reply, advice: &str) -> Error {
    if reply.status.is_none() {
        let advice = "check that the batch system answers, then rerun the same command: it resumes";
        return Error::environment(
            format!("{} does not answer within {} s", argv[0], ANSWER_TIMEOUT.as_secs()),
            advice,
        );
    }
    let words = Some(reply.words()).filter(|words| !words.is_empty()).unwrap_or_else(|| "it gave no reason".to_owned());
    Error::environment(format!("{} refused: {words}", argv[0]), advice)
}

impl Queue for System<'_> {
    fn submit(&mut self, script: &Path, predecessor: Option<&str>) -> Result<Submission> {
        let argv = submit_command(&self.template, &script.to_string_lossy(), predecessor)?;
        let reply = self.run(&argv, self.template.by_input.then_some(script), Purpose::Order)?;
        match reply.status {
            Some(status) if !status.success() => {
                let words = reply.words();
                if self.template.full.iter().any(|sign| matches_sign(&words, sign)) {
                    return Ok(Submission::Postponed(words));
                }
                let advice = "correct [launch] submit or the flags of the same names; --dry-run shows the scripts";
                Err(refusal(&argv, &reply, advice))
            }
            // Without an answer in time, the job may still be in the queue. It is looked for by its name.
            _ => Ok(Submission::Accepted(parse_job_id(&self.template, &reply.output))),
        }
    }

    fn ask(&mut self, ids: &[String]) -> Result<BTreeMap<String, Answer>> {
        let mut answers = self.ask_question(&self.template.ask, ids)?;
        // Only accounts show who cancelled a job.
        let is_settled = |id: &String| answers.get(id).is_some_and(|job| job.state != JobState::Cancelled);
        let missing: Vec<String> = ids.iter().filter(|id| !is_settled(id)).cloned().collect();
        if let (Some(question), false) = (&self.template.ask_ended, missing.is_empty()) {
            // Not every site keeps accounts. Without them, the jobs stay unknown.
            answers.extend(self.ask_question(question, &missing).unwrap_or_default());
        }
        Ok(answers)
    }

    fn names(&mut self, ids: &[String]) -> Result<BTreeMap<String, Option<String>>> {
        let has_names = self.template.ask.name.is_some();
        let answers = self.ask_question(&self.template.ask, ids)?;
        Ok(answers.into_iter().map(|(id, answer)| (id, has_names.then_some(answer.name))).collect())
    }

    fn cancel(&mut self, ids: &[String]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let argv = query_command(&self.template, &self.template.cancel, "", ids)?;
        let reply = self.run(&argv, None, Purpose::Order)?;
        if reply.is_success() || is_unknown_job(&reply.errors) {
            Ok(())
        } else {
            Err(refusal(&argv, &reply, "rerun the same command, or cancel the jobs manually"))
        }
    }
}
