//! Plans campaigns: from the user's request, the site and the machine.

use super::trust::{self, Consent};
use super::{Campaign, Replaced, Request, SiteSettings, simulated, worker};
use crate::drive::plan::{Context, Plan};
use crate::launch::hosts::{self, Hosts};
use crate::sweep::{Machine, Sweep, ready, values::MAX_POINTS};
use crate::{drive::simulation::Simulation, launch::HostsSource};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::LaunchSize;
use apexmap_base::units::plural;
use apexmap_measure::comm::TransportKind;
use apexmap_measure::provenance;
use apexmap_results::disk::{Folder, manifest::Manifest};
use std::path::Path;

/// Campaigns take this from the site. The crate `cluster` knows site files and batch systems.
pub trait Surroundings {
    fn settings(&self) -> SiteSettings;

    /// The machine's name in a result, unless it is the host's.
    fn machine_name(&self, sweep: &Sweep, result: &Path, consent: Consent) -> Option<String>;

    fn check(&self, sweep: &Sweep) -> Result<()>;
}

pub struct Planner<'a> {
    request: &'a Request,
    surroundings: &'a dyn Surroundings,
    machine: Machine,
}

impl<'a> Planner<'a> {
    pub fn new(request: &'a Request, surroundings: &'a dyn Surroundings) -> Self {
        Self { request, surroundings, machine: Machine::detect() }
    }

    pub fn with_machine(self, machine: Machine) -> Self {
        Self { machine, ..self }
    }

    pub fn plan(&self) -> Result<Campaign> {
        let path = self.request.sweep.as_deref().unwrap_or(Path::new(ready::QUICKSTART));
        let machine = Machine { last_cache_seen: self.recorded_last_cache(path), ..self.machine.clone() };
        let (sweep, machine, simulation) = simulated::open_sweep(self.request, path, machine)?;
        self.plan_on(sweep, machine, simulation)
    }

    pub fn plan_sweep(&self, sweep: Sweep) -> Result<Campaign> {
        self.plan_on(sweep, self.machine.clone(), None)
    }

    fn plan_on(&self, mut sweep: Sweep, machine: Machine, simulation: Option<Simulation>) -> Result<Campaign> {
        let Self { request, surroundings, .. } = self;
        if let Some(ranks) = &request.ranks {
            sweep = sweep.with_ranks(ranks, machine.clone())?;
        }
        surroundings.check(&sweep)?;
        let site = surroundings.settings();
        trust::ask(&sweep, &site, request.consent)?;
        if let (Some(number), TransportKind::Threads) = (request.ranks_per_node, sweep.launch.transport) {
            return Err(Error::input(
                format!(
                    "--ranks-per-node {number} does not apply: the ranks of this sweep are threads on this machine"
                ),
                "remove it, or choose a sweep with transport = \"mpi\"",
            ));
        }
        replace_settings(request, &mut sweep)?;
        let worker_of_site = || site.worker(sweep.launch.launcher).map(|(worker, _)| worker.to_owned());
        let named = sweep.launch.worker.clone().or_else(worker_of_site).filter(|_| request.worker.is_none());
        let ranks_per_node = request.ranks_per_node.map(|ranks| ranks as usize).or(sweep.launch.ranks_per_node);
        let default_folder = || match &simulation {
            Some(simulation) => simulated::default_folder(&sweep.name, simulation),
            None => Path::new("results").join(&sweep.name),
        };
        let folder = request.out.clone().unwrap_or_else(default_folder);
        let (worker, worker_info) = match (named, request.consent) {
            (Some(named), Consent::Refused) => worker::assume(named, &folder, &sweep),
            (named, _) => {
                let program = request.worker.clone().or(named);
                worker::find(program.as_deref(), &sweep)?
            }
        };
        if let Some(each_node) = &request.each_node {
            // A job plans its own node only, so it does not look for nodes with samples.
            each_node.apply(&mut sweep, ranks_per_node, Some(folder.as_path()).filter(|_| !request.is_job))?;
        }
        let (hosts, ranks_per_node) = self.choose_hosts(&sweep, ranks_per_node)?;
        let context = Context {
            transport: sweep.launch.transport,
            launcher: sweep.launch.launcher,
            ranks_per_node,
            place: sweep.launch.place,
            machine: match &simulation {
                Some(simulation) => simulation.card.name.clone(),
                None => (request.machine.clone())
                    .or_else(|| surroundings.machine_name(&sweep, &folder, request.consent))
                    .unwrap_or_else(provenance::host_name),
            },
            build: worker_info.build.fingerprint.clone(),
            builds: worker_info.build.families.clone(),
            library: match (sweep.launch.transport, &worker_info.mpi_library) {
                (TransportKind::Mpi, Some(library)) => library.clone(),
                _ => String::new(),
            },
            simulation,
        };
        let simulation = context.simulation.clone();
        let plan = Plan::new(context, sweep.points.clone(), sweep.launch.launches, sweep.repeat, sweep.seed);
        let plan = plan.map_err(|error| simulated::name_other_sweeps(error, simulation.as_ref(), &sweep, &machine))?;
        check_host_count(&plan, &hosts)?;
        check_path(&folder)?;
        let each_node = request.each_node.clone();
        let replaced =
            Replaced { budget_seconds: request.budget, launches: request.launches, ranks: request.ranks.clone() };
        let sized_for = None;
        Ok(Campaign { sweep, plan, worker, worker_info, folder, hosts, machine, sized_for, site, each_node, replaced })
    }

    /// The part of the last cache seen when this result was begun, so that a resumed sweep has the same sizes.
    fn recorded_last_cache(&self, sweep: &Path) -> Option<u64> {
        let default_folder = || Path::new("results").join(sweep.file_stem().unwrap_or_default());
        let folder = Folder::open(&self.request.out.clone().unwrap_or_else(default_folder)).ok()?;
        Manifest::read(&folder).ok()?.driver_host.last_cache_seen_bytes
    }

    fn choose_hosts(&self, sweep: &Sweep, ranks_per_node: Option<usize>) -> Result<(Vec<String>, Option<usize>)> {
        let requested = hosts::choose_source(&self.request.hosts, self.request.hostfile.as_deref());
        match requested.as_ref().or(sweep.launch.hosts.as_ref()) {
            // Each launch gets the name of its node.
            _ if self.request.each_node.is_some() => Ok((Vec::new(), ranks_per_node)),
            Some(source) => {
                let hosts = read_hosts(sweep, source)?;
                let ranks = hosts.ranks_per_node(ranks_per_node)?;
                Ok((hosts.names, Some(ranks)))
            }
            None if sweep.launch.command.iter().any(|argument| argument.contains("{hosts}")) => {
                let message = "the command of launcher \"custom\" contains {hosts}, but no hosts are given";
                Err(Error::input(message, "add --hosts (such as --hosts node1,node2), or hosts to [launch]"))
            }
            None => Ok((Vec::new(), ranks_per_node)),
        }
    }
}

fn replace_settings(request: &Request, sweep: &mut Sweep) -> Result<()> {
    let given = [("--budget", request.budget.is_some()), ("--launches", request.launches.is_some())];
    let flag = given.iter().find(|(_, is_given)| *is_given).map(|(flag, _)| flag);
    if let (Some(flag), TransportKind::Simulated) = (flag, sweep.launch.transport) {
        let message = format!("{flag} does not apply: the ranks of this sweep are simulated, each point once");
        return Err(Error::input(message, format!("remove {flag}")));
    }
    let most = MAX_POINTS / sweep.points.len().max(1);
    if let Some(launches) = request.launches.filter(|launches| *launches as usize > most) {
        let points = plural(sweep.points.len(), "point");
        let message = format!("--launches {launches} of {points} are more than {MAX_POINTS} points in total");
        return Err(Error::input(message, format!("write --launches {most} or less, or use fewer points")));
    }
    sweep.launch.launches = request.launches.unwrap_or(sweep.launch.launches);
    sweep.repeat.budget_seconds = request.budget.or(sweep.repeat.budget_seconds);
    Ok(())
}

fn read_hosts(sweep: &Sweep, source: &HostsSource) -> Result<Hosts> {
    let launch = &sweep.launch;
    let hosts = source.read()?;
    match (launch.launcher.make)(&launch.command)?.takes_hosts() {
        true => Ok(hosts),
        false if launch.launcher.takes_command => Err(Error::input(
            "hosts are given, but the command of launcher \"custom\" does not contain {hosts}",
            "add {hosts} to the command (it becomes a list with commas), or remove the hosts",
        )),
        false => Err(Error::input(
            format!("launcher \"{}\" does not accept hosts", launch.launcher.id),
            "remove the hosts, or choose a launcher that accepts them, such as openmpi, mpich or srun",
        )),
    }
}

fn check_host_count(plan: &Plan, hosts: &[String]) -> Result<()> {
    if hosts.is_empty() {
        return Ok(());
    }
    let needed = |size: LaunchSize| (plan.context.node_count(size).unwrap_or(size.ranks), size);
    match plan.by_size().into_keys().map(needed).max_by_key(|(nodes, _)| *nodes) {
        Some((nodes, size)) if nodes > hosts.len() => Err(Error::input(
            format!(
                "{size} take {}, but the list has {}: {}",
                plural(nodes, "host"),
                plural(hosts.len(), "host"),
                hosts.join(", ")
            ),
            "list more hosts, put more ranks on each with --ranks-per-node, or use fewer ranks in the sweep",
        )),
        _ => Ok(()),
    }
}

/// Ranks get the path as an argument.
fn check_path(folder: &Path) -> Result<()> {
    match std::path::absolute(folder) {
        Ok(path) if path.to_str().is_none() => Err(Error::input(
            format!("the path of the result folder {} is not UTF-8", path.display()),
            "choose another folder with --out",
        )),
        _ => Ok(()),
    }
}
