//! One launch of the driver: its state, which its lines change.

use super::faults::{self, FailedPoint};
use super::watch::{Watch, Watcher};
use super::{execute::Ending, groups::Pending, plan::Plan, protocol::Protocol};
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::point::LaunchSize;
use apexmap_base::sample::{Event, Status};
use apexmap_measure::kernels;
use apexmap_measure::worker::Job;
use apexmap_results::disk::journal::Journal;
use apexmap_results::table::quietness::Quietness;
use std::time::{Duration, Instant};

pub struct Attempt {
    pub journal: Journal,
    pub protocol: Protocol,
    /// Whether its lines violate the protocol.
    pub faulty: bool,
    pub samples: u32,
    /// The first point whose run failed without ending the launch.
    pub failed: Option<FailedPoint>,
    /// The time from the greeting of its ranks after which it is ended within a sample, if there is a budget.
    limit: Option<Duration>,
    greeted_at: Option<Instant>,
    is_overdue: bool,
    watch: Watch,
    ends_if_noisy: bool,
}

impl Attempt {
    pub fn new(journal: Journal, job: Job, limit: Option<Duration>, ends_if_noisy: bool) -> Self {
        Self {
            journal,
            protocol: Protocol::new(job),
            faulty: false,
            samples: 0,
            failed: None,
            limit,
            greeted_at: None,
            is_overdue: false,
            watch: Watch::default(),
            ends_if_noisy,
        }
    }

    /// An error, which ends the launch, if a sample exceeds the budget by far.
    pub fn check_time(&mut self) -> Result<()> {
        self.is_overdue = self.limit.zip(self.greeted_at).is_some_and(|(limit, start)| start.elapsed() > limit);
        if self.is_overdue { Err(Error::internal("the budget is spent")) } else { Ok(()) }
    }

    /// Records one checked event. `pending` is the point whose run it belongs to.
    pub fn record(
        &mut self,
        plan: &Plan,
        size: LaunchSize,
        pending: Option<&mut Pending>,
        event: Event,
        watcher: &mut dyn Watcher,
    ) -> Result<()> {
        match (&event, pending) {
            (Event::Hello(launch), _) => {
                if launch.build != plan.context.build {
                    return Err(Error::input(
                        "the worker was rebuilt while the sweep ran: samples of two builds are not comparable",
                        "rerun to plan for the new build",
                    ));
                }
                self.greeted_at = Some(Instant::now());
                faults::check_nodes(size, launch)?;
                faults::check_memory(plan, size, launch)?;
                self.watch.begin_launch(launch);
                watcher.report_placement(launch);
            }
            (Event::Start { .. }, Some(pending)) => {
                watcher.report_start(&plan.entries[pending.entry].point, &pending.values);
                return Ok(());
            }
            (Event::Progress { phase, share }, _) => {
                watcher.report_progress(*phase, *share);
                return Ok(());
            }
            (Event::Simulation { messages, seconds }, _) => {
                watcher.report_simulation(*messages, *seconds);
                return Ok(());
            }
            (Event::Sample(sample), Some(pending)) => {
                self.samples += 1;
                pending.next_repetition = sample.repetition + 1;
                match (sample.status, kernels::repeated_value(sample)) {
                    (Status::Ok, Some(value)) => pending.values.push(value),
                    _ => {
                        pending.failed = true;
                        self.failed.get_or_insert_with(|| FailedPoint::in_launch(sample));
                    }
                }
                self.journal.append(&event)?;
                self.watch.add_sample(sample);
                let is_finished = pending.failed || plan.repeat.is_satisfied(&pending.values);
                watcher.report_sample(sample, is_finished, &self.watch);
                return Ok(());
            }
            (Event::Preflight { canaries }, _) => {
                let (verdict, text) = self.watch.add_preflight(canaries);
                watcher.report_preflight(verdict, &text);
                if verdict == Quietness::Disturbed && self.ends_if_noisy {
                    self.journal.append(&event)?;
                    return Err(faults::noise_error(&text));
                }
            }
            (Event::Memory { .. } | Event::Done { .. }, _) => {}
            // The ending of the launch reports it.
            (Event::Fatal { .. }, _) => return Ok(()),
            (Event::Start { .. } | Event::Sample(_) | Event::Ended { .. }, _) => {
                return Err(Error::internal("a line of a launch was not checked"));
            }
        }
        self.journal.append(&event)
    }

    /// Ends a launch that the driver stopped. None of its samples counts if its lines are inconsistent, all if only the budget was spent.
    pub fn abandon(mut self, error: Error, watcher: &mut dyn Watcher) -> Result<Option<Error>> {
        if self.is_overdue {
            // These two lines together say that a sample is missing although the budget was spent.
            let ending = Ending::new(Status::TimedOut, "the budget was spent before a sample ended");
            self.journal.append(&Event::Done { budget_spent: true })?;
            self.journal.append(&ending.event(false))?;
            watcher.report_end(&ending);
            return self.journal.finish().map(|()| None);
        }
        // If the journal cannot be written either, the first error is reported.
        if !matches!(error.kind, ErrorKind::Interrupted(_)) {
            let ending = Ending::new(Status::Failed, error.message.clone());
            let _ = self.journal.append(&ending.event(self.faulty));
        }
        let _ = self.journal.finish();
        if !self.faulty {
            return Err(error);
        }
        watcher.report_misfit();
        Ok(Some(error))
    }
}
