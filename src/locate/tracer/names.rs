//! Names of sites from the lines that valgrind prints about an address.

use crate::site::{Frame, SiteName};

/// Parts of the paths of headers and libraries whose functions are inlined into programs. Lines there tell users nothing.
const LIBRARY_PATHS: [&str; 9] = [
    "/rustc/",
    "/rust/deps/",
    "/.cargo/registry/",
    "/library/core/",
    "/library/std/",
    "/library/alloc/",
    "/usr/include/",
    "/include/c++/",
    "/lib/gcc/",
];

/// Parses a name: the object's path, then lines such as `0x109317: walk (/home/me/list.c:8)`, innermost first. The first line
/// outside of libraries names the site, its callers are `inlined`.
pub fn parse(text: &str) -> SiteName {
    let mut lines = text.lines();
    let object = lines.next().unwrap_or_default().to_owned();
    let mut frames: Vec<Frame> = lines.map(parse_frame).collect();
    let is_own = |frame: &Frame| frame.line > 0 && !LIBRARY_PATHS.iter().any(|path| frame.file.contains(path));
    if let Some(own) = frames.iter().position(is_own) {
        frames.drain(..own);
    }
    let mut frames = frames.into_iter();
    let Frame { function, file, line } = frames.next().unwrap_or_default();
    SiteName { function, file, line, object, inlined: frames.collect() }
}

/// Parses `0x109317: walk (/home/me/list.c:8)`, `0x109317: walk (in /home/me/list)`, `0x109317: ???` and so on. Names of functions
/// may have parentheses and colons.
fn parse_frame(line: &str) -> Frame {
    let line = line.split_once(": ").map_or(line, |(_, rest)| rest);
    let (function, place) = match line.rfind(" (in ").or_else(|| line.rfind(" (")) {
        Some(start) if line.ends_with(')') => (&line[..start], &line[start + 2..line.len() - 1]),
        _ => (line, ""),
    };
    let function = if function == "???" { String::new() } else { function.to_owned() };
    match place.rsplit_once(':').and_then(|(file, number)| Some((file, number.parse().ok()?))) {
        Some((file, line)) => Frame { function, file: file.to_owned(), line },
        None => Frame { function, ..Frame::default() },
    }
}
