//! BabelStream: a table with one line per operation, or its CSV. Rates are the best of its runs.

use super::stream::{GPU_KERNEL, KERNEL, device_name, names_device};
use super::values::{Row, Statistic, Values, number_after, scale};
use apexmap_base::sample::Status;

/// Operations of apexmap by their names here.
const OPERATIONS: [(&str, &str); 4] = [("Copy", "copy"), ("Mul", "scale"), ("Add", "add"), ("Triad", "triad")];

pub fn read(text: &str) -> Result<Values, String> {
    let setting = |name: &str| text.lines().find_map(|line| line.trim().strip_prefix(name)).map(str::trim);
    let mut values = Values::new("babelstream", setting("Version:").unwrap_or_default());
    let header = text.lines().take_while(|line| !line.to_lowercase().starts_with("function")).collect::<Vec<_>>();
    let header = header.join("\n");
    let is_device = names_device(&header);
    let threads = ["Number of threads", "Threads"].iter().find_map(|mark| number_after(&header, mark));
    let processes = if is_device { Some(1.0) } else { threads.filter(|threads| *threads >= 1.0) };
    let word_bytes = match setting("Precision:") {
        Some("float") => 4.0,
        _ => 8.0,
    };
    let is_wrong = text.contains("Validation failed");
    let (mut scales, mut last) = (None, "");
    for line in text.lines() {
        let is_csv = line.contains(',');
        let fields: Vec<&str> = line.split(|c: char| c == ',' || !is_csv && c.is_whitespace()).collect();
        let fields: Vec<&str> = fields.into_iter().filter(|field| !field.is_empty()).collect();
        if fields.first().is_some_and(|first| first.eq_ignore_ascii_case("function")) {
            let is_binary = line.to_lowercase().contains("mib");
            scales = Some(if is_binary { f64::from(1 << 20) } else { 1e6 });
            continue;
        }
        let (Some(unit), Some(name)) = (scales, fields.first()) else { continue };
        let access = OPERATIONS.iter().find(|(other, _)| other == name);
        if access.is_none() && !["Dot", "Nstream"].contains(name) {
            continue;
        }
        let numbers: Vec<f64> = fields[1..].iter().filter_map(|field| field.parse().ok()).collect();
        // The CSV has the executions, the elements and their size before the rate.
        let (elements, size, [rate, least, most, mean]) = match numbers[..] {
            [rate, least, most, mean] => {
                (number_after(&header, "Number of elements"), word_bytes, [rate, least, most, mean])
            }
            [_, elements, size, rate, least, most, mean] => (Some(elements), size, [rate, least, most, mean]),
            _ => return Err(format!("has a line of BabelStream that cannot be read: {}", line.trim())),
        };
        last = name;
        let bytes = elements.map(|elements| 3.0 * elements * size);
        let kernel = match access {
            Some(_) if is_device => GPU_KERNEL.to_owned(),
            Some(_) => KERNEL.to_owned(),
            None => format!("babelstream.{}", name.to_lowercase()),
        };
        let total = if unit == 1e6 { scale(rate, 6) } else { rate * unit };
        let row = Row::new(&kernel, Statistic::Best)
            .with_known("ranks", processes.map(|count| count as u64))
            .with_known("access", access.map(|(_, access)| *access))
            .with_known("region_bytes", bytes.zip(processes).map(|(bytes, count)| (bytes / count) as u64))
            .with("word_bytes", size as u64)
            .with_known("array_words", elements.map(|elements| elements as u64))
            .with_known("array_size", setting("Array size:"))
            .with_known("executions", number_after(&header, "Running kernels").map(|count| count as u64))
            .with_known("implementation", setting("Implementation:"))
            .with_known("device_name", device_name(&header).as_deref())
            .value("bytes_per_second", total)
            .known_value("bytes_per_second_per_rank", processes.map(|count| total / count))
            .value("seconds", least)
            .value("seconds_max", most)
            .value("seconds_mean", mean);
        values.rows.push(if is_wrong { row.fail(Status::Wrong, "BabelStream reports failed validation") } else { row });
    }
    if ["Copy", "Mul", "Add"].contains(&last) {
        return Err(format!("has a table of BabelStream that ends after {last}: it is cut off"));
    }
    if processes.is_none() {
        values.notes.push("BabelStream did not print its number of threads, so that of the ranks is absent.".into());
    }
    values.require_rows("has no table of BabelStream: it did not run to its end")
}
