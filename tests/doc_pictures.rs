//! The pictures of README and the guide are drawn from the recorded results on two cores of an AMD EPYC, and from published machines.
//!
//! `APEXMAP_WRITE_DOCS=1 cargo test --release doc_pictures` draws them again.

use super::cdp::Page;
use super::common::{Scratch, output, successful_stdout};
use super::docs::words;
use super::live::Terminal;
use super::pictures::{blocks, pixels};
use super::published::recorded_results;
use base64::prelude::*;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Pictures of docs/ and the figures of the report that they show.
const FIGURES: [(&str, &str); 4] = [
    ("contours-1.png", "contours-1-core-2-MiB-pages.png"),
    ("contours-2.png", "contours-2-cores-by-messages-2-MiB-pages.png"),
    ("surface-1.png", "performance-surface-1-core-2-MiB-pages.png"),
    ("surface-2.png", "performance-surface-2-cores-by-messages-2-MiB-pages.png"),
];
/// Pictures of docs/ and the commands that draw them, without `--out`.
const PLOTS: [(&str, &str); 10] = [
    ("bottleneck.png", "plot results/quickstart bottleneck --where 'P == 1 && pages == \"huge\"'"),
    ("h100.png", "plot h100 surface"),
    ("heat.png", "plot results/quickstart heat --where 'P == 2'"),
    ("memory-latency.png", "plot results/memory-latency curves --x bytes --z operation_seconds"),
    ("memory-pages.png", "plot results/memory-pages curves --x bytes --y pages --z operation_seconds"),
    ("memory-strides.png", "plot results/memory-strides curves --x stride"),
    ("message-latency.png", "plot results/message-latency curves --x message_bytes --z message_seconds_p50"),
    ("predicted.png", "predict random_access.hypercube --machine red-storm --ranks 1..131072 --plot curves"),
    ("simulated.png", "plot results/few-red-storm curves --x P --y Q"),
    ("small.png", "plot results/small curves --x L --y pages"),
];
const FEW: &str = "title = \"Random updates on simulated ranks\"\n\
    [fixed]\nkernel = \"random_access.hypercube\"\nN_words = \"1 kwords per rank\"\n\
    [axes]\nranks = { from = 1, to = 64, factor = 2 }\nQ = [64, 1024]\n\
    [launch]\ntransport = \"simulated\"\nsimulate = \"red-storm\"\nresamples = 3\n";
const COMPARISON: &str = "compare 'results/quickstart[pages == \"base\" && P == 1]' \
    'results/quickstart[pages == \"huge\" && P == 1]' --allow page-size --names 4KiB,2MiB";
/// Versions of a browser and of its fonts draw edges of letters in other greys. In blocks of this many pixels their mean stays.
const BLOCK: usize = 20;
const MAX_DIFFERENCE: f64 = 20.0;
/// The share of blocks that may differ: a line of the page with another text has more.
const MAX_SHARE: f64 = 0.005;

/// Draws the report of the recorded result in the folder of the guide's results.
fn report(folder: &Scratch) -> String {
    let result = folder.join("results/quickstart").to_str().expect("a path").to_owned();
    successful_stdout(&["report", &result]);
    result
}

/// Checks a picture of docs/ against the one that was drawn now, or writes it.
fn check(name: &str, drawn: &[u8]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name);
    if std::env::var_os("APEXMAP_WRITE_DOCS").is_some() {
        fs::write(&path, drawn).expect("written");
    }
    let (shown, drawn) = (pixels(&fs::read(path).expect("a picture")), pixels(drawn));
    let next = "APEXMAP_WRITE_DOCS=1 cargo test --release doc_pictures";
    assert_eq!((shown.0, shown.1), (drawn.0, drawn.1), "docs/{name} has another size: {next}");
    let (shown, drawn) = (blocks(&shown, BLOCK), blocks(&drawn, BLOCK));
    let differing = shown.iter().zip(&drawn).filter(|(a, b)| (*a - *b).abs() > MAX_DIFFERENCE).count();
    let share = differing as f64 / shown.len() as f64;
    assert!(share <= MAX_SHARE, "docs/{name}: {differing} of {} blocks differ: {next}", shown.len());
}

/// Returns what a browser shows of a page in a window of this size.
fn photograph(folder: &Path, page: &Path, size: (u32, u32)) -> Vec<u8> {
    let mut page = Page::open(folder, &format!("file://{}", page.display()), size, 1.0, false);
    let taken = page.call("Page.captureScreenshot", json!({ "format": "png" }));
    BASE64_STANDARD.decode(taken["data"].as_str().expect("a picture")).expect("base64")
}

/// Returns a page that looks as the screen of a terminal.
fn terminal_page(screen: &vt100::Screen) -> String {
    let style = |colour: vt100::Color, name: &str| match colour {
        vt100::Color::Rgb(red, green, blue) => format!("{name}:rgb({red},{green},{blue});"),
        vt100::Color::Idx(0) => format!("{name}:#000;"),
        vt100::Color::Idx(_) => format!("{name}:#fff;"),
        _ => String::new(),
    };
    let [rows, columns] = <[_; 2]>::from(screen.size()).map(std::num::NonZero::get);
    let mut text = String::new();
    for row in 0..rows {
        for cell in (0..columns).filter_map(|column| screen.cell(row, column)) {
            let content = match cell.contents() {
                "" => " ",
                "<" => "&lt;",
                "&" => "&amp;",
                other => other,
            };
            let (front, back) = (style(cell.fgcolor(), "color"), style(cell.bgcolor(), "background"));
            text.push_str(&format!("<span style='{front}{back}'>{content}</span>"));
        }
        text.push('\n');
    }
    format!(
        "<!DOCTYPE html><meta charset=utf-8><body style='margin:10px;background:#1b1b1b;color:#e6e6e6'>\
         <pre style='margin:0;font:15px/18px DejaVu Sans Mono,monospace'>{text}</pre>"
    )
}

#[test]
fn pictures_of_figures_are_drawn_from_the_recorded_result() {
    let folder = recorded_results();
    let result = report(&folder);
    for (name, figure) in FIGURES {
        check(name, &fs::read(Path::new(&result).join("figures").join(figure)).expect("a figure"));
    }
}

/// Runs a command in a folder.
fn run_in(folder: &Path, command: &str, more: &[&str]) {
    let arguments = words(command);
    let mut program = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    let output = output(program.args(arguments).args(more).current_dir(folder));
    assert!(output.status.success(), "apexmap {command}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn pictures_of_the_guide_are_drawn_by_the_commands_of_the_guide() {
    let folder = recorded_results();
    fs::write(folder.join("few.toml"), FEW).expect("written");
    run_in(&folder, "run few.toml --no-report", &[]);
    for (name, command) in PLOTS {
        run_in(&folder, command, &["--out", name]);
        check(name, &fs::read(folder.join(name)).expect("a picture"));
    }
    run_in(&folder, COMPARISON, &[]);
    let ratio = folder.join("compare/4KiB-vs-2MiB/figures/ratio-curve-1-1-core.png");
    check("ratio.png", &fs::read(ratio).expect("a figure"));
}

#[test]
fn pictures_of_the_report_and_of_the_terminal_show_the_recorded_result() {
    needs!(Browser);
    let folder = recorded_results();
    let result = report(&folder);
    check("report.png", &photograph(&folder, &Path::new(&result).join("report.html"), (1280, 720)));

    let mut terminal = Terminal::new(82, 11);
    let arguments = ["show", &result, "--where", "P == 1 && pages == \"huge\""];
    let mut show = terminal.start(&arguments, &[("COLORTERM", "truecolor")], true);
    assert!(terminal.finish(&mut show).0.success());
    let page = folder.join("terminal.html");
    fs::write(&page, terminal_page(terminal.emulator.screen())).expect("written");
    check("live.png", &photograph(&folder, &page, (760, 220)));
}
