//! The columns that tables and figures show by default.

use crate::samples::Samples;
use crate::table::columns::{self, IMPORTED_FROM};
use apexmap_base::units::Unit;
use apexmap_measure::kernels::command::{COMMAND, Specification, static_name};
use apexmap_measure::kernels::{self, Kernel};

impl Samples {
    /// Returns the headline columns of the kernels. That of an imported kernel that apexmap does not have is its first value.
    /// `seconds` if there is none.
    pub fn headlines(&self) -> Vec<&str> {
        let mut headlines: Vec<&str> = Vec::new();
        for word in self.words("kernel") {
            let headline = match kernels::find(word) {
                Ok(kernel) => Some(self.with_kernel(word).headline(kernel)),
                Err(_) => {
                    let column = self.with_kernel(word).first_imported_value().map(str::to_owned);
                    self.table.names().iter().find(|name| Some(*name) == column.as_ref()).map(String::as_str)
                }
            };
            headlines.extend(headline.filter(|name| !headlines.contains(name)));
        }
        if headlines.is_empty() { vec!["seconds"] } else { headlines }
    }

    /// Returns the column that figures of a kernel's samples show: of a command, its first value.
    pub fn headline(&self, kernel: &Kernel) -> &'static str {
        match self.specification().filter(|_| kernel.has_own_parameters) {
            Some(command) => command.value.first().map_or(kernel.headline, |value| static_name(&value.column())),
            None => kernel.headline,
        }
    }

    /// Returns whether smaller values of a column are better.
    pub fn is_smaller_better(&self, column: &str) -> bool {
        let value =
            self.specification().and_then(|command| command.value.into_iter().find(|value| value.column() == column));
        let by_unit = || matches!(columns::describe(column).unit, Unit::Seconds | Unit::Cycles);
        value.map_or_else(by_unit, |value| value.is_smaller_better())
    }

    /// Returns the columns of the parameters that a user named.
    pub fn own_parameters(&self) -> Vec<&str> {
        let is_own = |name: &&str| columns::describe(name).role == columns::Role::Unknown;
        columns::point_columns(self.table()).into_iter().filter(is_own).collect()
    }

    /// Returns the command of the first sample, if it has one.
    fn specification(&self) -> Option<Specification> {
        Specification::parse(self.first_word(COMMAND)).ok()
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
