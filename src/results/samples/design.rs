//! Parameters of a set of points: which ones vary, and which ones depend on others.

use std::collections::HashMap;

/// Values of some columns at some points, as codes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Design<'a> {
    names: Vec<&'a str>,
    /// Codes by column and point: equal for equal values, `None` for missing values.
    codes: Vec<Vec<Option<u64>>>,
}

impl<'a> Design<'a> {
    pub fn add(&mut self, name: &'a str, codes: Vec<Option<u64>>) {
        self.names.push(name);
        self.codes.push(codes);
    }

    /// Points whose kernel has no such parameter do not count.
    pub fn varying_columns(&self) -> Vec<&'a str> {
        self.names.iter().copied().filter(|name| self.varies(name)).collect()
    }

    fn varies(&self, name: &str) -> bool {
        let Some(codes) = self.column(name) else { return false };
        let mut present_codes = codes.iter().flatten();
        let first = present_codes.next();
        present_codes.any(|code| Some(code) != first)
    }

    /// Returns whether equal values in all columns of `from` give equal values here. A column of `from` counts only if it has
    /// a value wherever this one has: a parameter says nothing about kernels without it.
    pub fn depends_on(&self, name: &str, from: &[&str]) -> bool {
        let Some(column) = self.column(name) else { return true };
        let is_known_where =
            |codes: &&Vec<Option<u64>>| codes.iter().zip(column).all(|(a, b)| a.is_some() || b.is_none());
        let from: Vec<&Vec<Option<u64>>> =
            from.iter().filter_map(|name| self.column(name)).filter(is_known_where).collect();
        let mut first_codes: HashMap<Vec<Option<u64>>, Option<u64>> = HashMap::new();
        (0..column.len()).all(|point| {
            let key = from.iter().map(|codes| codes[point]).collect();
            *first_codes.entry(key).or_insert(column[point]) == column[point]
        })
    }

    /// Returns the columns that vary and do not depend on the others together. Of mutually dependent ones, the first remain.
    pub fn independent_columns<'n>(&self, names: &[&'n str]) -> Vec<&'n str> {
        let mut kept: Vec<&str> = names.iter().copied().filter(|name| self.varies(name)).collect();
        // Backwards, so that the first ones remain.
        let mut index = kept.len();
        while index > 0 {
            index -= 1;
            let name = kept.remove(index);
            if !self.depends_on(name, &kept) {
                kept.insert(index, name);
            }
        }
        kept
    }

    fn column(&self, name: &str) -> Option<&Vec<Option<u64>>> {
        self.names.iter().position(|candidate| *candidate == name).map(|index| &self.codes[index])
    }
}
