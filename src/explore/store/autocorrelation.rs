//! The correlation of successive samples of a result.

use super::samples::Samples;
use crate::measure::numerics::autocorrelation::Autocorrelation;

impl Samples {
    /// How alike successive samples of the whole table are; `None` with too few to tell.
    pub fn autocorrelation(&self) -> Option<Autocorrelation> {
        *self.correlation.get_or_init(|| of(&self.whole()))
    }
}

/// Of the current good samples of a table.
fn of(samples: &Samples) -> Option<Autocorrelation> {
    let good = samples.current().good();
    let time = good.column("seconds")?;
    good.column("key")?;
    let (mut series, mut order) = (Vec::new(), Vec::new());
    for launch in good.launches().into_values() {
        let mut moments: Vec<(f64, usize, usize)> = Vec::new();
        for point in launch.alike(&["key"]) {
            let when = |row: usize| point.column("unix_seconds").map_or(f64::NAN, |column| column.number(row));
            let mut rows: Vec<usize> = point.rows().iter().copied().filter(|&row| time.number(row) > 0.0).collect();
            rows.sort_by(|a, b| when(*a).total_cmp(&when(*b)));
            moments.extend(rows.iter().enumerate().map(|(at, &row)| (when(row), series.len(), at)));
            series.push(rows.into_iter().map(|row| time.number(row)).collect());
        }
        moments.sort_by(|a, b| a.0.total_cmp(&b.0));
        order.push(moments.into_iter().map(|(_, of, at)| (of, at)).collect());
    }
    Autocorrelation::of(&series, &order)
}
