//! `apexmap kernels`: the kernels, their parameters and outputs.

use crate::kernels::{ALL, Domain, Kernel, Parameter, Ranks};
use apexmap_base::error::Result;
use apexmap_base::name_lookup::{NameMatch, look_up};
use apexmap_base::terminal::{family_index, print, terminal_width};
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units;
use std::fmt::Write;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap kernels                        one line per kernel
  apexmap kernels random_access          the kernels of a family
  apexmap kernels apex_map.two_sided     its method, parameters, outputs and source
  apexmap kernels latency                kernels that mention a word")]
pub struct Arguments {
    /// A family, a kernel or a word, such as apex_map or apex_map.two_sided [default: one line per kernel]
    #[arg(value_name = "FAMILY|ID")]
    kernel: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let lines: Vec<(&str, &str)> = ALL.iter().map(|kernel| (kernel.id, kernel.summary)).collect();
    let Some(wanted) = &arguments.kernel else {
        return print(&format!(
            "{}\nMethod, parameters, outputs and source: apexmap kernels FAMILY|ID\n",
            family_index(&lines)
        ));
    };
    let mut text = String::new();
    match look_up("kernel", wanted, &lines)? {
        NameMatch::Entries(indices) => indices.iter().for_each(|&index| describe(ALL[index], &mut text)),
        NameMatch::Mentioned(lines) => text = family_index(&lines),
    }
    print(&text)
}

fn describe(kernel: &Kernel, text: &mut String) {
    let _ = writeln!(text, "{}\n  {}", kernel.id, kernel.summary);
    let _ = writeln!(text, "  source: {}, \"{}\", {}", kernel.source.authors, kernel.source.title, kernel.place);
    let _ = writeln!(text, "  method: {}", kernel.method);
    let ranks = if kernel.ranks == Ranks::One { "one" } else { "any number" };
    let table = || TextTable::new([Align::Left; 2]).with_indent(4).with_width(terminal_width());
    let (mut parameters, mut outputs) = (table(), table());
    for parameter in kernel.parameters {
        parameters.add_row([parameter.name, &format!("{} ({})", parameter.meaning, describe_domain(parameter))]);
    }
    kernel.outputs.iter().for_each(|output| outputs.add_row([output.column, output.meaning]));
    let _ =
        writeln!(text, "  ranks: {ranks}\n  parameters:\n{parameters}  outputs, besides seconds and rates:\n{outputs}");
}

fn describe_domain(parameter: &Parameter) -> String {
    let unit = match parameter.unit.symbol() {
        "" => String::new(),
        symbol => format!(" {symbol}"),
    };
    match parameter.domain {
        Domain::Integer { min: least, max: u64::MAX, default } => format!("{least} or more{unit}; default {default}"),
        Domain::Integer { min: least, max: most, default } => {
            format!("{least} to {}{unit}; default {default}", format_limit(most))
        }
        Domain::Chosen { min: least, max: most, depends_on: from, .. } => {
            format!("{least} to {}{unit}; default chosen from {from}", format_limit(most))
        }
        Domain::Global { min: least, max: most, .. } => {
            format!("{least} to {}{unit}, or \"beyond caches\", which is the default of sweeps", format_limit(most))
        }
        Domain::Size { min: least, max: most, .. } => {
            format!("{least} to {}{unit}, or \"1/4 of memory\"; default 1/2 of memory", format_limit(most))
        }
        Domain::Real { exclusive_min: above, max: most, default } => {
            format!("above {above}, up to {most}{unit}; default {default}")
        }
        Domain::Choice(words) => format!("{}; default {}", words.join(" or "), words[0]),
    }
}

/// Large powers of two as `2^n`.
fn format_limit(most: u64) -> String {
    if most.is_power_of_two() && most >= 1 << 16 {
        format!("2^{}", most.ilog2())
    } else {
        units::si_number(most as f64)
    }
}
