//! HPCC's `hpccoutf.txt`: the summary at its end, one `name=value` per line.
//!
//! RandomAccess, STREAM and the numbers of processes are apexmap's; the others are named `hpcc.NAME`. HPCC reports `Star...` as the
//! mean of its processes; the rate of all is that mean times their number, as far as they ran at the same time.

use super::stream::KERNEL;
use super::values::{Row, Statistic, Values, scale};
use apexmap_base::sample::Status;
use std::collections::BTreeMap;

const START: &str = "Begin of Summary section.";
const END: &str = "End of Summary section.";
/// A run of RandomAccess is valid with at most this share of wrong words.
const ALLOWED_ERRORS: f64 = 0.01;

struct Summary<'a>(BTreeMap<&'a str, &'a str>);

impl Summary<'_> {
    fn number(&self, name: &str) -> Option<f64> {
        self.0.get(name)?.parse().ok()
    }

    /// Returns a number that is a count. -1 means that the part did not run.
    fn count(&self, name: &str) -> Option<u64> {
        self.number(name).filter(|number| *number >= 0.0 && number.fract() == 0.0).map(|number| number as u64)
    }
}

pub fn read(text: &str) -> Result<Values, String> {
    let (head, rest) = text.rsplit_once(START).ok_or("has no summary: HPCC did not run to its end")?;
    let (lines, _) = rest.split_once(END).ok_or("has a summary without an end: it is cut off")?;
    let summary = Summary(lines.lines().filter_map(|line| line.trim().split_once('=')).collect());
    let version = ["VersionMajor", "VersionMinor", "VersionMicro"].map(|name| summary.count(name));
    let of_summary = version.iter().map_while(|part| part.map(|part| part.to_string())).collect::<Vec<_>>().join(".");
    let of_head =
        head.rsplit_once("HPC Challenge Benchmark version ").and_then(|(_, rest)| rest.split_whitespace().next());
    let version = of_head.map_or(of_summary, str::to_owned);
    let after = |mark: &str| head.rsplit_once(mark).map(|(_, rest)| rest.lines().next().unwrap_or_default());
    let host = after("Hostname: ").map(|host| host.trim().trim_matches('\'').to_owned());
    let mut values = Values {
        host: host.filter(|host| !host.is_empty()),
        unix_seconds: head.rsplit_once("Current time (").and_then(|(_, rest)| rest.split(')').next()?.parse().ok()),
        ..Values::new("hpcc", &version)
    };
    let processes = summary.count("CommWorldProcs").filter(|count| *count > 0);
    if processes.is_none() {
        values.notes.push("The summary has no CommWorldProcs, so the number of ranks is absent.".into());
    }
    for (suffix, stream) in [("", "lfsr"), ("_LCG", "lcg")] {
        add_random_access(&summary, processes, (suffix, stream), &mut values);
    }
    add_streams(&summary, processes, &mut values);
    add_other_tests(&summary, processes, &mut values);
    if summary.count("Success") == Some(0) {
        values.notes.push("HPCC reports Success=0: a part failed. Its lines above the summary say which.".into());
    }
    values.require_rows("has a summary without a value that apexmap knows")
}

/// Adds the three variants of RandomAccess with one of its two streams.
fn add_random_access(summary: &Summary, processes: Option<u64>, (suffix, stream): (&str, &str), values: &mut Values) {
    let global = |name: &str| summary.number(&format!("MPIRandomAccess{suffix}_{name}"));
    if let Some(rate) = global("GUPs") {
        let words = global("N");
        // Algorithms 1 and 2 are Sandia's along the dimensions of a hypercube.
        let algorithm = global("Algorithm").or(
            match ["NOPT", "OPT2"].map(|name| summary.count(&format!("CPS_RA_SANDIA_{name}"))) {
                [Some(plain), Some(optimised)] => Some(plain.saturating_add(optimised) as f64),
                _ => None,
            },
        );
        if algorithm.is_none() {
            values.notes.push(format!(
                "The summary does not say which algorithm MPIRandomAccess{suffix} used; it is taken as HPCC's standard one, random_access.base."
            ));
        }
        let kernel = match algorithm {
            Some(number) if number >= 1.0 => "random_access.hypercube",
            _ => "random_access.base",
        };
        let wrong = global("ErrorsFraction").or_else(|| Some(global("Errors")? / words?)).filter(|share| *share >= 0.0);
        let updates = global("ExeUpdates").filter(|updates| *updates > 0.0);
        let row = Row::new(kernel, Statistic::Sample)
            .with_known("ranks", processes)
            .with_known("table_words", words.filter(|words| *words > 0.0).map(|words| words as u64))
            .with("stream", stream)
            .value("operations_per_second", scale(rate, 9))
            .known_value("seconds", global("time"))
            .known_value("updates_made", updates)
            .known_value("errors", global("Errors").filter(|errors| *errors >= 0.0))
            .known_value("error_fraction", wrong);
        let wrong = wrong.filter(|share| *share > ALLOWED_ERRORS);
        let wrong = wrong.map(|share| format!("{} % of the words are wrong", 100.0 * share));
        values.rows.push(wrong.into_iter().fold(row, |row, why| row.fail(Status::Wrong, why)));
    }
    let words = summary.count(&format!("RandomAccess{suffix}_N")).filter(|words| *words > 0);
    for (name, kernel, ranks) in
        [("Single", "random_access.sequential", Some(1)), ("Star", "random_access.star", processes)]
    {
        let rate = summary.number(&format!("{name}RandomAccess{suffix}_GUPs"));
        // The rate of all ranks needs their number.
        let (Some(rate), Some(count)) = (rate, ranks) else { continue };
        let total = scale(rate, 9) * count as f64;
        values.rows.push(
            Row::new(kernel, Statistic::Sample)
                .with("ranks", count)
                .with_known("table_words", words)
                .with("stream", stream)
                .value("operations_per_second", total),
        );
    }
}

/// Adds STREAM: best of its runs, on one process and on all. Each process may have threads.
fn add_streams(summary: &Summary, processes: Option<u64>, values: &mut Values) {
    let threads = summary.count("STREAM_Threads").unwrap_or(1).max(1);
    // Three arrays of 8-byte words per process.
    let bytes =
        summary.count("STREAM_VectorSize").filter(|words| *words > 0).map(|words| words.saturating_mul(24) / threads);
    for (name, ranks) in [("Single", Some(1)), ("Star", processes)] {
        for operation in ["Copy", "Scale", "Add", "Triad"] {
            let rate = summary.number(&format!("{name}STREAM_{operation}"));
            let (Some(rate), Some(count)) = (rate, ranks) else { continue };
            let total = scale(rate, 9) * count as f64;
            let count = count.saturating_mul(threads);
            let each = total / count as f64;
            values.rows.push(
                Row::new(KERNEL, Statistic::Best)
                    .with("ranks", count)
                    .with("access", operation.to_lowercase().as_str())
                    .with_known("region_bytes", bytes)
                    .value("bytes_per_second", total)
                    .value("bytes_per_second_per_rank", each),
            );
        }
    }
}

/// Adds the results that no kernel of apexmap measures.
fn add_other_tests(summary: &Summary, processes: Option<u64>, values: &mut Values) {
    const UNITS: [(&str, &str, i32); 5] = [
        ("_Tflops", "flops_per_second", 12),
        ("_Gflops", "flops_per_second", 9),
        ("_GBs", "bytes_per_second", 9),
        ("_GBytes", "bytes_per_second", 9),
        ("_usec", "operation_seconds", -6),
    ];
    for (name, text) in &summary.0 {
        let unit = UNITS.iter().find(|(end, ..)| name.ends_with(end));
        let (Some((end, column, exponent)), Ok(number)) = (unit, text.parse::<f64>()) else { continue };
        let ranks = if name.starts_with("Single") { Some(1) } else { processes };
        let test = name.trim_end_matches(end);
        let base = ["Single", "Star"].iter().find_map(|prefix| test.strip_prefix(prefix)).unwrap_or(test);
        let setting =
            |suffixes: [&str; 2]| suffixes.iter().find_map(|suffix| summary.count(&format!("{base}{suffix}")));
        let row = Row::new(&format!("hpcc.{test}"), Statistic::Sample)
            .with_known("ranks", ranks)
            .with_known("problem_size", setting(["_N", "_n"]))
            .with_known("block_size", setting(["_NB", "_nb"]));
        values.rows.push(row.value(column, scale(number, *exponent)));
    }
}
