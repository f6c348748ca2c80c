//! Tests of the report in a real browser, and of the figures that `apexmap plot` draws.

use crate::browser;
use crate::common::{Scratch, apexmap, write};
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::table::Table;
use apexmap_results::table::column::Column;

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

/// Creates a result with a report. Its names contain HTML, which must be escaped.
fn result(scratch: &Scratch) -> std::path::PathBuf {
    let (sweep, out) = (scratch.join("sweep.toml"), scratch.join("result"));
    std::fs::write(&sweep, SWEEP).unwrap();
    let machine = "<img src=x onerror=alert(1)>";
    let run = apexmap(&["run", "--machine", machine, "--out", out.to_str().unwrap(), sweep.to_str().unwrap()]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let stdout = String::from_utf8_lossy(&run.stdout);
    assert!(stdout.contains("worst") && stdout.contains("report.html"), "the run ends with a summary: {stdout}");
    out
}

#[test]
fn the_report_opens_in_a_browser_without_errors_or_external_resources() {
    needs!(Browser);
    let scratch = Scratch::new();
    let out = result(&scratch);
    let report = out.join("report.html");
    let (dom, console) = browser::open(&report);
    assert_eq!(console, Vec::<String>::new());
    for group in ["1-core", "2-cores-by-messages"] {
        assert!(dom.contains(&format!("data-file=\"performance-surface-{group}\"")), "a surface of {group}");
    }
    assert_eq!(
        dom.matches("<script").count(),
        4,
        "the data of viewer and explorer, the result, and the page's own script"
    );
    assert!(!dom.contains("<img") && !dom.contains("<link rel=\"stylesheet\""));
    assert!(dom.contains("id=\"models\""), "a section about models");
    for attribute in ["src=\"", "href=\"", "url("] {
        for (start, _) in dom.match_indices(attribute) {
            let target = &dom[start + attribute.len()..][..5];
            assert!(target.starts_with('#') || target == "data:", "{attribute}{target} is fetched");
        }
    }
    assert!(std::fs::metadata(&report).unwrap().len() < 6_000_000);
    browser::check_usable(&report);
    let result = browser::ask(
        &report,
        "await frame(); const section = document.querySelector('.viewer');
         return { title: document.title, drawn: section.dataset.cells, kernels: section.querySelector('select').options.length,
           lead: document.querySelectorAll('.overview p').length, corners: document.querySelectorAll('.corners td strong').length,
           below: ['.viewer canvas', '.corners'].map((part) => document.querySelector(part).getBoundingClientRect().bottom),
           screens: document.documentElement.scrollHeight / 800, folded: document.querySelectorAll('details.fold').length,
           rows: document.querySelectorAll('figure[data-file=heat-map-1-core] tbody tr').length };",
    );
    assert!(result["title"].as_str().unwrap().contains("<script>document.title='stolen'"), "{result}");
    assert_eq!((&result["drawn"], &result["kernels"], &result["rows"]), (&"4".into(), &2.into(), &9.into()));
    assert!(result["lead"].as_u64().unwrap() >= 1 && result["corners"] == 8, "four corners of two kernels: {result}");
    let first_screen = result["below"].as_array().unwrap().iter().all(|bottom| bottom.as_f64().unwrap() <= 800.0);
    assert!(first_screen, "map and corners are on the first screen of 1280 by 800: {result}");
    assert!(result["screens"].as_f64().unwrap() <= 12.0 && result["folded"].as_u64().unwrap() >= 8, "{result}");
}

#[test]
fn names_from_files_are_shown_as_text() {
    let scratch = Scratch::new();
    let page = std::fs::read_to_string(result(&scratch).join("report.html")).unwrap();
    assert!(page.contains("&lt;script&gt;document.title"));
    assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;"));
}

#[test]
fn a_report_needs_a_manifest_but_no_journals() {
    let scratch = Scratch::new();
    let out = result(&scratch);
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    std::fs::remove_dir_all(out.join("journals")).unwrap();
    std::fs::remove_dir_all(out.join("figures")).unwrap();
    let report = || apexmap(&["report", out.to_str().unwrap()]);
    assert!(report().status.success());
    assert_eq!(std::fs::read_to_string(out.join("report.html")).unwrap(), page);
    std::fs::remove_file(out.join("manifest.json")).unwrap();
    let error = report();
    assert_eq!(error.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&error.stderr).contains("no manifest.json"));
}

#[test]
fn names_from_a_parquet_file_are_shown_as_text() {
    needs!(Browser);
    let scratch = Scratch::new();
    let out = result(&scratch);
    let folder = Folder::open(&out).unwrap();
    let read = folder.table().unwrap();
    let mut table = Table::default();
    for name in read.names() {
        // Injects HTML into every column of words, except those that identify kernels, launches and rows.
        let attack = "</script><img src=x onerror=\"document.title='stolen'\">";
        let column = match name.as_str() {
            "host" | "cpu_model" | "library" | "transport" | "launcher" => {
                Column::from_words(vec![Some(attack); read.rows])
            }
            _ => read.column(name).unwrap().clone(),
        };
        table.insert(name, column);
    }
    table.rows = read.rows;
    write(&folder, &table);
    // The result as handed to others, without its journals.
    std::fs::remove_dir_all(folder.journals()).unwrap();
    Manifest { compaction: None, ..Manifest::read(&folder).unwrap() }.write(&folder).unwrap();
    assert!(apexmap(&["report", out.to_str().unwrap()]).status.success());
    let result = browser::ask(
        &out.join("report.html"),
        "await frame(); return { title: document.title, images: document.images.length, text: document.body.textContent };",
    );
    assert!(result["title"].as_str().unwrap().contains("<script>") && result["images"] == 0, "{}", result["title"]);
    assert!(result["text"].as_str().unwrap().contains("</script><img src=x"), "the words are shown");
}

#[test]
fn a_new_report_removes_obsolete_figures_and_draws_for_papers() {
    let scratch = Scratch::new();
    let out = result(&scratch);
    let (report, figures) = (out.join("report.html"), out.join("figures"));
    let drawn = |name: &str| figures.join(name).exists();
    // Adds a figure to the list, as if the first report had had one more. The digest of "x" is from sha256sum.
    let list = std::fs::read_to_string(figures.join(".made")).unwrap();
    let digest = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
    std::fs::write(figures.join(".made"), format!("{list}{digest}  heat-map-7.svg\n{digest}  heat-map-7.png\n"))
        .unwrap();
    std::fs::remove_file(&report).unwrap();
    for name in ["heat-map-7.svg", "heat-map-7.png", "my-own.svg"] {
        std::fs::write(figures.join(name), "x").unwrap();
    }
    assert!(!drawn("paper"));
    assert!(apexmap(&["report", out.to_str().unwrap(), "--style", "paper"]).status.success());
    assert!(
        !drawn("heat-map-7.svg")
            && !drawn("heat-map-7.png")
            && drawn("my-own.svg")
            && drawn("heat-map-2-cores-by-messages.svg")
    );
    let paper = std::fs::read_to_string(figures.join("paper/heat-map-1-core.svg")).unwrap();
    assert!(paper.starts_with("<svg width=\"3.300in\""));
}

#[test]
fn plot_draws_each_figure_kind_and_refuses_mixed_points() {
    let scratch = Scratch::new();
    let out = result(&scratch);
    let out = out.to_str().unwrap();
    for kind in ["surface", "contour", "heat", "curves", "elasticity"] {
        for ending in ["svg", "png"] {
            let picture = scratch.join(format!("{kind}.{ending}"));
            let drawn = apexmap(&["plot", out, kind, "--where", "P == 2", "--out", picture.to_str().unwrap()]);
            assert!(drawn.status.success(), "{kind}: {}", String::from_utf8_lossy(&drawn.stderr));
            assert!(std::fs::metadata(&picture).unwrap().len() > 4000);
        }
    }
    let mixed = apexmap(&["plot", out, "heat"]);
    assert_eq!(mixed.status.code(), Some(2));
    let message = String::from_utf8_lossy(&mixed.stderr);
    assert!(message.contains("several points share a cell") && message.contains("--where"), "{message}");
}

#[test]
fn a_report_begins_with_the_figures_requested_by_its_sweep() {
    let scratch = Scratch::new();
    let (sweep, out) = (scratch.join("sweep.toml"), scratch.join("result"));
    let text = r#"
[fixed]
kernel = "calibrate.loaded"
ranks = 2
bytes = "64 KiB"
reads = 256
[axes]
share = [0, 50, 100]
write_share = [0, 100]
[repeat]
min = 2
[[figure]]
kind = "curves"
title = "Latency & load"
x = "background_traffic_bytes_per_second"
y = "write_share"
z = "operation_seconds"
[[figure]]
kind = "heat"
title = "Mixed"
x = "share"
y = "P"
"#;
    std::fs::write(&sweep, text).unwrap();
    let run = apexmap(&["run", "--out", out.to_str().unwrap(), sweep.to_str().unwrap()]);
    let stdout = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{stdout}{}", String::from_utf8_lossy(&run.stderr));
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    let first = page.find("data-file=\"").map(|start| page[start..].split('"').nth(1).unwrap());
    assert_eq!(first, Some("figure-1"), "{stdout}");
    assert!(page.contains("Latency &amp; load") && out.join("figures/figure-1.svg").is_file());
    // The curve has a point at each median, not at each sample.
    let data = &page[page.find("data-file=\"figure-1\"").unwrap()..];
    let rows = data[..data.find("</figure>").unwrap()].matches("<tr").count();
    assert_eq!(rows, 1 + 6, "two curves of three points");
    assert!(page.contains("Mixed") && page.contains("several points share a cell"), "and says what it cannot draw");
}

#[test]
fn random_access_reports_gups_and_the_broken_rules() {
    let scratch = Scratch::new();
    let (sweep, out) = (scratch.join("sweep.toml"), scratch.join("result"));
    let text = "[fixed]\nN_words = \"64 kwords\"\n[axes]\nQ = [64, 2048]\n\
                [[together]]\nkernel = [\"random_access.sequential\", \"random_access.base\"]\nranks = [1, 2]\n";
    std::fs::write(&sweep, text).unwrap();
    let arguments = |command: &'static str| [command, "--out", out.to_str().unwrap(), sweep.to_str().unwrap()];
    let run = apexmap(&arguments("run"));
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let stdout = String::from_utf8_lossy(&run.stdout);
    assert!(stdout.contains(" GUPS") && !stdout.contains("M/s"), "{stdout}");
    assert!(stdout.contains("conformant") && stdout.contains("no: table size"), "{stdout}");
    assert!(stdout.contains("no: look-ahead, table size"), "{stdout}");
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    for words in [" GUPS", "<th>conformant</th>", "no: table size", "aggregate rate of updates"] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("rate of operations"));
    let query = String::from_utf8(apexmap(&["query", out.to_str().unwrap()]).stdout).unwrap();
    assert!(query.contains("operations_per_second") && query.contains(" GUPS"), "{query}");
}

#[test]
fn plan_shows_the_wall_time_and_its_source() {
    let scratch = Scratch::new();
    let (path, out) = (scratch.join("sweep.toml"), scratch.join("result"));
    let text = "[fixed]\nkernel = \"apex_map.sequential\"\nM = \"4 kwords\"\nI = 16\nN = 1\n\
                [axes]\nalpha = [0.1, 1.0]\nL = [1, 8]\n[repeat]\n";
    let with = |text: String, command: &[&str]| {
        std::fs::write(&path, text).unwrap();
        let mut arguments = command.to_vec();
        arguments.extend(["--out", out.to_str().unwrap(), path.to_str().unwrap()]);
        let output = apexmap(&arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let plan = with(format!("{text}min = 6\n"), &["plan"]);
    assert!(plan.contains("wall time: less than 1 s on a quiet machine\n"), "{plan}");
    let values = |name: &str| plan.lines().find_map(|line| line.trim().strip_prefix(name)).map(str::trim);
    assert_eq!(
        [values("M "), values("L "), values("alpha ")],
        [Some("32 KiB"), Some("1, 8"), Some("0.1, 1")],
        "{plan}"
    );
    assert!(plan.contains("estimated from the kernel's work, very roughly") && plan.contains("(4 points)"), "{plan}");
    with(format!("{text}min = 6\n"), &["run", "--no-report"]);
    let plan = with(format!("{text}min = 6\n"), &["plan"]);
    assert!(plan.contains("wall time: nothing is left to measure"), "{plan}");
    let longer_sweep =
        text.replace("L = [1, 8]", "L = [1, 8, 64]") + "min = 12\nmax = 24\nwidth = 0.01\nbudget = \"90 s\"\n";
    let plan = with(longer_sweep, &["plan"]);
    assert!(plan.contains(" on a quiet machine, at most 90 s (budget)\n"), "{plan}");
    assert!(plan.contains("estimated from samples in the result (4 points); the kernel's work"), "{plan}");
    let plan = with(format!("{text}min = 1000000\nbudget = \"1 s\"\n"), &["plan"]);
    assert!(plan.contains("wall time: 1 s (budget); a quiet machine would need about "), "{plan}");
    assert!(plan.contains(" for the 1000000 samples that each point needs at least\n"), "{plan}");
    let plan = with(format!("{text}min = 6\nmax = 24\nwidth = 0.01\n"), &["plan", "--machine", "other"]);
    assert!(plan.contains("on a quiet machine, at most 1 s (24 samples of each point)"), "{plan}");
}

#[test]
fn plan_and_status_show_the_completed_points() {
    let scratch = Scratch::new();
    let out = result(&scratch);
    let sweep = scratch.join("sweep.toml");
    let machine = "<img src=x onerror=alert(1)>";
    let plan = apexmap(&["plan", "--machine", machine, "--out", out.to_str().unwrap(), sweep.to_str().unwrap()]);
    let plan = String::from_utf8_lossy(&plan.stdout).into_owned();
    assert!(plan.contains("18 points: 18 done, 0 partial, 0 missing, 0 failed"), "{plan}");
    let plan_elsewhere = || {
        let arguments = ["plan", "--machine", "other", "--out", out.to_str().unwrap(), sweep.to_str().unwrap()];
        String::from_utf8_lossy(&apexmap(&arguments).stdout).into_owned()
    };
    let elsewhere = plan_elsewhere();
    assert!(elsewhere.contains("18 missing") && elsewhere.contains("108 stale samples"), "{elsewhere}");
    assert!(!elsewhere.contains("fingerprint"), "{elsewhere}");
    // A result of version 0.2.0.
    let folder = Folder::open(&out).expect("a result");
    let text = std::fs::read_to_string(folder.manifest()).expect("a manifest");
    let mut manifest: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(manifest["worker"].as_object_mut().expect("a build").remove("hashed"), Some("tokens".into()));
    std::fs::write(folder.manifest(), manifest.to_string()).expect("a manifest");
    let elsewhere = plan_elsewhere();
    assert!(elsewhere.contains("this once even if no code changed: fingerprints of"), "{elsewhere}");
    let status = apexmap(&["status", out.to_str().unwrap()]);
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(status.contains("18 planned, 18 done, 0 partial, 0 missing, 0 failed"), "{status}");
}

#[test]
fn uniform_blocks_and_requests_are_drawn_as_curves_over_l() {
    let scratch = Scratch::new();
    let (sweep, out) = (scratch.join("sweep.toml"), scratch.join("result"));
    let text = r#"
[[include]]
kernel = "calibrate.blocks"
ranks = 1
bytes = ["16 KiB", "64 KiB"]
L = 1
reads = 4096
[[include]]
kernel = "calibrate.blocks"
ranks = 1
bytes = ["16 KiB", "64 KiB"]
L = 64
reads = 64
[[include]]
kernel = "calibrate.request"
ranks = 2
M = "4 kwords"
given_remote_share = [0.5, 1.0]
I = 64
N = 1
by = "gets"
L = [1, 16]
[repeat]
min = 6
[launch]
preflight = "0 s"
"#;
    std::fs::write(&sweep, text).unwrap();
    let run = apexmap(&["run", "--out", out.to_str().unwrap(), sweep.to_str().unwrap()]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(!page.contains("is not drawn"));
    // The number of reads follows from L, so it distinguishes no curves.
    for (file, curves) in [
        ("time-per-operation-on-the-slowest-rank-over-L", ["bytes = 16 KiB", "bytes = 64 KiB"]),
        ("bandwidth-per-process-over-L", ["given_remote_share = 0.5", "given_remote_share = 1"]),
    ] {
        let names = std::fs::read_dir(out.join("figures")).unwrap().map(|entry| entry.unwrap().path());
        let is_named = |path: &std::path::PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with(file) && name.ends_with(".svg")
        };
        let drawn = std::fs::read_to_string(names.into_iter().find(is_named).unwrap()).unwrap();
        assert!(curves.iter().all(|curve| drawn.contains(curve)) && !drawn.contains("reads = "), "{file}");
    }
}
