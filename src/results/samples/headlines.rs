//! The columns that tables and figures show by default.

use crate::samples::Samples;
use crate::table::columns::{self, IMPORTED_FROM};
use apexmap_measure::kernels;

impl Samples {
    /// Returns the headline columns of the kernels. That of an imported kernel that apexmap does not have is its first value.
    /// `seconds` if there is none.
    pub fn headlines(&self) -> Vec<&str> {
        let mut headlines: Vec<&str> = Vec::new();
        for word in self.words("kernel") {
            let headline = match kernels::find(word) {
                Ok(kernel) => Some(kernel.headline),
                Err(_) => {
                    let column = self.with_kernel(word).first_imported_value().map(str::to_owned);
                    self.table.names().iter().find(|name| Some(*name) == column.as_ref()).map(String::as_str)
                }
            };
            headlines.extend(headline.filter(|name| !headlines.contains(name)));
        }
        if headlines.is_empty() { vec!["seconds"] } else { headlines }
    }

    /// Returns the first column of imported values of these samples.
    pub fn first_imported_value(&self) -> Option<&str> {
        let names = self.table.names();
        let import = names.iter().position(|name| name == IMPORTED_FROM)?;
        let is_value = |name: &&String| {
            use columns::Role::{Output, Rate, Unknown};
            [Output, Rate, Unknown].contains(&columns::describe(name).role) && self.has(name)
        };
        names[import..].iter().find(is_value).map(String::as_str)
    }
}
