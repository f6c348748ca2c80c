//! Runs the programs of a batch system: submits scripts, and asks for its nodes and its name.

use super::{nodes::NodeTable, script, template::Template};
use apexmap_base::error::{Error, Result};
use apexmap_base::guarded::LAUNCH_VARIABLE;
use apexmap_base::new_file::create_in_memory;
use apexmap_base::regular_file;
use apexmap_base::terminal::to_printable;
use nix::sys::signal::Signal;
use std::fs::File;
use std::io;
use std::os::unix::{fs::FileExt, process::CommandExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

pub struct System {
    pub template: Template,
    /// The working folder of the commands, and of submitted jobs.
    pub folder: PathBuf,
    pub timeout: Duration,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Submission {
    /// The job's id; `None` if the answer has none.
    Accepted(Option<String>),
    Refused(String),
    /// The job may be in the queue.
    Unanswered(String),
}

/// The status is `None` if the command did not end in time.
struct Reply {
    status: Option<ExitStatus>,
    output: String,
    errors: String,
}

const MAX_ANSWER_BYTES: u64 = 16 << 20;
const MAX_REFUSAL_CHARACTERS: usize = 600;

impl System {
    pub fn new(template: Template, folder: PathBuf) -> Self {
        Self { template, folder, timeout: Duration::from_secs(60) }
    }

    pub fn submit(&self, script: &Path) -> Result<Submission> {
        let argv = script::submit_command(&self.template, &script.to_string_lossy());
        let reply = self.run(&argv, self.template.by_input.then_some(script), true)?;
        let program = &argv[0];
        Ok(match reply.status {
            Some(status) if status.success() => {
                Submission::Accepted(script::parse_job_id(&self.template, &reply.output))
            }
            Some(_) => Submission::Refused(format!("{program} refused: {}", reply.refusal())),
            None => Submission::Unanswered(format!("{program} does not end within {} s", self.timeout.as_secs_f64())),
        })
    }

    /// The nodes of a partition, or of the default partition, and the program that printed them. `None`: the system has no such table.
    pub fn nodes(&self, partition: Option<&str>) -> Option<(NodeTable, String)> {
        let argv = script::nodes_command(&self.template, partition);
        let program = argv.first()?.clone();
        self.ask(&argv).map(|answer| (NodeTable::parse(&answer), program))
    }

    /// The cluster's name, if the system reports it.
    pub fn cluster(&self) -> Option<String> {
        script::parse_cluster_name(&self.ask(&self.template.cluster)?)
    }

    fn ask(&self, argv: &[String]) -> Option<String> {
        let reply = self.run(argv, None, false).ok()?;
        reply.status?.success().then_some(reply.output)
    }

    /// Only the command itself is ever killed: other processes that the batch system starts belong to jobs and must survive. A submission
    /// also survives this program, because its effect would be unknown.
    fn run(&self, argv: &[String], input: Option<&Path>, is_submission: bool) -> Result<Reply> {
        let (program, arguments) = argv.split_first().ok_or_else(|| Error::internal("an empty command"))?;
        let input = match input {
            None => Stdio::null(),
            Some(path) => Stdio::from(regular_file::open(path).map_err(|e| Error::file("read", path, e))?),
        };
        let start_error = |e: io::Error| {
            let advice = "run this on a machine with the batch system's programs, such as a login node";
            Error::environment(format!("cannot start {program}: {e}"), advice)
        };
        // Files in memory, because a process that the command leaves behind may hold a pipe open forever.
        let output = create_in_memory(c"output").map_err(start_error)?;
        let errors = create_in_memory(c"errors").map_err(start_error)?;
        let mut command = Command::new(program);
        // Without the mark and in its own group, a program that the system starts from here outlives this launch and Ctrl-C.
        command.args(arguments).current_dir(&self.folder).env_remove(LAUNCH_VARIABLE).process_group(0);
        command.stdin(input);
        command.stdout(output.try_clone().map_err(start_error)?).stderr(errors.try_clone().map_err(start_error)?);
        if !is_submission {
            // SAFETY: prctl is async-signal-safe.
            unsafe { command.pre_exec(|| Ok(nix::sys::prctl::set_pdeathsig(Signal::SIGTERM)?)) };
        }
        let mut child = command.spawn().map_err(start_error)?;
        let status = wait(&mut child, [&output, &errors], self.timeout).map_err(start_error)?;
        Ok(Reply { status, output: read(&output), errors: read(&errors) })
    }
}

impl Reply {
    /// The errors in one line, or the output if there are none.
    fn refusal(&self) -> String {
        let text = if self.errors.trim().is_empty() { &self.output } else { &self.errors };
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        match lines.is_empty() {
            true => "it gave no reason".to_owned(),
            false => to_printable(&lines.join("; ")).chars().take(MAX_REFUSAL_CHARACTERS).collect(),
        }
    }
}

/// `None`: the command did not end in time, or printed without end, and was killed.
fn wait(child: &mut Child, outputs: [&File; 2], timeout: Duration) -> io::Result<Option<ExitStatus>> {
    let begun_at = Instant::now();
    loop {
        let status = child.try_wait()?;
        if status.is_some() {
            return Ok(status);
        }
        let is_long = |file: &&File| file.metadata().is_ok_and(|metadata| metadata.len() > MAX_ANSWER_BYTES);
        if begun_at.elapsed() >= timeout || outputs.iter().any(is_long) {
            let _ = child.kill();
            let _ = child.wait();
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn read(file: &File) -> String {
    let bytes = file.metadata().map_or(0, |metadata| metadata.len().min(MAX_ANSWER_BYTES));
    let mut text = vec![0; bytes as usize];
    let _ = file.read_exact_at(&mut text, 0);
    String::from_utf8_lossy(&text).into_owned()
}
