//! Carries out a campaign as jobs of a batch system, and follows them until they are done.

mod files;
pub mod mpi_check;
pub mod options;
pub mod part;
pub mod partition;

use crate::batch::{self, JobOptions, JobState};
use crate::carriers::site_record;
use crate::site::Site;
use crate::submit::follow::{ASK_EVERY, Follower, LOOK_EVERY, Measuring, Stopped, follow};
use crate::submit::known::find_in_queue;
use crate::submit::node_hours::{self, PlannedHours, format_hours};
use crate::submit::parts::parts;
use crate::submit::record::{Job, Line};
use crate::submit::{Jobs, Part, System, log};
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::interrupt::Interrupt;
use apexmap_base::shell;
use apexmap_base::terminal::{note, print};
use apexmap_base::units::plural;
use apexmap_measure::worker::unix_seconds;
use apexmap_results::disk::Folder;
use apexmap_run::campaign::plan_time::{PlanTime, remember_time};
use apexmap_run::campaign::{Campaign, Conduct, Display, Measured};
use apexmap_run::launch;
use apexmap_run::sweep::cost::SampleCosts;
use apexmap_run::sweep::plan::Progress;
use apexmap_run::sweep::submit_table::SubmitTable;
use apexmap_theory::machine::Card;
use files::{PartTime, Writer, print_jobs};
use options::{HourLimit, check_nodes, job_options};
use partition::Partition;

/// Returns true if the sweep is carried out by jobs. This is so if the user or the sweep asks for it outside a job, or if the
/// result has earlier jobs that have not ended.
///
/// # Errors
/// If the result has open jobs that may not be followed without --submit.
pub fn is_wanted(campaign: &Campaign, site: &Site) -> Result<bool> {
    let folder = Folder { path: campaign.folder.clone() };
    let jobs = Jobs::new(&folder);
    let job_variable = batch::JOB_ID_VARIABLES.iter().find(|name| std::env::var_os(name).is_some());
    match (job_variable, campaign.sweep.launch.submit.is_some()) {
        (Some(name), true) => {
            note(&format!(
                "note: this process is already in a job ({name} is set): the sweep runs here, and `submit` is ignored"
            ));
            Ok(false)
        }
        (None, true) => Ok(true),
        (_, false) => has_open_jobs(&jobs, &folder, site),
    }
}

/// Returns true if the result has open jobs that the batch system knows. Those of another user are only watched.
///
/// # Errors
/// If the batch system does not know them. Only the user's own request makes apexmap submit or cancel jobs.
fn has_open_jobs(store: &Jobs, folder: &Folder, site: &Site) -> Result<bool> {
    let (options, jobs) = store.read()?;
    let open_jobs: Vec<&Job> = jobs.iter().filter(|job| job.end.is_none()).collect();
    if open_jobs.is_empty() {
        return Ok(false);
    }
    let owner = store.other_owner()?;
    let template = options.map(|options| batch::find_trusted(&options.system, &site.templates()));
    let find_queued = |template| {
        find_in_queue(&mut System::new(template, &folder.path, &|| Ok(())).for_user(owner.clone()), &open_jobs)
    };
    let reason = match template.map(|template| template.and_then(find_queued)) {
        Some(Ok(queued)) if !queued.is_empty() => return Ok(true),
        Some(Err(error)) => format!("apexmap cannot ask the batch system: {}", error.message),
        _ => "the batch system does not know them".to_owned(),
    };
    let (path, jobs) = (folder.path.display(), plural(open_jobs.len(), "job"));
    let help = match &owner {
        None => format!(
            "add --submit to follow them and submit the remaining points, or run `apexmap cancel {path}` to measure here"
        ),
        Some(owner) => advise_colleague(owner),
    };
    let submitter = owner.map_or(String::new(), |owner| format!(" of {owner}"));
    Err(Error::input(format!("{path} has {jobs}{submitter} without a recorded end, and {reason}"), help))
}

/// Returns the advice for a result whose jobs another user submitted.
fn advise_colleague(owner: &str) -> String {
    format!("ask {owner} to continue it, or copy the folder and name the copy with --out to measure the rest yourself")
}

/// Options of a command about jobs.
pub struct JobRequest<'a> {
    pub site: &'a Site,
    pub flags: &'a SubmitTable,
    /// Largest number of node hours requested by a flag.
    pub max_node_hours: Option<f64>,
    /// Print the scripts of the jobs instead of submitting them.
    pub dry_run: bool,
    /// Submit what the queue accepts, and do not follow the jobs.
    pub detaches: bool,
    /// Whether the worker runs on this machine, so that it can be asked for its MPI in the environment of jobs.
    pub asks_worker: bool,
    pub partition: Option<&'a Partition>,
}

/// The outcome of following the jobs of a campaign.
pub struct Followed {
    pub measured: Measured,
    /// The user who submitted the jobs, if it is another one. The result is then left as it is.
    pub other_owner: Option<String>,
    /// The reason why jobs ended before their points were done, with the next step, if known.
    pub stop: Option<Error>,
}

/// Submits the missing jobs, and follows all jobs to their end. A dry run prints the scripts and returns `None`.
///
/// # Errors
/// If the batch system or a file cannot be used, or on a signal. The jobs continue then.
pub fn carry_out(
    campaign: &Campaign,
    request: &JobRequest,
    card: Option<&Card>,
    conduct: Conduct,
    display: Display,
) -> Result<Option<Followed>> {
    let folder =
        Folder { path: std::path::absolute(&campaign.folder).map_err(|e| Error::file("find", &campaign.folder, e))? };
    let store = Jobs::new(&folder);
    let (earlier_options, jobs) = store.read()?;
    let (options, template) = job_options(campaign, request.site, request.flags, earlier_options.clone())?;
    let parts = parts(&campaign.wanted_plan(), options.jobs)?;
    let options =
        request.partition.map_or(Ok(options.clone()), |partition| partition.apply_limits(options.clone(), &parts))?;
    let retry_failed = conduct.retry_failed;
    let measuring = remember_time(|progress: &Progress| {
        Ok(PlanTime::new(&campaign.plan, &folder.outcomes()?, progress, card, retry_failed))
    });
    let writer = Writer { campaign, folder: &folder, template: &template, options: &options, retry_failed };
    let hours = HourLimit::new(campaign, request.site, request.max_node_hours);
    let progress = Progress::new(&campaign.plan, &folder.outcomes()?);
    let time_of = |part: &Part| measuring(&progress, &part.sizes);
    let planned = plan_hours(&writer, &parts, &time_of)?;
    if request.dry_run {
        print_jobs(&writer, &parts, &time_of, planned)?;
    } else if let Some(owner) = store.other_owner()? {
        return watch_jobs(&writer, &store, &parts, (&measuring, display), owner).map(Some);
    }
    // A dry run has printed its jobs before the limit may refuse them.
    hours.check(&store, planned)?;
    if request.dry_run {
        return Ok(None);
    }
    check_nodes(request.site, &parts)?;
    if let Some(earlier) = earlier_options.filter(|earlier| earlier.partition != options.partition) {
        let name = |options: &JobOptions| options.partition.clone().unwrap_or("the default partition".into());
        note(&format!(
            "note: earlier jobs of this result were in {}, these are in {}; samples of unlike nodes are kept apart",
            name(&earlier),
            name(&options)
        ));
    }
    // The launcher is only needed on the machine where the jobs run.
    launch::check_worker(&campaign.worker)?;
    // Open jobs are followed whatever this comparison finds.
    if request.asks_worker && !jobs.iter().any(|job| job.end.is_none()) {
        mpi_check::check(campaign, &options)?;
    }
    Folder::create(&folder.path)?;
    store.create()?;
    folder.remove_abandoned_if_unused();
    // Jobs share the lock of the result. The other lock keeps a second follower out.
    let _shared_lock = folder.share()?;
    let _follower_lock = store.lock()?;
    if let Some(card) = card {
        folder.replace_card(card)?;
    }
    campaign.write_plan(&folder)?;
    site_record::write(campaign, request.site, &folder, request.flags)?;
    store.append(&Line::Options { options: Box::new(options.clone()), command: shell::command_words() })?;
    let roles = Roles { other_owner: None, max_node_hours: hours.max, detaches: request.detaches };
    let stopped = follow_jobs(&writer, &parts, (&measuring, display), roles)?;
    if request.detaches && stopped.is_empty() {
        return describe_detached(&store, &folder).map(|()| None);
    }
    Ok(Some(Followed { measured: campaign.compact(&folder)?, other_owner: None, stop: stop(&store, &stopped)? }))
}

/// Follows the jobs of another user without writing to the result.
fn watch_jobs(
    writer: &Writer,
    store: &Jobs,
    parts: &[Part],
    display: (&Measuring, Display),
    owner: String,
) -> Result<Followed> {
    if store.read()?.1.iter().all(|job| job.end.is_some()) && !store.is_followed() {
        let message =
            format!("{owner} submitted the jobs of {}, and none of them is open", writer.folder.path.display());
        return Err(Error::input(message, advise_colleague(&owner)));
    }
    note(&format!("{owner} submitted the jobs: they are followed, and nothing is submitted or written"));
    let roles = Roles { other_owner: Some(owner.clone()), max_node_hours: None, detaches: false };
    let stopped = follow_jobs(writer, parts, display, roles)?;
    let folder = writer.folder;
    let progress = Progress::new(&writer.campaign.plan, &folder.outcomes()?);
    let measured = Measured { table: folder.table()?, progress };
    Ok(Followed { measured, other_owner: Some(owner), stop: stop(store, &stopped)? })
}

/// Prints the jobs in the queue, and the commands that show, follow and cancel them.
fn describe_detached(store: &Jobs, folder: &Folder) -> Result<()> {
    let (path, jobs) = (folder.path.display(), store.read()?.1);
    let open_jobs = jobs.iter().filter(|job| job.end.is_none()).count();
    if open_jobs == 0 {
        return print("no job is left to submit\n");
    }
    print(&format!(
        "{} in the queue; `apexmap status {path}` shows them, the same command without --detach follows them and submits the rest, `apexmap cancel \
         {path}` cancels them\n",
        plural(open_jobs, "job")
    ))
}

/// Returns the node hours of the jobs for the remaining points.
fn plan_hours(writer: &Writer, parts: &[Part], time_of: &PartTime) -> Result<PlannedHours> {
    let mut planned = PlannedHours::default();
    for part in parts {
        let (seconds, launches) = time_of(part)?;
        planned.add_part(part, seconds, launches, writer.options.time_limit_seconds);
    }
    Ok(planned)
}

/// Whose jobs are followed, and how long.
struct Roles {
    other_owner: Option<String>,
    max_node_hours: Option<f64>,
    detaches: bool,
}

fn follow_jobs(
    writer: &Writer,
    parts: &[Part],
    (measuring, display): (&Measuring, Display),
    roles: Roles,
) -> Result<Stopped> {
    let Writer { campaign, folder, template, options, retry_failed } = *writer;
    let (interrupt, detaches) = (Interrupt::catch(), roles.detaches);
    let costs = SampleCosts::new(&campaign.plan, &folder.outcomes()?);
    let interrupted = || interrupt.check();
    let mut queue = System::new(template.clone(), &folder.path, &interrupted).for_user(roles.other_owner.clone());
    let mut watcher = display(&campaign.plan);
    let stopped = follow(&mut Follower {
        plan: &campaign.plan,
        folder,
        parts,
        options,
        retry_failed,
        other_owner: roles.other_owner,
        max_node_hours: roles.max_node_hours,
        detaches: roles.detaches,
        queue: &mut queue,
        watcher: watcher.as_mut(),
        prepare: &|job, part, seconds| writer.prepare(job, part, seconds),
        measuring,
        cost: &|entry| costs.cost(entry),
        interrupted: &interrupted,
        ask_every: ASK_EVERY,
        look_every: LOOK_EVERY,
    });
    let stopped = stopped.map_err(|error| explain_interruption(error, folder))?;
    drop(watcher);
    for (part, reason) in &stopped {
        note(&format!("{part}: {reason}"));
    }
    if !detaches {
        let store = Jobs::new(folder);
        let used = node_hours::hours_used(&store, &store.read()?.1, unix_seconds());
        note(&format!("the jobs took {}", format_hours(used)));
    }
    Ok(stopped)
}

/// Returns the reason why the jobs of a part ended before its points were done, with the next step, if known.
fn stop(store: &Jobs, stopped: &Stopped) -> Result<Option<Error>> {
    let jobs = store.read()?.1;
    for part in stopped.keys() {
        let has_reason =
            |job: &&Job| job.part == *part && job.end.as_ref().is_some_and(|end| end.0 != JobState::Cancelled);
        let Some(mut job) = jobs.iter().rev().find(has_reason).cloned() else { continue };
        store.update(&mut job)?;
        let (Some((state, reason, _)), Some(advice)) = (&job.end, log::advice(store, &job)?) else { continue };
        let is_setup_fault = job.met_setup_fault() || *state == JobState::Unsatisfiable;
        let kind = if is_setup_fault { ErrorKind::Setup } else { ErrorKind::Measurement };
        let id = job.id.as_deref().unwrap_or(&job.name);
        return Ok(Some(Error::new(kind, format!("job {id} {}: {reason}", state.predicate()), advice)));
    }
    Ok(None)
}

/// Converts the error of an interrupted follower: the jobs continue.
fn explain_interruption(error: Error, folder: &Folder) -> Error {
    let ErrorKind::Interrupted(_) = error.kind else { return error };
    let path = folder.path.display();
    Error::new(
        error.kind,
        "interrupted: the jobs continue",
        format!(
            "follow them with: {}; `apexmap status {path}` lists them, `apexmap cancel {path}` cancels them",
            shell::command_to_resume(&shell::command_words())
        ),
    )
}
