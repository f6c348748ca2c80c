//! Pages: what every HTML file of apexmap shares, from its look to its figures.
//!
//! A page's template extends `page.html` and takes its parts from `parts.html`; a context of plain data fills it. The
//! template engine escapes whatever comes from files.

use crate::error::{Error, Result};
use crate::figure::{self, Figure};
use serde::Serialize;
use std::path::Path;

/// A figure in a page and, as SVG and PNG, beside it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Picture {
    /// Name of its files, without ending.
    pub file: String,
    pub title: String,
    pub caption: String,
    pub svg: String,
}

/// Draws a figure into the page and into files of a folder.
///
/// # Errors
/// If the figure has nothing to draw or its files cannot be written.
pub fn picture(folder: &Path, drawn: &Figure, file: String, title: String, caption: String) -> Result<Picture> {
    let svg = figure::svg(drawn)?;
    let path = folder.join(format!("{file}.svg"));
    std::fs::write(&path, &svg).map_err(|e| Error::file("write", &path, e))?;
    figure::png(drawn, &folder.join(format!("{file}.png")))?;
    Ok(Picture { file, title, caption, svg })
}

/// The page of a template that extends `page.html`.
///
/// # Errors
/// If the template asks for what the context does not have: a defect of the program.
pub fn render(template: &str, context: &impl Serialize) -> Result<String> {
    fill(template, context).map_err(|e| Error::internal(format!("cannot fill in the page: {e:#}")))
}

fn fill(template: &str, context: &impl Serialize) -> std::result::Result<String, minijinja::Error> {
    let mut engine = minijinja::Environment::new();
    engine.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    engine.add_filter("percent", |share: f64| format!("{:.1} %", share * 100.0));
    engine.add_global("apexmap_version", env!("CARGO_PKG_VERSION"));
    engine.add_template("page.html", include_str!("page.html"))?;
    engine.add_template("parts.html", include_str!("parts.html"))?;
    engine.add_template("this.html", template)?;
    engine.get_template("this.html")?.render(minijinja::Value::from(minijinja::value::Serde(context)))
}
