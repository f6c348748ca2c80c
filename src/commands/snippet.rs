//! An excerpt of a text around a place, short enough for a terminal. miette underlines the place.

use apexmap_base::error::Location;
use apexmap_base::terminal::to_printable;
use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};
use std::ops::Range;

/// Maximum number of characters on either side of the place, and of each line within it.
const MAX_CONTEXT: usize = 100;
/// Maximum number of lines within the place.
const MAX_LINES: usize = 12;

/// The lines of a place with one line before and after. Three dots mark omitted text.
#[derive(Debug)]
pub struct Snippet {
    name: String,
    text: String,
    /// The place, as a range of `text`.
    pub span: Range<usize>,
    /// Number of lines of the whole text before the excerpt.
    lines_before: usize,
    /// Start of the place within its line of the whole text, in bytes.
    column: usize,
}

impl Snippet {
    pub fn from_place(place: &Location) -> Self {
        let whole = place.text.as_str();
        let start = boundary(whole, place.span.start);
        let end = boundary(whole, place.span.end).max(start);
        let line_start = whole[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = whole[end..].find('\n').map_or(whole.len(), |newline| end + newline);
        let mut before = whole[..line_start].lines();
        let mut text = before.next_back().map(|line| cut(line, 2 * MAX_CONTEXT) + "\n").unwrap_or_default();
        let lines_before = before.count();
        text.push_str(&end_of(&whole[line_start..start], MAX_CONTEXT));
        let begin = text.len();
        let mut lines = whole[start..end].split('\n');
        let within: Vec<String> =
            lines.by_ref().take(MAX_LINES).map(|line| cut(line.trim_end_matches('\r'), MAX_CONTEXT)).collect();
        text.push_str(&within.join("\n"));
        if lines.next().is_some() {
            text.push_str("\n...");
        }
        let span = begin..text.len();
        text.push_str(&cut(whole[end..line_end].trim_end_matches('\r'), MAX_CONTEXT));
        if let Some(after) = whole[line_end..].lines().nth(1) {
            text.push('\n');
            text.push_str(&cut(after, 2 * MAX_CONTEXT));
        }
        let name = cut(&place.file.display().to_string(), 2 * MAX_CONTEXT);
        Self { name, text, span, lines_before, column: start - line_start }
    }
}

impl SourceCode for Snippet {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        lines_before: usize,
        lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let part = self.text.read_span(span, lines_before, lines_after)?;
        let (line, offset) = (part.line() + self.lines_before, part.span().offset());
        let column = if offset == self.span.start { self.column } else { part.column() };
        let part = MietteSpanContents::new_named(
            self.name.clone(),
            part.data(),
            *part.span(),
            line,
            column,
            part.line_count() + self.lines_before,
        );
        Ok(Box::new(part.with_language("TOML")))
    }
}

/// Returns the nearest character boundary at or before a byte offset.
fn boundary(text: &str, offset: usize) -> usize {
    (0..=offset.min(text.len())).rev().find(|&offset| text.is_char_boundary(offset)).unwrap_or(0)
}

/// Cuts a text to `most` characters, makes it printable, and marks the cut with three dots.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", to_printable(&text[..end])),
        None => to_printable(text).into_owned(),
    }
}

/// Returns the last `most` characters in printable form, with three dots for omitted text.
fn end_of(text: &str, most: usize) -> String {
    match text.char_indices().rev().nth(most) {
        Some(_) => {
            let kept = text.char_indices().rev().nth(most - 1).map_or(text, |(offset, _)| &text[offset..]);
            format!("...{}", to_printable(kept))
        }
        None => to_printable(text).into_owned(),
    }
}
