//! An excerpt of a text around a place, short enough for a terminal, with the place underlined.

use apexmap_base::error::Location;
use apexmap_base::terminal::to_printable;
use textwrap::core::display_width;

/// Maximum number of characters on either side of the place, and of each line within it.
const MAX_CONTEXT: usize = 100;
/// Maximum number of lines within the place.
const MAX_LINES: usize = 12;
/// Columns between the stops of tabs.
const TAB: usize = 4;

/// The lines of a place with one line before and after. Three dots mark omitted text.
pub struct Snippet {
    /// File, line and column.
    place: String,
    /// Number of the first line.
    first: usize,
    before: Option<String>,
    /// Lines within the place.
    within: Vec<String>,
    after: Option<String>,
    /// Start of the place in the first of its lines, and end in the last, in bytes.
    ends: (usize, usize),
}

impl Snippet {
    pub fn from_place(place: &Location) -> Self {
        let whole = place.text.as_str();
        let start = boundary(whole, place.span.start);
        let end = boundary(whole, place.span.end).max(start);
        // A line belongs to the place without its end.
        let end = if whole[start..end].ends_with('\n') { end - 1 } else { end };
        let line_start = whole[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = whole[end..].find('\n').map_or(whole.len(), |newline| end + newline);
        let lines_before = whole[..line_start].lines().count();
        let before = whole[..line_start].lines().next_back().map(|line| cut(line, 2 * MAX_CONTEXT));

        let mut lines = whole[start..end].split('\n');
        let mut within: Vec<String> =
            lines.by_ref().take(MAX_LINES).map(|line| cut(line.trim_end_matches('\r'), MAX_CONTEXT)).collect();
        if lines.next().is_some() {
            within.push("...".into());
        }
        let left = end_of(&whole[line_start..start], MAX_CONTEXT);
        within[0].insert_str(0, &left);
        let last = within.len() - 1;
        let ends = (left.len(), within[last].len());
        within[last].push_str(&cut(whole[end..line_end].trim_end_matches('\r'), MAX_CONTEXT));

        let name = cut(&place.file.display().to_string(), 2 * MAX_CONTEXT);
        Self {
            place: format!("{name}:{}:{}", lines_before + 1, start - line_start + 1),
            first: lines_before + 1 - usize::from(before.is_some()),
            before,
            within,
            after: whole[line_end..].lines().nth(1).map(|line| cut(line, 2 * MAX_CONTEXT)),
            ends,
        }
    }

    /// Draws the lines with their numbers. A place within one line is underlined; longer ones are marked on the left. `paint` colours
    /// the text of a part.
    pub fn draw(&self, paint: &dyn Fn(Part, &str) -> String) -> String {
        let count = usize::from(self.before.is_some()) + self.within.len() + usize::from(self.after.is_some());
        let width = (self.first + count - 1).to_string().len();
        let mark = |text: &str| paint(Part::Mark, text);
        let is_long = self.within.len() > 1;
        let outside = if is_long { "    " } else { "" };
        let last = self.within.len() - 1;
        let gutter = |index: usize| match index {
            _ if !is_long => String::new(),
            0 => mark("╭─▶") + " ",
            index if index == last => mark("├─▶") + " ",
            _ => mark("│") + "   ",
        };
        let mut text = format!("{:width$}  ╭─[{}]\n", "", paint(Part::Place, &self.place));
        let mut number = self.first;
        let mut line = |gutter: &str, line: &str| {
            let numbered = paint(Part::Number, &format!("{number:width$}"));
            number += 1;
            format!(" {numbered} │ {gutter}{}\n", expand(line))
        };
        self.before.iter().for_each(|before| text += &line(outside, before));
        for (index, within) in self.within.iter().enumerate() {
            text += &line(&gutter(index), within);
        }
        let unnumbered = format!(" {:width$} · ", "");
        if is_long {
            text += &format!("{unnumbered}{}\n", mark("╰──── here"));
        } else {
            let [start, end] = [self.ends.0, self.ends.1].map(|end| display_width(&expand(&self.within[0][..end])));
            let (sign, end) = if end > start { ("┬", end) } else { ("▲", start + 1) };
            let middle = (start + end) / 2;
            let line = format!("{}{sign}{}", "─".repeat(middle - start), "─".repeat(end - middle - 1));
            text += &format!("{unnumbered}{}{}\n", " ".repeat(start), mark(&line));
            text += &format!("{unnumbered}{}{}\n", " ".repeat(middle), mark("╰── here"));
        }
        self.after.iter().for_each(|after| text += &line(outside, after));
        text + &format!("{:width$}  ╰────\n", "")
    }
}

/// A part of an error that has a colour.
#[derive(Clone, Copy)]
pub enum Part {
    Error,
    Help,
    Mark,
    Number,
    Place,
}

/// Replaces tabs by spaces.
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
