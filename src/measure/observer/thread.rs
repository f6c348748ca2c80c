//! Counters of the calling thread.

use apexmap_base::disturbance::{Fact, Facts};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Instant;

pub struct ThreadTimes {
    at: Instant,
    /// Processor time, in seconds.
    ran: Option<f64>,
    /// Time ready to run but not running, in seconds.
    waited: Option<f64>,
    usage: Option<Usage>,
    hardware_thread: Option<usize>,
}

thread_local! {
    /// The scheduler statistics of the thread that opened the file.
    static SCHEDULER: Option<File> = File::open("/proc/thread-self/schedstat").ok();
}

impl ThreadTimes {
    pub fn now() -> Self {
        Self {
            at: Instant::now(),
            ran: clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
                .ok()
                .map(|time| time.tv_sec() as f64 + time.tv_nsec() as f64 * 1e-9),
            waited: SCHEDULER.with(|file| waited(file.as_ref()?)),
            usage: getrusage(UsageWho::RUSAGE_THREAD).ok(),
            hardware_thread: nix::sched::sched_getcpu().ok(),
        }
    }

    /// Returns the differences between `earlier` and this reading.
    pub fn since(&self, before: &Self) -> Facts {
        let seconds = (self.at - before.at).as_secs_f64();
        let share = |amount: f64| (amount / seconds).clamp(0.0, 1.0);
        let elapsed = |of: fn(&Self) -> Option<f64>| Some(of(self)? - of(before)?);
        let counted = |of: fn(&Usage) -> i64| Some((of(self.usage.as_ref()?) - of(before.usage.as_ref()?)) as f64);
        let mut facts = Facts::default().with(Fact::WatchedSeconds, seconds);
        facts.set(Fact::OffCoreShare, elapsed(|times| times.ran).map(|ran| share(seconds - ran)));
        facts.set(Fact::RunDelayShare, elapsed(|times| times.waited).map(share));
        facts.set(Fact::InvoluntarySwitches, counted(|usage| usage.involuntary_context_switches()));
        facts.set(Fact::VoluntarySwitches, counted(|usage| usage.voluntary_context_switches()));
        facts.set(Fact::MinorFaults, counted(|usage| usage.minor_page_faults()));
        facts.set(Fact::MajorFaults, counted(|usage| usage.major_page_faults()));
        let moved =
            self.hardware_thread.zip(before.hardware_thread).map(|(now, then)| f64::from(u8::from(now != then)));
        facts.set(Fact::Moves, moved);
        facts
    }
}

/// Reads the second number of `schedstat`, converted from nanoseconds to seconds. A kernel that does not record these statistics
/// reports 0 for all three numbers.
fn waited(file: &File) -> Option<f64> {
    let mut text = [0; 96];
    let length = file.read_at(&mut text, 0).ok()?;
    let mut fields = std::str::from_utf8(&text[..length]).ok()?.split_ascii_whitespace().map(str::parse::<u64>);
    let (ran, waited) = (fields.next()?.ok()?, fields.next()?.ok()?);
    (ran > 0).then_some(waited as f64 * 1e-9)
}
