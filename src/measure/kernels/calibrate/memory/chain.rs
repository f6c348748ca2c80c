//! A region whose lines each begin with the address of another one, and the loop that follows these addresses.
//!
//! A place is the number of a line's first word in the region. An access adds no index to what it has read: on many processors an
//! access whose address is a register alone takes a cycle less.

use apexmap_base::units::WORD_BYTES;

pub const LINE_WORDS: u64 = 8;

/// Words of which the first of each line is known to hold the address of a line among them.
#[derive(Clone, Copy, Debug)]
pub struct Chain<'a> {
    words: &'a [u64],
}

impl<'a> Chain<'a> {
    /// Looks at the first word of each line; `None` if one leads elsewhere, or the words are no whole lines.
    pub fn new(words: &'a [u64]) -> Option<Self> {
        let first = words.as_ptr().expose_provenance() as u64;
        let bytes = words.len() as u64 * WORD_BYTES;
        let leads_inside = |line: &[u64; LINE_WORDS as usize]| {
            let offset = line[0].wrapping_sub(first);
            offset < bytes && offset.is_multiple_of(LINE_WORDS * WORD_BYTES)
        };
        let (lines, rest) = words.as_chunks();
        (rest.is_empty() && !lines.is_empty() && lines.iter().all(leads_inside)).then_some(Self { words })
    }

    /// Follows as many chases as there are places, a power of two up to 64, each by so many steps from its place. Places become
    /// those where they end.
    ///
    /// # Panics
    /// If a place is that of no line.
    pub fn follow(self, places: &mut [u64], steps: u64) {
        match places.len() {
            1 => self.follow_together::<1>(places, steps),
            2 => self.follow_together::<2>(places, steps),
            4 => self.follow_together::<4>(places, steps),
            8 => self.follow_together::<8>(places, steps),
            16 => self.follow_together::<16>(places, steps),
            32 => self.follow_together::<32>(places, steps),
            _ => self.follow_together::<64>(places, steps),
        }
    }

    fn follow_together<const CHASES: usize>(self, places: &mut [u64], steps: u64) {
        let Ok(places) = <&mut [u64; CHASES]>::try_from(places) else { return };
        let mut lines = places.map(|place| self.line(place));
        for _ in 0..steps {
            for line in &mut lines {
                // SAFETY: it is the first word of a line of `words`, at first as `line` gives it, then because `new` saw that each
                // such word holds the address of another. The words are borrowed, so nothing has changed them since.
                let next = unsafe { **line };
                *line = std::ptr::with_exposed_provenance(next as usize);
            }
        }
        *places = lines.map(|line| (line.addr() - self.words.as_ptr().addr()) as u64 / WORD_BYTES);
    }

    /// The first word of the line at a place.
    fn line(self, place: u64) -> *const u64 {
        assert!(place.is_multiple_of(LINE_WORDS), "word {place} begins no line");
        &raw const self.words[place as usize]
    }
}
