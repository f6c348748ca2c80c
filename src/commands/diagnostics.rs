//! Prints errors on the terminal: the error, the underlined place, and the next step.

use apexmap_base::error::{Error, ErrorKind, Location};
use apexmap_base::terminal::{error_width, note_raw, supports_colours, to_printable, wrap_lines};
use textwrap::core::display_width;

/// Limits the error and the help. Arguments may be longer, and the error need not repeat them.
const MAX_CHARACTERS: usize = 4000;
/// Limits a place, and its line on either side.
const MAX_CONTEXT: usize = 100;
/// Columns between the stops of tabs.
const TAB: usize = 4;
/// If standard error is not a terminal.
const DEFAULT_WIDTH: usize = 100;

#[derive(Clone, Copy)]
enum Part {
    Error,
    Help,
    Mark,
    Number,
    Place,
}

/// To standard error, wrapped between words on a terminal.
pub fn show(error: &Error) {
    let width = error_width();
    let text = render(error, supports_colours(&std::io::stderr()), width.unwrap_or(DEFAULT_WIDTH));
    // The underlined place is already wrapped, and wrapping would count its colours.
    match error.location {
        Some(_) => note_raw(&text),
        None => note_raw(&paint_labels(&wrap_lines(&to_printable(&text), width))),
    }
}

fn paint_labels(text: &str) -> String {
    if !supports_colours(&std::io::stderr()) {
        return text.to_owned();
    }
    let text = text.replacen("error:", &in_colour(Part::Error, "error:"), 1);
    text.replacen("\n  help:", &format!("\n{}", in_colour(Part::Help, "  help:")), 1)
}

/// An error about arguments repeats them, and each may be as long as a file.
pub fn shorten(error: Error) -> Error {
    let [message, help] = [&error.message, &error.help].map(|text| cut(text, MAX_CHARACTERS / 3));
    Error { message, help, ..error }
}

/// For a terminal of `width` columns, in printable characters and with bounded length.
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
    let paint = |part: Part, text: &str| if colour { in_colour(part, text) } else { text.to_owned() };
    let fill = |text: &str, first: &str, others: &str| {
        let options = textwrap::Options::new(width.saturating_sub(2)).initial_indent(first).subsequent_indent(others);
        textwrap::fill(text, options) + "\n"
    };
    let [cross, bar] = ["×", "│"].map(|sign| format!("  {} ", paint(Part::Error, sign)));
    let mut text = fill(&error.message, &cross, &bar) + &draw(place, &paint);
    if !error.help.is_empty() {
        text += &fill(&error.help, &paint(Part::Help, "  help: "), "        ");
    }
    text
}

/// Draws the first line of a place with its number. Three dots mark omitted text.
fn draw(place: &Location, paint: &dyn Fn(Part, &str) -> String) -> String {
    let whole = place.text.as_str();
    let start = whole.floor_char_boundary(place.span.start);
    let line_start = whole[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = whole[start..].find('\n').map_or(whole.len(), |newline| start + newline);
    let end = whole.floor_char_boundary(place.span.end).clamp(start, line_end);
    let number = (whole[..line_start].lines().count() + 1).to_string();
    let left = end_of(&whole[line_start..start], MAX_CONTEXT);
    let until_end = left.clone() + &cut(whole[start..end].trim_end_matches('\r'), MAX_CONTEXT);
    let line = until_end.clone() + &cut(whole[end..line_end].trim_end_matches('\r'), MAX_CONTEXT);
    let [column, end_column] = [&left, &until_end].map(|text| display_width(&expand(text)));
    let mark = "^".repeat(end_column.saturating_sub(column).max(1));
    let file = cut(&place.file.display().to_string(), 2 * MAX_CONTEXT);
    let (margin, shown) = (number.len(), format!("{file}:{number}:{}", start - line_start + 1));
    format!(
        "{:margin$}  ╭─[{}]\n {} │ {}\n {:margin$} · {:column$}{}\n",
        "",
        paint(Part::Place, &shown),
        paint(Part::Number, &number),
        expand(&line),
        "",
        "",
        paint(Part::Mark, &mark)
    )
}

fn in_colour(part: Part, text: &str) -> String {
    let code = match part {
        Part::Error => "31",
        Part::Help => "36",
        Part::Mark => "35;1",
        Part::Number => "2",
        Part::Place => "36;1;4",
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}

fn expand(text: &str) -> String {
    let mut expanded = String::new();
    for c in text.chars() {
        match c {
            '\t' => expanded.extend(std::iter::repeat_n(' ', TAB - display_width(&expanded) % TAB)),
            c => expanded.push(c),
        }
    }
    expanded
}

/// The first `most` characters in printable form, with three dots for omitted text.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", to_printable(&text[..end])),
        None => to_printable(text).into_owned(),
    }
}

/// The last `most` characters in printable form, with three dots for omitted text.
fn end_of(text: &str, most: usize) -> String {
    match text.char_indices().nth_back(most) {
        Some((before, letter)) => format!("...{}", to_printable(&text[before + letter.len_utf8()..])),
        None => to_printable(text).into_owned(),
    }
}
