//! Questions that users asked before they read the guide, the page where they look first, and words of its answer.

use super::pages;
use std::path::Path;

const QUESTIONS: [(&str, &str, &[&str]); 24] = [
    ("Where does Rust come from?", "README.md", &["sh.rustup.rs | sh"]),
    ("Is there a binary or a package without Rust?", "docs/install.md", &["## Without Rust", "A file for any Linux"]),
    ("Does it run on macOS, Windows, ARM?", "README.md", &["no port to macOS or Windows", "64-bit ARM"]),
    ("How do I measure for a longer or shorter time?", "README.md", &["apexmap run --budget 20s", "--budget 10min"]),
    (
        "It says DISTURBED: may I use the numbers?",
        "docs/disturbance.md",
        &["## May I use the numbers?", "they were 9 % slower"],
    ),
    (
        "It is never quiet here: and what now?",
        "docs/disturbance.md",
        &["## And what if not?", "If it never becomes quiet"],
    ),
    (
        "What is alpha of my program?",
        "docs/locate.md",
        &["apexmap locate -- ./app ARGS", "alpha, L | place on the map"],
    ),
    ("What is the STREAM bandwidth of my node?", "README.md", &["STREAM bandwidth? | `apexmap run stream`"]),
    ("Slurm, and no Rust on the nodes?", "docs/clusters.md", &["commands are for Slurm", "--submit --time-limit 2h"]),
    (
        "Login node: how much memory, how many cores, how long?",
        "docs/clusters.md",
        &["## What will it take?", "apexmap plan"],
    ),
    ("What needs the worker for MPI?", "README.md", &["worker for MPI needs MPI's compiler wrapper and libclang"]),
    (
        "Where are raw data, columns and units?",
        "docs/results.md",
        &["samples.parquet", "status results/quickstart --columns"],
    ),
    (
        "How do I read a result of a colleague?",
        "docs/results.md",
        &["## Results of others", "an archive of `apexmap archive`"],
    ),
    (
        "What means undecided?",
        "docs/comparing.md",
        &["a single launch of a side decides nothing", "undecided: the check"],
    ),
    (
        "What are idle and loaded latency?",
        "docs/cards.md",
        &["loaded latency | `calibrate.loaded`", "latency of L1, L2, L3, memory"],
    ),
    ("How do I measure NUMA?", "docs/sweeps.md", &["core_node", "apexmap run memory-nodes"]),
    ("How do I write my own sweep?", "docs/sweeps.md", &["## An example", "[axes]"]),
    ("How do I fit my own formula?", "docs/models.md", &["## Your own model", "--formula"]),
    (
        "How do I run my own program over two parameters?",
        "docs/command.md",
        &["--command 'zstd", "--axis level=1,3,5,7,9 --axis threads=1,2"],
    ),
    ("Which line of my program misses?", "docs/locate.md", &["which source line has most misses of the last cache"]),
    ("How do I find regressions in CI?", "docs/comparing.md", &["## Regressions in CI", "--fail-if slower=5%"]),
    ("Which GPUs?", "docs/gpu.md", &["cards of NVIDIA, AMD and Intel"]),
    (
        "How does it relate to STREAM, HPCC, likwid-bench, MLC?",
        "docs/comparing.md",
        &["| Intel MLC |", "| likwid-bench |"],
    ),
    ("How do I cite it?", "README.md", &["To cite apexmap, use [CITATION.cff]"]),
];
/// Questions about the installation, which the same page answers.
const INSTALLATION: [(&str, &[&str]); 3] = [
    (
        "Where does it write, and how do I uninstall it?",
        &["## Where files go", "~/.cache/apexmap", "cargo uninstall apexmap"],
    ),
    ("How do I make letters larger?", &["Font size.", "--style slide"]),
    ("What does it do with SMT?", &["**SMT.**", "one on each core before any core gets a second one"]),
];

/// Returns a text with single spaces, so that lines may end anywhere.
fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn each_question_of_a_new_user_is_answered_in_the_page_where_it_belongs() {
    let pages = pages();
    let text = |name: &str| squeeze(&pages.iter().find(|(path, _)| path == Path::new(name)).expect("a page").1);
    let installation = INSTALLATION.map(|(question, words)| (question, "docs/install.md", words));
    for (question, page, words) in QUESTIONS.into_iter().chain(installation) {
        for word in words {
            assert!(text(page).contains(&squeeze(word)), "{question} {page} does not say: {word}");
        }
        // README and the index lead to the page.
        let name = page.trim_start_matches("docs/");
        assert!(page == "README.md" || text("docs/README.md").contains(&format!("]({name})")), "{question}");
    }
}
