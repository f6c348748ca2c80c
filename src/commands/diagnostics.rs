//! Prints errors on the terminal: the error, the underlined place, and the next step.

use super::snippet::{Snippet, cut};
use apexmap_base::error::{Error, ErrorKind};
use apexmap_base::terminal::{error_width, note_raw, supports_colours, to_printable, wrap_lines};
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, SourceSpan};

#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{what}")]
struct Complaint {
    what: String,
    #[help]
    next: Option<String>,
    #[source_code]
    text: Snippet,
    #[label("here")]
    span: SourceSpan,
}

/// Maximum number of characters of the error and of the help. Arguments may be longer, and the error need not repeat them.
const MAX_CHARACTERS: usize = 4000;

/// Formats an error for a terminal of `width` columns, in printable characters and with bounded length.
pub fn render(error: &Error, colour: bool, width: usize) -> String {
    let error = &Error {
        message: cut(&error.message, MAX_CHARACTERS),
        help: cut(&error.help, MAX_CHARACTERS),
        ..error.clone()
    };
    if let ErrorKind::Interrupted(_) = error.kind {
        return format!("{error}\n");
    }
    let Some(place) = &error.location else { return format!("error: {error}\n") };
    let snippet = Snippet::from_place(place);
    let complaint = Complaint {
        what: error.message.clone(),
        next: Some(error.help.clone()).filter(|next| !next.is_empty()),
        span: snippet.span.clone().into(),
        text: snippet,
    };
    let theme = if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(theme).with_width(width).with_links(false);
    match handler.render_report(&mut text, &complaint) {
        Ok(()) => text,
        Err(_) => format!("error: {}: {error}\n", to_printable(&place.file.display().to_string())),
    }
}

/// Width of an error with a place if standard error is not a terminal.
const DEFAULT_WIDTH: usize = 100;

/// Prints an error to standard error, wrapped between words on a terminal.
pub fn show(error: &Error) {
    let width = error_width();
    let text = render(error, supports_colours(&std::io::stderr()), width.unwrap_or(DEFAULT_WIDTH));
    // The underlined place is already wrapped, and wrapping would count its colours.
    match error.location {
        Some(_) => note_raw(&text),
        None => note_raw(&wrap_lines(&to_printable(&text), width)),
    }
}
