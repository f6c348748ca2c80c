//! The report, opened in a real browser, and the figures that `apexmap plot` draws.

use crate::common::Scratch;
use std::path::Path;
use std::process::{Command, Output};

const SWEEP: &str = r#"
title = "<script>document.title='stolen'</script> & \"quotes\""
[fixed]
M = "64 kwords per rank"
I = 64
N = 2
[axes]
alpha = [0.01, 0.1, 1.0]
L = [1, 16, 256]
[[together]]
kernel = ["apex_map.sequential", "apex_map.two_sided"]
ranks = [1, 2]
[repeat]
min = 6
"#;

fn apexmap(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_apexmap")).args(arguments).output().unwrap()
}

/// A result with a report, named so as to do harm where names are not escaped.
fn result(scratch: &Scratch) -> std::path::PathBuf {
    let (sweep, out) = (scratch.join("sweep.toml"), scratch.join("result"));
    std::fs::write(&sweep, SWEEP).unwrap();
    let machine = "<img src=x onerror=alert(1)>";
    let run = apexmap(&["run", "--machine", machine, "--out", out.to_str().unwrap(), sweep.to_str().unwrap()]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let told = String::from_utf8_lossy(&run.stdout);
    assert!(told.contains("worst") && told.contains("report.html"), "the run ends with a summary: {told}");
    out
}

fn browser() -> Command {
    let named = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success()));
    let mut command = Command::new(named.expect("no browser; `make install-deps` installs chromium"));
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]);
    command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
    command
}

/// The page as the browser sees it, and what its console said.
fn open(page: &Path, scratch: &Scratch) -> (String, Vec<String>) {
    let mut command = browser();
    command.arg(format!("--user-data-dir={}", scratch.join("browser").display()));
    command.args(["--enable-logging=stderr", "--dump-dom"]).arg(format!("file://{}", page.display()));
    let output = command.output().unwrap();
    assert!(output.status.success(), "the browser could not open the page");
    let console = String::from_utf8_lossy(&output.stderr);
    let console = console.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect();
    (String::from_utf8_lossy(&output.stdout).into_owned(), console)
}

#[test]
fn the_report_opens_in_a_browser_without_a_complaint_and_without_anything_from_outside() {
    let scratch = Scratch::new();
    let out = result(&scratch);
    let (dom, console) = open(&out.join("report.html"), &scratch);
    assert_eq!(console, Vec::<String>::new());
    // Whether models can be fitted depends on this machine's caches.
    let (measured, _) = dom.split_once("id=\"models\"").expect("a section about models");
    assert_eq!(measured.matches("<svg").count(), 10, "surface, contours, heat map and two sets of curves a kernel");
    assert!(!dom.contains("<script") && !dom.contains("<img") && !dom.contains("<link rel=\"stylesheet\""));
    for attribute in ["src=\"", "href=\"", "url("] {
        for (at, _) in dom.match_indices(attribute) {
            let target = &dom[at + attribute.len()..][..5];
            assert!(target.starts_with('#') || target == "data:", "{attribute}{target} is fetched");
        }
    }
}

#[test]
fn names_from_files_show_as_text() {
    let scratch = Scratch::new();
    let page = std::fs::read_to_string(result(&scratch).join("report.html")).unwrap();
    assert!(page.contains("&lt;script&gt;document.title"));
    assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;"));
}

#[test]
fn plot_draws_each_kind_and_refuses_to_mix_points() {
    let scratch = Scratch::new();
    let out = result(&scratch);
    let out = out.to_str().unwrap();
    for kind in ["surface", "contour", "heat", "curves"] {
        for ending in ["svg", "png"] {
            let picture = scratch.join(format!("{kind}.{ending}"));
            let drawn = apexmap(&["plot", out, kind, "--where", "P == 2", "--out", picture.to_str().unwrap()]);
            assert!(drawn.status.success(), "{kind}: {}", String::from_utf8_lossy(&drawn.stderr));
            assert!(std::fs::metadata(&picture).unwrap().len() > 4000);
        }
    }
    let mixed = apexmap(&["plot", out, "heat"]);
    assert_eq!(mixed.status.code(), Some(2));
    let told = String::from_utf8_lossy(&mixed.stderr);
    assert!(told.contains("would mix points") && told.contains("--where"), "{told}");
}

#[test]
fn plan_and_status_tell_what_is_done() {
    let scratch = Scratch::new();
    let out = result(&scratch);
    let sweep = scratch.join("sweep.toml");
    let machine = "<img src=x onerror=alert(1)>";
    let plan = apexmap(&["plan", "--machine", machine, "--out", out.to_str().unwrap(), sweep.to_str().unwrap()]);
    let plan = String::from_utf8_lossy(&plan.stdout).into_owned();
    assert!(plan.contains("18 points: 18 done, 0 partial, 0 missing, 0 failed"), "{plan}");
    let elsewhere = apexmap(&["plan", "--machine", "other", "--out", out.to_str().unwrap(), sweep.to_str().unwrap()]);
    let elsewhere = String::from_utf8_lossy(&elsewhere.stdout).into_owned();
    assert!(elsewhere.contains("18 missing") && elsewhere.contains("108 stale samples"), "{elsewhere}");
    let status = apexmap(&["status", out.to_str().unwrap()]);
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(status.contains("18 planned, 18 measured, 0 failed, 0 missing"), "{status}");
}
