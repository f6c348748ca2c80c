//! The files of jobs: scripts, parts of the plan, and the ids of jobs in the queue.

use super::part::{Part, PartJob};
use crate::batch::{JobScript, Template};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::LaunchSize;
use apexmap_base::process::this_program;
use apexmap_base::{new_file, regular_file};
use apexmap_results::disk::{Folder, lock};
use apexmap_run::campaign::Campaign;
use apexmap_run::sweep::{Machine, submit_table::SubmitTable};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct JobFiles {
    pub folder: PathBuf,
}

impl JobFiles {
    pub fn new(result: &Folder) -> Self {
        Self { folder: result.path.join("jobs") }
    }

    pub fn script(&self, part: &str) -> PathBuf {
        self.folder.join(format!("{part}.sh"))
    }

    /// The inputs of a job besides the sweep.
    pub fn part_file(&self, part: &str) -> PathBuf {
        self.folder.join(format!("{part}.json"))
    }

    /// The lock that a job holds while it measures a part.
    pub fn part_lock(&self, part: &str) -> PathBuf {
        self.folder.join(format!(".{part}"))
    }

    /// Exists while the job of a part waits in the queue, and has the job's id.
    pub fn queued_file(&self, part: &str) -> PathBuf {
        self.folder.join(format!("{part}.queued"))
    }

    /// Sorted by part. A job that has ended without starting, such as a cancelled one, counts as queued.
    pub fn open_jobs(&self) -> Vec<OpenJob> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let part = |path: PathBuf| Some(path.file_name()?.to_str()?.strip_suffix(".json")?.to_owned());
        let parts = entries.filter_map(|entry| part(entry.path()));
        let mut jobs: Vec<OpenJob> = parts.filter_map(|part| self.open_job(part)).collect();
        jobs.sort_by(|a, b| a.part.cmp(&b.part));
        jobs
    }

    fn open_job(&self, part: String) -> Option<OpenJob> {
        let queued_id = match lock::is_held(&self.part_lock(&part)) {
            true => None,
            false => Some(regular_file::read_text(&self.queued_file(&part)).ok()?.trim().to_owned()),
        };
        let sizes = PartFile::read(&self.part_file(&part)).map(|file| file.part.sizes).unwrap_or_default();
        Some(OpenJob { part, queued_id, sizes })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenJob {
    pub part: String,
    /// The id of a job that has not started, which may be empty; `None` if the job measures.
    pub queued_id: Option<String>,
    sizes: Vec<LaunchSize>,
}

impl OpenJob {
    /// Whether a job for this part would measure the same launches.
    pub fn shares_launches(&self, part: &Part) -> bool {
        self.part == part.name || self.sizes.iter().any(|size| part.sizes.contains(size))
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartFile {
    pub part: Part,
    /// The machine that the sweep was read for.
    pub machine: Machine,
    pub seconds: f64,
    pub retry_failed: bool,
}

impl PartFile {
    pub fn read(path: &Path) -> Result<Self> {
        let text = regular_file::read_text(path).map_err(|e| Error::file("read", path, e))?;
        serde_json::from_str(&text).map_err(|error| {
            let message = format!("{} is not the part of a job: {error}", path.display());
            Error::environment(message, "submit the sweep again: the same command writes the file")
        })
    }
}

/// Common to all jobs of a sweep.
pub struct Writer<'a> {
    pub campaign: &'a Campaign,
    pub folder: &'a Folder,
    pub template: &'a Template,
    pub options: &'a SubmitTable,
    pub retry_failed: bool,
}

impl Writer<'_> {
    pub fn script(&self, job: &PartJob) -> Result<String> {
        let (part, name) = (&job.part, &job.part.name);
        if part.node().is_some() && self.template.on_node.is_empty() {
            return Err(Error::input(
                format!("the template \"{}\" cannot place a job on a certain node", self.template.name),
                "add on_node to it, such as on_node = [\"--nodelist={node}\"]; docs/appendix/batch-systems.md explains it",
            ));
        }
        let command = self.command(name)?;
        let node = part.node();
        let script = JobScript {
            name: &short_name(name),
            nodes: part.nodes,
            node: node.as_deref(),
            ranks_per_node: part.ranks_per_node,
            seconds: job.seconds,
            log: &format!("jobs/{name}.log"),
            queued: &format!("jobs/{name}.queued"),
            folder: &self.folder.path,
            command: &command,
        };
        Ok(script.text(self.template, self.options))
    }

    fn command(&self, part: &str) -> Result<Vec<String>> {
        let driver = this_program()?;
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut command = vec![text(&driver), "run".into(), text(&self.folder.sweep())];
        for (flag, value) in [
            ("--out", text(&self.folder.path)),
            ("--worker", text(&self.campaign.worker)),
            ("--machine", self.campaign.plan.context.machine.clone()),
            ("--part", text(&JobFiles::new(self.folder).part_file(part))),
        ] {
            command.extend([flag.to_owned(), value]);
        }
        // The job reads the sweep itself, so only a different value needs a flag.
        let ranks = self.campaign.plan.context.ranks_per_node;
        let ranks = ranks.filter(|ranks| Some(*ranks) != self.campaign.sweep.launch.ranks_per_node);
        command.extend(ranks.map(|ranks| format!("--ranks-per-node={ranks}")));
        let replaced = &self.campaign.replaced;
        command.extend(replaced.budget_seconds.map(|seconds| format!("--budget={seconds}s")));
        command.extend(replaced.launches.map(|launches| format!("--launches={launches}")));
        command.extend(replaced.ranks.iter().map(|ranks| format!("--ranks={ranks}")));
        Ok(command)
    }

    pub fn write(&self, job: &PartJob) -> Result<()> {
        let (part, files) = (&job.part, JobFiles::new(self.folder));
        let (machine, retry_failed) = (self.campaign.machine.clone(), self.retry_failed);
        let file = PartFile { part: part.clone(), machine, seconds: job.seconds, retry_failed };
        let text = serde_json::to_string(&file).map_err(|e| Error::internal(e.to_string()))?;
        new_file::replace_contents(&files.part_file(&part.name), text)?;
        new_file::replace_contents(&files.script(&part.name), self.script(job)?)
    }
}

/// PBS and Torque take at most 15 characters.
fn short_name(part: &str) -> String {
    format!("am-{part}").chars().take(15).collect()
}
