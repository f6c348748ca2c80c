//! Tests of the first screens of reports, on a telephone and without scripts; and of reports drawn again from the result
//! that they hold.

use crate::browser;
use crate::common::{Scratch, apexmap, successful_stdout};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const SURFACE: &str = r#"
title = "A small map"
[fixed]
kernel = "apex_map.sequential"
ranks = 1
M = "64 kwords"
I = 64
N = 2
[axes]
alpha = [0.01, 0.1, 1.0]
L = [1, 16, 256]
[repeat]
min = 6
"#;

/// Runs a sweep, and returns its folder.
fn run(scratch: &Scratch, sweep: &str) -> PathBuf {
    let (path, out) = (scratch.join("sweep.toml"), scratch.join("result"));
    std::fs::write(&path, sweep).unwrap();
    let run = apexmap(&["run", "--out", out.to_str().unwrap(), path.to_str().unwrap()]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    out
}

fn text(page: &Path) -> String {
    std::fs::read_to_string(page).unwrap()
}

#[test]
fn memory_sizes_begin_with_the_staircase_in_bytes_and_the_gain_of_huge_pages() {
    let scratch = Scratch::new();
    let ready = include_str!("../sweeps/memory-sizes.toml");
    let figure = &ready[ready.find("[[figure]]").expect("a figure")..];
    let sweep = format!(
        "{}[axes]\nM = {{ from = \"4 kwords\", to = \"256 kwords\", factor = 2 }}\nalpha = [0.1, 1.0]\npages = [\"huge\", \"base\"]\n\
         L = [1, 16]\n[repeat]\nmin = 2\n{figure}",
        "[fixed]\nkernel = \"apex_map.sequential\"\nranks = 1\nI = 256\nN = 4\n"
    );
    let result = run(&scratch, &sweep);
    let page = text(&result.join("report.html"));
    let first = page.split("data-file=\"").nth(1).unwrap();
    assert!(first.starts_with("figure-1"), "{}", &first[..40]);
    let marks = |figure: &str| -> BTreeSet<String> {
        let svg = text(&result.join("figures").join(figure));
        let is_mark =
            |line: &&str| ["L1", "L2", "L3", "TLB reach", "step: "].iter().any(|start| line.starts_with(start));
        svg.lines().map(str::trim).filter(is_mark).map(str::to_owned).collect()
    };
    assert_eq!(marks("figure-1.svg"), marks("effect-of-M.svg"), "all figures over M have the same marks");
    let figure = first.split("</figure>").next().unwrap();
    assert!(figure.contains("huge pages") && figure.contains("base pages") && figure.contains("64 KiB"), "{figure}");
    assert!(page.contains("<li>huge pages: ") && page.contains("relative to base pages"));
    assert!(!page.contains("Rate on 2 MiB pages"), "the staircase shows it");
    assert!(!page.contains("<h2 id=\"live\">"), "a plane of two by two points is no surface");
}

#[test]
fn the_page_of_stream_names_the_four_operations_in_a_table_and_in_sentences() {
    let scratch = Scratch::new();
    let sweep = "[fixed]\nkernel = \"calibrate.stream\"\nbytes = \"1 MiB\"\n[axes]\naccess = [\"read\", \"copy\", \"scale\", \"add\", \"triad\"]\n\
                 ranks = [1, 2]\n[repeat]\nmin = 2\n[[figure]]\nkind = \"curves\"\nx = \"P\"\ny = \"access\"\nz = \"bytes_per_second\"\n";
    let page = text(&run(&scratch, sweep).join("report.html"));
    let table = page.split("<table class=\"bars\">").nth(1).unwrap().split("</table>").next().unwrap();
    for operation in ["copy", "scale", "add", "triad"] {
        assert!(table.contains(&format!("<tr><th>{operation}</th>")), "{operation}: {table}");
    }
    assert!(table.contains("style=\"width: 100"), "the longest bar: {table}");
    let sentence = page.split("STREAM on ").nth(1).unwrap().split("</p>").next().unwrap();
    assert!(["copy", "scale", "add", "triad"].iter().all(|operation| sentence.contains(operation)), "{sentence}");
    let first = page.split("class=\"map\"").nth(1).unwrap().split("class=\"words\"").next().unwrap();
    assert!(first.contains("data-file=\"figure-1\""), "the figure of the answer is left, the table right");
    let svg = first.split("<svg").nth(1).unwrap().split("</svg>").next().unwrap();
    let texts: Vec<&str> = svg.lines().filter(|line| !line.starts_with('<')).collect();
    assert!(texts.iter().any(|text| *text == "0" || text.starts_with("0 ")), "the axis begins at zero: {texts:?}");
    assert!(!page.contains("Largest effects") && !page.contains("To sustain"));
}

#[test]
fn a_page_without_a_map_has_a_table_and_no_figure_of_a_single_point() {
    let scratch = Scratch::new();
    let start = "question = \"How far?\"\n[fixed]\nkernel = \"calibrate.stream\"\nbytes = \"1 MiB\"\nranks = 1\n[axes]\naccess = [\"copy\"]\n\
                 [repeat]\nmin = 2\n[[figure]]\nkind = \"curves\"\nx = \"P\"\ny = \"access\"\n";
    let page = text(&run(&scratch, start).join("report.html"));
    assert!(
        !page.contains("<figure") && page.contains("The slowest and the fastest points"),
        "no answer, so its points"
    );
    let answer = "[answer]\ntext = \"copies run at {rate}, fastest by {best}\"\n[answer.values]\nrate = { words = \"the copies\", median = \"bytes_per_second\" }\n\
                  best = { words = \"the rate of all\", max = \"bytes_per_second\", at = \"access\" }\n";
    std::fs::remove_dir_all(scratch.join("result")).unwrap();
    let page = text(&run(&scratch, &format!("{start}{answer}")).join("report.html"));
    let table =
        page.split("<caption>The answer: ").nth(1).expect("a table of the answer").split("</table>").next().unwrap();
    assert!(table.contains("<th>the copies</th>") && table.contains("B&#x2f;s</strong>"), "{table}");
    assert!(!table.contains("the rate of all"), "the place of a rate is no median: {table}");
    assert!(page.contains("<strong>Copies run at ") && page.contains(", fastest by copy"), "the answer is a sentence");
}

#[test]
fn each_answer_of_a_ready_sweep_names_its_figure() {
    use apexmap_run::sweep::figures::parse_figures;
    use apexmap_run::sweep::ready::READY_SWEEPS;
    // Their figure is the surface, or the pairs of the paper's figure.
    let surfaces = ["gpu", "paper-figure-2", "paper-figures-3-to-7", "quickstart"];
    for ready in READY_SWEEPS.iter().filter(|ready| ready.text.contains("[answer]")) {
        let figures = parse_figures(ready.text);
        assert_eq!(figures.is_empty(), surfaces.contains(&ready.name), "{}", ready.name);
        assert!(figures.iter().all(|figure| figure.title.is_some()), "{}: a title in words", ready.name);
    }
}

#[test]
fn letters_of_figures_are_at_least_11_pixels_high_on_half_a_page_of_1280() {
    needs!(Browser);
    let scratch = Scratch::new();
    let page = run(&scratch, SURFACE).join("report.html");
    let result = browser::ask(
        &page,
        "document.querySelectorAll('details').forEach((one) => (one.open = true)); await frame();
         const sizes = [...document.querySelectorAll('.drawing:not(.narrow) svg')].filter((svg) => svg.checkVisibility()).flatMap((svg) => {
           const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
           return [...svg.querySelectorAll('text')].map((text) => scale * Number(text.getAttribute('font-size')));
         });
         return { least: Math.min(...sizes), count: sizes.length };",
    );
    assert!(result["count"].as_u64().unwrap() > 20 && result["least"].as_f64().unwrap() >= 11.0, "{result}");
}

#[test]
fn a_telephone_shows_the_map_first_and_a_page_without_scripts_shows_it_as_a_picture() {
    needs!(Browser);
    let scratch = Scratch::new();
    let page = run(&scratch, SURFACE).join("report.html");
    browser::check_usable(&page);
    let result = browser::ask(
        &page,
        "await frame();
         const still = document.querySelector('.still'), told = { live: still.checkVisibility() };
         const phone = document.createElement('iframe');
         phone.style.cssText = 'width: 390px; height: 844px; border: 0';
         phone.srcdoc = '<!DOCTYPE html>' + document.documentElement.outerHTML.replace(/<script(?! type)[^]*?<\\/script>/g, '');
         document.body.append(phone);
         await new Promise((done) => (phone.onload = done));
         const inner = phone.contentDocument, viewer = inner.querySelector('.viewer');
         told.canvas = viewer.querySelector('canvas').getBoundingClientRect().top;
         viewer.hidden = true; // as without scripts
         const box = inner.querySelector('.still svg').getBoundingClientRect();
         told.still = [box.top, box.right, box.bottom];
         told.remarks = inner.querySelector('.notes').open;
         return told;",
    );
    assert_eq!((&result["live"], &result["remarks"]), (&false.into(), &false.into()), "{result}");
    let still: Vec<f64> = result["still"].as_array().unwrap().iter().map(|side| side.as_f64().unwrap()).collect();
    assert!(result["canvas"].as_f64().unwrap() < 420.0, "{result}");
    assert!(still[0] < 420.0 && still[1] <= 390.0 && still[2] < 844.0 && still[2] > still[0], "{result}");
}

#[test]
fn a_page_is_drawn_again_from_the_result_that_it_holds() {
    let scratch = Scratch::new();
    let out = run(&scratch, SURFACE);
    let (old, new) = (scratch.join("old.html"), scratch.join("new.html"));
    std::fs::rename(out.join("report.html"), &old).unwrap();
    // With --out, the page of a folder is written elsewhere, so the folder may be read-only.
    let elsewhere = scratch.join("elsewhere.html");
    successful_stdout(&["report", out.to_str().unwrap(), "--out", elsewhere.to_str().unwrap()]);
    assert!(elsewhere.is_file() && !out.join("report.html").exists());
    std::fs::remove_dir_all(&out).unwrap();
    let (old, new) = (old.to_str().unwrap(), new.to_str().unwrap());
    let stdout = successful_stdout(&["report", old, "--out", new]);
    assert!(stdout.contains("report: ") && stdout.contains("new.html"), "{stdout}");
    let (before, after) = (text(Path::new(old)), text(Path::new(new)));
    assert!(after.contains("Drawn again by apexmap") && !before.contains("Drawn again by apexmap"));
    let svg = |page: &str| page.split("<svg").nth(1).unwrap().split("</svg>").next().unwrap().to_owned();
    assert_eq!(svg(&before), svg(&after));
    // The new page holds the result, too; without --out, the page gets another name.
    assert!(successful_stdout(&["report", new]).contains("new.redrawn.html"));
    assert_eq!(svg(&text(&scratch.join("new.redrawn.html"))), svg(&before));
}

#[test]
fn a_damaged_page_is_refused_by_name_with_the_next_step() {
    let scratch = Scratch::new();
    let out = run(&scratch, SURFACE);
    let page = text(&out.join("report.html"));
    let start = "<script type=\"application/json\" id=\"result\">";
    let (head, rest) = page.split_once(start).expect("data");
    let (data, tail) = rest.split_once("</script>").unwrap();
    let value: serde_json::Value = serde_json::from_str(data).unwrap();
    let with = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut value = value.clone();
        change(&mut value);
        format!("{head}{start}{value}</script>{tail}")
    };
    let samples = |text: &str| {
        let text = text.to_owned();
        with(&move |value| value["files"]["samples.parquet"] = text.clone().into())
    };
    let manifest = value["files"]["manifest.json"].as_str().unwrap().to_owned();
    for (text, words) in [
        (head.to_owned(), "holds no result"),
        (format!("{page}{page}"), "holds several results"),
        (with(&|value| value["format"] = 99.into()), "newer version"),
        (with(&|value| value["schema"] = 99_999.into()), "newer version"),
        (with(&|value| value["files"]["../evil"] = "x".into()), "unknown file"),
        (with(&|value| value["files"] = serde_json::json!({})), "holds no manifest.json"),
        (samples("!"), "samples.parquet"),
        // A file in the place of another: the checksum of the manifest does not match.
        (samples(&manifest), "does not match its checksum"),
        (format!("{head}{start}{{</script>{tail}"), "is damaged"),
    ] {
        let path = scratch.join("bad.html");
        std::fs::write(&path, text).unwrap();
        let output = apexmap(&["report", path.to_str().unwrap()]);
        let message = String::from_utf8_lossy(&output.stderr).replace('\n', " ");
        assert!(!output.status.success() && message.contains(words), "{words}: {message}");
        assert!(message.contains("bad.html") && message.contains("help:"), "{words}: {message}");
        assert!(!scratch.join("bad.redrawn.html").exists());
    }
}
