//! `apexmap run --submit`: the sweep as jobs of a batch system, followed until they are done.

use super::card::CardArguments;
use super::conduct;
use super::interrupt::Interrupt;
use super::launching::{self, Conduct};
use super::plan_time::PlanTime;
use super::progress::Progress;
use super::setup::{Setup, SweepArguments};
use crate::error::{Error, ErrorKind, Result};
use crate::explore::batch::options::{Jobs as Division, SubmitTable};
use crate::explore::batch::{self, JobOptions, JobScript, Template};
use crate::explore::launch;
use crate::explore::store::Folder;
use crate::explore::submit::follow::{ASK_EVERY, Follower, LOOK_EVERY, Measuring, follow};
use crate::explore::submit::known::known;
use crate::explore::submit::parts::{chain, parts};
use crate::explore::submit::record::{Job, Line};
use crate::explore::submit::{Jobs, Part, PartFile, System};
use crate::explore::sweep::plan::{Entry, Progress as Done, largest_memory};
use crate::explore::sweep::{self, Machine, cost};
use crate::provenance;
use crate::terminal::{note, print};
use crate::units::{self, NumberStyle, plural};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(clap::Args, Clone, Default)]
#[command(next_help_heading = "Batch jobs")]
pub struct SubmitArguments {
    /// Submit the sweep as jobs of a batch system and follow them; Ctrl-C leaves the jobs, the same command follows again.
    /// slurm, pbs, torque, lsf, flux, or a template file [default: the one whose programs are here]
    #[arg(long, value_name = "SYSTEM", num_args = 0..=1, default_missing_value = "", require_equals = true)]
    pub submit: Option<String>,
    /// Show the scripts of the jobs, and submit nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Account or project that pays for the jobs
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Partition or queue of the jobs
    #[arg(long, value_name = "NAME", visible_alias = "queue")]
    partition: Option<String>,
    /// Quality of service of the jobs
    #[arg(long, value_name = "NAME")]
    qos: Option<String>,
    /// Features that the nodes must have
    #[arg(long, value_name = "FEATURES")]
    constraint: Option<String>,
    /// Reservation to run in
    #[arg(long, value_name = "NAME")]
    reservation: Option<String>,
    /// Longest time of one job, such as 2h: longer sweeps become chains of jobs
    #[arg(long, value_name = "TIME")]
    time_limit: Option<String>,
    /// One job on the most nodes for all launches, instead of one for each number of nodes
    #[arg(long)]
    one_job: bool,
    /// Environment module to load; may be given several times
    #[arg(long, value_name = "NAME")]
    module: Vec<String>,
    /// Environment variable to set in the jobs; may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    environment: Vec<String>,
    /// Further directive of the batch system, such as --mail-type=END; may be given several times
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    directive: Vec<String>,
}

impl SubmitArguments {
    fn table(&self) -> Result<SubmitTable> {
        let mut environment = BTreeMap::new();
        for text in &self.environment {
            let (name, value) = text.split_once('=').ok_or_else(|| {
                Error::input(format!("--environment {text}: there is no ="), "write --environment NAME=VALUE")
            })?;
            environment.insert(name.to_owned(), value.to_owned());
        }
        Ok(SubmitTable {
            system: self.submit.clone().filter(|system| !system.is_empty()),
            account: self.account.clone(),
            partition: self.partition.clone(),
            qos: self.qos.clone(),
            constraint: self.constraint.clone(),
            reservation: self.reservation.clone(),
            time_limit: self.time_limit.clone(),
            jobs: self.one_job.then_some(Division::One),
            exclusive: None,
            modules: self.module.clone(),
            environment,
            directives: self.directive.clone(),
            tries: None,
        })
    }
}

/// Whether this sweep is to become jobs: asked for here, or in the sweep, unless this process is in a job itself; or it has become
/// jobs before that have not ended.
pub fn is_asked(arguments: &SubmitArguments, setup: &Setup) -> Result<bool> {
    if arguments.submit.is_some() || arguments.dry_run {
        return Ok(true);
    }
    let folder = Folder { path: setup.folder.clone() };
    let jobs = Jobs::of(&folder);
    let inside = batch::VARIABLES.iter().find(|name| std::env::var_os(name).is_some());
    match (inside, setup.sweep.launch.submit.is_some()) {
        (Some(name), true) => {
            note(&format!(
                "note: this is a job already ({name} is set): the sweep runs here, `submit` is not followed"
            ));
            Ok(false)
        }
        (None, true) => Ok(true),
        (_, false) => are_followed(&jobs, &folder),
    }
}

/// Whether jobs of this result that have not ended are followed without being asked for: if this user has submitted them, and the
/// batch system knows them.
///
/// # Errors
/// If there are such jobs of somebody else: nothing is submitted as a result says, unless the user says so too.
fn are_followed(store: &Jobs, folder: &Folder) -> Result<bool> {
    if !store.exist() {
        return Ok(false);
    }
    let (options, jobs) = store.read()?;
    let open: Vec<&Job> = jobs.iter().filter(|job| job.ended.is_none()).collect();
    if open.is_empty() {
        return Ok(false);
    }
    let template = options.map(|options| batch::known(&options.system));
    let known = |template| known(&mut System { template, folder: folder.path.clone(), interrupted: &|| Ok(()) }, &open);
    let why = match template.map(|template| template.and_then(known)) {
        _ if !store.is_own()? => "another user has submitted them".to_owned(),
        Some(Ok(known)) if !known.is_empty() => return Ok(true),
        Some(Err(error)) => format!("the batch system does not tell of them: {}", error.what),
        _ => "the batch system does not know them".to_owned(),
    };
    let (path, jobs) = (folder.path.display(), plural(open.len(), "job"));
    Err(Error::input(
        format!("{path} has {jobs} without an end, and {why}"),
        format!(
            "add --submit to follow them and to submit what is left; or end them with `apexmap cancel {path}` to measure here"
        ),
    ))
}

/// The same sweep for the nodes on which its jobs will run, if the batch system tells what they are.
pub fn for_nodes(setup: Setup, given: &SubmitArguments, arguments: &SweepArguments) -> Result<Setup> {
    let store = Jobs::of(&Folder { path: setup.folder.clone() });
    let earlier = if store.exist() { store.read()?.0 } else { None };
    let (options, template) = options(&setup, given, earlier)?;
    let system = System { template, folder: PathBuf::from("."), interrupted: &|| Ok(()) };
    let Some((node, program)) = system.nodes(options.partition.as_deref()) else { return Ok(setup) };
    let machine = Machine {
        cores: node.cores,
        hardware_threads: node.hardware_threads,
        cores_of_numa_node: Some(node.cores_of_socket),
        memory: node.memory,
        ..setup.machine
    };
    let of = options.partition.map_or("the default partition".into(), |name| format!("partition {name}"));
    let (cores, memory) = (plural(node.cores, "core"), units::bytes(node.memory as f64));
    let source = format!("{program} says that a node of {of} has {cores} and {memory}");
    let setup = Setup { sized_for: Some(source.clone()), ..Setup::on(arguments, machine)? };
    let (bytes, ranks) = largest_memory(&setup.plan);
    if bytes > node.memory {
        let (ranks, needed) = (plural(ranks, "rank"), units::bytes(bytes as f64));
        let what = format!("{}: {ranks} on a node take {needed}, and {source}", setup.sweep.path.display());
        return Err(Error::input(what, "reduce M or the ranks on a node, or choose another partition"));
    }
    note(&format!("note: {source}: \"cores\" and sizes that follow the machine are those"));
    Ok(setup)
}

/// Submits what is missing, follows, then draws figures and writes the report if asked.
pub fn carry_out(setup: &Setup, given: &SubmitArguments, card: &CardArguments, conduct: Conduct) -> Result<()> {
    let folder =
        Folder { path: std::path::absolute(&setup.folder).map_err(|e| Error::file("find", &setup.folder, e))? };
    let store = Jobs::of(&folder);
    let earlier = if store.exist() { store.read()?.0 } else { None };
    let (options, template) = options(setup, given, earlier)?;
    let parts = parts(&setup.plan, options.jobs)?;
    let found = card.find(&setup.plan.context.machine, &[&provenance::host()])?;
    let measuring = |progress: &Done, sizes: &[_]| -> (f64, usize) {
        let records = folder.outcomes().unwrap_or_default();
        PlanTime::new(&setup.plan, &records, progress, found.clone()).of_sizes(sizes)
    };
    let retry_failed = conduct.retry_failed;
    let writer = Writer { setup, folder: &folder, template: &template, options: &options, retry_failed };
    if given.dry_run {
        return show(&writer, &parts, &measuring);
    }
    // The launcher is looked for where the jobs run.
    launch::check_worker(&setup.worker)?;
    Folder::create(&folder.path)?;
    store.create()?;
    let _shared = folder.share()?;
    let _follower = store.lock()?;
    if let Some(card) = &found {
        folder.replace_card(card)?;
    }
    launching::describe(setup, &folder)?;
    store.append(&Line::Options { options: Box::new(options.clone()), command: super::shell::words() })?;

    let interrupt = Interrupt::catch();
    let records = folder.outcomes()?;
    let costs = cost::measured(&records);
    drop(records);
    let interrupted = || interrupt.check();
    let mut queue = System { template: template.clone(), folder: folder.path.clone(), interrupted: &interrupted };
    let mut watcher = Progress::new(&setup.plan);
    let stopped = follow(&mut Follower {
        plan: &setup.plan,
        folder: &folder,
        parts: &parts,
        options: &options,
        retry_failed,
        queue: &mut queue,
        watcher: &mut watcher,
        prepare: &|job, part, seconds| writer.prepare(job, part, seconds),
        measuring: &measuring,
        cost: &|entry: &Entry| costs.get(&entry.key).copied().unwrap_or_else(|| cost::rough(&entry.point)),
        interrupted: &interrupted,
        ask_every: ASK_EVERY,
        look_every: LOOK_EVERY,
    });
    drop(watcher);
    let stopped = stopped.map_err(|error| left(error, &folder))?;
    drop(interrupt);
    for (part, why) in &stopped {
        note(&format!("{part}: {why}"));
    }
    conduct::finish(setup, &folder, conduct)
}

/// The error of a follower that was interrupted: the jobs go on.
fn left(error: Error, folder: &Folder) -> Error {
    let ErrorKind::Interrupted(_) = error.kind else { return error };
    let path = folder.path.display();
    Error::new(
        error.kind,
        "interrupted: the jobs go on",
        format!(
            "follow them with: {}; `apexmap status {path}` shows them, `apexmap cancel {path}` ends them",
            super::shell::command()
        ),
    )
}

/// What the flags say, and for the rest the sweep; or what jobs of this result were submitted with before.
fn options(setup: &Setup, given: &SubmitArguments, earlier: Option<JobOptions>) -> Result<(JobOptions, Template)> {
    let flags = given.table()?;
    let of_sweep = setup.sweep.launch.submit.as_ref().map(batch::Submit::table);
    if let (Some(earlier), None, true) = (earlier, &of_sweep, flags == SubmitTable::default()) {
        // What stands in a result is read with care: it may come from somebody else.
        let wrong = |(what, next): (String, String)| Error::input(format!("{}: {what}", setup.folder.display()), next);
        earlier.check().map_err(wrong)?;
        if earlier.changes_programs() {
            let what = "jobs were submitted with modules, environment variables or directives, which no result is trusted with";
            return Err(wrong((what.into(), "follow them with the command that submitted them".into())));
        }
        let template = batch::known(&earlier.system)?;
        return Ok((earlier, template));
    }
    let table = flags.or(of_sweep.unwrap_or_default());
    let template = match &table.system {
        Some(system) => batch::find(system)?,
        None => batch::here(&std::env::var_os("PATH").unwrap_or_default())?,
    };
    let system = match &table.system {
        Some(path) if Path::new(path).is_file() => {
            std::path::absolute(path).map_or(path.clone(), |path| path.to_string_lossy().into_owned())
        }
        _ => template.name.clone(),
    };
    let options =
        table.options(&system, sweep::time).map_err(|(what, next)| Error::input(format!("submit: {what}"), next))?;
    Ok((options, template))
}

/// What all jobs of a sweep are made from.
struct Writer<'a> {
    setup: &'a Setup,
    folder: &'a Folder,
    template: &'a Template,
    options: &'a JobOptions,
    retry_failed: bool,
}

impl Writer<'_> {
    /// The text of a job's script. `seconds` is its time limit.
    fn script(&self, job: &str, part: &Part, seconds: f64) -> Result<String> {
        let driver = std::env::current_exe().map_err(|e| Error::internal(format!("cannot find this program: {e}")))?;
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let (context, launch) = (&self.setup.plan.context, &self.setup.sweep.launch);
        let mut command = vec![text(&driver), "run".into(), text(&self.folder.sweep())];
        for (flag, value) in [
            ("--out", text(&self.folder.path)),
            ("--worker", text(&self.setup.worker)),
            ("--machine", context.machine.clone()),
            ("--part", text(&Jobs::of(self.folder).part_file(job))),
        ] {
            command.extend([flag.to_owned(), value]);
        }
        if let Some(ranks) = context.ranks_per_node.filter(|ranks| Some(*ranks) != launch.ranks_per_node) {
            command.push(format!("--ranks-per-node={ranks}"));
        }
        let script = JobScript {
            name: job,
            nodes: part.nodes,
            ranks_per_node: part.ranks_per_node,
            seconds,
            log: &Jobs::log(job),
            folder: &self.folder.path,
            command: &command,
        };
        Ok(script.text(self.template, self.options))
    }

    /// Writes the files of a job.
    fn prepare(&self, job: &str, part: &Part, seconds: f64) -> Result<()> {
        let script = self.script(job, part, seconds)?;
        let (machine, retry_failed) = (self.setup.machine, self.retry_failed);
        let part = PartFile { job: job.to_owned(), part: part.clone(), machine, seconds, retry_failed };
        Jobs::of(self.folder).prepare(&script, &part)
    }
}

/// What would be submitted.
fn show(writer: &Writer, parts: &[Part], measuring: &Measuring) -> Result<()> {
    let records = writer.folder.outcomes().unwrap_or_default();
    let progress = Done::new(&writer.setup.plan, &records);
    let mut text = String::new();
    for part in parts {
        let (seconds, launches) = measuring(&progress, &part.sizes);
        if launches == 0 && !writer.retry_failed {
            text.push_str(&format!("# {}: nothing is left to measure\n", part.name));
            continue;
        }
        let (limit, count) = chain(seconds, launches, writer.options.time_limit_seconds);
        let chain = if count > 1 { format!(", {count} in a chain, each after the one before") } else { String::new() };
        let (seconds, most) = (units::number(seconds, NumberStyle::Rounded(2)), units::seconds(limit));
        text.push_str(&format!("# {}: about {seconds} s of measuring, {most} at most{chain}\n", part.name));
        text.push_str(&writer.script("am-001-000000", part, limit)?);
        let submit = batch::script::submit(writer.template, "SCRIPT", (count > 1).then_some("JOB"))?;
        text.push_str(&format!("# submitted with: {}\n\n", submit.join(" ")));
    }
    print(&text)
}
