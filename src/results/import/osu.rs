//! The OSU Micro-Benchmarks: each test has a title, a line with the names of its columns, and a row per message size. MB are 10^6
//! bytes. All numbers are means over iterations.

use super::values::{Row, Statistic, Values, number_after, scale};
use crate::table::columns::own_name;
use apexmap_base::sample::Status;

/// The kernel of a test, and its parameters that the test fixes. Tests of device memory are not apexmap's.
fn kernel(title: &str) -> (String, Option<&'static str>, Option<u64>) {
    let title = title.to_lowercase();
    let title = title.trim_end_matches(" test");
    let (kernel, operation, ranks) = match title {
        "mpi latency" => ("message_rate.ping_pong", Some("send"), Some(2)),
        "mpi multi latency" => ("message_rate.ping_pong", Some("send"), None),
        "mpi bandwidth" => ("message_rate.streaming", Some("send"), Some(2)),
        "mpi bi-directional bandwidth" => ("message_rate.bidirectional", Some("send"), Some(2)),
        "mpi multiple bandwidth / message rate" => ("message_rate.streaming", Some("send"), None),
        "mpi_put bandwidth" => ("message_rate.streaming", Some("put"), Some(2)),
        "mpi_put bi-directional bandwidth" => ("message_rate.bidirectional", Some("put"), Some(2)),
        "mpi barrier latency" => ("calibrate.barrier", None, None),
        _ => ("", None, None),
    };
    if !kernel.is_empty() {
        return (kernel.to_owned(), operation, ranks);
    }
    // Collectives are named after their operation alone.
    let plain = title.strip_prefix("mpi ").map_or(title, |plain| plain.trim_end_matches(" latency"));
    let words: Vec<&str> = plain.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    (format!("osu.{}", words.join("_")), None, None)
}

struct Test {
    kernel: String,
    operation: Option<&'static str>,
    ranks: Option<u64>,
    window: Option<u64>,
    datatype: Option<String>,
    columns: Vec<String>,
}

pub fn read(text: &str) -> Result<Values, String> {
    let (mut values, mut test, mut unread) = (Values::default(), None::<Test>, Vec::new());
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(title) = line.strip_prefix("# OSU ") {
            let (title, version) = title.rsplit_once(" v").unwrap_or((title, ""));
            match values.program.as_str() {
                "" => values.program = Values::new("osu", version.trim()).program,
                // A file may hold the outputs of several versions.
                program if !program.split(' ').any(|word| word == version.trim()) => {
                    values.program += &format!(" and {}", version.trim());
                }
                _ => {}
            }
            let (kernel, operation, ranks) = kernel(title);
            test = Some(Test { kernel, operation, ranks, window: None, datatype: None, columns: Vec::new() });
            continue;
        }
        let Some(test) = &mut test else { continue };
        if let Some(comment) = line.strip_prefix('#') {
            read_comment(comment.trim(), test);
            continue;
        }
        let fields: Vec<&str> = line.split_whitespace().collect();
        if fields.first().is_none_or(|field| field.parse::<f64>().is_err()) || test.columns.is_empty() {
            continue;
        }
        match read_row(test, &fields) {
            Some(row) => values.rows.push(row),
            // Other programs may print between the rows.
            None if fields.iter().all(|field| field.parse::<f64>().is_ok()) => unread.push((index + 1).to_string()),
            None => {}
        }
    }
    if !unread.is_empty() {
        values.notes.push(format!("Lines of tables that cannot be read, and are left out: {}.", unread.join(", ")));
    }
    values.require_rows("has no row of an OSU table: the test did not run to its end")
}

/// Reads a comment: names of columns, the number of pairs and the window, or the type of the data.
fn read_comment(comment: &str, test: &mut Test) {
    if let Some(datatype) = comment.strip_prefix("Datatype:") {
        test.datatype = Some(datatype.trim().trim_end_matches('.').to_owned());
    } else if comment.starts_with('[') {
        test.ranks = number_after(comment, "pairs").map(|pairs| (2.0 * pairs) as u64).or(test.ranks);
        test.window = number_after(comment, "window size").map(|window| window as u64);
    } else if comment.starts_with("Send Buffer on DEVICE") && !test.kernel.starts_with("osu.") {
        // Messages from the memory of a device are another quantity.
        test.kernel = format!("osu.device_{}", test.kernel.rsplit('.').next().unwrap_or_default());
    } else if comment.contains("Size") && !comment.contains(':') || comment.contains("(us)") || comment.contains("MB/s")
    {
        test.columns = split_columns(comment);
    }
}

/// Splits names of columns, which are separated by two spaces or more, or by a tab. A unit follows its name.
fn split_columns(line: &str) -> Vec<String> {
    let text = line.replace('\t', "  ");
    text.split("  ").map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn read_row(test: &Test, fields: &[&str]) -> Option<Row> {
    if fields.len() != test.columns.len() {
        return None;
    }
    let mut row = Row::new(&test.kernel, Statistic::Mean)
        .with_known("ranks", test.ranks)
        .with_known("operation", test.operation)
        .with_known("window", test.window)
        .with_known("datatype", test.datatype.as_deref());
    let size = test.columns.iter().position(|name| name == "Size").map(|index| fields[index].parse::<u64>());
    let size = size.transpose().ok()?;
    row = row.with_known("message_bytes", size);
    for (name, field) in test.columns.iter().zip(fields).filter(|(name, _)| *name != "Size") {
        if name == "Validation" {
            let is_wrong = !field.eq_ignore_ascii_case("pass");
            row = if is_wrong { row.fail(Status::Wrong, "OSU reports failed validation") } else { row };
            continue;
        }
        let number: f64 = field.parse().ok()?;
        let (column, exponent) = column(name);
        row = row.value(&column, scale(number, exponent));
        // The rate of one message at a time.
        if test.kernel == "message_rate.ping_pong"
            && column == "operation_seconds"
            && number > 0.0
            && test.ranks == Some(2)
        {
            let per_second = 1e6 / number;
            row = row.value("operations_per_second", per_second);
            row =
                row.known_value("bytes_per_second", size.filter(|size| *size > 0).map(|size| size as f64 * per_second));
        }
    }
    Some(row)
}

/// Returns the column of a name in OSU's tables, and the power of ten to its unit.
fn column(name: &str) -> (String, i32) {
    let (plain, unit) =
        name.split_once('(').map_or((name, ""), |(plain, unit)| (plain.trim(), unit.trim_end_matches(')')));
    let words = plain.replace('.', "").to_lowercase();
    let words: Vec<&str> = words.split_whitespace().filter(|word| !["lat", "latency", "tail"].contains(word)).collect();
    match (words.as_slice(), unit) {
        (["bandwidth"] | ["mb/s"], _) => ("bytes_per_second".into(), 6),
        (["messages/s"], _) => ("operations_per_second".into(), 0),
        ([] | ["avg"], "us") => ("operation_seconds".into(), -6),
        (words, "us") => (format!("operation_seconds_{}", words.join("_")), -6),
        (words, "%") => (format!("{}_per_cent", words.join("_")), 0),
        (words, "MB/s") => (format!("{}_bytes_per_second", words.join("_")), 6),
        (words, _) => (own_name(&words.join("_")), 0),
    }
}
