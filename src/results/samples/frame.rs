//! Samples as DataFrames of polars, and back.

use crate::samples::Samples;
use crate::table::{Table, frame};
use apexmap_base::error::{Error, Result};
use polars::prelude::DataFrame;

impl Samples {
    /// These rows as a DataFrame: real numbers as f64, whole numbers as u64, words as strings, missing values as nulls.
    ///
    /// # Errors
    /// If polars refuses the columns.
    pub fn to_frame(&self) -> Result<DataFrame> {
        frame::frame(self.table(), self.rows().iter().copied())
            .map_err(|e| Error::internal(format!("polars refuses the columns of these samples: {e}")))
    }

    /// All rows of a DataFrame: strings as words, unsigned integers as whole numbers, other numbers and booleans as real numbers,
    /// nulls and NaN as missing values.
    ///
    /// # Errors
    /// If a column holds something else, such as dates or lists; the error names it.
    pub fn from_frame(frame: &DataFrame) -> Result<Self> {
        let mut table = Table::default();
        for read in frame.columns() {
            let name = read.name().as_str();
            let column = frame::column(name, read).ok().flatten().ok_or_else(|| {
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
