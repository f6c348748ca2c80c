//! `apexmap query`: prints medians of groups of samples.

use super::selection::{Selection, names};
use super::{opened::read, pretty};
use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::{note, print, print_data, terminal_width};
use apexmap_base::units::plural;
use apexmap_results::query::{self, QueryGroups};
use apexmap_results::samples::Samples;
use apexmap_results::table::columns;
use apexmap_study::nodes;
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Aligned columns, with units
    Table,
    /// One line per group, in base units
    Csv,
    /// An array of groups, in base units
    Json,
}

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap query results/quickstart --where 'P == 1' --group-by alpha,L
  apexmap query results/quickstart --where 'L == 64' --select cycles_per_operation,seconds
  apexmap query results/random-access-ranks --group-by P,Q \\
      --select operations_per_second --format csv
  apexmap query results/quickstart --where 'status == \"ok\"' --group-by kernel,P

n counts the successful samples; failed ones have a separate column. Each median has a 95 % interval from order \
statistics, which requires six samples. Rates are per second; the column name states the unit. `apexmap kernels ID` \
lists a kernel's parameters and outputs.")]
pub struct Arguments {
    /// A result: folder, archive, report.html or Parquet file of samples
    result: PathBuf,
    #[command(flatten)]
    selection: Selection,
    /// Columns to group by, comma-separated, by the papers' names or their own; '' for a single group [default: the parameters
    /// that vary]
    #[arg(long, value_name = "COLUMNS")]
    group_by: Option<String>,
    /// Columns to summarise, comma-separated, such as seconds,bytes_per_second [default: the kernels' headline rates]
    #[arg(long, value_name = "COLUMNS")]
    select: Option<String>,
    /// Compare the nodes of a sweep that each node ran alone (run --each-node); points with their nodes in CSV and JSON
    #[arg(long, conflicts_with_all = ["group_by", "select"])]
    each_node: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    show(arguments).map_err(|error| arguments.selection.complete(error, &arguments.result))
}

fn show(arguments: &Arguments) -> Result<()> {
    let samples = arguments.selection.choose(&read(&arguments.result)?)?;
    if arguments.each_node {
        return compare_nodes(&samples, arguments.format);
    }
    let mut by = match &arguments.group_by {
        Some(list) => names("--group-by", list, &samples)?,
        None => samples.axes(),
    };
    let further = query::missing_columns(&samples, &by)?;
    if !further.is_empty() {
        let short: Vec<&str> = further.iter().map(|name| columns::short(name)).collect();
        note(&format!(
            "note: grouped by {} too, because some groups would mix its values; --where chooses one value",
            short.join(" and ")
        ));
        by.extend(further);
    }
    let selected = match &arguments.select {
        Some(list) => names("--select", list, &samples)?,
        None => samples.headlines(),
    };
    let groups = query::groups(&samples, &by, &selected)?;
    if let Some(import) = groups.import.as_ref().filter(|_| arguments.format != Format::Table) {
        note(&format!("note: {import}; apexmap did not measure these values"));
    }
    match arguments.format {
        Format::Table => print(&query::text_within(&groups, terminal_width())),
        Format::Csv => print_data(&query::csv(&groups)),
        Format::Json => print_data(&pretty(&query::json(&groups))?),
    }?;
    warn(&groups);
    Ok(())
}

fn compare_nodes(samples: &Samples, format: Format) -> Result<()> {
    if !nodes::is_of_each_node(samples) {
        let help = "measure with `apexmap run SWEEP --each-node`, or leave out --each-node";
        return Err(Error::input("the nodes of this result did not run the sweep alone", help));
    }
    let check = nodes::compare(samples)?;
    match format {
        Format::Table => print(&nodes::text(&check, terminal_width())),
        Format::Csv => print_data(&nodes::csv(&check)),
        Format::Json => print_data(&pretty(&check)?),
    }
}

/// To standard error, because standard output may be a file.
fn warn(groups: &QueryGroups) {
    if !groups.mixed.is_empty() {
        let mixed: Vec<&str> = groups.mixed.iter().map(|name| columns::short(name)).collect();
        let (pronoun, each) = if mixed.len() == 1 { ("it", "") } else { ("them", " of each") };
        note(&format!(
            "note: groups mix points that differ in {}; add {pronoun} to --group-by, or choose one value{each} with --where",
            mixed.join(", ")
        ));
    }
    if groups.left_out > 0 {
        let samples = plural(groups.left_out, "sample");
        note(&format!("note: excluded {samples} without a value in a grouping column"));
    }
}
