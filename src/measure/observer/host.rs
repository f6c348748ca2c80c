//! What the system counts of the whole host.

use crate::hardware::{Below, Files};
use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

/// Processor time of a host since it started, over all hardware threads, in ticks of the system.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostTimes {
    pub busy: u64,
    pub idle: u64,
    /// Given to others by a hypervisor.
    pub stolen: u64,
}

impl HostTimes {
    /// From `/proc/stat`.
    pub fn read(system: &dyn Files) -> Option<Self> {
        let text = system.text("proc/stat")?;
        let line = text.lines().find(|line| line.starts_with("cpu "))?;
        let ticks: Vec<u64> = line.split_ascii_whitespace().skip(1).map_while(|word| word.parse().ok()).collect();
        // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user and nice, too.
        let [user, nice, system, idle, waiting, irq, softirq, ref rest @ ..] = ticks[..] else { return None };
        let stolen = rest.first().copied().unwrap_or(0);
        Some(Self { busy: user + nice + system + irq + softirq, idle: idle + waiting, stolen })
    }

    fn since(self, before: Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(before.busy),
            idle: self.idle.saturating_sub(before.idle),
            stolen: self.stolen.saturating_sub(before.stolen),
        }
    }

    fn all(self) -> u64 {
        self.busy + self.idle + self.stolen
    }
}

/// Follows the host over about the last second: its ticks are too long for one run.
pub struct HostWatch {
    /// Ranks on the host: each keeps a hardware thread busy, also while it waits.
    ranks: usize,
    /// Of the whole host.
    hardware_threads: usize,
    looks: VecDeque<(Instant, HostTimes)>,
}

/// Time between two looks: reading the host's times costs up to a millisecond on large hosts.
const BETWEEN: Duration = Duration::from_millis(100);
/// Time that is looked back.
const BACK: Duration = Duration::from_secs(1);
/// Ticks (10 ms on most systems) below which no share is told: one tick more or less is then a percent or two.
const LEAST_TICKS: u64 = 50;

impl HostWatch {
    /// Of a host with so many hardware threads, and ranks on it.
    pub fn new(ranks: usize, hardware_threads: usize) -> Self {
        Self { ranks, hardware_threads, looks: VecDeque::new() }
    }

    /// Takes note of the host's times, if the last look was long enough ago.
    pub fn look(&mut self) {
        if self.looks.back().is_none_or(|(at, _)| at.elapsed() >= BETWEEN)
            && let Some(times) = HostTimes::read(&Below(Path::new("/")))
        {
            self.note(Instant::now(), times);
        }
    }

    /// Takes note of the host's times at a moment.
    pub fn note(&mut self, at: Instant, times: HostTimes) {
        self.looks.push_back((at, times));
        while self.looks.get(1).is_some_and(|(second, _)| at - *second >= BACK) {
            self.looks.pop_front();
        }
    }

    fn passed(&self) -> Option<HostTimes> {
        let ((_, first), (_, last)) = (self.looks.front()?, self.looks.back()?);
        Some(last.since(*first)).filter(|passed| passed.all() >= LEAST_TICKS)
    }

    /// Share of the time that the hypervisor gave to others.
    pub fn steal_share(&self) -> Option<f64> {
        self.passed().map(|passed| passed.stolen as f64 / passed.all() as f64)
    }

    /// Hardware threads that other programs kept busy.
    pub fn other_cores(&self) -> Option<f64> {
        let passed = self.passed()?;
        let busy = passed.busy as f64 / passed.all() as f64 * self.hardware_threads as f64;
        Some((busy - self.ranks as f64).max(0.0))
    }
}
