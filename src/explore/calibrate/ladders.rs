//! What bounds are made of: the same small thing measured over a range of sizes, each number with its size as qualifier.

use super::Probe;

/// From so many bytes on, runs are longer.
const SETTLED: u64 = 32 << 20;

/// Bytes as a qualifier writes them, in the largest unit that they are whole in.
fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let found = units.into_iter().find(|(bits, _)| bytes >> bits > 0 && bytes.is_multiple_of(1 << bits));
    found.map_or(format!("{bytes}B"), |(bits, unit)| format!("{}{unit}", bytes >> bits))
}

/// Of a core: random reads and streams in regions of `least` to `most` bytes, powers of two.
pub fn memory(least: u64, most: u64) -> Vec<Probe> {
    let sizes = || std::iter::successors(Some(least), |bytes| Some(2 * bytes)).take_while(|bytes| *bytes <= most);
    let mut all = Vec::new();
    for bytes in sizes() {
        for (pages, order) in [
            ("huge", "independent"),
            ("huge", "prefetched"),
            ("huge", "dependent"),
            ("base", "independent"),
            ("base", "prefetched"),
        ] {
            let number = format!("read_seconds--{}-{pages}-{order}", size(bytes));
            // A large cache takes long to hold what random reads need instead of what was there before.
            let reads = match (order, bytes) {
                ("dependent", _) => 1u64 << 16,
                (_, ..SETTLED) => 1 << 18,
                _ => 1 << 22,
            };
            let probe = Probe::new(number, "calibrate.read", 1).with("bytes", bytes).with("pages", pages);
            all.push(probe.with("order", order).with("reads", reads));
        }
        let number = format!("read_bandwidth_bytes_per_second--{}", size(bytes));
        let probe = Probe::new(number, "calibrate.stream", 1).with("bytes", bytes);
        let passes = ((1u64 << 26) / bytes).max(1);
        all.push(probe.with("passes", passes).with("access", "read").from("bytes_per_second"));
    }
    all
}

/// Of a core: dependent reads of one line a page, over pages.
pub fn pages(most: u64) -> Vec<Probe> {
    let mut all = Vec::new();
    for (pages, page) in [("base", 4u64 << 10), ("huge", 2 << 20)] {
        for bytes in std::iter::successors(Some(4 * page), |bytes| Some(2 * bytes)).take_while(|bytes| *bytes <= most) {
            let probe = Probe::new(format!("page_read_seconds--{}-{pages}", size(bytes)), "calibrate.read", 1);
            let probe = probe.with("bytes", bytes).with("pages", pages).with("order", "dependent");
            all.push(probe.with("spread", "pages").with("reads", 1u64 << 16));
        }
    }
    all
}

/// Of a node: the latency of one core's reads while the others read for so much of the time.
pub fn loaded(bytes: u64, cores: usize) -> Vec<Probe> {
    let at = |share: u64| {
        let probe =
            |number: String| Probe::new(number, "calibrate.loaded", cores).with("bytes", bytes).with("share", share);
        let latency = probe(format!("loaded_latency_seconds--{share}_per_cent"));
        let bandwidth = probe(format!("loaded_bandwidth_bytes_per_second--{share}_per_cent"));
        [latency, bandwidth.from("background_bytes_per_second")]
    };
    [0, 25, 50, 75, 100]
        .into_iter()
        .flat_map(at)
        .filter(|probe| !probe.number.ends_with("second--0_per_cent"))
        .collect()
}

/// Of a rank: messages by all ways that kernels send them.
pub fn messages() -> Vec<Probe> {
    let mut all = Vec::new();
    let each = |number: String, kernel, bytes: u64, count: u64| {
        Probe::new(number, kernel, 2).with("message_bytes", bytes).with("messages", count)
    };
    // The shortest twice, as what they cost depends on how many places they go to.
    let sizes = [
        (4u64, 1024u64, "-few"),
        (4, 16384, ""),
        (64, 16384, ""),
        (1 << 10, 4096, ""),
        (4 << 10, 2048, ""),
        (16 << 10, 1024, ""),
        (64 << 10, 256, ""),
    ];
    for (bytes, count, few) in sizes {
        for operation in ["send", "put"] {
            let name = |way: &str| format!("message_seconds--{}-{operation}{way}{few}", size(bytes));
            let one_way = each(name(""), "message_rate.streaming", bytes, count).with("operation", operation);
            all.push(per_rank(one_way.clone(), 1.0));
            let both = each(name("-both"), "message_rate.bidirectional", bytes, count).with("operation", operation);
            // The operations of both directions; a rank's own are half of them.
            all.push(per_rank(both, 2.0));
            if few.is_empty() {
                let to_one = Probe { number: name("-one"), ..one_way.with("buffers", "one") };
                all.push(per_rank(to_one, 1.0));
            }
        }
    }
    for (bytes, count) in [(8u64, 16384u64), (1 << 10, 4096), (8 << 10, 1024)] {
        all.push(each(format!("message_seconds--{}-mailbox", size(bytes)), "calibrate.mailbox", bytes, count));
    }
    // Short runs, as the best of them counts, and a long one is always interrupted on a busy machine.
    for (bytes, count) in [(8u64, 2048u64), (4 << 10, 1024), (64 << 10, 128), (512 << 10, 16)] {
        for (window, way) in [(1u64, "one"), (16, "many")] {
            let get = each(format!("get_seconds--{}-{way}", size(bytes)), "calibrate.get", bytes, count);
            all.push(get.with("window", window));
        }
    }
    for operation in ["send", "put"] {
        let number = format!("network_latency_seconds--4B-{operation}");
        let pong = each(number, "message_rate.ping_pong", 4, 1024).with("operation", operation);
        all.push(per_rank(pong, 1.0));
    }
    all
}

/// From the operations of all ranks in a second.
fn per_rank(probe: Probe, times: f64) -> Probe {
    Probe { inverse: true, times, ..probe.from("operations_per_second") }
}
