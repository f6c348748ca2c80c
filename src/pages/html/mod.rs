//! The style, the figures and the other parts that all HTML pages share.
//! A template extends `page.html` and takes its parts from `parts.html`; the engine escapes all text from files. A page is one file that
//! loads nothing. Without its script, `page.js` and ES modules (`*.mjs`) that tests also run under node, all content is visible.

mod figure_list;
mod viewer;

use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::new_file;
use apexmap_base::terminal::to_printable;
use apexmap_base::units::{WORD_BYTES, bytes, short_number};
use apexmap_draw::figure::{self, Figure, Style};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::path::Path;

pub use apexmap_base::units::capitalize;
pub use figure_list::{make_style_folder, remove_unmade};
pub use viewer::{Viewer, ViewerSurface, map_colours};

/// One line stays visible, with the details behind it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Banner {
    /// Short enough for a telephone: `DISTURBED: 38 of 112 samples`.
    pub line: String,
    /// A machine was not quiet, which has a colour.
    pub disturbed: bool,
    pub details: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Picture {
    /// Without extension.
    pub file: String,
    pub title: String,
    pub caption: String,
    pub svg: String,
    /// For a narrow screen: as in one column of a paper, whose letters are larger for its width.
    pub narrow: String,
    pub description: String,
    /// In pixels, the unit of the rows' positions.
    pub width: f64,
    pub height: f64,
    pub head: Vec<String>,
    pub rows: Vec<PictureRow>,
    pub left_out: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PictureRow {
    pub cells: Vec<String>,
    /// `x y` in the figure
    pub at: String,
}

const MAX_ROWS: usize = 5000;
/// The page shows pixels instead of a larger SVG, which is still written next to it.
const MAX_SVG_BYTES: usize = 600_000;

pub struct Drawing {
    pub figure: Figure,
    pub file: String,
    pub title: String,
    pub caption: String,
}

impl Drawing {
    pub fn new(figure: Figure, file: impl Into<String>, title: impl Into<String>, caption: impl Into<String>) -> Self {
        Self { figure, file: file.into(), title: title.into(), caption: caption.into() }
    }

    /// Writes the files into a folder, and those of each style that has a subfolder.
    pub fn picture(self, folder: &Path) -> Result<Picture> {
        let Self { figure: drawn, file, title, caption } = self;
        let (drawing, png) = files(folder, &drawn, &file, Style::Screen)?;
        for (_, style) in Style::ALL {
            if let Some(subfolder) = style.folder().map(|name| folder.join(name)).filter(|subfolder| subfolder.is_dir())
            {
                files(&subfolder, &drawn, &file, style)?;
            }
        }
        let table = drawn.table();
        let mut places = vec![String::new(); table.rows.len()];
        for spot in &drawing.spots {
            places[spot.row] = format!("{:.1} {:.1}", spot.position.0, spot.position.1);
        }
        let left_out = table.rows.len().saturating_sub(MAX_ROWS);
        let rows = table.rows.into_iter().zip(places).take(MAX_ROWS);
        let rows = rows.map(|(cells, place)| PictureRow { cells, at: place }).collect();
        let (width, height) = drawing.size;
        let svg = match drawing.svg.len() > MAX_SVG_BYTES {
            true => pixels(&png, drawing.size),
            false => drawing.svg,
        };
        let narrow = figure::drawing(&drawn, Style::Paper)?.svg;
        let (description, head) = (drawn.description(), table.head);
        Ok(Picture { file, title, caption, svg, narrow, description, width, height, head, rows, left_out })
    }

    /// If the values cannot be drawn, returns `None` and adds the reason to `undrawn`: the page is complete without the figure.
    pub fn draw(self, folder: &Path, undrawn: &mut Vec<String>) -> Result<Option<Picture>> {
        let title = self.title.clone();
        if_drawable(self.picture(folder), &title, undrawn)
    }
}

pub fn if_drawable<T>(drawn: Result<T>, title: &str, undrawn: &mut Vec<String>) -> Result<Option<T>> {
    match drawn {
        Err(error) if error.kind == ErrorKind::Input => {
            undrawn.push(format!("{title} is not drawn: {}.", error.message));
            Ok(None)
        }
        drawn => drawn.map(Some),
    }
}

fn files(folder: &Path, drawn: &Figure, file: &str, style: Style) -> Result<(figure::Drawing, Vec<u8>)> {
    let drawing = figure::drawing(drawn, style)?;
    new_file::replace_contents(&folder.join(format!("{file}.svg")), &drawing.svg)?;
    let png = figure::png_bytes(drawn, style)?;
    new_file::replace_contents(&folder.join(format!("{file}.png")), &png)?;
    Ok((drawing, png))
}

fn pixels(png: &[u8], (width, height): (f64, f64)) -> String {
    format!(
        "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" xmlns=\"http://www.w3.org/2000/svg\">\
         <image width=\"{width}\" height=\"{height}\" href=\"data:image/png;base64,{}\"/></svg>\n",
        STANDARD.encode(png)
    )
}

const STYLE: &str = include_str!("page.css");
pub type Module = (&'static str, &'static str);

/// Each comes after those that it imports.
const MODULES: [Module; 6] = [
    ("format", include_str!("format.mjs")),
    ("scale", include_str!("scale.mjs")),
    ("canvas", include_str!("canvas.mjs")),
    ("camera", include_str!("camera.mjs")),
    ("surface", include_str!("surface.mjs")),
    ("viewer", include_str!("viewer.mjs")),
];

/// Each module is a function with its own scope, whose exports are in `modules.NAME`.
pub fn join_modules(modules: &[Module]) -> String {
    let mut script = String::new();
    for (name, text) in modules {
        let mut exports = Vec::new();
        script.push_str(&format!("modules.{name} = (function () {{\n"));
        for line in text.lines() {
            let import = line.strip_prefix("import ").and_then(|import| import.split_once(" from "));
            let export = line.strip_prefix("export ");
            script.push_str(&match (import, export) {
                (Some((names, file)), _) => {
                    let stem = Path::new(file).file_stem().unwrap_or_default();
                    format!("const {names} = modules.{};", stem.display())
                }
                (None, Some(export)) => {
                    exports.extend(export.split(|c: char| !c.is_alphanumeric() && c != '_').nth(1));
                    export.to_owned()
                }
                (None, None) => line.to_owned(),
            });
            script.push('\n');
        }
        script.push_str(&format!("return {{ {} }};\n}})();\n", exports.join(", ")));
    }
    script
}

pub fn render(template: &str, context: &impl Serialize) -> Result<String> {
    render_with(template, context, "", "")
}

/// With a style and script besides those of all pages. The script may contain further modules.
pub fn render_with(template: &str, context: &impl Serialize, style: &str, script: &str) -> Result<String> {
    let style = format!("{STYLE}{style}");
    let (page, modules) = (include_str!("page.js"), join_modules(&MODULES));
    let script = format!("{page}\nconst modules = {{}};\n{modules}modules.viewer.startViewers();\n{script}");
    let page = fill(template, context, style, script);
    // Output of programs may have control characters.
    page.map(|page| to_printable(&page).into_owned())
        .map_err(|e| Error::internal(format!("cannot render the HTML page: {e:#}")))
}

fn fill(template: &str, context: &impl Serialize, style: String, script: String) -> Result<String, minijinja::Error> {
    let mut engine = minijinja::Environment::new();
    // A name that the context does not have is an error, not an empty text.
    engine.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    engine.add_filter("percent", |share: f64| format!("{:.1} %", share * 100.0));
    engine.add_filter("bound", |text: &str| bind_units(text));
    engine.add_filter("json", |value: minijinja::Value| json(&value).map(minijinja::Value::from_safe_string));
    engine.add_global("apexmap_version", env!("CARGO_PKG_VERSION"));
    // The security policy of the page allows only this script.
    engine.add_global("script_hash", minijinja::Value::from_safe_string(STANDARD.encode(Sha256::digest(&script))));
    engine.add_global("style", style);
    engine.add_global("script", script);
    engine.add_template("page.html", include_str!("page.html"))?;
    engine.add_template("parts.html", include_str!("parts.html"))?;
    engine.add_template("explorer.html", include_str!("../explorer/explorer.html"))?;
    engine.add_template("this.html", template)?;
    engine.get_template("this.html")?.render(minijinja::Value::from(minijinja::value::Serde(context)))
}

/// Non-breaking spaces between a number and its unit, and within `L = 64`.
fn bind_units(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let letter = |k: usize| letters.get(k).copied().unwrap_or_default();
    let bound = |k: usize| {
        let before = if k > 0 { letter(k - 1) } else { ' ' };
        "=±".contains([before, letter(k + 1)])
            || before.is_ascii_digit() && (letter(k + 1).is_alphabetic() || letter(k + 1) == '%')
    };
    letters.iter().enumerate().map(|(k, &c)| if c == ' ' && bound(k) { '\u{a0}' } else { c }).collect()
}

/// `contours-1-core-2-MiB-pages`, from the kind of figure and its group
pub fn file_name(kind: &str, group: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_.".contains(letter);
    let name = format!("{kind} {group}");
    name.split(|letter| !is_plain(letter)).filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

pub fn utc(unix_seconds: f64) -> String {
    let moment = chrono::DateTime::from_timestamp(unix_seconds as i64, 0);
    moment.map_or_else(|| "-".into(), |moment| moment.format("%Y-%m-%d %H:%M UTC").to_string())
}

/// For any content, it cannot end a script or begin markup in a page.
fn json(value: &minijinja::Value) -> Result<String, minijinja::Error> {
    let text = serde_json::to_string(value)
        .map_err(|e| minijinja::Error::new(minijinja::ErrorKind::BadSerialization, e.to_string()))?;
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => safe.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => safe.push(c),
        }
    }
    Ok(safe)
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Corners {
    pub groups: Vec<String>,
    pub intervals: bool,
    pub rows: Vec<CornerRow>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CornerRow {
    pub locality: &'static str,
    pub place: String,
    pub cells: Vec<CornerCell>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CornerCell {
    pub value: String,
    pub interval: String,
    pub limit: Vec<String>,
}

impl Corners {
    /// Axes ascend; `None` unless both have two values. `cell`: the value for a group's index, alpha and L.
    pub fn new(
        groups: Vec<String>,
        alphas: &[f64],
        blocks: &[f64],
        cell: impl Fn(usize, f64, f64) -> CornerCell,
    ) -> Option<Self> {
        let rows = corner_places(alphas, blocks)?.map(|(locality, alpha, block)| CornerRow {
            locality,
            place: format!("alpha = {}, L = {}", short_number(alpha), block_length(block)),
            cells: (0..groups.len()).map(|group| cell(group, alpha, block)).collect(),
        });
        let rows: Vec<CornerRow> = rows.into();
        let intervals = rows.iter().flat_map(|row| &row.cells).any(|cell| !cell.interval.is_empty());
        Some(Self { groups, intervals, rows })
    }
}

pub fn block_length(words: f64) -> String {
    let name = if words == 1.0 { "word" } else { "words" };
    format!("{} {name} ({})", short_number(words), bytes(words * WORD_BYTES as f64))
}

/// Locality, alpha and L; `None` unless both ascending axes have two values.
pub fn corner_places(alphas: &[f64], blocks: &[f64]) -> Option<[(&'static str, f64, f64); 4]> {
    let (&[reused, .., random], &[short, .., long]) = (alphas, blocks) else { return None };
    Some([("none", random, short), ("temporal", reused, short), ("spatial", random, long), ("both", reused, long)])
}
