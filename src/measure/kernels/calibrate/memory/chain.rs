//! A region whose lines each begin with the address of another line. The place of a line is the index of its first word. The loop
//! adds no index to the value that it has read: on many processors, an access whose address is only a register takes one cycle
//! less.

use super::*;

/// Words whose lines are known to begin each with the address of a line of the same words.
#[derive(Clone, Copy, Debug)]
pub struct Chain<'a> {
    words: &'a [u64],
}

impl<'a> Chain<'a> {
    /// Returns `None` if a line does not hold the address of a line, or if the words are not whole lines.
    pub fn new(words: &'a [u64]) -> Option<Self> {
        let first = words.as_ptr().expose_provenance() as u64;
        let bytes = words.len() as u64 * WORD_BYTES;
        let leads_inside = |word: &u64| {
            let offset = word.wrapping_sub(first);
            offset < bytes && offset.is_multiple_of(line_words() as u64 * WORD_BYTES)
        };
        let is_whole = !words.is_empty() && words.len().is_multiple_of(line_words());
        (is_whole && words.iter().step_by(line_words()).all(leads_inside)).then_some(Self { words })
    }

    /// Runs one chase per place, each for `steps` steps from its place. The number of chases is a power of two up to 64. `places`
    /// holds the end of each chase afterwards. Panics if a place is not that of a line.
    pub fn follow(self, places: &mut [u64], steps: u64) {
        match places.len() {
            1 => self.follow_chases::<1>(places, steps),
            2 => self.follow_chases::<2>(places, steps),
            4 => self.follow_chases::<4>(places, steps),
            8 => self.follow_chases::<8>(places, steps),
            16 => self.follow_chases::<16>(places, steps),
            32 => self.follow_chases::<32>(places, steps),
            _ => self.follow_chases::<64>(places, steps),
        }
    }

    fn follow_chases<const CHASES: usize>(self, places: &mut [u64], steps: u64) {
        let Ok(places) = <&mut [u64; CHASES]>::try_from(places) else { return };
        let mut lines = places.map(|place| self.line(place));
        for _ in 0..steps {
            for line in &mut lines {
                // SAFETY: the pointer is to the first word of a line of `words`: at first as returned by `line`, then because
                // `new` checked that each such word holds the address of another. The words are borrowed, so they have not
                // changed since.
                let next = unsafe { **line };
                *line = std::ptr::with_exposed_provenance(next as usize);
            }
        }
        *places = lines.map(|line| (line.addr() - self.words.as_ptr().addr()) as u64 / WORD_BYTES);
    }

    fn line(self, place: u64) -> *const u64 {
        assert!(place.is_multiple_of(line_words() as u64), "word {place} begins no line");
        &raw const self.words[place as usize]
    }
}
