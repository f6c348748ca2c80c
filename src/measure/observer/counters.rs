use apexmap_base::disturbance::Fact;
use perf_event::events::{Cache, CacheOp, CacheResult, Event, Hardware, WhichCache};
use perf_event::{Builder, Counter};

/// Perf events of the calling thread, while a kernel's clock runs.
pub struct Counters(Vec<(Fact, Counter)>);

impl Counters {
    /// Core cycles, last-level cache misses and data TLB misses. `None` if the system offers none of them.
    pub fn hardware() -> Option<Self> {
        let tlb = Cache { which: WhichCache::DTLB, operation: CacheOp::READ, result: CacheResult::MISS };
        Self::open_events([
            (Fact::CoreCycles, Event::Hardware(Hardware::CPU_CYCLES)),
            (Fact::CacheMisses, Event::Hardware(Hardware::CACHE_MISSES)),
            (Fact::TlbMisses, Event::Cache(tlb)),
        ])
    }

    /// Those that the system offers.
    pub fn open_events(events: impl IntoIterator<Item = (Fact, Event)>) -> Option<Self> {
        let open_counter = |(fact, event)| Some((fact, Builder::new().kind(event).build().ok()?));
        let counters: Vec<_> = events.into_iter().filter_map(open_counter).collect();
        (!counters.is_empty()).then_some(Self(counters))
    }

    pub fn start(&mut self) {
        for (_, counter) in &mut self.0 {
            // A counter that does not start counts nothing, and `stop` leaves it out.
            let _ = counter.reset().and_then(|()| counter.enable());
        }
    }

    /// The count of a counter that shared the hardware with others is scaled to the whole time. A counter that never ran is left
    /// out.
    pub fn stop(&mut self) -> Vec<(Fact, f64)> {
        let read = |(fact, counter): &mut (Fact, Counter)| {
            counter.disable().ok()?;
            let count = counter.read_count_and_time().ok()?;
            let share = count.time_running as f64 / count.time_enabled as f64;
            (count.time_running > 0).then(|| (*fact, count.count as f64 / share))
        };
        self.0.iter_mut().filter_map(read).collect()
    }
}
