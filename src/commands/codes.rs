//! `apexmap codes`: lists known codes with their places on the map, or their rates on a measured map.

use super::opened::Opened;
use super::plot;
use super::site_sums::{CodeMap, SiteNotes, SiteSums, reading_words};
use apexmap_base::error::{Error, Result};
use apexmap_base::provenance::PlainNode;
use apexmap_base::terminal::{print, print_in_red, terminal_width, wrap_lines};
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::short_number;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::samples::Samples;
use apexmap_results::samples::groups::SampleGroup;
use apexmap_results::samples::health::Health;
use apexmap_results::table::columns::{ALPHA, BLOCK};
use apexmap_theory::codes::{self, Accesses, Code};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap codes                                 list the codes: alpha, L, and how they were derived
  apexmap codes results/quickstart              their rates on this machine, read from the measured map
  apexmap codes results/quickstart --codes mine.toml

Alpha and L are estimates. A rate is interpolated between the measured points; nothing is extrapolated. The times of a code's sites
add up: sweeps and strided walks are read from calibrate.stride, chains and pointers from apex_map.chains with one chain, and all
others from Apex-Map. apexmap run codes measures these maps.")]
pub struct Arguments {
    /// A result: folder, archive, report.html or Parquet file of samples [default: none, list the codes]
    result: Option<PathBuf>,
    /// Add the codes of a TOML file [default: codes.toml in the result]
    #[arg(long, value_name = "FILE")]
    codes: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.result {
        None => {
            let own = arguments.codes.as_deref().map(codes::read_with_known);
            print(&list(&own.unwrap_or_else(|| Ok(codes::list_known()))?))
        }
        Some(result) => {
            let opened = Opened::open(result)?;
            let samples = opened.samples()?.current();
            let manifest = opened.known_folder().and_then(|folder| Manifest::read(folder).ok());
            let node = manifest.map(|manifest| manifest.plain_node()).unwrap_or_default();
            print(&rates(&samples, &plot::codes(arguments.codes.as_deref(), &opened)?, &node)?)?;
            Health::from_samples(&samples).banner().map_or(Ok(()), |banner| print_in_red(&banner.to_string()))
        }
    }
}

/// Returns the codes as a table.
fn list(codes: &[Code]) -> String {
    let mut table = TextTable::new([Align::Left, Align::Right, Align::Right, Align::Left]).with_width(terminal_width());
    table.add_row(["code", "alpha", "L", "estimated from"]);
    for code in codes {
        let source = if code.source.is_empty() { String::new() } else { format!(" ({})", code.source) };
        let how = format!("{}{source}", code.how);
        table.add_row([code.name.as_str(), &short_number(code.alpha), &short_number(code.block_words), how.trim()]);
    }
    table.to_string()
}

/// Returns the median of the headline at the place of each code, on each map of the samples, and what the maps cannot say. Maps with
/// several chains of dependent accesses are left out: no known code has such accesses.
fn rates(samples: &Samples, codes: &[Code], node: &PlainNode) -> Result<String> {
    let is_map = |group: &SampleGroup| match group.samples.chains() {
        None => group.is_surface(),
        // Codes that wait need few places: alpha = 1 is enough for a walk.
        Some(chains) => chains == 1.0 && group.blocks.len() > 1,
    };
    let groups: Vec<SampleGroup> = samples.groups()?.into_iter().filter(is_map).collect();
    if groups.is_empty() {
        return Err(Error::input(
            "this result has no map over alpha and L",
            "name the result of apexmap run quickstart, or list the codes alone: apexmap codes",
        ));
    }
    let aligns = [Align::Left, Align::Right, Align::Right].into_iter().chain(groups.iter().map(|_| Align::Right));
    let mut table = TextTable::new(aligns.chain([Align::Left])).with_width(terminal_width());
    let labels = groups.iter().map(|group| group.plain_label(node));
    let head = ["code", "alpha", "L"].map(str::to_owned).into_iter().chain(labels);
    table.add_row(head.chain([String::new()]));
    let maps = groups.iter().map(|group| CodeMap::new(group, [ALPHA, BLOCK])).collect::<Result<Vec<_>>>()?;
    let (sums, mut notes) = (SiteSums::new(samples)?, SiteNotes::default());
    for code in codes {
        let mut cells = vec![code.name.clone(), short_number(code.alpha), short_number(code.block_words)];
        let is_shown = groups.iter().any(|group| code.is_on_map(group.samples.chains()));
        for (group, map) in groups.iter().zip(&maps) {
            let unit = group.samples.describe(group.headline).unit;
            // A sum has parts of all maps, and is printed where the place of the whole code is.
            cells.push(match code.is_on_map(group.samples.chains()) {
                is_here if !code.sites.is_empty() && (is_here || !is_shown) => sums.cell(code, group, unit, &mut notes),
                true => reading_words(map.read([code.alpha, code.block_words]), unit),
                false => "\u{2013}".into(),
            });
        }
        cells.push(match code.accesses {
            _ if !code.sites.is_empty() => String::new(),
            Accesses::Mixed if is_shown => "too low: mixed streams".to_owned(),
            Accesses::Dependent if !is_shown => "waits: apexmap run memory-concurrency".to_owned(),
            _ => String::new(),
        });
        table.add_row(cells);
    }
    Ok(format!("{table}{}", wrap_lines(&notes.to_string(), terminal_width())))
}
