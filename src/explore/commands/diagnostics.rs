//! Errors on the terminal: what is wrong, the place underlined, advice.

use crate::error::{Error, ErrorKind};
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, NamedSource, SourceSpan};

#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{what}")]
struct Complaint {
    what: String,
    #[help]
    next: Option<String>,
    #[source_code]
    text: NamedSource<String>,
    #[label("here")]
    span: SourceSpan,
}

/// The text of an error for a terminal of `width` columns.
pub fn render(error: &Error, colour: bool, width: usize) -> String {
    if let ErrorKind::Interrupted(_) = error.kind {
        return format!("{error}\n");
    }
    let Some(place) = &error.place else { return format!("error: {error}\n") };
    let complaint = Complaint {
        what: error.what.clone(),
        next: Some(error.next.clone()).filter(|next| !next.is_empty()),
        text: NamedSource::new(place.file.display().to_string(), place.text.clone()).with_language("TOML"),
        span: place.span.clone().into(),
    };
    let theme = if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(theme).with_width(width).with_links(false);
    match handler.render_report(&mut text, &complaint) {
        Ok(()) => text,
        Err(_) => format!("error: {}: {error}\n", place.file.display()),
    }
}

/// Prints an error on standard error.
pub fn show(error: &Error) {
    use std::io::IsTerminal;
    let width = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).unwrap_or(100);
    eprint!("{}", render(error, std::io::stderr().is_terminal(), width));
}
