use apexmap_base::disturbance::{Fact, Facts};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Instant;

pub struct ThreadTimes {
    time: Instant,
    run_seconds: Option<f64>,
    /// Ready to run but not running.
    delay_seconds: Option<f64>,
    usage: Option<Usage>,
    hardware_thread: Option<usize>,
}

thread_local! {
    static SCHEDULER: Option<File> = File::open("/proc/thread-self/schedstat").ok();
}

impl ThreadTimes {
    pub fn read() -> Self {
        Self {
            time: Instant::now(),
            run_seconds: clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
                .ok()
                .map(|time| time.tv_sec() as f64 + time.tv_nsec() as f64 * 1e-9),
            delay_seconds: SCHEDULER.with(|file| read_delay_seconds(file.as_ref()?)),
            usage: getrusage(UsageWho::RUSAGE_THREAD).ok(),
            hardware_thread: nix::sched::sched_getcpu().ok(),
        }
    }

    pub fn facts_since(&self, earlier: &Self) -> Facts {
        let seconds = (self.time - earlier.time).as_secs_f64();
        let share = |amount: f64| (seconds > 0.0).then(|| (amount / seconds).clamp(0.0, 1.0));
        let elapsed = |value: fn(&Self) -> Option<f64>| Some(value(self)? - value(earlier)?);
        let count_difference =
            |count: fn(&Usage) -> i64| Some((count(self.usage.as_ref()?) - count(earlier.usage.as_ref()?)) as f64);
        let mut facts = Facts::default().with_fact(Fact::WatchedSeconds, seconds);
        facts.set(Fact::OffCoreShare, elapsed(|times| times.run_seconds).and_then(|ran| share(seconds - ran)));
        facts.set(Fact::RunDelayShare, elapsed(|times| times.delay_seconds).and_then(share));
        facts.set(Fact::InvoluntarySwitches, count_difference(|usage| usage.involuntary_context_switches()));
        facts.set(Fact::VoluntarySwitches, count_difference(|usage| usage.voluntary_context_switches()));
        facts.set(Fact::MinorFaults, count_difference(|usage| usage.minor_page_faults()));
        facts.set(Fact::MajorFaults, count_difference(|usage| usage.major_page_faults()));
        let moved = self
            .hardware_thread
            .zip(earlier.hardware_thread)
            .map(|(current, previous)| f64::from(u8::from(current != previous)));
        facts.set(Fact::Moves, moved);
        facts
    }
}

/// A kernel that does not record these statistics reports 0 for all three numbers.
fn read_delay_seconds(file: &File) -> Option<f64> {
    let mut text = [0; 96];
    let length = file.read_at(&mut text, 0).ok()?;
    let mut fields = std::str::from_utf8(&text[..length]).ok()?.split_ascii_whitespace().map(str::parse::<u64>);
    let (run_time, delay) = (fields.next()?.ok()?, fields.next()?.ok()?);
    (run_time > 0).then_some(delay as f64 * 1e-9)
}
