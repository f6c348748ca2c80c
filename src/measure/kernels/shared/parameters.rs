use crate::kernels::prelude::*;

pub const PAGES: Key<Pages> =
    choice_key("pages", "page size requested: huge (2 MiB on x86_64) or base (4 KiB); page_bytes has the size granted");

pub(crate) const PAGE_BYTES: Output =
    output("page_bytes", Unit::Bytes, "page size granted to rank 0; absent if mixed or unknown");
pub(crate) const HUGE_SHARE: Output = output("huge_share", Unit::None, "fraction of rank 0's memory on huge pages");

pub(crate) fn add_traffic(outcome: &mut Outcome, bytes: f64) {
    outcome.outputs.insert(TRAFFIC[0].column, Value::Real(bytes));
    outcome.outputs.insert(TRAFFIC[1].column, Value::Real(bytes / outcome.seconds));
}

pub(crate) const fn seed_key(meaning: &'static str) -> Key<u64> {
    key("seed", meaning, integers(0..=u64::MAX, 1))
}

pub(crate) const fn receive_buffers(meaning: &'static str) -> Key<u64> {
    key("B", meaning, HANDLES).in_column("receive_buffers", Unit::None)
}

pub(crate) const fn send_handles(meaning: &'static str) -> Key<u64> {
    key("SMSG", meaning, HANDLES).in_column("send_handles", Unit::None)
}

const HANDLES: Domain = integers(1..=1 << 16, 16);

/// Both values are computed from the accesses of a run, not measured by hardware counters.
pub const TRAFFIC: [Output; 2] = [
    output(
        "traffic_bytes",
        Unit::Bytes,
        "bytes that travel between memory and cores if no cache holds the data: whole lines of 64 bytes; a store counts twice, \
         because it reads its line first (read for ownership), unless it is non-temporal",
    ),
    output("traffic_bytes_per_second", Unit::BytesPerSecond, "traffic_bytes per second"),
];
