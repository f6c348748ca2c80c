//! Tests of the explorer: its data, its modules under node against vectors of the crate, and the panel in a real browser with
//! mouse and keyboard, compared with `apexmap query`.

use crate::bounds::card;
use crate::browser;
use crate::cdp::Page;
use crate::common::{self, Scratch, launch, manifest, sample, successful_stdout};
use crate::mock::noisy_facts;
use crate::synthetic_machines::{self, NUMBERS, ONE_RANK};
use apexmap_base::disturbance::Facts;
use apexmap_base::point::{Point, Value};
use apexmap_base::sample::{Event, Sample, Status};
use apexmap_base::units::{self, Unit};
use apexmap_draw::figure::bands;
use apexmap_draw::figure::ticks::{self, Scale};
use apexmap_measure::kernels;
use apexmap_pages::explorer::{self, AppliedModel, Explorer, ExplorerCell};
use apexmap_pages::html;
use apexmap_pages::report;
use apexmap_results::disk::Folder;
use apexmap_results::disk::journal::Journal;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::samples::Samples;
use apexmap_results::table::TableBuilder;
use apexmap_study::model_fit;
use apexmap_theory::models::Model;
use apexmap_theory::models::apex_map::Surface;
use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

const ALPHAS: [f64; 4] = [0.001, 0.01, 0.1, 1.0];
const BLOCKS: [u64; 4] = [1, 8, 64, 512];
const MEMORY: [u64; 2] = [1 << 16, 1 << 20];

fn point(alpha: f64, block: u64, words: u64) -> Point {
    let point = Point::new("apex_map.sequential", 1).with_parameter("M", words).with_parameter("L", block);
    let point = point.with_parameter("alpha", alpha).with_parameter("I", 64u64).with_parameter("N", 2u64);
    kernels::complete(point).expect("a valid point")
}

/// Returns the time of a sample: every cell has another median, and its samples differ.
fn seconds(alpha: f64, block: u64, words: u64, repetition: u32) -> f64 {
    let work = kernels::find("apex_map.sequential").expect("a kernel").work(&point(alpha, block, words));
    let rate = 2e8 * (block as f64).powf(0.6) / (1.0 + 30.0 * alpha) / (words as f64).log2();
    work.bytes / rate * (1.0 + 0.01 * f64::from(repetition * 7 % 5))
}

/// Returns the sample of a cell: one cell failed, one is missing, one was disturbed.
fn sample_of(alpha: f64, block: u64, words: u64, repetition: u32) -> Option<Sample> {
    let point = point(alpha, block, words);
    let good = sample(&point, &point.label(), repetition, seconds(alpha, block, words, repetition));
    match (alpha, block, words == MEMORY[0]) {
        (0.001, 512, _) => None,
        (1.0, 1, true) => Some(Sample { status: Status::Failed, seconds: None, message: "out".into(), ..good }),
        (0.1, 64, true) => Some(Sample { disturbance: noisy_facts(), ..good }),
        _ => Some(Sample { disturbance: Facts::default(), ..good }),
    }
}

/// Creates a result with a machine card: two launches with three samples of each cell. Names from files are hostile.
fn result(scratch: &Scratch) -> Folder {
    let folder = Folder::create(&scratch.join("result")).expect("a folder");
    for (block_of_launches, name) in ["0001", "0002"].into_iter().enumerate() {
        let mut journal = Journal::create(&folder.journal(name)).expect("a journal");
        journal.append(&Event::Hello(Box::new(launch(name, 1, "b1")))).expect("a line");
        for (words, alpha, block, repetition) in cells() {
            let Some(mut sample) = sample_of(alpha, block, words, repetition) else { continue };
            sample.block = block_of_launches as u32;
            sample.seconds = sample.seconds.map(|seconds| seconds * (1.0 + 0.02 * block_of_launches as f64));
            journal.append(&Event::Sample(Box::new(sample))).expect("a line");
        }
        journal.finish().expect("on disk");
    }
    let title = "</script><img src=x onerror=\"document.title='stolen'\">";
    let manifest = Manifest { title: title.into(), points: 30, blocks: 2, ..manifest() };
    manifest.with_records(&folder.records().expect("journals")).write(&folder).expect("a manifest");
    card().write(&folder.machine()).expect("a card");
    let samples = Samples::from(folder.compact().expect("a table"));
    // The fits of the report take seconds, and all results are the same.
    static PAGE: OnceLock<String> = OnceLock::new();
    let page = PAGE.get_or_init(|| {
        report::make(&folder, &samples, common::WITH_FITS).expect("a report");
        std::fs::read_to_string(folder.report()).expect("a page")
    });
    std::fs::write(folder.report(), page).expect("written");
    folder
}

fn cells() -> impl Iterator<Item = (u64, f64, u64, u32)> {
    let repetitions = |words, alpha, block| (0..3).map(move |repetition| (words, alpha, block, repetition));
    let blocks = move |words, alpha| BLOCKS.into_iter().flat_map(move |block| repetitions(words, alpha, block));
    MEMORY.into_iter().flat_map(move |words| ALPHAS.into_iter().flat_map(move |alpha| blocks(words, alpha)))
}

fn address(folder: &Folder) -> String {
    format!("file://{}", folder.report().display())
}

/// Returns what `apexmap query` prints about these cells, as JSON.
fn query(folder: &Folder, condition: &str, columns: &str) -> serde_json::Value {
    let path = folder.path.to_str().expect("a path");
    let arguments = ["query", path, "--where", condition, "--group-by", "L,alpha", "--select", columns];
    let text = successful_stdout(&[&arguments[..], &["--format", "json"]].concat());
    serde_json::from_str(&text).expect("JSON")
}

/// Returns the texts of the readout for a cell, computed from `apexmap query`.
fn expected_readout(folder: &Folder, alpha: f64, block: u64, words: u64) -> serde_json::Value {
    let condition = format!("alpha == {alpha} && L == {block} && M == {words}");
    let group = query(folder, &condition, "bytes_per_second_per_rank,share_of_bound")[0].clone();
    let summary = |name: &str| {
        let number = |part: &str| group["values"][name][part].as_f64().expect("a number");
        (number("median"), (number("low"), number("high")))
    };
    let (rate, ends) = summary("bytes_per_second_per_rank");
    let (share, (low, high)) = summary("share_of_bound");
    let percent = |share: f64| units::short_number(100.0 * share);
    json!({
        "median": units::amount(rate, Unit::BytesPerSecond),
        "interval": units::interval(ends, Unit::BytesPerSecond),
        "n": group["samples"].to_string(),
        "launches": group["values"]["bytes_per_second_per_rank"]["launches"].to_string(),
        "share": format!("{} % ({} to {})", percent(share), percent(low), percent(high)),
    })
}

/// The texts of the readout, the marked row of the table, and the address.
const SHOWN: &str = "(() => {
  const text = (part) => document.querySelector(`#explorer .readout [data-part=${part}]`)?.textContent;
  const row = document.querySelector('#explorer tr[aria-current]');
  return { places: [...document.querySelectorAll('#explorer .readout [data-part=place]')].map((one) => one.textContent),
    median: text('median'), interval: text('interval'), n: text('n'), launches: text('launches'), share: text('share'),
    quietness: text('quietness'), failed: text('failed'), terms: text('terms'), live: document.querySelector('#explorer .live').textContent,
    row: row && [...row.cells].map((cell) => cell.textContent), address: location.hash,
    button: document.querySelector('#explorer .side button').textContent };
})()";

/// Asserts that the page shows a cell as `apexmap query` prints it, in the readout and in the table.
fn assert_shows(page: &mut Page, folder: &Folder, (alpha, block, words): (f64, u64, u64)) -> serde_json::Value {
    let shown = page.evaluate(SHOWN);
    let expected = expected_readout(folder, alpha, block, words);
    for part in ["median", "interval", "n", "launches"] {
        assert_eq!(shown[part], expected[part], "{part} of alpha = {alpha}, L = {block}: {shown}");
        assert!(shown["row"].as_array().expect("a row").contains(&expected[part]), "{part} in the table: {shown}");
    }
    let share = expected["share"].as_str().expect("a text");
    assert!(shown["share"].as_str().is_some_and(|text| text.starts_with(&format!("{share}, "))), "{share}: {shown}");
    shown
}

/// Returns the centre of a cell of the map in the window. Columns and rows are equally wide, because the values are a geometric
/// series.
fn centre(page: &mut Page, column: usize, row: usize) -> (f64, f64) {
    page.evaluate("document.querySelector('#explorer [data-part=map]').scrollIntoView({ block: 'center' })");
    page.settle();
    let place = page.evaluate(
        "(() => { const map = document.querySelector('#explorer [data-part=map]'), box = map.getBoundingClientRect();
           return [box.left, box.top, ...map.dataset.area.split(' ').map(Number)]; })()",
    );
    let [x, y, left, top, width, height] = [0, 1, 2, 3, 4, 5].map(|index| place[index].as_f64().expect("a number"));
    let share = |index: usize| (index as f64 + 0.5) / 4.0;
    (x + left + share(column) * width, y + top + (1.0 - share(row)) * height)
}

#[test]
fn the_mouse_shows_and_pins_cells_as_query_prints_them() {
    needs!(Browser);
    let scratch = Scratch::new();
    let folder = result(&scratch);
    let mut page = Page::open(&scratch, &address(&folder), (1280, 900), 1.0, false);
    // Columns are L, rows alpha, from the smallest.
    for (column, row) in [(1, 1), (3, 3), (0, 2)] {
        let place = centre(&mut page, column, row);
        page.point(place);
        let shown = assert_shows(&mut page, &folder, (ALPHAS[row], BLOCKS[column], MEMORY[0]));
        assert_eq!((&shown["address"], &shown["button"]), (&"".into(), &"Pin".into()));
    }
    let pinned = centre(&mut page, 2, 1);
    page.click(pinned);
    let elsewhere = centre(&mut page, 0, 0);
    page.point(elsewhere);
    let shown = assert_shows(&mut page, &folder, (0.01, 64, MEMORY[0]));
    assert_eq!(shown["button"], "Unpin");
    let start = "#explorer?kernel=apex_map.sequential&x=L&y=alpha&colour=bytes_per_second_per_rank&at.M=65536";
    assert_eq!(shown["address"], format!("{start}&pin=64%2C0.01"));
    assert!(shown["live"].as_str().expect("a text").starts_with("Pinned: M 512 KiB, alpha 0.01, L 64"), "{shown}");
    // The address alone restores the view in another window.
    let restored = format!("{}{start}&pin=8%2C1", address(&folder));
    page.navigate(&restored);
    assert_shows(&mut page, &folder, (1.0, 8, MEMORY[0]));
    // A click on the pinned cell unpins it.
    let again = centre(&mut page, 1, 3);
    page.click(again);
    assert_eq!(page.evaluate(SHOWN)["button"], "Pin");
    assert_eq!(page.console, Vec::<String>::new());
}

#[test]
fn slices_and_table_rows_select_cells_too() {
    needs!(Browser);
    let scratch = Scratch::new();
    let folder = result(&scratch);
    let mut page = Page::open(&scratch, &address(&folder), (1280, 900), 1.0, false);
    let middle = centre(&mut page, 1, 1);
    page.click(middle);
    page.click(middle);
    let box_of = |page: &mut Page, selector: &str| {
        page.evaluate(&format!("document.querySelector('{selector}').scrollIntoView({{ block: 'center' }})"));
        page.settle();
        let place = page.evaluate(&format!(
            "(() => {{ const box = document.querySelector('{selector}').getBoundingClientRect(); return [box.left, box.top, box.width, box.height]; }})()"
        ));
        [0, 1, 2, 3].map(|index| place[index].as_f64().expect("a number"))
    };
    let [left, top, width, height] = box_of(&mut page, "#explorer [data-part=slice-x]");
    page.point((left + width - 20.0, top + height / 2.0));
    assert_shows(&mut page, &folder, (0.01, 512, MEMORY[0]));
    let [left, top, _, height] = box_of(&mut page, "#explorer [data-part=slice-y]");
    page.point((left + 70.0, top + height / 2.0));
    // The cell of the smallest alpha and the largest L was not measured.
    let shown = page.evaluate(SHOWN);
    assert_eq!((&shown["median"], &shown["row"]), (&"not measured".into(), &serde_json::Value::Null));
    let [left, top, ..] = box_of(&mut page, "#explorer tbody tr:nth-child(4)");
    page.click((left + 20.0, top + 8.0));
    assert_shows(&mut page, &folder, (0.01, 1, MEMORY[0]));
    assert_eq!(page.evaluate(SHOWN)["button"], "Unpin");
}

#[test]
fn the_keyboard_reaches_every_cell_and_control() {
    needs!(Browser);
    let scratch = Scratch::new();
    let folder = result(&scratch);
    let mut page = Page::open(&scratch, &address(&folder), (1280, 900), 1.0, false);
    page.evaluate("document.querySelector('#explorer h2').scrollIntoView()");
    page.evaluate("document.querySelector('#explorer select').focus()");
    for _ in 0..20 {
        if page.evaluate("document.activeElement.dataset.part") == "map" {
            break;
        }
        page.press("Tab");
    }
    assert_eq!(page.evaluate("document.activeElement.dataset.part"), "map", "Tab reaches the map");
    page.press("Home");
    page.press("PageDown");
    for key in ["ArrowRight", "ArrowUp", "ArrowUp", "ArrowLeft", "ArrowRight"] {
        page.press(key);
    }
    let shown = assert_shows(&mut page, &folder, (0.1, 8, MEMORY[0]));
    assert!(shown["live"].as_str().expect("a text").contains(shown["median"].as_str().expect("a text")), "{shown}");
    page.press("Enter");
    page.press("End");
    let shown = assert_shows(&mut page, &folder, (0.1, 512, MEMORY[0]));
    assert!(shown["address"].as_str().expect("a text").ends_with("&pin=512%2C0.1"), "a pin moves along: {shown}");
    page.press("Escape");
    let shown = page.evaluate(SHOWN);
    assert!(shown["button"] == "Pin" && !shown["address"].as_str().expect("a text").contains("pin"), "{shown}");
    // The other memory size, by its select: the last one of the bar.
    page.evaluate("[...document.querySelectorAll('#explorer select')].at(-1).focus()");
    page.press("ArrowDown");
    assert_eq!(page.evaluate("document.activeElement.tagName"), "SELECT", "the focus stays");
    page.evaluate("document.querySelector('#explorer [data-part=map]').focus()");
    for key in ["End", "PageUp"] {
        page.press(key);
    }
    let shown = assert_shows(&mut page, &folder, (1.0, 512, MEMORY[1]));
    assert!(shown["address"].as_str().expect("a text").ends_with("&at.M=1048576"), "{shown}");
    assert_eq!(page.console, Vec::<String>::new());
}

const TEMPLATE: &str = r#"{% extends "page.html" %}{% block title %}one{% endblock %}{% block main %}<h1>one</h1>{% include "explorer.html" %}{% endblock %}"#;

#[test]
fn a_kernel_with_one_number_has_a_map_of_one_row_and_one_slice() {
    needs!(Browser);
    let scratch = Scratch::new();
    let mut rows = TableBuilder::default();
    for (kernel, size, launch) in ["apex_map.sequential", "random_access.sequential"]
        .into_iter()
        .flat_map(|k| (0..8u64).map(move |s| (k, s % 4, s / 4)))
    {
        rows.begin_row();
        let mut set = |name: &str, value: Value| rows.set(name, &value);
        set("kernel", Value::from(kernel));
        set("status", Value::from("ok"));
        set("launch", Value::from(format!("{launch:04}").as_str()));
        set("memory_words", Value::Integer(1024 << size));
        let rate = Value::Real((size + 1) as f64 * 1e8 * (1.0 + launch as f64));
        set("operations_per_second", rate.clone());
        set("bytes_per_second_per_rank", rate);
    }
    let data = explorer::explorer(&Samples::from(rows.finish()), &[], &[]).expect("data").expect("numbers vary");
    let context = json!({ "explorer": data });
    let report = scratch.join("page.html");
    let text = html::render_with(TEMPLATE, &context, explorer::STYLE, &explorer::script()).expect("a page");
    std::fs::write(&report, text).expect("written");
    browser::check_usable(&report);
    let mut page = Page::open(&scratch, &format!("file://{}", report.display()), (1280, 900), 1.0, false);
    let shown = page.evaluate(
        "[...document.querySelectorAll('#explorer canvas')].map((canvas) => canvas.hidden).concat(
           [...document.querySelectorAll('#explorer .bar label span')].map((label) => label.textContent))",
    );
    assert_eq!(shown, json!([false, false, true, "kernel", "colour", "x"]));
    page.evaluate("document.querySelector('#explorer [data-part=map]').focus()");
    page.press("End");
    page.press("Enter");
    let shown = page.evaluate(SHOWN);
    // The geometric mean of 400 and 800 million.
    assert_eq!((&shown["median"], &shown["places"]), (&"566 MB/s".into(), &json!(["64 KiB"])));
    let pinned = "#explorer?kernel=apex_map.sequential&x=M&colour=bytes_per_second_per_rank&pin=8192";
    assert_eq!(shown["address"], pinned);
    page.evaluate("document.querySelector('#explorer select').focus()");
    page.press("ArrowDown");
    let shown = page.evaluate(SHOWN);
    assert!(shown["address"].as_str().expect("a text").contains("kernel=random_access.sequential"), "{shown}");
    assert_eq!(page.evaluate("document.activeElement.tagName"), "SELECT");
    assert_eq!(page.console, Vec::<String>::new());
}

#[test]
fn disturbed_failed_and_missing_cells_are_marked_as_such() {
    needs!(Browser);
    let scratch = Scratch::new();
    let folder = result(&scratch);
    let mut page = Page::open(&scratch, &address(&folder), (1280, 900), 1.0, false);
    let disturbed = centre(&mut page, 2, 2);
    page.point(disturbed);
    let shown = assert_shows(&mut page, &folder, (0.1, 64, MEMORY[0]));
    assert_eq!(shown["quietness"], "disturbed, 6 of 6");
    let failed = centre(&mut page, 0, 3);
    page.point(failed);
    let shown = page.evaluate(SHOWN);
    assert_eq!((&shown["median"], &shown["failed"], &shown["n"]), (&"not measured".into(), &"6".into(), &"0".into()));
    let missing = centre(&mut page, 3, 0);
    page.point(missing);
    assert_eq!(page.evaluate(SHOWN)["n"], serde_json::Value::Null);
    assert_eq!(page.evaluate("document.querySelectorAll('#explorer tbody tr').length"), 15);
}

#[test]
fn a_foreign_script_does_not_run_and_hostile_addresses_change_nothing() {
    needs!(Browser);
    let scratch = Scratch::new();
    let folder = result(&scratch);
    let hostile = "#explorer?kernel=%3Cscript%3E&x=%3Cimg%20src=x%3E&colour=__proto__&at.M=x&pin=1,constructor";
    let mut page = Page::open(&scratch, &format!("{}{hostile}", address(&folder)), (1280, 900), 1.0, false);
    assert_eq!((page.evaluate("document.images.length"), page.console.len()), (0.into(), 0), "{:?}", page.console);
    assert_eq!(page.evaluate("document.querySelector('#explorer').dataset.cells"), "15");
    let refused = page.evaluate(
        "new Promise((done) => {
           addEventListener('securitypolicyviolation', (event) => done(event.effectiveDirective));
           const script = document.createElement('script');
           script.textContent = 'document.title = \"stolen\"';
           document.body.append(script);
         })",
    );
    assert!(refused.as_str().is_some_and(|directive| directive.starts_with("script-src")), "{refused}");
    assert_eq!(
        page.evaluate("(() => { try { return eval('1'); } catch (error) { return error.name; } })()"),
        "EvalError"
    );
    let title = page.evaluate("document.title");
    assert!(title.as_str().is_some_and(|title| title.contains("</script><img")), "{title}");
}

#[test]
fn the_panel_fits_a_telephone_dark_mode_and_dense_screens() {
    needs!(Browser);
    let scratch = Scratch::new();
    let folder = result(&scratch);
    browser::check_usable(&folder.report());
    let mut page = Page::open(&scratch, &address(&folder), (390, 844), 3.0, true);
    let place = centre(&mut page, 1, 1);
    page.point(place);
    assert_shows(&mut page, &folder, (0.01, 8, MEMORY[0]));
    assert_eq!(page.evaluate("document.documentElement.scrollWidth"), 390);
    let sizes = page.evaluate(
        "[...document.querySelectorAll('#explorer canvas')].map((canvas) => canvas.width / canvas.getBoundingClientRect().width)",
    );
    let dense = |ratio: &serde_json::Value| ratio.as_f64().is_some_and(|ratio| (ratio - 3.0).abs() < 0.02);
    assert!(sizes.as_array().is_some_and(|sizes| sizes.len() == 3 && sizes.iter().all(dense)), "{sizes}");
    page.call("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    assert_eq!(page.evaluate("getComputedStyle(document.querySelector('#explorer')).display"), "none");
}

/// Returns the data of the panel for the samples of a result.
fn data(folder: &Folder) -> Explorer {
    let samples = Samples::from(folder.table().expect("a table")).current();
    explorer::explorer(&samples, &[], &[]).expect("data").expect("numbers vary")
}

#[test]
fn modules_agree_with_the_crate_under_node() {
    needs!(Node);
    let scratch = Scratch::new();
    let vectors = scratch.join("vectors.json");
    let text = json!({
        "amounts": amounts(), "intervals": intervals(), "levels": levels(), "contours": contours(), "data": data(&result(&scratch)),
    });
    std::fs::write(&vectors, text.to_string()).expect("written");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut node = Command::new("node");
    node.arg("--test-reporter=tap")
        .arg(root.join("tests/explorer/modules.mjs"))
        .arg(root.join("src/pages"))
        .arg(vectors);
    let output = common::output(&mut node);
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("# pass 16"), "{text}");
}

fn amounts() -> Vec<serde_json::Value> {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let ties =
        [0.0, 0.5, 2.5, 12.25, 12.35, 1000.5, 999.5, 9.995, 9995.0, 1e-9, 1e7, 123456.0, -12.25, 1024.0, 1048576.0];
    let spread = (0..60).map(|_| 10f64.powf(random.random_range(-12.0..15.0)));
    let values: Vec<f64> = ties.into_iter().chain(spread).collect();
    let text = |(value, unit): (f64, Unit)| json!([value, unit.symbol(), units::amount(value, unit)]);
    Unit::ALL
        .into_iter()
        .flat_map(|unit| values.clone().into_iter().map(move |value| (value, unit)))
        .map(text)
        .collect()
}

fn intervals() -> Vec<serde_json::Value> {
    let ends = [(6.82e8, 7.09e8), (9e8, 1.1e9), (0.5, 2.0), (1.0, 1.0)];
    let text = |(ends, unit): ((f64, f64), Unit)| {
        // `interval` formats rates and counts; times and bytes have their own units.
        json!([ends.0, ends.1, unit.symbol(), units::interval(ends, unit)])
    };
    let rates = [Unit::BytesPerSecond, Unit::PerSecond, Unit::UpdatesPerSecond, Unit::Hertz, Unit::Words, Unit::Cycles];
    rates.into_iter().flat_map(|unit| ends.into_iter().map(move |ends| (ends, unit))).map(text).collect()
}

fn levels() -> Vec<serde_json::Value> {
    let ends =
        [(1.0, 2.0), (1.0, 9.0), (3.0, 70.0), (2.5e6, 4.1e9), (0.007, 3e4), (1e-9, 1e9), (4.1e8, 4.3e8), (1e3, 1e6)];
    let scales = ends.into_iter().flat_map(|(low, high)| [true, false].map(|log| Scale { low, high, log }));
    let linear =
        [(-1.0, 1.0), (-250.0, 3.0), (0.0, 7.3), (0.0, 1e-3)].map(|(low, high)| Scale { low, high, log: false });
    let vector = |scale: Scale| {
        let rounded = scale.round_outwards();
        json!({ "low": scale.low, "high": scale.high, "log": scale.log, "levels": ticks::levels(&scale), "outwards": [rounded.low, rounded.high] })
    };
    scales.chain(linear).map(vector).collect()
}

/// Returns random grids with gaps, levels, and the lines of the crate in the coordinates of the grid.
fn contours() -> Vec<serde_json::Value> {
    let mut random = Pcg64Mcg::seed_from_u64(7);
    let mut vectors = Vec::new();
    for (rows, columns) in [(2, 2), (3, 4), (5, 5), (8, 3), (9, 12)] {
        for gaps in [0.0, 0.15] {
            let values = Array2::from_shape_fn((rows, columns), |(row, column)| {
                let value = (row as f64 - 0.7 * column as f64).sin() + 0.3 * random.random::<f64>();
                if random.random::<f64>() < gaps { f64::NAN } else { value }
            });
            let ascending = |count: usize| (0..count).map(|k| k as f64).collect::<Vec<f64>>();
            let triangles = bands::triangles(&ascending(columns), &ascending(rows), &values);
            for level in [-0.6, -0.123, 0.2, 0.7] {
                let rows: Vec<Vec<Option<f64>>> = values
                    .rows()
                    .into_iter()
                    .map(|row| row.iter().map(|v| v.is_finite().then_some(*v)).collect())
                    .collect();
                vectors.push(json!({ "values": rows, "level": level, "lines": bands::iso_lines(&triangles, level) }));
            }
        }
    }
    vectors
}

#[test]
fn the_panel_has_the_medians_of_query_for_every_cell() {
    let scratch = Scratch::new();
    let folder = result(&scratch);
    let data = data(&folder);
    let [kernel] = data.kernels.as_slice() else { panic!("one kernel") };
    let names: Vec<&str> = kernel.axes.iter().map(|axis| axis.symbol.as_str()).collect();
    assert_eq!(names, ["M", "alpha", "L"]);
    assert_eq!((names[kernel.x], kernel.y.map(|y| names[y])), ("L", Some("alpha")));
    assert_eq!((kernel.cells.len(), kernel.quantities[0].name.as_str()), (30, "bytes_per_second_per_rank"));
    let path = folder.path.to_str().expect("a path");
    let arguments = ["query", path, "--group-by", "M,alpha,L", "--select", "bytes_per_second_per_rank,seconds"];
    let text = successful_stdout(&[&arguments[..], &["--format", "json"]].concat());
    let groups: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let seconds = kernel.quantities.iter().position(|quantity| quantity.name == "seconds").expect("seconds");
    let groups = groups.as_array().expect("groups");
    assert_eq!(groups.len(), kernel.cells.len());
    for (cell, group) in kernel.cells.iter().zip(groups) {
        let place: Vec<&str> =
            kernel.axes.iter().zip(&cell.at).map(|(axis, index)| axis.values[*index].as_str()).collect();
        let by = &group["by"];
        let expected = [&by["memory_words"], &by["alpha"], &by["block_words"]]
            .map(|value| Value::from(value.as_f64().expect("a number")));
        assert_eq!(place, expected.map(|value| value.to_string()));
        assert_eq!(
            (cell.n.to_string(), cell.failed),
            (group["samples"].to_string(), group["failures"].as_array().map_or(0, Vec::len))
        );
        for (index, name) in [(0, "bytes_per_second_per_rank"), (seconds, "seconds")] {
            let shown = serde_json::to_value(&cell.summaries[index]).expect("JSON");
            for (k, part) in ["median", "low", "high"].into_iter().enumerate() {
                match group["values"][name][part].as_f64() {
                    Some(value) => {
                        assert!((shown[k].as_f64().expect("a number") / value - 1.0).abs() < 1e-8, "{shown} {group}");
                    }
                    None => assert!(shown[k].is_null(), "{shown} {group}"),
                }
            }
        }
    }
}

#[test]
fn a_large_result_keeps_whole_maps_and_says_what_it_omits() {
    let mut rows = TableBuilder::default();
    for (words, alpha, block) in
        (0..5u64).flat_map(|m| (0..60u64).flat_map(move |a| (0..50u64).map(move |l| (m, a, l))))
    {
        rows.begin_row();
        let mut set = |name: &str, value: Value| rows.set(name, &value);
        set("kernel", Value::from("apex_map.sequential"));
        set("status", Value::from("ok"));
        set("ranks", Value::Integer(1));
        set("memory_words", Value::Integer(1024 << words));
        set("alpha", Value::Real(1.0 / (alpha + 1) as f64));
        set("block_words", Value::Integer(block + 1));
        set("launch", Value::from("0001"));
        set("seconds", Value::Real((1 + words + alpha + block) as f64));
        for column in ["bytes_per_second_per_rank", "bytes_per_second", "operations_per_second", "cycles_per_operation"]
        {
            set(column, Value::Real((1 + words + alpha + block) as f64 * 1e8));
        }
    }
    let data = explorer::explorer(&Samples::from(rows.finish()), &[], &[]).expect("data").expect("numbers vary");
    let kernel = &data.kernels[0];
    // Three maps of 3000 cells are below 10,000 cells, and four of five columns below 40,000 medians.
    assert_eq!((kernel.cells.len(), kernel.axes[0].values.len(), kernel.quantities.len()), (9000, 3, 4));
    assert!(
        data.notes.len() == 2 && data.notes[0].contains("9000 of 15000 cells") && data.notes[1].contains("1 column"),
        "{:?}",
        data.notes
    );
    assert!(serde_json::to_string(&data).expect("JSON").len() < 2_000_000);
}

#[test]
fn the_terms_of_a_model_are_those_at_each_cell() {
    let scratch = Scratch::new();
    let path = synthetic_machines::folder(&scratch, "simulated", ONE_RANK, &NUMBERS, true);
    let samples = Samples::from(Folder::open(&path).expect("a folder").table().expect("a table")).current();
    let applied = AppliedModel::new(&Surface, "fitted".into(), (NUMBERS.into(), 0.0), &samples);
    let mut data = explorer::explorer(&samples, &[], &[]).expect("data").expect("numbers vary");
    data.add_terms(&samples, &[applied]).expect("terms");
    let kernel = &data.kernels[0];
    let point_of = |cell: &ExplorerCell| -> Vec<f64> {
        let value = |symbol: &str| {
            let index = kernel.axes.iter().position(|axis| axis.symbol == symbol).expect("an axis");
            kernel.axes[index].numbers[cell.at[index]]
        };
        vec![value("alpha"), value("L"), value("M"), 1.0, 4096.0, 1.0, 0.0, 0.0]
    };
    for cell in &kernel.cells {
        let [terms] = cell.terms.as_slice() else { panic!("one model: {cell:?}") };
        // The simulated machine follows the model exactly, so the prediction is the measurement.
        let measured = serde_json::to_value(&cell.summaries[0]).expect("JSON")[0].as_f64().expect("a median");
        assert!((terms.predicted / measured - 1.0).abs() < 1e-6, "{terms:?} {measured}");
        assert_eq!(
            (terms.model.as_str(), terms.column),
            ("apex_map.surface, fitted", kernel.quantities[0].name.as_str())
        );
        assert_eq!(terms.terms, model_fit::budget(&Surface.budget(&point_of(cell), &NUMBERS)));
    }
    let terms: BTreeSet<&str> = kernel.cells.iter().map(|cell| cell.terms[0].terms.as_str()).collect();
    assert!(terms.len() > 10, "{terms:?}");
}
