//! The messages of the tool: see tool.c.

use crate::reuse::{Displaced, YOUNGEST};
use crate::site::{Counters, Sink, Site, SiteName};
use apexmap_base::error::{Error, Result};
use std::io::Read;
use std::iter::successors;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Ended,
    /// The program replaced itself by another one, which is not traced.
    Replaced,
    Accesses,
    Seconds,
}

/// What the tool has sent, apart from accesses.
#[derive(Debug, Default)]
pub struct Messages {
    pub sites: Vec<Site>,
    /// `None` if the tool ended before it could report.
    pub end: Option<End>,
    /// Processor time in ticks: of the program, and of the children for which it waited.
    pub ticks: [u64; 2],
    /// Bytes of the largest map that failed.
    pub failed_map: u64,
    /// Accesses before the trace.
    pub skipped: u64,
    /// The traced programs: each replaced the one before.
    pub programs: Vec<String>,
}

/// No message of the tool is longer.
const MOST_BYTES: usize = 1 << 16;
const MOST_SITES: u64 = 1 << 20;
const SITE_NUMBERS: usize = 17;
/// Loads of an unrolled chain at most.
const MOST_UNROLLED: usize = 128;

impl Messages {
    pub fn receive(&mut self, socket: &mut impl Read, sink: &mut dyn Sink) -> Result<()> {
        let mut payload = vec![0; MOST_BYTES];
        loop {
            let mut header = [0; 8];
            if !fill(socket, &mut header)? {
                return Ok(());
            }
            let [kind, bytes] = words::<2>(&header);
            let Some(payload) = payload.get_mut(..bytes) else { return Err(malformed_message()) };
            if !fill(socket, payload)? {
                return Ok(());
            }
            self.take(kind, payload, sink)?;
        }
    }

    fn take(&mut self, kind: usize, payload: &[u8], sink: &mut dyn Sink) -> Result<()> {
        match kind {
            1 => take_accesses(payload.as_chunks().0, sink)?,
            2 => sink.halve(),
            3 => self.take_site(payload)?,
            4 => {
                self.keep_chains();
                self.fill_lines();
                self.end = match payload {
                    [0, ..] => Some(End::Ended),
                    [1, ..] => Some(End::Replaced),
                    [2, ..] => Some(End::Accesses),
                    [3, ..] => Some(End::Seconds),
                    _ => return Err(malformed_message()),
                };
                let numbers: Vec<u64> = payload.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
                let &[_, own, children, failed_map, skipped] = &numbers[..] else { return Err(malformed_message()) };
                (self.ticks, self.failed_map, self.skipped) = ([own, children], failed_map, skipped);
            }
            5 => {
                sink.begin();
                self.programs.push(String::from_utf8_lossy(payload).into_owned());
                (self.sites, self.end) = (Vec::new(), None);
            }
            _ => return Err(malformed_message()),
        }
        Ok(())
    }

    /// Forgets the values of other sites, unless those sites form a circle: only then does each load wait for the one before.
    fn keep_chains(&mut self) {
        let is_chained = |index: &usize| {
            self.sites.get(*index).is_some_and(|site| 2 * site.counters.chained > site.counters.accesses)
        };
        let is_circle = |index: usize| {
            let before = |index: &usize| Some(self.sites.get(*index)?.chained_to);
            let mut chain = successors(Some(index), before).take_while(is_chained).skip(1).take(MOST_UNROLLED);
            chain.any(|other| other == index)
        };
        let is_kept: Vec<bool> =
            self.sites.iter().enumerate().map(|(index, site)| site.chained_to == index || is_circle(index)).collect();
        self.sites.iter_mut().zip(is_kept).filter(|(_, kept)| !kept).for_each(|(site, _)| site.counters.chained = 0);
    }

    /// Compilers give line 0 to some instructions of a loop. They get the line of the nearest site of their function.
    fn fill_lines(&mut self) {
        let mut order: Vec<usize> = (0..self.sites.len()).collect();
        order.sort_by_key(|index| self.sites[*index].address);
        for _ in 0..2 {
            for pair in order.windows(2) {
                let (neighbour, name) = (&self.sites[pair[0]].name, &self.sites[pair[1]].name);
                let is_same = (&neighbour.object, &neighbour.function) == (&name.object, &name.function);
                if is_same && neighbour.line > 0 && name.line == 0 && !name.file.is_empty() {
                    self.sites[pair[1]].name = neighbour.clone();
                }
            }
            order.reverse();
        }
    }

    fn take_site(&mut self, payload: &[u8]) -> Result<()> {
        let (numbers, text) = payload.split_at_checked((SITE_NUMBERS + YOUNGEST) * 8).ok_or_else(malformed_message)?;
        let numbers: Vec<u64> = numbers.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        let &[
            index,
            address,
            size,
            is_store,
            accesses,
            same_address,
            same_stride,
            same_line,
            stride,
            runs,
            run_bytes,
            chained,
            pointed,
            last_address,
            chained_to,
            last_time,
            interval,
            ref young @ ..,
        ] = &numbers[..]
        else {
            return Err(malformed_message());
        };
        if index >= MOST_SITES {
            return Err(malformed_message());
        }
        let index = index as usize;
        if index >= self.sites.len() {
            self.sites.resize_with(index + 1, Site::default);
        }
        let site = &mut self.sites[index];
        (site.address, site.size, site.is_store) = (address, size as u32, is_store != 0);
        (site.last_address, site.last_time, site.interval) = (last_address, last_time, interval);
        site.chained_to = chained_to as usize;
        let stride = stride.cast_signed();
        site.counters =
            Counters { accesses, same_address, same_stride, same_line, stride, runs, run_bytes, chained, pointed };
        site.young.copy_from_slice(young);
        if !text.is_empty() {
            site.name = parse_name(&String::from_utf8_lossy(text));
        }
        Ok(())
    }
}

/// Reads the words of accesses: see tool.c.
fn take_accesses(words: &[[u8; 8]], sink: &mut dyn Sink) -> Result<()> {
    const NUMBER: u64 = (1 << 42) - 1;
    let mut words = words.iter().map(|bytes| u64::from_le_bytes(*bytes));
    while let Some(word) = words.next() {
        let (site, number) = ((word >> 42) as usize & 0xF_FFFF, word & NUMBER);
        let mut displaced = || {
            let word = words.next().ok_or_else(malformed_message)?;
            Ok(Displaced { young: word >> 42 & 0xF, line: (word >> 63 != 0).then_some(word & NUMBER) })
        };
        match word >> 62 {
            0 => sink.access_old(site, number, displaced()?),
            1 => sink.enter_young(site, number),
            _ => sink.enter_page(site, number),
        }
    }
    Ok(())
}

fn words<const N: usize>(bytes: &[u8]) -> [usize; N] {
    std::array::from_fn(|i| bytes[4 * i..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word) as usize))
}

/// Returns whether all bytes came. The tool may be killed in the middle of a message.
fn fill(socket: &mut impl Read, bytes: &mut [u8]) -> Result<bool> {
    match socket.read_exact(bytes) {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(Error::environment(format!("cannot read the trace: {error}"), "")),
        Ok(()) => Ok(true),
    }
}

fn malformed_message() -> Error {
    Error::internal("the tool of `locate` sent a malformed message")
}

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

/// Parses the object's path and lines of frames, innermost first. The first line outside of libraries names the site.
fn parse_name(text: &str) -> SiteName {
    let mut lines = text.lines();
    let object = lines.next().unwrap_or_default().to_owned();
    let frames: Vec<SiteName> = lines.map(parse_frame).collect();
    let is_own = |frame: &SiteName| frame.line > 0 && !LIBRARY_PATHS.iter().any(|path| frame.file.contains(path));
    let own = frames.iter().position(is_own).unwrap_or(0);
    SiteName { object, ..frames.into_iter().nth(own).unwrap_or_default() }
}

/// Parses `0x109317: walk (/home/me/list.c:8)`, `0x109317: walk (in /home/me/list)`, `0x109317: ???` and so on.
fn parse_frame(line: &str) -> SiteName {
    let line = line.split_once(": ").map_or(line, |(_, rest)| rest);
    let (function, place) = match line.rfind(" (in ").or_else(|| line.rfind(" (")) {
        Some(start) if line.ends_with(')') => (&line[..start], &line[start + 2..line.len() - 1]),
        _ => (line, ""),
    };
    let function = if function == "???" { String::new() } else { function.to_owned() };
    match place.rsplit_once(':').and_then(|(file, number)| Some((file, number.parse().ok()?))) {
        Some((file, line)) => SiteName { function, file: file.to_owned(), line, object: String::new() },
        None => SiteName { function, ..SiteName::default() },
    }
}
