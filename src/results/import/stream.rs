//! McCalpin's STREAM and its versions for GPUs: the table of its four operations. Rates are the best of its runs.

use super::values::{Row, Statistic, Values, number_after, scale};
use crate::table::columns;
use apexmap_base::point::Value;
use apexmap_base::sample::Status;

pub const KERNEL: &str = "calibrate.stream";
pub const GPU_KERNEL: &str = "gpu.stream";
const OPERATIONS: [&str; 4] = ["Copy", "Scale", "Add", "Triad"];
const THREADS: [&str; 3] = ["Number of Threads counted", "Number of Threads requested", "Number of Threads"];

pub fn read(text: &str) -> Result<Values, String> {
    let version = text.split_once("Revision:").and_then(|(_, rest)| rest.split_whitespace().next()).unwrap_or_default();
    let mut values = Values::new("stream", version.trim_matches('$'));
    let header = text.lines().take_while(|line| !line.contains("Function")).collect::<Vec<_>>().join("\n");
    let (parameters, processes) = parameters(&header);
    let kernel = if names_device(&header) { GPU_KERNEL } else { KERNEL };
    let is_wrong = text.contains("Failed Validation");
    let mut last = "";
    for line in text.lines() {
        let mut fields = line.split_whitespace();
        let Some(name) = fields.next().and_then(|first| first.strip_suffix(':')) else { continue };
        let Some(operation) = OPERATIONS.iter().find(|operation| operation.eq_ignore_ascii_case(name)) else {
            continue;
        };
        last = operation;
        let fields: Vec<&str> = fields.take(4).collect();
        let numbers: Vec<f64> = fields.iter().filter_map(|field| field.parse().ok()).collect();
        let [rate, mean, least, most] = numbers[..] else {
            let line = columns::caption(line.trim());
            // Fortran prints stars for a number that does not fit.
            if fields.len() == 4 && line.contains("***") {
                values.notes.push(format!("A line of STREAM without a number is left out: {line}."));
                continue;
            }
            return Err(format!("has a line of STREAM that cannot be read: {line}"));
        };
        let total = scale(rate, 6);
        let row = Row::new(kernel, Statistic::Best)
            .with("access", operation.to_lowercase().as_str())
            .with_all(&parameters)
            .value("bytes_per_second", total)
            .value("bytes_per_second_per_rank", total / processes)
            .value("seconds", least)
            .value("seconds_mean", mean)
            .value("seconds_max", most);
        values.rows.push(if is_wrong { row.fail(Status::Wrong, "STREAM reports failed validation") } else { row });
    }
    if !["", OPERATIONS[3]].contains(&last) {
        return Err(format!("has a table of STREAM that ends after {last}: it is cut off"));
    }
    if is_wrong {
        values.notes.push("STREAM reports failed validation of a run, whose values are no measurement.".into());
    }
    values.require_rows("has no table of STREAM: it did not run to its end")
}

/// What the header names, and the number of processes: MPI ranks times threads.
fn parameters(header: &str) -> (Vec<(String, Value)>, f64) {
    let count = |marks: &[&str]| marks.iter().find_map(|mark| number_after(header, mark)).filter(|count| *count >= 1.0);
    // A build without OpenMP runs on one thread and prints no number. The MPI version distributes its arrays over ranks.
    let processes = count(&["Data is distributed across"]).unwrap_or(1.0) * count(&THREADS).unwrap_or(1.0);
    let words = count(&["Aggregate Array size", "Array size"]);
    let word_bytes = number_after(header, "This system uses").filter(|bytes| *bytes >= 1.0);
    // Three arrays; each thread has its part of them.
    let bytes = words.map(|words| 3.0 * words * word_bytes.unwrap_or(8.0) / processes);
    let size = header.lines().find_map(|line| line.split_once("Array size")).filter(|_| words.is_none());
    let number = |name: &str, number: Option<f64>| Some((name.to_owned(), Value::Integer(number? as u64)));
    let parameters = [
        number("ranks", Some(processes)),
        number("region_bytes", bytes),
        number("word_bytes", word_bytes),
        number("array_offset", count(&["Offset"])),
        number("executions", count(&["be executed"])),
        size.map(|(_, size)| ("array_size".to_owned(), Value::from(columns::caption(size.trim()).as_str()))),
        device_name(header).map(|name| ("device_name".to_owned(), Value::from(name.as_str()))),
    ];
    (parameters.into_iter().flatten().collect(), processes)
}

/// Whether a program's header names a GPU or a way to program one.
pub fn names_device(header: &str) -> bool {
    const WORDS: [&str; 9] = ["cuda", "hip", "rocm", "opencl", "sycl", "openacc", "gpu", "nvidia", "device"];
    header.to_lowercase().split(|c: char| !c.is_alphanumeric()).any(|word| WORDS.contains(&word))
}

/// Returns `A100` of `Device Selected 0: "A100"` or of `Using CUDA device A100`.
pub fn device_name(header: &str) -> Option<String> {
    let name = |line: &str| {
        let (_, rest) = line.split_once("evice ")?;
        let rest = rest.split_once(": ").map_or(rest, |(_, name)| name);
        Some(columns::caption(rest.trim().trim_matches('"')))
    };
    header.lines().find_map(name).filter(|name| !name.is_empty())
}
