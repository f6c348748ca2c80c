//! Tables of STREAM's operations: McCalpin's program, its versions for GPUs, and BabelStream. Rates are the best of the runs.

use super::values::{Row, Statistic, Values, number_after, scale, set};
use crate::table::columns::caption;
use apexmap_base::point::Value;
use apexmap_base::sample::Status;
use apexmap_measure::kernels::command::parse_number;

pub const KERNEL: &str = "calibrate.stream";

pub fn read_stream(text: &str) -> Result<Values, String> {
    read(text, "STREAM", "Revision:")
}

pub fn read_babelstream(text: &str) -> Result<Values, String> {
    read(text, "BabelStream", "Version:")
}

fn read(text: &str, program: &str, version_mark: &str) -> Result<Values, String> {
    let is_babel = program == "BabelStream";
    let version = text.split_once(version_mark).and_then(|(_, rest)| rest.split_whitespace().next());
    let mut values = Values::new(&program.to_lowercase(), version.unwrap_or_default().trim_matches('$'));
    let header = text.lines().take_while(|line| !line.to_lowercase().contains("function")).collect::<Vec<_>>();
    let header = Header::new(&header.join("\n"), (!is_babel).then_some(1.0));
    let mega = if text.to_lowercase().contains("mibytes") { 1.048576 } else { 1.0 };
    let is_wrong = ["Failed Validation", "Validation failed"].iter().any(|mark| text.contains(mark));
    let is_csv = text.contains("function,num_times");
    let (mut last, mut unread) = (String::new(), Vec::new());
    for line in text.lines() {
        let mut fields =
            line.split(|c| is_csv && c == ',' || [' ', '\t'].contains(&c)).filter(|field| !field.is_empty());
        let Some(name) = fields.next() else { continue };
        let name = if is_babel { name } else { name.strip_suffix(':').unwrap_or_default() }.to_lowercase();
        let access = match name.as_str() {
            "copy" | "scale" | "add" | "triad" => Some(name.as_str()),
            "mul" => Some("scale"),
            "dot" | "nstream" => None,
            _ => continue,
        };
        let numbers: Vec<f64> = fields.clone().map_while(|field| parse_number(field).ok()).collect();
        // The CSV of BabelStream has the executions, the elements and their size before the rate.
        let (size, [rate, a, b, c]) = match numbers[..] {
            [_, elements, bytes, rate, a, b, c] => (Some((elements, bytes)), [rate, a, b, c]),
            [rate, a, b, c, ..] => (None, [rate, a, b, c]),
            // Fortran prints stars for a number that does not fit.
            _ if fields.clone().count() >= 4 && line.contains("***") => {
                unread.push(line.trim());
                last = name;
                continue;
            }
            _ => return Err(format!("has a line of {program} that cannot be read: {}", caption(line.trim()))),
        };
        let [mean, least, most] = if is_babel { [c, a, b] } else { [a, b, c] };
        let row = header.row(&name, access, size, scale(rate * mega, 6));
        let row = row.value("seconds", least).value("seconds_mean", mean).value("seconds_max", most);
        let failure = format!("{program} reports failed validation");
        values.rows.push(if is_wrong { row.fail(Status::Wrong, failure) } else { row });
        last = name;
    }
    if ["copy", "scale", "mul", "add"].contains(&last.as_str()) {
        return Err(format!("has a table of {program} that ends after {last}: it is cut off"));
    }
    values.note_unread(&unread);
    let failed = format!("{program} reports failed validation of a run, whose values are no measurement.");
    let no_threads = format!("{program} did not print its number of threads, so that of the ranks is absent.");
    values.notes.extend(is_wrong.then_some(failed));
    values.notes.extend(header.processes.is_none().then_some(no_threads));
    values.require_rows(&format!("has no table of {program}: it did not run to its end"))
}

struct Header {
    is_device: bool,
    /// MPI ranks times threads.
    processes: Option<f64>,
    parameters: Vec<(String, Value)>,
}

impl Header {
    /// `threads`: those of a build that prints none, such as STREAM without OpenMP.
    fn new(text: &str, threads: Option<f64>) -> Self {
        let count =
            |marks: &[&str]| marks.iter().find_map(|mark| number_after(text, mark)).filter(|count| *count >= 1.0);
        let after = |mark: &str| text.lines().find_map(|line| Some(line.split_once(mark)?.1.trim_matches([':', ' '])));
        let is_device = names_device(text);
        let printed =
            count(&["Threads counted", "Threads requested", "Number of Threads", "Number of threads", "Threads"]);
        let threads = if is_device { Some(1.0) } else { printed.or(threads) };
        // The MPI version distributes its arrays over ranks.
        let processes = threads.map(|threads| threads * count(&["Data is distributed across"]).unwrap_or(1.0));
        let precision = after("Precision").map(|name| if name == "float" { 4.0 } else { 8.0 });
        let word_bytes = count(&["This system uses"]).or(precision);
        let elements = count(&["Aggregate Array size", "Array size ", "Number of elements"]);
        let numbers = [
            ("ranks", processes),
            ("word_bytes", word_bytes),
            ("array_offset", count(&["Offset"])),
            ("executions", count(&["be executed", "Running kernels"])),
        ];
        let texts = [
            ("array_size", after("Array size").filter(|_| elements.is_none()).map(caption)),
            ("implementation", after("Implementation").map(caption)),
            ("device_name", device_name(text)),
        ];
        let mut header = Self { is_device, processes, parameters: Vec::new() };
        let numbers = numbers.map(|(name, number)| (name, number.map(|number| (number as u64).to_string())));
        for (name, value) in numbers.into_iter().chain(texts) {
            value.into_iter().for_each(|value| set(&mut header.parameters, name, &value));
        }
        if let Some(elements) = elements {
            header.parameters = header.with_size(elements, word_bytes);
        }
        header
    }

    /// Three arrays: each thread has its part.
    fn with_size(&self, elements: f64, word_bytes: Option<f64>) -> Vec<(String, Value)> {
        let (name, size) = match self.processes {
            Some(processes) => ("region_bytes", 3.0 * elements * word_bytes.unwrap_or(8.0) / processes),
            None => ("array_words", elements),
        };
        let mut parameters = self.parameters.clone();
        for (name, number) in [(name, Some(size)), ("word_bytes", word_bytes)] {
            number.into_iter().for_each(|number| set(&mut parameters, name, &(number as u64).to_string()));
        }
        parameters
    }

    /// `size`: the elements of an array and their bytes, if they are in the table.
    fn row(&self, operation: &str, access: Option<&str>, size: Option<(f64, f64)>, rate: f64) -> Row {
        let parameters = size.map(|(elements, word_bytes)| self.with_size(elements, Some(word_bytes)));
        let kernel = match access {
            Some(_) if self.is_device => "gpu.stream".to_owned(),
            Some(_) => KERNEL.to_owned(),
            None => format!("babelstream.{operation}"),
        };
        Row::new(&kernel, Statistic::Best)
            .with_known("access", access)
            .with_all(parameters.as_ref().unwrap_or(&self.parameters))
            .value("bytes_per_second", rate)
            .known_value("bytes_per_second_per_rank", self.processes.map(|processes| rate / processes))
    }
}

/// Whether a header names a GPU or a way to program one.
fn names_device(header: &str) -> bool {
    const WORDS: [&str; 9] = ["cuda", "hip", "rocm", "opencl", "sycl", "openacc", "gpu", "nvidia", "device"];
    header.to_lowercase().split(|c: char| !c.is_alphanumeric()).any(|word| WORDS.contains(&word))
}

/// Returns `A100` of `Device Selected 0: "A100"` or of `Using CUDA device A100`.
fn device_name(header: &str) -> Option<String> {
    let name = |line: &str| {
        let (_, rest) = line.split_once("evice ")?;
        let rest = rest.split_once(": ").map_or(rest, |(_, name)| name);
        Some(caption(rest.trim().trim_matches('"')))
    };
    header.lines().find_map(name).filter(|name| !name.is_empty())
}
