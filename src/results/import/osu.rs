//! The OSU Micro-Benchmarks: a run is a test, with a title, its settings, names of columns, and a row per message size. MB are 10^6
//! bytes. All numbers are means over iterations.

use super::values::{Row, Statistic, Values, number_after, parameter_name, scale, set};
use crate::table::columns::{caption, own_name};
use apexmap_base::point::Value;
use apexmap_base::sample::Status;

/// The kernel of a test, and its parameters that the test fixes.
pub fn kernel(title: &str) -> (String, Option<&'static str>, Option<u64>) {
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

#[derive(Default)]
struct Test {
    kernel: String,
    operation: Option<&'static str>,
    ranks: Option<u64>,
    parameters: Vec<(String, Value)>,
    heading: String,
    columns: Vec<String>,
}

pub fn read(text: &str) -> Result<Values, String> {
    let first = text.lines().next().unwrap_or_default();
    let title = first.split_once("OSU ").map_or("", |(_, title)| title.trim());
    let (title, version) = title.rsplit_once(" v").unwrap_or((title, ""));
    let (kernel, operation, ranks) = kernel(title);
    let mut test = Test { kernel, operation, ranks, ..Test::default() };
    let (mut values, mut unread, mut other) = (Values::new("osu", version.trim()), Vec::new(), None);
    for line in text.lines().skip(1).map(str::trim) {
        if let Some(comment) = line.strip_prefix('#') {
            read_comment(comment.trim(), &mut test);
            continue;
        }
        let fields: Vec<&str> = line.split_whitespace().collect();
        if fields.first().is_none_or(|field| field.parse::<f64>().is_err()) || test.heading.is_empty() {
            values.rows.extend(read_init(line));
            other = other.or(Some(line).filter(|line| !line.is_empty()));
            continue;
        }
        if fields.len() != test.columns.len() {
            test.columns = split_columns(&test.heading, fields.len());
        }
        match read_row(&test, &fields) {
            Some(row) => values.rows.push(row),
            // Other programs may print between the rows.
            None if fields.iter().all(|field| field.parse::<f64>().is_ok()) => unread.push(line),
            None => {}
        }
    }
    values.note_unread(&unread);
    let problem = match unread.first().copied().or(other) {
        Some(line) => format!("has no row of OSU's {title} that can be read, but this line: {}", caption(line)),
        None => "has no row of an OSU table: the test did not run to its end".to_owned(),
    };
    values.require_rows(&problem)
}

/// Reads a comment: names of columns, or settings.
fn read_comment(comment: &str, test: &mut Test) {
    let is_heading = comment.contains("Size") && !comment.contains(':');
    if comment.starts_with('[') {
        for (name, value) in comment.split(['[', ']']).filter_map(|setting| setting.split_once(':')) {
            match (name.trim(), value.trim()) {
                ("pairs", pairs) => {
                    test.ranks = pairs.parse().map(|pairs: u64| pairs.saturating_mul(2)).ok().or(test.ranks);
                }
                ("window size", size) => set(&mut test.parameters, "window", size),
                (name, value) => set(&mut test.parameters, &parameter_name(name), value),
            }
        }
    } else if comment.contains("Buffer on") || comment.contains("Memory on") {
        set(&mut test.parameters, "buffers", comment);
        // Messages from or to the memory of a device are another quantity.
        let is_device = comment.contains("DEVICE") || comment.contains("MANAGED");
        if is_device && !test.kernel.starts_with("osu.") {
            test.kernel = format!("osu.device_{}", test.kernel.rsplit('.').next().unwrap_or_default());
        }
    } else if is_heading || comment.contains("(us)") || comment.contains("MB/s") {
        (test.heading, test.columns) = (comment.to_owned(), Vec::new());
    } else if let Some((name, value)) = comment.split_once(':') {
        set(&mut test.parameters, &parameter_name(name), value.trim().trim_end_matches('.'));
    } else if !comment.is_empty() && !comment.contains('=') && test.heading.is_empty() {
        set(&mut test.parameters, "comment", comment);
    }
}

/// Reads the line of osu_init: `nprocs: 2, min: 70 ms, max: 71 ms, avg: 70 ms`.
fn read_init(line: &str) -> Option<Row> {
    let [ranks, mean, least, most] = ["nprocs", "avg", "min", "max"].map(|mark| number_after(line, mark));
    let row = Row::new("osu.init", Statistic::Mean).with("ranks", ranks.filter(|_| line.contains(" ms"))? as u64);
    let row = row
        .value("operation_seconds", scale(mean?, -3))
        .known_value("operation_seconds_min", least.map(|ms| scale(ms, -3)));
    Some(row.known_value("operation_seconds_max", most.map(|ms| scale(ms, -3))))
}

/// Splits a heading into this number of names. Two spaces or a tab separate names; some outputs have one space. A unit follows its
/// name.
fn split_columns(heading: &str, count: usize) -> Vec<String> {
    let text = heading.replace('\t', "  ");
    let wide: Vec<String> =
        text.split("  ").map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    if wide.len() == count {
        return wide;
    }
    const WHOLE: [&str; 5] = ["Size", "Iterations", "Validation", "MB/s", "Messages/s"];
    let (mut names, mut name) = (Vec::new(), String::new());
    for word in heading.split_whitespace() {
        name += if name.is_empty() { "" } else { " " };
        name += word;
        if word.ends_with(')') || WHOLE.contains(&word) {
            names.push(std::mem::take(&mut name));
        }
    }
    names
}

fn read_row(test: &Test, fields: &[&str]) -> Option<Row> {
    if fields.len() != test.columns.len() {
        return None;
    }
    let mut row = Row::new(&test.kernel, Statistic::Mean)
        .with_known("ranks", test.ranks)
        .with_known("operation", test.operation)
        .with_all(&test.parameters);
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
