//! McCalpin's STREAM: the table of its four operations. Rates are the best of its runs.

use super::values::{Row, Statistic, Values, number_after, scale};
use crate::table::columns;
use apexmap_base::sample::Status;

const OPERATIONS: [&str; 4] = ["Copy", "Scale", "Add", "Triad"];

pub fn read(text: &str) -> Result<Values, String> {
    let version = text.split_once("Revision:").and_then(|(_, rest)| rest.split_whitespace().next()).unwrap_or_default();
    let mut values = Values::new("stream", version.trim_matches('$'));
    // A build without OpenMP runs on one thread and prints no number. The MPI version distributes its arrays over ranks.
    let ranks = number_after(text, "Data is distributed across");
    let threads = number_after(text, "Number of Threads counted").or(number_after(text, "Number of Threads requested"));
    let threads = ranks.unwrap_or(1.0) * threads.unwrap_or(1.0);
    let words = number_after(text, "Aggregate Array size").or(number_after(text, "Array size"));
    let word_bytes = number_after(text, "This system uses").unwrap_or(8.0);
    // Three arrays; each thread has its part of them.
    let bytes = words.map(|words| 3.0 * words * word_bytes / threads).filter(|bytes| *bytes >= 1.0);
    for line in text.lines() {
        let mut fields = line.split_whitespace();
        let Some(name) = fields.next().and_then(|first| first.strip_suffix(':')) else { continue };
        let Some(operation) = OPERATIONS.iter().find(|operation| operation.eq_ignore_ascii_case(name)) else {
            continue;
        };
        let numbers: Vec<f64> = fields.map_while(|field| field.parse().ok()).collect();
        let [rate, mean, least, most] = numbers[..] else {
            return Err(format!("has a line of STREAM that cannot be read: {}", columns::caption(line.trim())));
        };
        let total = scale(rate, 6);
        let row = Row::new("calibrate.stream", Statistic::Best)
            .with("ranks", threads as u64)
            .with("access", operation.to_lowercase().as_str())
            .with_known("region_bytes", bytes.map(|bytes| bytes as u64))
            .value("bytes_per_second", total)
            .value("bytes_per_second_per_rank", total / threads)
            .value("seconds", least)
            .value("seconds_mean", mean)
            .value("seconds_max", most);
        let is_wrong = text.contains("Failed Validation");
        values.rows.push(if is_wrong { row.fail(Status::Wrong, "STREAM reports failed validation") } else { row });
    }
    values.require_rows("has no table of STREAM: it did not run to its end")
}
