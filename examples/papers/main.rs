//! Writes the papers' experiments on simulated machines as one HTML page: figures, tables and statements of each paper.
//!
//!     make papers
//!
//! runs the sweeps beside this file and then `papers results/papers papers`, which writes `papers/papers.html`.

mod curves;
mod figures;
mod surfaces;

use apexmap_base::error::{Error, Result};
use apexmap_base::new_file;
use apexmap_base::source::{APEX_MAP, BLUE_GENE_P_RANDOM_ACCESS, HYPERCUBE_RANDOM_ACCESS, NIC_MESSAGE_RATE, Source};
use apexmap_draw::figure::Figure;
use apexmap_pages::html::{self, Drawing, Picture};
use apexmap_pages::validation::sources;
use apexmap_study::validate::simulations::Simulations;
use apexmap_study::validate::{Check, Count, Kind, Validation, validate};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const TEMPLATE: &str = include_str!("papers.html");

#[derive(Serialize)]
struct Context {
    sections: Vec<Section>,
    /// Sweeps and points that the page needs and that are not simulated.
    missing: Vec<String>,
}

#[derive(Serialize)]
struct Section {
    paper: &'static str,
    authors: &'static str,
    paper_title: &'static str,
    id: &'static str,
    title: &'static str,
    machine: &'static str,
    count: Count,
    pictures: Vec<Picture>,
    sources: Vec<serde_json::Value>,
}

/// A figure of the page.
struct Drawn {
    name: String,
    caption: String,
    figure: Figure,
}

const PAPERS: [(&Source, &str, &str, &str); 4] = [
    (
        &HYPERCUBE_RANDOM_ACCESS,
        "hypercube",
        "A synchronous algorithm in a hypercube",
        "Red Storm and Blue Gene/L, from the numbers that the paper prints.",
    ),
    (
        &BLUE_GENE_P_RANDOM_ACCESS,
        "bluegene",
        "RandomAccess on Blue Gene/P",
        "Blue Gene/P, from the numbers that the paper prints: a torus of nodes with four cores, packets of multiples of 32 bytes.",
    ),
    (
        &NIC_MESSAGE_RATE,
        "nic",
        "Network interfaces for high message rates",
        "The paper's simulated processor and interface: HyperTransport, command queue, links with headers and credits.",
    ),
    (
        &APEX_MAP,
        "apex-map",
        "Apex-Map on 256 processes",
        "Two hypothetical machines, an SMP cluster with caches and a vector machine with a fast network. The paper does not print the \
         numbers of its machines, so only features can be compared.",
    ),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [results, to] = arguments.as_slice() else {
        eprintln!("papers RESULTS FOLDER: RESULTS has the results of the sweeps, FOLDER gets the page");
        return ExitCode::from(2);
    };
    let simulations = Simulations::read(Path::new(results));
    let page = simulations.and_then(|simulations| write(&validate(Some(&simulations))?, &simulations, Path::new(to)));
    match page {
        Ok(page) => println!("the papers, simulated: {}", page.display()),
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Writes `papers.html` and its figures into a folder, and returns the path of the page.
fn write(report: &Validation, simulations: &Simulations, to: &Path) -> Result<PathBuf> {
    let folder = to.join("figures");
    std::fs::create_dir_all(&folder).map_err(|e| Error::file("create", &folder, e))?;
    let (mut sections, mut missing) = (Vec::new(), Vec::new());
    for (paper, id, title, machine) in PAPERS {
        let mut drawn = curves::draw(paper, simulations, &mut missing)?;
        if *paper == APEX_MAP {
            drawn.extend(surfaces::draw(simulations, &mut missing)?);
        }
        let mut pictures = Vec::new();
        for Drawn { name, caption, figure } in drawn {
            pictures.push(Drawing::new(figure, name, caption.clone(), caption).picture(&folder)?);
        }
        let is_own = |check: &&Check| check.is_simulated && check.source.starts_with(paper.short);
        let checks: Vec<&Check> = report.checks.iter().filter(is_own).collect();
        sections.push(Section {
            paper: paper.short,
            authors: paper.authors,
            paper_title: paper.title,
            id,
            title,
            machine,
            count: Count::new(Kind::Simulated, checks.iter().copied()),
            pictures,
            sources: sources(&checks),
        });
    }
    missing.dedup();
    let page = html::render(TEMPLATE, &Context { sections, missing })?;
    let path = to.join("papers.html");
    new_file::replace_contents(&path, page)?;
    Ok(path)
}
