//! Counters of the whole host.

use crate::hardware::{SystemFiles, this_system};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Processor time of a host since its start, over all hardware threads, in ticks of the system.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostTimes {
    pub busy: u64,
    pub idle: u64,
    /// Time that the hypervisor gave to other machines.
    pub stolen: u64,
}

impl HostTimes {
    /// Reads the times from `/proc/stat`.
    pub fn read(system: &dyn SystemFiles) -> Option<Self> {
        let text = system.text("proc/stat")?;
        let line = text.lines().find(|line| line.starts_with("cpu "))?;
        let ticks: Vec<u64> = line.split_ascii_whitespace().skip(1).map_while(|word| word.parse().ok()).collect();
        // user, nice, system, idle, iowait, irq, softirq, steal; guests are included in user and nice.
        let [user, nice, system, idle, iowait, irq, softirq, ref rest @ ..] = ticks[..] else { return None };
        let stolen = rest.first().copied().unwrap_or(0);
        Some(Self { busy: user + nice + system + irq + softirq, idle: idle + iowait, stolen })
    }

    fn difference(self, earlier: Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(earlier.busy),
            idle: self.idle.saturating_sub(earlier.idle),
            stolen: self.stolen.saturating_sub(earlier.stolen),
        }
    }

    fn total(self) -> u64 {
        self.busy + self.idle + self.stolen
    }
}

/// Observes the host over about the last second, because the ticks are too coarse for one run.
pub struct HostWatch {
    /// Number of ranks on the host. Each keeps one hardware thread busy, also while it waits.
    ranks: usize,
    /// Number of hardware threads of the whole host.
    hardware_threads: usize,
    readings: VecDeque<(Instant, HostTimes)>,
}

/// Minimum time between two readings: reading the host's times takes up to a millisecond on large hosts.
const READING_INTERVAL: Duration = Duration::from_millis(100);
/// Length of the observed period.
const OBSERVED_PERIOD: Duration = Duration::from_secs(1);
/// Minimum number of ticks (10 ms on most systems) for a share. One tick is then at most 2 % of the total.
const MIN_TICKS: u64 = 50;

impl HostWatch {
    /// Creates the observation of a host with this number of ranks and hardware threads.
    pub fn new(ranks: usize, hardware_threads: usize) -> Self {
        Self { ranks, hardware_threads, readings: VecDeque::new() }
    }

    /// Reads the host's times, if the last reading is old enough.
    pub fn read_if_due(&mut self) {
        if self.readings.back().is_none_or(|(time, _)| time.elapsed() >= READING_INTERVAL)
            && let Some(times) = HostTimes::read(&this_system())
        {
            self.record(Instant::now(), times);
        }
    }

    /// Records the host's times at a moment.
    pub fn record(&mut self, time: Instant, times: HostTimes) {
        self.readings.push_back((time, times));
        while self.readings.get(1).is_some_and(|(second, _)| time - *second >= OBSERVED_PERIOD) {
            self.readings.pop_front();
        }
    }

    fn elapsed_times(&self) -> Option<HostTimes> {
        let ((_, first), (_, last)) = (self.readings.front()?, self.readings.back()?);
        Some(last.difference(*first)).filter(|elapsed| elapsed.total() >= MIN_TICKS)
    }

    /// Returns the share of the time that the hypervisor gave to other machines.
    pub fn steal_share(&self) -> Option<f64> {
        self.elapsed_times().map(|elapsed| elapsed.stolen as f64 / elapsed.total() as f64)
    }

    /// Returns the number of hardware threads that other programs kept busy.
    pub fn other_cores(&self) -> Option<f64> {
        let elapsed = self.elapsed_times()?;
        let busy = elapsed.busy as f64 / elapsed.total() as f64 * self.hardware_threads as f64;
        Some((busy - self.ranks as f64).max(0.0))
    }
}
