use crate::hardware::{SystemFiles, this_system};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Since the host's start, over all hardware threads, in ticks of the system.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostTimes {
    pub busy: u64,
    pub idle: u64,
    /// Given to other machines by the hypervisor.
    pub stolen: u64,
}

impl HostTimes {
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

/// Over about the last second, because the ticks are too coarse for one run.
pub struct HostWatch {
    /// On the host. Each keeps one hardware thread busy, also while it waits.
    ranks: usize,
    hardware_threads: usize,
    /// With the processor time of ended programs that this process started, in seconds.
    readings: VecDeque<(Instant, HostTimes, f64)>,
}

/// Reading the host's times takes up to a millisecond on large hosts.
const READING_INTERVAL: Duration = Duration::from_millis(100);
const OBSERVED_PERIOD: Duration = Duration::from_secs(1);
/// For a share (10 ms on most systems). One tick is then at most 2 % of the total.
const MIN_TICKS: u64 = 50;

impl HostWatch {
    pub fn new(ranks: usize, hardware_threads: usize) -> Self {
        Self { ranks, hardware_threads, readings: VecDeque::new() }
    }

    pub fn read_if_due(&mut self) {
        if self.readings.back().is_none_or(|(time, ..)| time.elapsed() >= READING_INTERVAL)
            && let Some(times) = HostTimes::read(&this_system())
        {
            let programs = getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0.0, |usage| {
                let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 * 1e-6;
                seconds(usage.user_time()) + seconds(usage.system_time())
            });
            self.record_with_programs(Instant::now(), times, programs);
        }
    }

    pub fn record(&mut self, time: Instant, times: HostTimes) {
        self.record_with_programs(time, times, 0.0);
    }

    /// `programs` is the processor time of all programs that this process started and that have ended.
    pub fn record_with_programs(&mut self, time: Instant, times: HostTimes, programs: f64) {
        self.readings.push_back((time, times, programs));
        while self.readings.get(1).is_some_and(|(second, ..)| time - *second >= OBSERVED_PERIOD) {
            self.readings.pop_front();
        }
    }

    fn elapsed_times(&self) -> Option<HostTimes> {
        let ((_, first, _), (_, last, _)) = (self.readings.front()?, self.readings.back()?);
        Some(last.difference(*first)).filter(|elapsed| elapsed.total() >= MIN_TICKS)
    }

    fn programs_busy(&self) -> Option<f64> {
        let ((begin, _, before), (end, _, after)) = (self.readings.front()?, self.readings.back()?);
        let seconds = (*end - *begin).as_secs_f64();
        (seconds > 0.0).then(|| (after - before) / seconds)
    }

    pub fn steal_share(&self) -> Option<f64> {
        self.elapsed_times().map(|elapsed| elapsed.stolen as f64 / elapsed.total() as f64)
    }

    pub fn other_cores(&self) -> Option<f64> {
        let elapsed = self.elapsed_times()?;
        let busy = elapsed.busy as f64 / elapsed.total() as f64 * self.hardware_threads as f64;
        // A rank that waits for a program with several threads keeps more than one hardware thread busy.
        let own = self.programs_busy().unwrap_or(0.0).max(self.ranks as f64);
        Some((busy - own).max(0.0))
    }
}
