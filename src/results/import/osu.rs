//! Tables with a row per message size: the OSU Micro-Benchmarks, whose runs have one, and the Intel MPI Benchmarks. All numbers are means
//! over iterations.

use super::values::{Row, Statistic, Values, number_after, parameter_name, scale, set};
use crate::table::columns::{caption, own_name};
use apexmap_base::point::Value;
use apexmap_base::sample::Status;
use apexmap_measure::kernels::command::parse_number;
use std::mem::take;

#[derive(Default)]
struct Test {
    kernel: String,
    operation: Option<&'static str>,
    ranks: Option<u64>,
    parameters: Vec<(String, Value)>,
    /// Those of all tests of a run.
    shared: Vec<(String, Value)>,
    /// The line with the names of the columns.
    heading: String,
    columns: Vec<String>,
    /// Bytes of a MB, divided by 10^6.
    mega: f64,
}

pub fn read_osu(text: &str) -> Result<Values, String> {
    let first = text.lines().next().unwrap_or_default();
    let title = first.split_once("OSU ").map_or("", |(_, title)| title.trim());
    let (title, version) = title.rsplit_once(" v").unwrap_or((title, ""));
    let mut values = Values::new("osu", version.trim());
    values.rows.extend(text.lines().filter_map(read_init));
    let other = Test { mega: 1.0, ..Test::new(title) }.read(text, read_comment, &mut values);
    let problem = match other {
        Some(line) => format!("has no row of OSU's {title} that can be read, but this line: {}", caption(line)),
        None => "has no row of an OSU table: the test did not run to its end".to_owned(),
    };
    values.require_rows(&problem)
}

pub fn read_imb(text: &str) -> Result<Values, String> {
    let line = text.lines().find(|line| line.contains("MPI Benchmark")).unwrap_or_default();
    let mut words = line.split([' ', ',']).map(|word| word.trim_start_matches('V'));
    let version = words.find(|word| word.starts_with(|c: char| c.is_ascii_digit())).unwrap_or_default();
    // Until 2018, MB were 2^20 bytes.
    let is_binary = version.split('.').next().and_then(|year| year.parse().ok()).is_some_and(|year: u32| year < 2018);
    let mut values = Values::new("imb", version);
    let mut test = Test { mega: if is_binary { 1.048576 } else { 1.0 }, ..Test::default() };
    test.read(text, read_setting, &mut values);
    values.require_rows("has no row of the Intel MPI Benchmarks: it did not run to its end")
}

impl Test {
    /// The kernel of a test of OSU, and its parameters that the test fixes.
    fn new(title: &str) -> Self {
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
        // Collectives are named after their operation alone.
        let plain = title.strip_prefix("mpi ").map_or(title, |plain| plain.trim_end_matches(" latency"));
        let words: Vec<&str> = plain.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let kernel = if kernel.is_empty() { format!("osu.{}", words.join("_")) } else { kernel.to_owned() };
        Self { kernel, operation, ranks, ..Self::default() }
    }

    /// Reads all rows. Returns the first line that is neither a comment nor a row.
    fn read<'a>(&mut self, text: &'a str, comment: fn(&str, &mut Self), values: &mut Values) -> Option<&'a str> {
        let (mut unread, mut other) = (Vec::new(), None);
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some(text) = line.strip_prefix('#') {
                comment(text.trim(), self);
                continue;
            }
            let fields: Vec<&str> = line.split_whitespace().collect();
            if fields[0].parse::<f64>().is_err() || self.heading.is_empty() {
                other = other.or(Some(line));
                continue;
            }
            if fields.len() != self.columns.len() {
                self.columns = split_columns(&self.heading, fields.len());
            }
            let row = self.row(&fields);
            // Other programs may print between the rows.
            let is_like_a_row =
                fields.len() == self.columns.len() || fields.iter().all(|field| field.parse::<f64>().is_ok());
            unread.extend(Some(line).filter(|_| row.is_none() && is_like_a_row));
            values.rows.extend(row);
        }
        values.note_unread(&unread);
        unread.first().copied().or(other)
    }

    fn row(&self, fields: &[&str]) -> Option<Row> {
        if fields.len() != self.columns.len() {
            return None;
        }
        let is_size = |name: &str| ["Size", "bytes"].contains(&name);
        let size = self.columns.iter().position(|name| is_size(name)).map(|place| fields[place].parse::<u64>());
        let size = size.transpose().ok()?;
        let mut row = Row::new(&self.kernel, Statistic::Mean)
            .with_known("ranks", self.ranks)
            .with_known("operation", self.operation)
            .with_all(&self.parameters)
            .with_known("message_bytes", size);
        let (mut seconds, mut has_rate) = (None, false);
        for (name, field) in self.columns.iter().zip(fields).filter(|(name, _)| !is_size(name)) {
            if name == "Validation" {
                let is_wrong = !field.eq_ignore_ascii_case("pass");
                row = if is_wrong { row.fail(Status::Wrong, "OSU reports failed validation") } else { row };
                continue;
            }
            let number = parse_number(field).ok()?;
            let (column, exponent) = column(name);
            let is_rate = column == "bytes_per_second";
            let number = scale(if is_rate { number * self.mega } else { number }, exponent);
            has_rate |= is_rate;
            seconds = seconds.or(Some(number).filter(|_| column == "operation_seconds"));
            row = row.value(&column, number);
        }
        // One message at a time has a rate.
        let is_one = self.kernel == "message_rate.ping_pong" && self.ranks == Some(2);
        if let Some(seconds) = seconds.filter(|seconds| is_one && *seconds > 0.0) {
            row = row.value("operations_per_second", 1.0 / seconds);
            let size = size.filter(|size| *size > 0 && !has_rate);
            row = row.known_value("bytes_per_second", size.map(|size| size as f64 / seconds));
        }
        Some(row)
    }
}

/// Reads a comment of OSU: names of columns, or settings.
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
    } else if !comment.is_empty() && !comment.contains('=') && !comment.starts_with("OSU ") && test.heading.is_empty() {
        set(&mut test.parameters, "comment", comment);
    }
}

/// Reads a comment of IMB: the name of a test, names of columns, or a setting that changes what is measured, such as processes, their
/// groups, types of data and modes. Names of machines do not.
fn read_setting(comment: &str, test: &mut Test) {
    let count = |mark: &str| number_after(comment, mark).filter(|count| *count >= 1.0);
    if let Some(name) = comment.strip_prefix("Benchmarking ").map(str::trim) {
        let title = match name {
            "PingPong" => "mpi latency",
            "Uniband" => "mpi bandwidth",
            "Biband" => "mpi bi-directional bandwidth",
            "Barrier" => "mpi barrier latency",
            _ => "",
        };
        let shared = if test.kernel.is_empty() { take(&mut test.parameters) } else { take(&mut test.shared) };
        *test = Test { parameters: shared.clone(), shared, mega: test.mega, ..Test::new(title) };
        if title.is_empty() {
            test.kernel = format!("imb.{}", parameter_name(name));
        }
    } else if comment.contains("#repetitions") || comment.starts_with("repetitions") {
        (test.heading, test.columns) = (comment.split_whitespace().collect::<Vec<_>>().join("  "), Vec::new());
    } else if let Some(processes) = count("processes") {
        test.ranks = Some((processes * count("threads").unwrap_or(1.0)) as u64);
    } else if comment.contains("running simultaneous") {
        set(&mut test.parameters, "groups", comment.trim_matches(['(', ')', ' ']));
    } else if let Some((name, value)) = comment.split_once(':') {
        let name = parameter_name(name);
        let is_setting = ["mode", "window", "mpi_op", "datatype", "thread"].iter().any(|word| name.contains(word));
        if is_setting && !value.trim().is_empty() {
            set(&mut test.parameters, &name, value.trim());
        }
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
            names.push(take(&mut name));
        }
    }
    names
}

/// Returns the column of a name in a table, and the power of ten to its unit.
fn column(name: &str) -> (String, i32) {
    let (plain, unit) = name.trim_end_matches([')', ']']).split_once(['(', '[']).unwrap_or((name, ""));
    let words = plain.replace(['.', '#'], "").replace('_', " ").to_lowercase();
    let words = words.split_whitespace().filter(|word| !["lat", "latency", "tail", "t"].contains(word));
    match (words.collect::<Vec<_>>().as_slice(), unit.trim().trim_end_matches("ec")) {
        (["bandwidth" | "mb/s" | "mbytes/sec"], _) => ("bytes_per_second".into(), 6),
        (["messages/s" | "msg/sec"], _) => ("operations_per_second".into(), 0),
        ([] | ["avg"], "us") => ("operation_seconds".into(), -6),
        (words, "us") => (format!("operation_seconds_{}", words.join("_")), -6),
        (words, "%") => (format!("{}_per_cent", words.join("_")), 0),
        (words, "MB/s") => (format!("{}_bytes_per_second", words.join("_")), 6),
        (words, _) => (own_name(&words.join("_")), 0),
    }
}
