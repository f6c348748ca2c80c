//! The files of a sweep's jobs, and their scripts for a dry run.

use crate::batch::{self, JobOptions, JobScript, Template};
use crate::submit::node_hours::{PlannedHours, format_hours};
use crate::submit::parts::chain;
use crate::submit::submission::MAX_QUEUED_JOBS;
use crate::submit::{Jobs, Part, PartFile};
use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::print_data;
use apexmap_base::units::{self, NumberStyle, plural};
use apexmap_results::disk::Folder;
use apexmap_run::campaign::Campaign;
use std::path::Path;

/// The common inputs of all jobs of a sweep.
pub struct Writer<'a> {
    pub campaign: &'a Campaign,
    pub folder: &'a Folder,
    pub template: &'a Template,
    pub options: &'a JobOptions,
    pub retry_failed: bool,
}

impl Writer<'_> {
    /// Returns the text of a job's script. `seconds` is its time limit.
    fn script(&self, job: &str, part: &Part, seconds: f64) -> Result<String> {
        let driver = std::env::current_exe().map_err(|e| Error::internal(format!("cannot find this program: {e}")))?;
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let (context, launch) = (&self.campaign.plan.context, &self.campaign.sweep.launch);
        let mut command = vec![text(&driver), "run".into(), text(&self.folder.sweep())];
        for (flag, value) in [
            ("--out", text(&self.folder.path)),
            ("--worker", text(&self.campaign.worker)),
            ("--machine", context.machine.clone()),
            ("--part", text(&Jobs::new(self.folder).part_file(job))),
        ] {
            command.extend([flag.to_owned(), value]);
        }
        if let Some(node) = part.node() {
            if self.template.on_node.is_empty() {
                return Err(Error::input(
                    format!("the template \"{}\" cannot place a job on a certain node", self.template.name),
                    "add on_node to it, such as on_node = [\"--nodelist={node}\"]; docs/batch-systems.md explains it",
                ));
            }
            command.extend(["--each-node".to_owned(), format!("--hosts={node}")]);
        }
        // The job reads the sweep itself, so only a different value needs a flag.
        if let Some(ranks) = context.ranks_per_node.filter(|ranks| Some(*ranks) != launch.ranks_per_node) {
            command.push(format!("--ranks-per-node={ranks}"));
        }
        let replaced = self.campaign.replaced;
        command.extend(replaced.budget_seconds.map(|seconds| format!("--budget={seconds}s")));
        command.extend(replaced.launches.map(|launches| format!("--launches={launches}")));
        let node = part.node();
        let script = JobScript {
            name: job,
            nodes: part.nodes,
            node: node.as_deref(),
            ranks_per_node: part.ranks_per_node,
            seconds,
            log: &Jobs::log(job),
            folder: &self.folder.path,
            command: &command,
        };
        Ok(script.text(self.template, self.options))
    }

    /// Writes the files of a job.
    pub fn prepare(&self, job: &str, part: &Part, seconds: f64) -> Result<()> {
        let script = self.script(job, part, seconds)?;
        let (machine, retry_failed) = (self.campaign.machine.clone(), self.retry_failed);
        let part = PartFile { job: job.to_owned(), part: part.clone(), machine, seconds, retry_failed };
        Jobs::new(self.folder).prepare(&script, &part)
    }
}

/// Returns the measuring time of a part in seconds, and the number of its launches.
pub type PartTime<'a> = dyn Fn(&Part) -> Result<(f64, usize)> + 'a;

/// Prints the scripts and the commands that would submit them.
pub fn print_jobs(writer: &Writer, parts: &[Part], time_of: &PartTime, planned: PlannedHours) -> Result<()> {
    let (mut text, mut has_node_script) = (String::new(), false);
    for part in parts {
        let (seconds, launches) = time_of(part)?;
        if launches == 0 {
            text.push_str(&format!("# {}: nothing is left to measure\n", part.name));
            continue;
        }
        let (limit, count) = chain(seconds, launches, writer.options.time_limit_seconds);
        let chain =
            if count > 1 { format!(", a chain of {count} jobs, each after the one before") } else { String::new() };
        let chain =
            if count > MAX_QUEUED_JOBS { format!("{chain}, {MAX_QUEUED_JOBS} in the queue at a time") } else { chain };
        let (seconds, limit_text) = (units::number(seconds, NumberStyle::Rounded(2)), units::seconds(limit));
        text.push_str(&format!("# {}: about {seconds} s of measuring, time limit {limit_text}{chain}\n", part.name));
        // The scripts of nodes differ only in the name.
        if part.node().is_some() && std::mem::replace(&mut has_node_script, true) {
            continue;
        }
        text.push_str(&writer.script("am-001-000000", part, limit)?);
        let submit = batch::script::submit_command(writer.template, "SCRIPT", (count > 1).then_some("JOB"))?;
        text.push_str(&format!("# submitted with: {}\n\n", submit.join(" ")));
    }
    let (expected, at_most) = (format_hours(planned.expected), format_hours(planned.at_most));
    if has_node_script {
        text.push_str(&format!("# one job for each of {}\n", plural(parts.len(), "node")));
    }
    text.push_str(&format!("# about {expected} of measuring, at most {at_most} by the time limits\n"));
    print_data(&text)
}
