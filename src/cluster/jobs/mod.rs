//! Submits a campaign as jobs of a batch system: one script for each number of nodes, each submitted once.
//!
//! A job runs the same driver as a user, for the launches of its part of the plan. Jobs of one result share its lock, and each holds
//! the lock of its part. The folder `jobs` has for each part the script, its part of the plan, the log, and until the job starts the
//! file `PART.queued` with the job's id.

pub mod files;
pub mod measure;
pub mod mpi_check;
mod options;
pub mod part;
pub mod partition;

use crate::batch::{self, Submission, System};
use crate::cluster::Cluster;
use apexmap_base::error::{Error, Result};
use apexmap_base::new_file;
use apexmap_base::point::LaunchSize;
use apexmap_base::terminal::{note, print, print_data};
use apexmap_base::units::{self, plural};
use apexmap_results::disk::Folder;
use apexmap_results::disk::lock::{Lock, Sharing};
use apexmap_run::campaign::{Campaign, Request, plan_time::PlanTime};
use apexmap_run::drive::plan::{Plan, Progress, launch_memory};
use apexmap_run::launch;
use apexmap_run::sweep::submit_table::SubmitTable;
use apexmap_theory::machine::Card;
use files::{JobFiles, OpenJob, Writer};
use options::{check_limits, write_site_record};
use part::{Part, PartJob, format_hours, parts, sum_hours};
use partition::{Listing, Partition, list_nodes, plan_for_nodes};
use std::io::Write;
use std::path::Path;

#[derive(Clone, Copy)]
pub struct JobRequest {
    pub max_node_hours: Option<f64>,
    pub dry_run: bool,
    pub retry_failed: bool,
}

/// Submits a job for each part with missing points; a dry run prints the scripts. Returns the campaign if no point is missing.
pub fn submit(
    campaign: Campaign,
    cluster: &Cluster,
    request: &Request,
    jobs: JobRequest,
    card: Option<&Card>,
) -> Result<Option<Campaign>> {
    if !campaign.hosts.is_empty() {
        let next = "remove --hosts, --hostfile, and hosts and hostfile of [launch], or run without --submit";
        return Err(Error::input("hosts are given, but the batch system chooses the hosts of its jobs", next));
    }
    let path = std::path::absolute(&campaign.folder).map_err(|e| Error::file("find", &campaign.folder, e))?;
    let Listing { options, system, name, nodes } = list_nodes(&campaign, cluster)?;
    let system = System { folder: path.clone(), ..system };
    let (campaign, partition) = plan_for_nodes(campaign, cluster, (name, nodes), request)?;
    let parts = parts(&campaign.wanted_plan(), options.jobs.unwrap_or_default())?;
    let limit = time_limit(&options, partition.as_ref(), &parts)?;
    let folder = Folder { path };
    let records = folder.outcomes()?;
    let progress = Progress::new(&campaign.plan, &records);
    let time = PlanTime::new(&campaign.plan, &records, &progress, card, jobs.retry_failed);
    let job = |part: Part| match time.measuring_time(&part.sizes) {
        (_, 0) => None,
        (seconds, launches) => Some(PartJob::new(part, seconds, launches, limit)),
    };
    let missing: Vec<PartJob> = parts.into_iter().filter_map(job).collect();
    drop(records);
    if missing.is_empty() {
        return Ok(Some(campaign));
    }
    let retry_failed = jobs.retry_failed;
    let writer =
        Writer { campaign: &campaign, folder: &folder, template: &system.template, options: &options, retry_failed };
    if jobs.dry_run {
        print_jobs(&writer, &missing)?;
    }
    // A dry run has printed its jobs before a limit may refuse them.
    check_limits(&campaign, &cluster.site, jobs.max_node_hours, &missing)?;
    if !jobs.dry_run {
        // The launcher is only needed on the machine where the jobs run.
        launch::check_worker(&campaign.worker)?;
        mpi_check::check(&campaign, &options)?;
        let _lock = prepare(&campaign, &folder, card)?;
        write_site_record(&campaign, cluster, &folder)?;
        submit_all(&writer, &system, missing)?;
    }
    Ok(None)
}

/// Whether the sweep requests jobs, and this process is not in a job.
pub fn is_wanted(campaign: &Campaign) -> bool {
    let job_variable = batch::JOB_ID_VARIABLES.iter().find(|name| std::env::var_os(name).is_some());
    match (job_variable, campaign.sweep.launch.submit.is_some()) {
        (Some(name), true) => {
            note(&format!(
                "note: this process is already in a job ({name} is set): the sweep runs here, and `submit` is ignored"
            ));
            false
        }
        (_, requests_jobs) => requests_jobs,
    }
}

/// That of the options, or what the partition allows.
fn time_limit(options: &SubmitTable, partition: Option<&Partition>, parts: &[Part]) -> Result<Option<f64>> {
    let limit = options.time_limit_seconds().map_err(|(message, help)| Error::input(message, help))?;
    match partition {
        Some(partition) => partition.limit_time(limit, options.qos.is_some(), parts),
        None => Ok(limit),
    }
}

fn print_jobs(writer: &Writer, jobs: &[PartJob]) -> Result<()> {
    let mut text = String::new();
    for (index, job) in jobs.iter().enumerate() {
        let memory = units::bytes(memory_on_node(&writer.campaign.plan, &job.part));
        let (name, times, advice) = (&job.part.name, describe_times(job), chain_advice(job));
        text.push_str(&format!("# {name}: {times}, {memory} on each node{advice}\n"));
        // The scripts of nodes differ only in the name.
        if job.part.node().is_some() && index > 0 {
            continue;
        }
        text.push_str(&writer.script(job)?);
        let submit = batch::script::submit_command(writer.template, "SCRIPT");
        text.push_str(&format!("# submitted with: {}\n\n", submit.join(" ")));
    }
    let [expected, at_most] = sum_hours(jobs).map(format_hours);
    text.push_str(&format!(
        "# {}: about {expected} of measuring, at most {at_most} by the time limits\n",
        plural(jobs.len(), "job")
    ));
    print_data(&text)
}

fn memory_on_node(plan: &Plan, part: &Part) -> f64 {
    let by_size = plan.by_size();
    let on_node = |size: &LaunchSize| {
        let (bytes, ranks) = launch_memory(plan, *size, &by_size[size]);
        let ranks_on_node = plan.context.ranks_on_node(*size).unwrap_or(ranks).min(ranks);
        bytes as f64 * ranks_on_node as f64 / ranks as f64
    };
    part.sizes.iter().map(on_node).fold(0.0, f64::max)
}

fn describe_times(job: &PartJob) -> String {
    let seconds = units::number(job.measuring_seconds, units::NumberStyle::Rounded(2));
    format!("about {seconds} s of measuring, time limit {}", units::seconds(job.seconds))
}

/// For a part whose points take longer than a job may.
fn chain_advice(job: &PartJob) -> String {
    match job.jobs_needed {
        0 | 1 => String::new(),
        count => format!(
            "; its points need about {count} such jobs, one after the other: submit the rest by the same command"
        ),
    }
}

/// Jobs that measure share the lock of the result; the returned one keeps out a second submission.
fn prepare(campaign: &Campaign, folder: &Folder, card: Option<&Card>) -> Result<Lock> {
    Folder::create(&folder.path)?;
    let files = JobFiles::new(folder);
    std::fs::create_dir_all(&files.folder).map_err(|e| new_file::access_error("create", &files.folder, e))?;
    let lock = Lock::acquire(&files.folder.join(".submit"), Sharing::Exclusive)?.ok_or_else(|| {
        let message = format!("another apexmap submits jobs of {}", folder.path.display());
        Error::environment(message, "wait for it to end")
    })?;
    folder.remove_abandoned_if_unused();
    let _shared_lock = folder.share()?;
    if let Some(card) = card {
        folder.replace_card(card)?;
    }
    campaign.write_plan(folder)?;
    Ok(lock)
}

/// Writes all scripts, submits those without an open job, and prints the ids.
fn submit_all(writer: &Writer, system: &System, jobs: Vec<PartJob>) -> Result<()> {
    let files = JobFiles::new(writer.folder);
    let open_jobs = files.open_jobs();
    let mut new_jobs = Vec::new();
    for job in jobs {
        match open_jobs.iter().find(|open| open.shares_launches(&job.part)) {
            Some(open) => print(&format!("{}: {}\n", job.part.name, describe_open(open, &files)))?,
            None => new_jobs.push(job),
        }
    }
    new_jobs.iter().try_for_each(|job| writer.write(job))?;
    for (index, job) in new_jobs.iter().enumerate() {
        let name = &job.part.name;
        let id = submit_once(system, &files.script(name), &files.queued_file(name)).map_err(|error| {
            let others: Vec<&str> = new_jobs[index + 1..].iter().map(|job| job.part.name.as_str()).collect();
            let others =
                if others.is_empty() { String::new() } else { format!("; also not submitted: {}", others.join(", ")) };
            let help = format!("{}; the same command then submits what has no job", error.help);
            Error { message: format!("{name}: {}{others}", error.message), help, ..error }
        })?;
        let id = id.unwrap_or_else(|| "without a known id".to_owned());
        let (nodes, times) = (job.part.describe_nodes(), describe_times(job));
        print(&format!("submitted job {id}: {nodes}, {times}{}\n", chain_advice(job)))?;
    }
    if new_jobs.is_empty() {
        return Ok(());
    }
    let path = writer.folder.path.display();
    print(&format!(
        "`apexmap status {path}` shows what is measured; the same command later submits what is missing, and then writes the report\n"
    ))
}

fn describe_open(job: &OpenJob, files: &JobFiles) -> String {
    match &job.queued_id {
        None => "a job measures it".to_owned(),
        Some(id) => {
            let id = if id.is_empty() { "without a known id" } else { id };
            let file = files.queued_file(&job.part);
            format!("job {id} is submitted and has not started; if you have cancelled it, remove {}", file.display())
        }
    }
}

/// Returns the job's id if the batch system prints one. Until the job starts and removes it, the file `queued` has the id.
fn submit_once(system: &System, script: &Path, queued: &Path) -> Result<Option<String>> {
    // Created before, and kept open: a job that starts at once has removed it when the id is written.
    let mut file = new_file::create(queued)?;
    let refused = match system.submit(script) {
        Ok(Submission::Accepted(id)) => {
            let _ = file.write_all(id.as_deref().unwrap_or_default().as_bytes());
            return Ok(id);
        }
        Ok(Submission::Unanswered(message)) => {
            let help = format!(
                "the job may be in the queue: look for it with the batch system's own programs, and remove {} if it is not",
                queued.display()
            );
            return Err(Error::environment(message, help));
        }
        Ok(Submission::Refused(message)) => {
            let advice = "correct [launch] submit or the flags of the same names; --dry-run shows the scripts";
            Error::environment(message, advice)
        }
        Err(error) => error,
    };
    let _ = std::fs::remove_file(queued);
    Err(refused)
}
