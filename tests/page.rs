//! Tests of pages in a real browser (the viewer, downloads, hostile names, print), and of figures for papers and their
//! legends.

use crate::browser;
use crate::common::Scratch;
use apexmap_base::units::Unit;
use apexmap_draw::figure::legend::{Item, Legend, items, names};
use apexmap_draw::figure::*;
use apexmap_pages::html::{self, Drawing, Picture, Viewer, ViewerSurface};
use ndarray::Array2;
use proptest::prelude::*;
use serde::Serialize;
use std::path::{Path, PathBuf};

const TEMPLATE: &str = r##"{% extends "page.html" %}{% import "parts.html" as parts %}
{% block title %}{{ title }}{% endblock %}
{% block main %}<h1>{{ title }}</h1>{{ parts.overview(sentences) }}{{ parts.warnings(sentences) }}
{{ parts.viewer(viewer) }}{% for picture in pictures %}{{ parts.figure(picture) }}{% endfor %}
<h2>A table</h2><div class="scroll"><table><tr><th>{{ title }}</th><td>1,5</td></tr></table></div>{% endblock %}"##;

#[derive(Serialize)]
struct Context {
    title: String,
    sentences: Vec<String>,
    viewer: Viewer,
    pictures: Vec<Picture>,
}

pub fn quantity(label: &str, unit: Unit) -> Quantity {
    Quantity { label: label.into(), unit, log: true }
}

/// Returns a surface whose values are multiplied by `factor`.
fn grid(title: &str, factor: f64, size: usize) -> Grid {
    let ascending = |base: f64| (0..size).map(|k| base * 2f64.powi(k as i32)).collect::<Vec<f64>>();
    let mut values = Array2::from_shape_fn((size, size), |(j, i)| factor * 1e6 * 2f64.powf(j as f64 - 0.3 * i as f64));
    values[(0, size - 1)] = f64::NAN;
    Grid {
        title: title.into(),
        subtitle: title.into(),
        x: Axis { quantity: quantity("alpha (temporal locality)", Unit::None), values: ascending(0.001) },
        y: Axis { quantity: quantity("L (spatial locality)", Unit::Words), values: ascending(1.0) },
        z: quantity("bandwidth", Unit::BytesPerSecond),
        values,
        failed: vec![(0, size - 1)],
    }
}

fn curves(labels: &[&str]) -> Figure {
    let point =
        |k: usize| CurvePoint { x: 2f64.powi(k as i32), y: 1e6 * (k + 1) as f64, low: f64::NAN, high: f64::NAN };
    let series =
        labels.iter().map(|label| Series { label: label.to_string(), points: (0..5).map(point).collect() }).collect();
    let (x, y) = (quantity("L", Unit::Words), quantity("bandwidth", Unit::BytesPerSecond));
    Figure::Curves(Curves {
        title: "Curves".into(),
        subtitle: String::new(),
        x,
        y,
        series,
        marks: Vec::new(),
        ordered: false,
    })
}

/// Creates a page of two machines and all kinds of figures, with `name` in every place that a file can control.
fn page(folder: &Path, name: &str) -> PathBuf {
    let picture = |figure: &Figure, file: &str| Drawing::new(figure.clone(), file, name, name).picture(folder).unwrap();
    let pictures = vec![
        picture(&Figure::Contour(grid(name, 1.0, 4)), "contours"),
        picture(&Figure::Heat(grid(name, 1.0, 4)), "heat"),
        picture(&curves(&[name, "other"]), "curves"),
    ];
    let surface = |machine: &str, factor| ViewerSurface::from_grid(machine, name, &grid(name, factor, 4)).unwrap();
    let context = Context {
        title: name.into(),
        sentences: vec![name.into()],
        viewer: Viewer { surfaces: vec![surface(name, 1.0), surface("second machine", 16.0)] },
        pictures,
    };
    let path = folder.join("page.html");
    std::fs::write(&path, html::render(TEMPLATE, &context).unwrap()).unwrap();
    path
}

#[test]
fn the_viewer_draws_rotates_and_keeps_its_camera_between_surfaces() {
    needs!(Browser);
    let scratch = Scratch::new();
    let result = browser::ask(
        &page(&scratch, "first machine"),
        "const section = document.querySelector('.viewer'), canvas = section.querySelector('canvas');
         const colours = () => {
           const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
           const seen = new Set();
           for (let k = 0; k < data.length; k += 4) seen.add((data[k] << 16) | (data[k + 1] << 8) | data[k + 2]);
           return seen;
         };
         const key = (name) => canvas.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true }));
         const state = () => ({ ...section.dataset });
         const told = { hidden: section.hidden, first: state(), colours: colours().size, label: canvas.ariaLabel || canvas.getAttribute('aria-label') };
         key('ArrowLeft'); key('ArrowUp'); key('+'); await frame(); told.turned = state();
         const before = canvas.toDataURL();
         const select = section.querySelector('[data-part=surface]');
         told.machines = [...select.options].map((option) => option.textContent);
         select.value = 1; select.dispatchEvent(new Event('change')); await frame(); told.second = state();
         told.repainted = before !== canvas.toDataURL();
         section.querySelector('[data-part=common]').click(); await frame(); told.common = state();
         const net = section.querySelector('[data-part=net]');
         net.value = 0; net.dispatchEvent(new Event('change')); await frame(); told.net = state();
         key('n'); told.value = section.querySelector('.live').textContent; told.hint = page.hint.textContent;
         key('0'); await frame(); told.home = state();
         canvas.dispatchEvent(new PointerEvent('pointerdown', { clientX: 300, clientY: 300, pointerId: 1 }));
         return told;",
    );
    assert_eq!(result["hidden"], false);
    assert!(result["colours"].as_u64().unwrap() > 100, "an empty canvas: {result}");
    // One of nine cells has the gap.
    assert_eq!((&result["first"]["cells"], &result["first"]["azimuth"]), (&"8".into(), &"-52".into()));
    assert!(result["label"].as_str().unwrap().contains("bandwidth over alpha"), "{result}");
    let camera = |state: &str| ["azimuth", "elevation", "zoom"].map(|name| result[state][name].clone());
    assert_eq!(camera("turned"), ["-46".into(), "32".into(), serde_json::Value::from("1.15")]);
    assert_eq!(camera("second"), camera("turned"));
    assert_eq!(result["repainted"], true);
    assert!(result["machines"][1].as_str().unwrap().starts_with("second machine"));
    let number = |state: &str, name: &str| result[state][name].as_str().unwrap().parse::<f64>().unwrap();
    assert_eq!(number("common", "low"), number("first", "low"));
    assert_eq!(number("common", "high"), number("second", "high"));
    assert!(number("first", "high") < number("second", "high"));
    assert_eq!(result["net"]["net"], "0");
    let value = result["value"].as_str().unwrap();
    assert!(value.contains("alpha 0.001") && value.contains("L 1") && value.contains("bandwidth 16 MB/s"), "{value}");
    assert!(result["hint"].as_str().unwrap().contains("1 MB/s (0.0625 times)"), "{}", result["hint"]);
    assert_eq!(camera("home"), camera("first"));
}

#[test]
fn values_are_shown_by_pointer_and_keys_and_can_be_saved() {
    needs!(Browser);
    let scratch = Scratch::new();
    let result = browser::ask(
        &page(&scratch, "=SUM(A1), \"machine\""),
        "const figure = document.querySelector('figure[data-file=heat]'), drawing = figure.querySelector('.drawing');
         const svg = drawing.querySelector('svg'), box = svg.getBoundingClientRect();
         const row = figure.querySelector('tbody tr:nth-child(6)');
         const [x, y] = row.dataset.at.split(' ').map(Number), { width, height } = figure.dataset;
         drawing.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + x / width * box.width + 3, clientY: box.top + y / height * box.height - 3 }));
         const told = { row: [...row.cells].map((cell) => cell.textContent), hint: page.hint.textContent, shown: !page.hint.hidden };
         drawing.dispatchEvent(new PointerEvent('pointerleave')); told.gone = page.hint.hidden;
         drawing.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }));
         told.live = figure.querySelector('.live').textContent;
         told.alternative = drawing.getAttribute('aria-label');
         told.focusable = [...document.querySelectorAll('.drawing, canvas')].every((one) => one.tabIndex === 0);
         const png = await page.pngOf(svg, Number(width), Number(height)); told.png = [png.type, png.size];
         told.svg = page.svgText(svg).slice(0, 60);
         told.csv = page.csv(document.querySelector('h2 ~ .scroll table'));
         told.data = page.csv(figure.querySelector('table')).split('\\r\\n').slice(0, 2);
         told.buttons = [...document.querySelectorAll('.tools button')].map((button) => button.textContent).join(' ');
         const links = []; HTMLAnchorElement.prototype.click = function () { links.push(this.download); };
         document.querySelectorAll('.tools button').forEach((button) => button.click());
         for (let wait = 0; links.length < 10 && wait < 20; wait++) await frame();
         told.files = links.sort();
         return told;",
    );
    let hint = result["hint"].as_str().unwrap();
    assert!(result["row"].as_array().unwrap().iter().all(|cell| hint.contains(cell.as_str().unwrap())), "{result}");
    assert_eq!((&result["shown"], &result["gone"], &result["focusable"]), (&true.into(), &true.into(), &true.into()));
    assert!(result["live"].as_str().unwrap().contains("bandwidth"), "{result}");
    let alternative = result["alternative"].as_str().unwrap();
    assert!(alternative.contains("15 points, from") && alternative.contains("MB/s at alpha"), "{alternative}");
    assert_eq!(result["png"][0], "image/png");
    assert!(result["png"][1].as_u64().unwrap() > 20_000);
    assert!(result["svg"].as_str().unwrap().starts_with("<svg "));
    // A text that a spreadsheet would evaluate, with commas and quotes.
    assert_eq!(result["csv"], "\"'=SUM(A1), \"\"machine\"\"\",\"1,5\"\r\n");
    assert_eq!(result["data"][1], "0.001,1,1");
    assert_eq!(result["buttons"], "SVG PNG CSV SVG PNG CSV SVG PNG CSV CSV");
    let files: Vec<&str> = result["files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap()).collect();
    let file_names = |name: &str| ["csv", "png", "svg"].map(|end| format!("{name}.{end}"));
    let wanted =
        ["A-table.csv".to_owned()].into_iter().chain(["contours", "curves", "heat"].into_iter().flat_map(file_names));
    assert_eq!(files, wanted.collect::<Vec<String>>());
}

#[test]
fn hostile_names_are_shown_as_text_and_never_executed() {
    needs!(Browser);
    let scratch = Scratch::new();
    let attack = "</script></title></svg><img src=x onerror=\"document.title='stolen'\"><script>document.title='stolen'</script>\
                  <!--<script>{{ 7 * 7 }}&lt;b&gt;' \" ` \u{2028}";
    let path = page(&scratch, attack);
    let (dom, console) = browser::open(&path);
    assert_eq!(console, Vec::<String>::new());
    assert!(!dom.contains("<img") && dom.contains("{{ 7 * 7 }}"), "a hostile name became markup");
    assert_eq!(dom.matches("<script").count(), 2, "the viewer's data and the page's own script");
    // Also without the page's protection against foreign scripts.
    let result = browser::ask(
        &path,
        "await frame();
         return { title: document.title, images: document.images.length, scripts: document.scripts.length,
           heading: document.querySelector('h1').textContent, machine: document.querySelector('option').textContent };",
    );
    assert!(result["title"].as_str().unwrap().starts_with("</script></title>"), "{result}");
    assert_eq!((&result["images"], &result["scripts"]), (&0.into(), &3.into()));
    for place in ["heading", "machine"] {
        assert!(result[place].as_str().unwrap().contains("<img src=x onerror="), "{result}");
    }
}

#[test]
fn a_page_fetches_no_resource_and_runs_one_script() {
    let scratch = Scratch::new();
    let page = std::fs::read_to_string(page(&scratch, "machine")).unwrap();
    assert!(
        page.contains(
            "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; script-src 'sha256-"
        )
    );
    let elsewhere: Vec<&str> = page.matches("http").collect();
    let namespaces = page.matches("xmlns=\"http://www.w3.org/2000/svg\"").count();
    let policy = page.matches("<meta http-equiv").count();
    assert_eq!(elsewhere.len(), namespaces + policy, "something of the page is elsewhere");
}

#[test]
fn a_page_prints_without_interactive_controls() {
    needs!(Browser);
    let scratch = Scratch::new();
    let path = page(&scratch, "machine");
    let printed = browser::print(&path);
    assert!(printed.starts_with(b"%PDF-") && printed.len() > 20_000);
    let result = browser::ask(
        &path,
        "const rules = [...document.styleSheets[0].cssRules].filter((rule) => rule.conditionText === 'print');
         const gone = rules.flatMap((rule) => [...rule.cssRules]).find((rule) => rule.style.display === 'none').selectorText;
         return { all: ['nav', '.viewer', '.tools', '.hint', 'details.data'].every((one) => gone.split(', ').includes(one)) };",
    );
    assert_eq!(result["all"], true);
}

#[test]
fn the_tool_bar_of_a_surface_waits_for_the_pointer_or_the_focus_and_stays_on_touch_screens() {
    needs!(Browser);
    let scratch = Scratch::new();
    let result = browser::ask(
        &page(&scratch, "machine"),
        "await frame();
         const [bar, tools] = ['.viewer .bar', 'figure .tools'].map((one) => document.querySelector(one));
         const shown = () => [bar, tools].map((one) => getComputedStyle(one).opacity), name = document.querySelector('[data-part=name]').textContent;
         // A browser without a screen may have no pointer that hovers.
         const rules = [...document.styleSheets[0].cssRules].filter((rule) => /hover/.test(rule.conditionText || ''));
         const media = (text) => rules.forEach((rule) => (rule.media.mediaText = text));
         media('all'); await frame();
         const told = { rules: rules.map((rule) => rule.cssRules.length > 2), waits: shown(), name };
         bar.querySelector('button').focus(); await frame(); told.focused = shown()[0];
         tools.querySelector('button').focus(); await frame(); told.saving = shown()[1];
         media('not all'); document.activeElement.blur(); await frame();
         told.touch = shown();
         return told;",
    );
    assert_eq!(
        (&result["rules"], &result["waits"]),
        (&serde_json::json!([true]), &serde_json::json!(["0", "0"])),
        "{result}"
    );
    assert_eq!((&result["focused"], &result["saving"]), (&"1".into(), &"1".into()), "{result}");
    assert_eq!(result["touch"], serde_json::json!(["1", "1"]), "{result}");
    assert!(result["name"].as_str().unwrap().ends_with(", surface 1 of 2"), "{result}");
}

#[test]
fn a_page_is_accessible_and_fits_a_telephone() {
    let scratch = Scratch::new();
    browser::check_usable(&page(&scratch, "a-machine-with-a-long-name-without-any-place-to-break-it, P = 1"));
}

#[test]
fn values_shown_by_touch_stay_after_the_finger_is_lifted() {
    needs!(Browser);
    let scratch = Scratch::new();
    let result = browser::ask(
        &page(&scratch, "machine"),
        "await frame();
         const finger = (one, type, x, y) => one.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: y, pointerId: 1, pointerType: 'touch' }));
         const drawing = document.querySelector('figure[data-file=heat] .drawing'), box = drawing.querySelector('svg').getBoundingClientRect();
         const [x, y] = document.querySelector('figure[data-file=heat] tbody tr').dataset.at.split(' ').map(Number);
         finger(drawing, 'pointerdown', box.left + x / 900 * box.width, box.top + y / 640 * box.height); finger(drawing, 'pointerleave', 0, 0);
         const told = { value: page.hint.textContent, shown: !page.hint.hidden };
         finger(drawing, 'pointercancel', 0, 0); told.gone = page.hint.hidden;
         const canvas = document.querySelector('canvas'); canvas.setPointerCapture = () => {};
         told.scrolls = getComputedStyle(canvas).touchAction;
         const at = canvas.getBoundingClientRect(), section = document.querySelector('.viewer');
         for (let x = 0; x < at.width && page.hint.hidden; x += 20) for (let y = 0; y < at.height && page.hint.hidden; y += 20) {
           finger(canvas, 'pointerdown', at.left + x, at.top + y); finger(canvas, 'pointerup', at.left + x, at.top + y); finger(canvas, 'pointerleave', 0, 0);
         }
         told.point = page.hint.textContent; told.azimuth = section.dataset.azimuth;
         return told;",
    );
    assert!(result["value"].as_str().unwrap().contains("0.001"), "{result}");
    assert_eq!((&result["shown"], &result["gone"], &result["scrolls"]), (&true.into(), &true.into(), &"pan-y".into()));
    assert!(result["point"].as_str().unwrap().contains("bandwidth"), "{result}");
    assert_eq!(result["azimuth"], "-52", "a tap turned the surface");
}

/// Returns the relative luminance of `#rrggbb` (WCAG 2.2).
fn luminance(colour: &str) -> f64 {
    let part = |start: usize| {
        let share = f64::from(u8::from_str_radix(&colour[start..start + 2], 16).unwrap()) / 255.0;
        if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
}

/// Returns the contrast, from 1 to 21 (WCAG 2.2).
fn contrast(a: &str, b: &str) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn all_text_is_readable_in_light_and_dark_mode() {
    // Contrasts computed by webaim.org's checker.
    assert!(
        (contrast("#000000", "#ffffff") - 21.0).abs() < 1e-9 && (contrast("#777777", "#ffffff") - 4.48).abs() < 0.005
    );
    let style = include_str!("../src/pages/html/page.css");
    let colour = |name: &str, dark: usize| {
        let start = format!("--{name}: light-dark(");
        let (_, pair) = style.split_once(&start).unwrap_or_else(|| panic!("no colour {name}"));
        pair.split(')').next().unwrap().split(", ").nth(dark).unwrap()
    };
    for dark in [0, 1] {
        for ground in ["ground", "panel", "paper"].map(|name| colour(name, dark)) {
            // First text, then other parts: edges of buttons, rings of focus and of points, the bar of a warning.
            for (names, min_contrast) in [(&["ink", "soft", "link"][..], 4.5), (&["edge", "mark", "warn"], 3.0)] {
                for name in names {
                    let actual = contrast(colour(name, dark), ground);
                    assert!(actual >= min_contrast, "{name} on {ground}: {actual:.2}");
                }
            }
        }
    }
}

#[test]
fn no_line_breaks_within_a_value() {
    let template = "{% extends \"page.html\" %}{% block main %}{{ text | bound }}{% endblock %}";
    let context = std::collections::BTreeMap::from([("text", "at P = 2, L = 64: 5.4 GUPS ± 3 % of 7 points < 8")]);
    let page = html::render(template, &context).unwrap();
    let wanted = "at P_=_2, L_=_64: 5.4_GUPS_±_3_% of 7_points &lt; 8".replace('_', "\u{a0}");
    assert!(page.contains(&wanted));
}

#[test]
fn a_page_with_large_figures_stays_small() {
    let scratch = Scratch::new();
    let heavy = Drawing::new(Figure::Heat(grid("heavy", 1.0, 90)), "heavy", "heavy", "").picture(&scratch).unwrap();
    assert!(heavy.svg.contains("href=\"data:image/png;base64,iVBORw0KGgo"), "drawn as pixels");
    assert!(std::fs::metadata(scratch.join("heavy.svg")).unwrap().len() > 600_000, "complete in the file");
    assert_eq!((heavy.rows.len(), heavy.left_out), (5000, 90 * 90 - 5000));
    for size in [10, 25] {
        let drawn = drawing(&Figure::Surface(grid("surface", 1.0, size), View::default()), Style::Screen).unwrap();
        assert!(drawn.svg.len() < 500_000, "{size}: {}", drawn.svg.len());
    }
}

#[test]
fn obsolete_figures_of_a_report_are_removed_and_other_files_stay() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.join("paper")).unwrap();
    let write = |file: &str, text: &str| std::fs::write(scratch.join(file), text).unwrap();
    let exists = |file: &str| scratch.join(file).exists();
    let figure =
        |name: &str| format!("<figure class=\"picture\" aria-label=\"t\" data-file=\"{name}\" data-width=\"9\">");
    for file in
        ["old.svg", "old.png", "paper/old.svg", "kept.svg", "kept.png", "changed.svg", "mine.svg", "../outside.svg"]
    {
        write(file, file);
    }
    html::remove_unmade(&scratch, &["old", "kept", "changed", "gone"].map(figure).concat()).unwrap();
    assert!(exists("old.svg") && exists("paper/old.svg"), "the page has them");
    // A user has drawn over a figure and edited the list. The digest belongs to "../outside.svg" and is from sha256sum.
    write("changed.svg", "mine now");
    let list = std::fs::read_to_string(scratch.join(".made")).unwrap();
    assert_eq!(list.lines().count(), 6, "{list}");
    write(
        ".made",
        &format!(
            "{list}09de32bbcdcbcf56c6dc0a023c0df7e5c88d4cf8a3c5628d38bdde28069527e4  ../outside.svg\n0000000000000000000000000000000000000000000000000000000000000000  mine.svg\n"
        ),
    );
    html::remove_unmade(&scratch, &figure("kept")).unwrap();
    assert!(!exists("old.svg") && !exists("old.png") && !exists("paper/old.svg"));
    assert!(exists("kept.svg") && exists("kept.png") && exists("changed.svg") && exists("mine.svg"));
    assert!(exists("../outside.svg"), "a name led out of the folder");
    std::fs::remove_file(scratch.join("../outside.svg")).unwrap();
    assert_eq!(std::fs::read_to_string(scratch.join(".made")).unwrap().lines().count(), 2);
}

#[test]
fn the_common_part_of_names_is_shown_once_above_the_legend() {
    let legend_names = names(&["hypercube, send, Q = 1", "hypercube, put, Q = 1"]);
    assert_eq!(
        (legend_names.common.as_str(), legend_names.own),
        ("hypercube, Q = 1", vec!["send".to_owned(), "put".to_owned()])
    );
    let different = names(&["a, b", "a"]);
    assert_eq!((different.common.as_str(), different.own), ("", vec!["a, b".to_owned(), "a".to_owned()]));
    assert_eq!(names(&["a", "a"]).own, ["a", "a"]);
}

#[test]
fn long_names_keep_the_words_that_distinguish_curves() {
    let start = "random_access.hypercube with improvements of the paper's third table all together but one, ";
    let labels: Vec<String> = ["unrolled", "buffered"].map(|end| format!("{start}without {end}")).to_vec();
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    for style in [Style::Screen, Style::Paper] {
        let document = drawing(&curves(&labels), style).unwrap().svg;
        assert!(document.contains("without unrolled") && document.contains("without buffered"), "{style:?}");
        assert!(!document.contains('…'), "{style:?}: something was cut");
    }
    // Too many labels for separate lines: the middle of a label is cut, both ends stay.
    let long_labels: Vec<String> = (0..20).map(|k| format!("a{k} {} z{k}", "word ".repeat(30))).collect();
    let long_labels: Vec<&str> = long_labels.iter().map(String::as_str).collect();
    let document = drawing(&curves(&long_labels), Style::Screen).unwrap().svg;
    for k in 0..20 {
        let line = document.lines().find(|line| line.starts_with(&format!("a{k} "))).unwrap();
        assert!(line.contains('…') && line.ends_with(&format!("z{k}")), "{line}");
    }
}

proptest! {
    #[test]
    fn a_legend_fits_its_space(labels in prop::collection::vec("[a-z ,=]{1,90}", 1..21), height in 300.0..540.0f64) {
        load_fonts();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let legend = Legend::column(&labels, height);
        prop_assert_eq!(legend.entries.len(), labels.len());
        prop_assert!(legend.size.0 <= 340.0 && legend.size.1 <= height + 70.0, "{:?}", legend.size);
        let tops: Vec<f64> = legend.entries.iter().map(|entry| entry.sample.1).collect();
        prop_assert!(tops.windows(2).all(|pair| pair[1] - pair[0] >= 14.9), "{tops:?}");
    }
}

/// Loads the fonts. They are available after any drawing.
fn load_fonts() {
    svg(&curves(&["a"])).unwrap();
}

#[test]
fn a_figure_for_a_paper_has_column_width_and_8_point_type() {
    let figure = curves(&["one", "two", "three"]);
    let document = drawing(&figure, Style::Paper).unwrap().svg;
    assert!(document.starts_with("<svg width=\"3.300in\" height=\""), "{}", &document[..80]);
    let view: Vec<f64> = document
        .split_once("viewBox=\"")
        .unwrap()
        .1
        .split('"')
        .next()
        .unwrap()
        .split(' ')
        .map(|number| number.parse().unwrap())
        .collect();
    let points = |line: &str| -> f64 {
        let size: f64 = line.split_once("font-size=\"").unwrap().1.split('"').next().unwrap().parse().unwrap();
        size / view[2] * 3.3 * 72.0
    };
    let sizes: Vec<f64> = document.lines().filter(|line| line.starts_with("<text")).map(points).collect();
    assert!(sizes.iter().all(|size| (6.8..8.1).contains(size)), "{sizes:?}");
    assert!(sizes.iter().any(|size| (size - 8.0).abs() < 0.05), "{sizes:?}");
    assert!(!document.contains("Curves"), "the caption has the title");
}

#[test]
fn curves_on_paper_are_distinguishable_without_colours() {
    // The legend's samples differ by dashes and marks, not only by colour.
    let document = drawing(&curves(&["a", "b", "c", "d", "e", "f", "g"]), Style::Paper).unwrap().svg;
    let strokes = |colour: &str| {
        let is_stroke = |line: &&str| line.contains(colour) && line.starts_with("<path fill=\"none\"");
        document.lines().filter(is_stroke).map(|line| line.matches('M').count()).sum::<usize>()
    };
    let solid = strokes("#0072B2");
    let dashed: Vec<usize> = ["#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"].map(strokes).to_vec();
    assert!(dashed.iter().all(|count| *count > 2 * solid), "{solid} {dashed:?}");
    let screen = drawing(&curves(&["a", "b"]), Style::Screen).unwrap().svg;
    assert!(
        screen
            .lines()
            .filter(|line| line.contains("stroke=\"#D55E00\""))
            .map(|l| l.matches('M').count())
            .sum::<usize>()
            == 2
    );
}

#[test]
fn a_png_for_a_paper_contains_its_resolution() {
    let scratch = Scratch::new();
    for (style, width, dots) in [(Style::Paper, 1980u32, 23622u32), (Style::Screen, 900, 3780)] {
        let path = scratch.join("figure.png");
        save_in_style(&curves(&["one"]), style, &path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes[16..20], width.to_be_bytes());
        let offset = bytes.windows(4).position(|four| four == b"pHYs").expect("a chunk with the resolution");
        assert_eq!(bytes[offset + 4..offset + 8], dots.to_be_bytes(), "dots a metre");
    }
}

#[test]
fn a_figure_table_lists_all_values_and_each_row_has_a_spot() {
    let figure = Figure::Heat(grid("title", 1.0, 4));
    let table = figure.table();
    assert_eq!(table.head, ["alpha (temporal locality)", "L (spatial locality), words", "bandwidth, MB/s"]);
    assert_eq!(table.rows.len(), 16);
    assert_eq!(table.rows[0], ["0.001", "1", "1"]);
    assert_eq!(table.rows[3], ["0.008", "1", "failed"]);
    // 2 ^ (1 - 0.6), computed by Python.
    assert_eq!(table.rows[6], ["0.004", "2", "1.3195"]);
    let spots = drawing(&figure, Style::Screen).unwrap().spots;
    let mut rows: Vec<usize> = spots.iter().map(|spot| spot.row).collect();
    rows.sort_unstable();
    assert_eq!(rows, (0..16).collect::<Vec<_>>());
    // Up along the axis of L, and to the right along alpha.
    assert!(spots[4].position.1 < spots[0].position.1 && spots[1].position.0 > spots[0].position.0);
    assert_eq!(
        figure.description(),
        "Heat map. bandwidth over alpha (temporal locality) and L (spatial locality), 15 points, from \
         660 kB/s at alpha 0.004, L 1 to 8 MB/s at alpha 0.001, L 8."
    );
}

#[test]
fn times_are_written_as_calendar_dates() {
    // Computed by `date -u -d @...`.
    for (seconds, text) in [
        (0.0, "1970-01-01 00:00 UTC"),
        (951_782_399.9, "2000-02-28 23:59 UTC"),
        (951_782_400.0, "2000-02-29 00:00 UTC"),
        (1_763_693_040.0, "2025-11-21 02:44 UTC"),
        (4_107_542_400.0, "2100-03-01 00:00 UTC"),
        (1e300, "-"),
    ] {
        assert_eq!(html::utc(seconds), text);
    }
}

#[test]
fn a_legend_names_the_parts_of_all_groups_once() {
    let labels = ["a = 1", "a = 1 limit", "a = 1 attainable", "a = 2", "a = 2 limit", "a = 2 attainable"];
    let item = |(series, name, is_shared): (usize, &str, bool)| Item { series, name: name.to_owned(), is_shared };
    let grouped = [(0, "a = 1", false), (3, "a = 2", false), (1, "limit", true), (2, "attainable", true)].map(item);
    assert_eq!(items(&labels, 3), grouped);
    let each = |labels: &[&str]| Vec::from_iter(labels.iter().enumerate().map(|(k, name)| item((k, name, false))));
    assert_eq!(items(&labels, 1), each(&labels), "no groups");
    assert_eq!(items(&labels[..3], 3), each(&labels[..3]), "one group");
    let different = ["a = 1", "a = 1 limit", "a = 2", "a = 2 bound"];
    assert_eq!(items(&different, 2), each(&different), "groups with other parts");
    assert_eq!(items(&[], 2), []);
}
