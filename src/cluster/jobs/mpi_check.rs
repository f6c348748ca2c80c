//! Compares the MPI of a worker with that of its launcher in the environment of jobs, before any job is queued.

use crate::batch::script::{environment_lines, quote, shell};
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::terminal::note;
use apexmap_measure::comm::TransportKind;
use apexmap_run::campaign::Campaign;
use apexmap_run::campaign::worker::{self, QUERY_TIMEOUT};
use apexmap_run::drive::plan::WorkerInfo;
use apexmap_run::launch::mpi::{Mpi, short_name};
use apexmap_run::launch::{LauncherEntry, srun};
use apexmap_run::sweep::submit_table::SubmitTable;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

#[derive(Debug, PartialEq, Eq)]
pub enum Comparison {
    /// They fit, with a text for the user.
    Fits(String),
    Unknown(String),
    Differs {
        finding: String,
        help: String,
    },
}

/// Before the first job. A shell gets only modules and variables of the user's flags or the site file, not of the sweep.
pub fn check(campaign: &Campaign, options: &SubmitTable) -> Result<()> {
    if campaign.plan.context.transport != TransportKind::Mpi {
        return Ok(());
    }
    let table = campaign.sweep.launch.submit.as_ref().map(|submit| submit.get_ref().clone()).unwrap_or_default();
    let is_of_sweep = !table.modules.is_empty() || !table.environment.is_empty();
    let comparison = if is_of_sweep {
        Comparison::Unknown("the sweep names modules or variables, which are set only in jobs".into())
    } else {
        compare(campaign.plan.context.launcher, &campaign.worker, &campaign.plan.context.library, options)?
    };
    match comparison {
        Comparison::Fits(_) => Ok(()),
        Comparison::Unknown(reason) => {
            note(&format!("note: it is not certain that jobs can start the worker: {reason}"));
            Ok(())
        }
        Comparison::Differs { finding, help } => {
            Err(Error::new(ErrorKind::Setup, format!("no job was submitted: {finding}"), help))
        }
    }
}

const OWN_LAUNCHERS: [&str; 2] = ["openmpi", "mpich"];

/// Compares the MPI that the worker uses here, `library`, with the worker and the launcher in the environment of jobs.
pub fn compare(launcher: &LauncherEntry, worker: &Path, library: &str, options: &SubmitTable) -> Result<Comparison> {
    let Some(built_for) = Mpi::parse(library) else {
        return Ok(Comparison::Unknown(format!("apexmap does not know this MPI: {library}")));
    };
    let starter = if OWN_LAUNCHERS.contains(&launcher.id) { (launcher.make)(&[]).ok() } else { None };
    let programs = starter.as_ref().map(|starter| starter.programs()).unwrap_or_default();
    let answers = match ask(&programs, worker, options) {
        Ok(answers) => answers,
        Err(error) if matches!(error.kind, ErrorKind::Interrupted(_)) => return Err(error),
        Err(error) => return Ok(Comparison::Unknown(error.message)),
    };
    let place = if options.modules.is_empty() {
        "in the environment of jobs".to_owned()
    } else {
        format!("with the modules {}", options.modules.join(", "))
    };
    let path = worker.display();
    let Some(in_jobs) = answers.library else {
        let finding = format!("the worker {path} does not start {place}: {}", answers.refusal);
        return Ok(Comparison::Differs { finding, help: advise(&built_for, options) });
    };
    if in_jobs != library {
        let finding = format!("the worker {path} uses {}, and {place} {}", short_name(library), short_name(&in_jobs));
        let help =
            "load the modules of the jobs (--module, or modules of the site file) here too, or leave them out".into();
        return Ok(Comparison::Differs { finding, help });
    }
    if launcher.id == "srun" {
        let plugin = options.environment.get(srun::TYPE).map(String::as_str);
        return Ok(match srun::describe_misfit(library, plugin) {
            None => Comparison::Fits(format!("the worker uses {built_for}")),
            Some(text) => Comparison::Unknown(text),
        });
    }
    if programs.is_empty() {
        return Ok(Comparison::Fits(format!("the worker uses {built_for}, and launcher {} is of no MPI", launcher.id)));
    }
    let Some((program, version)) = answers.launcher else {
        return Ok(Comparison::Unknown(format!("{} is not on the PATH {place}", programs.join(" or "))));
    };
    Ok(match Mpi::parse(&version) {
        None => Comparison::Unknown(format!("apexmap does not know the MPI of {program}: {}", short_name(&version))),
        Some(mpi) if mpi.starts(&built_for) => {
            Comparison::Fits(format!("{program} is {mpi}, and the worker uses {built_for}"))
        }
        Some(mpi) => {
            let finding = format!("the worker {path} uses {built_for}, but {program} {place} is {mpi}");
            Comparison::Differs { finding, help: advise(&built_for, options) }
        }
    })
}

fn advise(built_for: &Mpi, options: &SubmitTable) -> String {
    let modules = if options.modules.is_empty() {
        format!("load the module of {built_for} in the jobs (--module NAME, or modules of the site file)")
    } else {
        format!("replace the modules by those of {built_for} (--module, or modules of the site file)")
    };
    format!(
        "{modules}, or name a worker that is built for the MPI of the jobs (--worker); `apexmap site --check` tests both"
    )
}

/// In the environment of jobs.
struct Answers {
    /// The launcher's path, and its description of itself.
    launcher: Option<(String, String)>,
    /// The library that the worker reports; `None` if it does not start.
    library: Option<String>,
    refusal: String,
}

const MARK: &str = "apexmap-mpi-check:";

/// Asks the launcher and the worker in a shell with the modules and variables of jobs.
fn ask(programs: &[&str], worker: &Path, options: &SubmitTable) -> Result<Answers> {
    let (login, interpreter) = shell(&options.modules);
    let mut text = environment_lines(options);
    let names: Vec<String> = programs.iter().map(|name| quote(name)).collect();
    let _ = write!(
        text,
        "for name in {}; do\n  program=$(command -v \"$name\") || continue\n  echo \"{MARK}launcher $program\"\n  \
         \"$program\" --version 2>&1\n  break\ndone\necho \"{MARK}worker\"\n{} worker --info 2>&1\necho \"{MARK}end\"\n",
        names.join(" "),
        quote(&worker.to_string_lossy())
    );
    let mut command = Command::new(interpreter);
    command.args(login.iter().copied().chain(["-c", &text]));
    let output = worker::read_output(command, QUERY_TIMEOUT)?;
    let output = String::from_utf8_lossy(&output);
    let section = |name: &str| {
        let (_, rest) = output.split_once(&format!("{MARK}{name}"))?;
        Some(rest.split_once(MARK).map_or(rest, |(text, _)| text).trim())
    };
    let launcher = section("launcher").and_then(|text| text.split_once('\n'));
    let launcher = launcher.map(|(program, version)| (program.to_owned(), version.to_owned()));
    let answer = section("worker").unwrap_or_default();
    // Modules may print before the answer.
    let info = answer.find('{').and_then(|start| serde_json::from_str::<WorkerInfo>(&answer[start..]).ok());
    let library = info.and_then(|info| info.mpi_library);
    Ok(Answers { launcher, library, refusal: answer.lines().last().unwrap_or_default().to_owned() })
}
