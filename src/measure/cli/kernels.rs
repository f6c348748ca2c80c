//! `apexmap kernels`: the kernels, their parameters and outputs.

use crate::kernels::{ALL, Domain, Kernel, Parameter, Ranks};
use apexmap_base::error::Result;
use apexmap_base::nearest::{NameMatch, look_up};
use apexmap_base::terminal::{index, print, width};
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units;
use std::fmt::Write;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap kernels                        one line per kernel
  apexmap kernels random_access          the kernels of a family
  apexmap kernels apex_map.two_sided     its parameters, outputs and source
  apexmap kernels latency                kernels that mention a word")]
pub struct Arguments {
    /// A family, a kernel or a word, such as apex_map or apex_map.two_sided [default: one line per kernel]
    #[arg(value_name = "FAMILY|ID")]
    kernel: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let lines: Vec<(&str, &str)> = ALL.iter().map(|kernel| (kernel.id(), kernel.about().summary)).collect();
    let Some(wanted) = &arguments.kernel else {
        return print(&format!("{}\nParameters, outputs and source: apexmap kernels FAMILY|ID\n", index(&lines)));
    };
    let mut text = String::new();
    match look_up("kernel", wanted, &lines)? {
        NameMatch::Entries(found) => found.iter().for_each(|&at| describe(ALL[at], &mut text)),
        NameMatch::Mentioned(lines) => text = index(&lines),
    }
    print(&text)
}

fn describe(kernel: &dyn Kernel, text: &mut String) {
    let about = kernel.about();
    let _ = writeln!(text, "{}\n  {}", about.id, about.summary);
    let _ = writeln!(text, "  source: {}, \"{}\", {}", about.source.authors, about.source.title, about.place);
    let ranks = if about.ranks == Ranks::One { "one" } else { "any number" };
    let table = || TextTable::new([Align::Left; 2]).indented(4).within(width());
    let (mut parameters, mut outputs) = (table(), table());
    for parameter in kernel.parameters() {
        parameters.row([parameter.name, &format!("{} ({})", parameter.meaning, range(parameter))]);
    }
    kernel.outputs().iter().for_each(|output| outputs.row([output.column, output.meaning]));
    let _ =
        writeln!(text, "  ranks: {ranks}\n  parameters:\n{parameters}  outputs, besides seconds and rates:\n{outputs}");
}

fn range(parameter: &Parameter) -> String {
    let unit = match parameter.unit.symbol() {
        "" => String::new(),
        symbol => format!(" {symbol}"),
    };
    match parameter.domain {
        Domain::Integer { least, most: u64::MAX, default } => format!("{least} or more{unit}; default {default}"),
        Domain::Integer { least, most, default } => {
            format!("{least} to {}{unit}; default {default}", largest(most))
        }
        Domain::Chosen { least, most, from, .. } => {
            format!("{least} to {}{unit}; default chosen from {from}", largest(most))
        }
        Domain::Global { least, most, .. } => {
            format!("{least} to {}{unit}, or \"beyond caches\", which is the default of sweeps", largest(most))
        }
        Domain::Size { least, most, .. } => {
            format!("{least} to {}{unit}, or \"1/4 of memory\"; default 1/2 of memory", largest(most))
        }
        Domain::Real { above, most, default } => format!("above {above}, up to {most}{unit}; default {default}"),
        Domain::Choice(words) => format!("{}; default {}", words.join(" or "), words[0]),
    }
}

/// Formats a limit; large powers of two as `2^n`.
fn largest(most: u64) -> String {
    if most.is_power_of_two() && most >= 1 << 16 { format!("2^{}", most.ilog2()) } else { units::si(most as f64) }
}
