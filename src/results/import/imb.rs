//! The Intel MPI Benchmarks: each has a frame with its name and settings, names of columns, and a row per message size.

use super::osu;
use super::values::{Row, Statistic, Values, number_after, parameter_name, scale, set};
use apexmap_base::point::Value;

#[derive(Default)]
struct Table {
    kernel: String,
    parameters: Vec<(String, Value)>,
    columns: Vec<String>,
}

pub fn read(text: &str) -> Result<Values, String> {
    let version_line = text.lines().find(|line| line.contains("MPI Benchmark")).unwrap_or_default();
    let version = version_line
        .split([' ', ','])
        .find(|word| word.trim_start_matches('V').starts_with(|c: char| c.is_ascii_digit()));
    let version = version.unwrap_or_default().trim_start_matches('V');
    // Until 2018, MB were 2^20 bytes.
    let is_binary = version.split('.').next().and_then(|year| year.parse().ok()).is_some_and(|year: u32| year < 2018);
    let mega = if is_binary { f64::from(1 << 20) } else { 1e6 };
    let (mut values, mut table, mut settings) = (Values::new("imb", version), Table::default(), Vec::new());
    let mut left_out = Vec::new();
    for line in text.lines().map(str::trim) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if let Some(name) = line.strip_prefix("# Benchmarking ") {
            table = Table { kernel: kernel(name.trim()), parameters: settings.clone(), columns: Vec::new() };
        } else if line.contains("#repetitions") {
            table.columns = fields.iter().map(|field| (*field).to_owned()).collect();
        } else if let Some(comment) = line.strip_prefix('#') {
            let of_table = !table.kernel.is_empty();
            read_comment(comment.trim(), if of_table { &mut table.parameters } else { &mut settings });
        } else if fields.first().is_some_and(|field| field.parse::<f64>().is_ok()) && !table.columns.is_empty() {
            match read_row(&table, &fields, mega) {
                Some(row) => values.rows.push(row),
                None => left_out.push(line),
            }
        }
    }
    values.note_unread(&left_out);
    values.require_rows("has no row of the Intel MPI Benchmarks: it did not run to its end")
}

fn kernel(name: &str) -> String {
    let title = match name {
        "PingPong" => "mpi latency",
        "Uniband" => "mpi bandwidth",
        "Biband" => "mpi bi-directional bandwidth",
        "Barrier" => "mpi barrier latency",
        _ => return format!("imb.{}", parameter_name(name)),
    };
    osu::kernel(title).0
}

/// Reads a setting that changes what is measured: processes, their groups, types of data, modes. Names of machines do not.
fn read_comment(comment: &str, parameters: &mut Vec<(String, Value)>) {
    if let Some(processes) = number_after(comment, "#processes").filter(|count| *count >= 1.0) {
        let threads = number_after(comment, "threads").filter(|count| *count >= 1.0).unwrap_or(1.0);
        set(parameters, "ranks", &(processes * threads).to_string());
    } else if comment.contains("running simultaneous") {
        set(parameters, "groups", comment.trim_matches(['(', ')', ' ']));
    } else if let Some((name, value)) = comment.split_once(':') {
        let name = parameter_name(name);
        let is_setting = ["mode", "window", "mpi_op", "datatype", "thread"].iter().any(|word| name.contains(word));
        if is_setting && !value.trim().is_empty() {
            set(parameters, &name, value.trim());
        }
    }
}

fn read_row(table: &Table, fields: &[&str], mega: f64) -> Option<Row> {
    if fields.len() != table.columns.len() {
        return None;
    }
    let mut row = Row::new(&table.kernel, Statistic::Mean).with_all(&table.parameters);
    if table.kernel.starts_with("message_rate.") {
        row = row.with("operation", "send");
    }
    let bytes = table.columns.iter().position(|name| name == "#bytes").map(|index| fields[index].parse::<u64>());
    let bytes = bytes.transpose().ok()?;
    row = row.with_known("message_bytes", bytes);
    for (name, field) in table.columns.iter().zip(fields).filter(|(name, _)| *name != "#bytes") {
        let number: f64 = field.parse().ok()?;
        let plain = name.trim_start_matches("t_").split('[').next().unwrap_or_default();
        row = match name.as_str() {
            "t[usec]" | "t_avg[usec]" => row.value("operation_seconds", scale(number, -6)),
            "Mbytes/sec" => row.value("bytes_per_second", if mega == 1e6 { scale(number, 6) } else { number * mega }),
            "Msg/sec" => row.value("operations_per_second", number),
            name if name.ends_with("[usec]") => row.value(&format!("operation_seconds_{plain}"), scale(number, -6)),
            name if name.ends_with("[%]") => row.value(&format!("{plain}_per_cent"), number),
            name => row.value(&parameter_name(name), number),
        };
        if table.kernel.ends_with(".ping_pong") && *name == "t[usec]" && number > 0.0 {
            row = row.value("operations_per_second", 1e6 / number);
        }
    }
    Some(row)
}
