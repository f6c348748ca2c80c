//! One simulation per sample, in virtual time, on one thread.

use super::root::Root;
use super::watchdog::start_watchdog;
use super::{Job, Task, read_job, require_ranks, require_runnable, write_event};
use crate::comm::simulated::{self, Account, Machine};
use crate::comm::threads::OTHER_RANK_FAILED;
use crate::comm::{Transport, TransportKind, World};
use crate::kernels::{Kernel, Outcome};
use crate::numerics::mix::seed;
use crate::progress;
use apexmap_base::disturbance::Facts;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::{Point, Value};
use apexmap_base::provenance::Host;
use apexmap_base::sample::{Event, Launch};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

/// Every simulated sample has them, besides those of its kernel.
pub const WALL_SECONDS: &str = "simulation_wall_seconds";
pub const MESSAGES: &str = "simulation_messages";
/// Samples have it if ranks waited for room in a mailbox.
pub const BLOCKED_SHARE: &str = "blocked_share";
/// The standard deviation of the logarithm of the seconds over machines with numbers drawn from the intervals of the card, and the
/// number of these machines.
pub const CARD_SPREAD: &str = "card_spread";
pub const CARD_DRAWS: &str = "card_draws";

/// As [`super::run_job`] does.
pub fn run_job(job_file: &Path, ranks: usize) -> Result<()> {
    start_watchdog(TransportKind::Simulated);
    // The watchdog detects a line that cannot be written.
    progress::set_reporter(progress::MIN_REPORT_INTERVAL, |event| drop(write_event(&event)));
    let job = &read_job(job_file)?;
    require_ranks(job, ranks)?;
    let Some(machine) = &job.machine else {
        return Err(Error::input(
            "the job names no machine to simulate",
            "write it with `apexmap run --simulate CARD`",
        ));
    };
    let kernels: Vec<&Kernel> =
        job.tasks.iter().map(|task| require_runnable(job, &task.point)).collect::<Result<_>>()?;
    let record = job.launch_record();
    let launch = Launch {
        // Virtual time has no cycles of this host.
        host: Host { cycle_hertz: None, ..record.host },
        library: format!("simulated, card {}", machine.name),
        node_types: BTreeMap::from([(format!("card {}", machine.name), Vec::new())]),
        ..record
    };
    let started = Instant::now();
    let mut root = Root::new(job, launch, 0.0)?;
    while let Some([index, repetition]) = root.announce_next(started.elapsed().as_secs_f64())? {
        let (index, task) = (index as usize, &job.tasks[index as usize]);
        let stream = seed(&[u64::from(job.block), repetition]);
        let begun_at = Instant::now();
        let costs = task.costs.unwrap_or_default();
        let (results, account) = run_point(machine, costs, kernels[index], &task.point, stream)?;
        let result = match first_result(results) {
            Ok(outcome) => with_spread(outcome, job, task, kernels[index], stream)?,
            failure => failure,
        };
        match result {
            Ok(outcome) => {
                let outcome = with_account(outcome, account, begun_at.elapsed().as_secs_f64());
                root.record(index, repetition as u32, outcome, Facts::default(), || 1e-12)?;
            }
            Err(reason) => root.record_failure(index, repetition as u32, reason)?,
        }
    }
    write_event(&Event::Done { budget_spent: root.budget_spent })
}

type RankResult = Result<Result<Outcome>, String>;

fn run_point(
    machine: &Machine,
    costs: simulated::ComputationCosts,
    kernel: &Kernel,
    point: &Point,
    stream: u64,
) -> Result<(Vec<RankResult>, Account)> {
    simulated::run(&machine.for_kernel(kernel.id), costs, point.ranks, |comm, arena| {
        kernel.run(point, stream, &mut World { transport: Transport::Simulated(comm), arena })
    })
}

fn first_result(results: Vec<RankResult>) -> Result<Outcome, String> {
    let describe = |(rank, result): (usize, &RankResult)| match result {
        Ok(Ok(_)) => None,
        Ok(Err(error)) => Some(error.message.clone()),
        Err(message) if message == OTHER_RANK_FAILED => None,
        Err(message) => Some(format!("rank {rank} failed: {message}")),
    };
    match results.iter().enumerate().find_map(describe) {
        Some(reason) => Err(reason),
        None => results.into_iter().flatten().flatten().next().ok_or_else(|| OTHER_RANK_FAILED.to_owned()),
    }
}

/// Over the resampled machines of the job, if it has any.
fn with_spread(
    mut outcome: Outcome,
    job: &Job,
    task: &Task,
    kernel: &Kernel,
    stream: u64,
) -> Result<Result<Outcome, String>> {
    let mut logarithms = Vec::new();
    for (machine, costs) in job.resampled.iter().zip(&task.resampled_costs) {
        match first_result(run_point(machine, *costs, kernel, &task.point, stream)?.0) {
            Ok(drawn) => logarithms.push(drawn.seconds.ln()),
            Err(reason) => return Ok(Err(reason)),
        }
    }
    let n = logarithms.len() as f64;
    if logarithms.len() > 1 {
        let mean = logarithms.iter().sum::<f64>() / n;
        let variance = logarithms.iter().map(|logarithm| (logarithm - mean).powi(2)).sum::<f64>() / (n - 1.0);
        outcome.outputs.insert(CARD_SPREAD, Value::Real(variance.sqrt()));
        outcome.outputs.insert(CARD_DRAWS, Value::Integer(logarithms.len() as u64));
    }
    Ok(Ok(outcome))
}

fn with_account(mut outcome: Outcome, account: Account, wall_seconds: f64) -> Outcome {
    outcome.outputs.insert(WALL_SECONDS, Value::Real(wall_seconds));
    outcome.outputs.insert(MESSAGES, Value::Integer(account.messages));
    if account.blocked_share > 0.0 {
        outcome.outputs.insert(BLOCKED_SHARE, Value::Real(account.blocked_share));
    }
    outcome
}
