//! Conversion between samples and DataFrames of polars.

use crate::samples::Samples;
use crate::table::{Table, frame};
use apexmap_base::error::{Error, Result};
use polars::prelude::DataFrame;

impl Samples {
    /// Converts these rows to a DataFrame: real numbers to f64, whole numbers to u64, words to strings, missing values to
    /// nulls.
    ///
    /// # Errors
    /// If polars rejects the columns.
    pub fn to_frame(&self) -> Result<DataFrame> {
        frame::frame(self.table(), self.rows().iter().copied())
            .map_err(|e| Error::internal(format!("polars rejects the columns of these samples: {e}")))
    }

    /// Converts all rows of a DataFrame: strings to words, unsigned integers to whole numbers, other numbers and booleans to
    /// real numbers, nulls and NaN to missing values.
    ///
    /// # Errors
    /// If a column holds another type, such as dates or lists. The error names it.
    pub fn from_frame(frame: &DataFrame) -> Result<Self> {
        let mut table = Table::default();
        for read in frame.columns() {
            let name = read.name().as_str();
            let column = frame::column(read).ok().flatten().ok_or_else(|| {
                Error::input(
                    format!("the column \"{name}\" of the DataFrame holds {}, which samples cannot hold", read.dtype()),
                    "cast it to numbers or strings, or drop it",
                )
            })?;
            table.insert(name, column);
        }
        table.rows = frame.height();
        Ok(Self::from(table))
    }
}
