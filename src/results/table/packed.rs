//! Compressed column: a bitmap of missing values, and two-byte codes while a column has few distinct values.

use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Maximum number of distinct values with codes. Columns with more store the value of each row.
const MAX_CODED_VALUES: usize = 4096;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct PackedColumn {
    rows: usize,
    /// Bitmaps, one per 64 rows. Not used if no value is missing.
    present: Vec<PresenceBitmap>,
    values: Values,
}

#[derive(Clone, Debug, PartialEq)]
struct PresenceBitmap {
    rows: u64,
    /// Number of values in the rows before.
    before: u32,
}

#[derive(Clone, Debug, PartialEq)]
enum Values {
    Coded { codes: Vec<u16>, different: Vec<u64> },
    Plain(Vec<u64>),
}

impl Default for Values {
    fn default() -> Self {
        Self::Coded { codes: Vec::new(), different: Vec::new() }
    }
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Values::Coded { codes, .. } => codes.len(),
            Values::Plain(values) => values.len(),
        }
    }

    fn get(&self, index: usize) -> u64 {
        match self {
            Values::Coded { codes, different } => different[codes[index] as usize],
            Values::Plain(values) => values[index],
        }
    }
}

impl PackedColumn {
    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn get(&self, row: usize) -> Option<u64> {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        if self.values.len() == self.rows {
            return Some(self.values.get(row));
        }
        let (PresenceBitmap { rows, before }, bit) = (&self.present[row / 64], row % 64);
        let earlier = || (rows & ((1 << bit) - 1)).count_ones();
        (rows >> bit & 1 == 1).then(|| self.values.get((before + earlier()) as usize))
    }

    pub fn iter(&self) -> impl Iterator<Item = Option<u64>> {
        (0..self.rows).map(|row| self.get(row))
    }
}

#[derive(Clone, Debug, Default)]
pub struct PackedColumnBuilder {
    packed: PackedColumn,
    /// Codes of the distinct values, while they are few.
    codes: HashMap<u64, u16, RandomState>,
}

impl PackedColumnBuilder {
    pub fn push(&mut self, value: Option<u64>) {
        let packed = &mut self.packed;
        if packed.rows.is_multiple_of(64) {
            packed.present.push(PresenceBitmap { rows: 0, before: packed.values.len() as u32 });
        }
        if let Some(value) = value {
            packed.present[packed.rows / 64].rows |= 1 << (packed.rows % 64);
            self.append(value);
        }
        self.packed.rows += 1;
    }

    fn append(&mut self, value: u64) {
        match &mut self.packed.values {
            Values::Plain(values) => values.push(value),
            Values::Coded { codes, different } => {
                // Most values equal that of the previous row.
                let last = codes.last().copied().filter(|&last| different[last as usize] == value);
                let known_code = last.or_else(|| self.codes.get(&value).copied());
                if let Some(code) = known_code {
                    codes.push(code);
                } else if different.len() < MAX_CODED_VALUES {
                    let code = different.len() as u16;
                    self.codes.insert(value, code);
                    different.push(value);
                    codes.push(code);
                } else {
                    let mut values: Vec<u64> = codes.iter().map(|&code| different[code as usize]).collect();
                    values.push(value);
                    self.packed.values = Values::Plain(values);
                    self.codes = HashMap::default();
                }
            }
        }
    }

    fn pop(&mut self) {
        let packed = &mut self.packed;
        let Some(row) = packed.rows.checked_sub(1) else { return };
        if packed.get(row).is_some() {
            match &mut packed.values {
                Values::Coded { codes, .. } => drop(codes.pop()),
                Values::Plain(values) => drop(values.pop()),
            }
        }
        packed.rows = row;
        packed.present.truncate(row.div_ceil(64));
        if let Some(last) = packed.present.last_mut() {
            last.rows &= u64::MAX >> (63 - (row.wrapping_sub(1)) % 64);
        }
    }

    /// Sets the number of rows: adds missing values, or removes rows from the end.
    pub fn resize(&mut self, rows: usize) {
        while self.packed.rows > rows {
            self.pop();
        }
        while self.packed.rows < rows {
            self.push(None);
        }
    }

    /// Changes the bits of all values, for example when whole numbers become reals.
    pub fn map(&mut self, change: impl Fn(u64) -> u64) {
        let rows = std::mem::take(self).finish();
        rows.iter().for_each(|value| self.push(value.map(&change)));
    }

    pub fn finish(self) -> PackedColumn {
        self.packed
    }
}

impl FromIterator<Option<u64>> for PackedColumn {
    fn from_iter<I: IntoIterator<Item = Option<u64>>>(values: I) -> Self {
        let mut packer = PackedColumnBuilder::default();
        values.into_iter().for_each(|value| packer.push(value));
        packer.finish()
    }
}
