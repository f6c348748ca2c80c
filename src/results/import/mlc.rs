//! Intel's Memory Latency Checker: matrices between NUMA nodes, peak bandwidths, and latency under load. MB are 10^6 bytes.

use super::stream::KERNEL;
use super::values::{Row, Statistic, Values, scale};
use apexmap_base::units::{self, Unit};

#[derive(Clone, Copy, Default, PartialEq)]
enum Part {
    Latency,
    Bandwidth,
    Peak,
    Loaded,
    CacheToCache,
    #[default]
    Other,
}

const HEADINGS: [(&str, Part); 6] = [
    ("Measuring idle latencies", Part::Latency),
    ("Measuring Peak", Part::Peak),
    ("Measuring Maximum", Part::Peak),
    ("Measuring Memory Bandwidths between nodes", Part::Bandwidth),
    ("Measuring Loaded Latencies", Part::Loaded),
    ("Measuring cache-to-cache", Part::CacheToCache),
];

#[derive(Default)]
struct Table {
    part: Part,
    /// The heading of a part, or of a matrix of transfers.
    heading: String,
    /// The NUMA nodes that are the columns of a matrix.
    nodes: Vec<u64>,
    is_read_only: bool,
    buffer_bytes: Option<u64>,
}

pub fn read(text: &str) -> Result<Values, String> {
    let version =
        text.split_once("Memory Latency Checker").and_then(|(_, rest)| rest.lines().next()).unwrap_or_default();
    let version = version.trim_start_matches([' ', '-', '\u{2013}', 'v']).split_whitespace().next().unwrap_or_default();
    let mut values = Values::new("mlc", version);
    let (mut table, mut options) = (Table::default(), None);
    for line in text.lines().map(str::trim) {
        if line.starts_with("Measuring") {
            let part =
                HEADINGS.iter().find(|(start, _)| line.starts_with(start)).map_or(Part::Other, |(_, part)| *part);
            table = Table { part, heading: line.into(), buffer_bytes: table.buffer_bytes, ..Table::default() };
        } else if line.starts_with("Using buffer size of") {
            table.buffer_bytes = buffer_bytes(line);
        } else if let Some(given) = line.strip_prefix("Command line parameters:").map(str::trim) {
            options = Some(given).filter(|given| !given.is_empty());
        } else if line.to_lowercase().starts_with("using read-only") {
            table.is_read_only = true;
        } else if line.starts_with("Each iteration took") {
            values.rows.extend(idle(line).map(|row| row.with_known("region_bytes", table.buffer_bytes)));
        } else {
            values.rows.extend(table.rows(line));
        }
    }
    // They choose the traffic, the pages and the cores.
    values.rows = values.rows.into_iter().map(|row| row.with_known("options", options)).collect();
    values.require_rows("has no table of Intel's Memory Latency Checker that can be read")
}

impl Table {
    /// Returns the values of a line, and remembers the nodes of a matrix.
    fn rows(&mut self, line: &str) -> Vec<Row> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let numbers: Vec<Option<f64>> = fields.iter().map(|field| field.parse().ok()).collect();
        match (self.part, numbers.as_slice()) {
            (Part::Other, _) => Vec::new(),
            (Part::Peak, _) => peak(line).into_iter().collect(),
            (Part::Loaded, [Some(delay), Some(latency), Some(rate)]) => {
                let row = Row::new("calibrate.loaded", Statistic::Mean)
                    .with_known("write_per_cent", self.is_read_only.then_some(0_u64))
                    .with("inject_delay", *delay as u64)
                    .value("operation_seconds", scale(*latency, -9))
                    .value("background_bytes_per_second", scale(*rate, 6));
                vec![row]
            }
            (Part::Loaded, _) => Vec::new(),
            // A line of a matrix. A dash is no value.
            (_, [Some(node), rates @ ..]) if rates.len() == self.nodes.len() => {
                let cells = self.nodes.iter().zip(rates).filter_map(|(column, rate)| Some((*column, (*rate)?)));
                cells.map(|(column, rate)| self.cell(*node as u64, column, rate)).collect()
            }
            (Part::CacheToCache, [.., Some(latency)]) if line.contains("atency") => {
                let transfer = fields[..fields.len() - 1].join(" ");
                let row = Row::new("mlc.cache_to_cache", Statistic::Mean).with("transfer", transfer.as_str());
                vec![row.value("operation_seconds", scale(*latency, -9))]
            }
            _ => {
                // The line above a matrix ends with the nodes: "Numa node      0      1".
                if line.contains("atency") {
                    line.clone_into(&mut self.heading);
                } else if ["Numa node", "Numa Node", "Socket"].iter().any(|word| line.contains(word)) {
                    self.nodes = numbers.iter().flatten().map(|node| *node as u64).collect();
                }
                Vec::new()
            }
        }
    }

    fn cell(&self, row_node: u64, column_node: u64, number: f64) -> Row {
        let between = |row: Row| row.with("core_node", row_node).with("memory_node", column_node);
        let row = |kernel: &str| Row::new(kernel, Statistic::Mean);
        match self.part {
            Part::Bandwidth => between(row(KERNEL).with("access", "read")).value("bytes_per_second", scale(number, 6)),
            Part::CacheToCache => row("mlc.cache_to_cache")
                .with("transfer", self.heading.as_str())
                .with("writer_node", row_node)
                .with("reader_node", column_node)
                .value("operation_seconds", scale(number, -9)),
            _ => {
                // One core follows one chain; an access in sequence is another quantity.
                let is_chain = !self.heading.contains("sequential");
                let kernel =
                    if is_chain { row("calibrate.chase").with("chases", 1_u64) } else { row("mlc.sequential_latency") };
                let kernel = kernel.with("ranks", 1_u64).with_known("region_bytes", self.buffer_bytes);
                between(kernel).value("operation_seconds", scale(number, -9))
            }
        }
    }
}

/// Returns the latency of `Each iteration took 233.6 core clocks ( 93.4 ns)`, which `mlc --idle_latency` prints.
fn idle(line: &str) -> Option<Row> {
    let latency: f64 = line.split_once('(')?.1.split_once("ns")?.0.trim().parse().ok()?;
    let row = Row::new("calibrate.chase", Statistic::Mean).with("ranks", 1_u64).with("chases", 1_u64);
    Some(row.value("operation_seconds", scale(latency, -9)))
}

/// Returns a line of the peak bandwidths: `ALL Reads        :  225097.1`. Only the first is a quantity of apexmap.
fn peak(line: &str) -> Option<Row> {
    let (traffic, rate) = line.rsplit_once(':')?;
    let rate: f64 = rate.trim().parse().ok()?;
    let row = match traffic.trim() {
        "ALL Reads" => Row::new(KERNEL, Statistic::Mean).with("access", "read"),
        traffic => Row::new("mlc.peak_bandwidth", Statistic::Mean).with("traffic", traffic),
    };
    Some(row.value("bytes_per_second", scale(rate, 6)))
}

/// Returns the bytes of `Using buffer size of 2000.000MiB`. A size per thread is of another kind.
fn buffer_bytes(line: &str) -> Option<u64> {
    let size = line.strip_prefix("Using buffer size of")?.replace("KB", "KiB").replace("MB", "MiB");
    units::parse(&size, Unit::Bytes).ok().map(|bytes| bytes as u64)
}
