//! Figures 11 to 13 of the NIC message-rate paper for the machine of a result: message streams and the machine's limits.

use super::prelude::*;
use apexmap_theory::bounds;

/// For each operation and number of senders, if there are streams over message sizes and a card.
pub fn draw_streams(input: &Input) -> Result<Vec<Picture>> {
    let needed = ["message_bytes", "operation"];
    if needed.iter().any(|name| input.samples.column(name).is_none()) {
        return Ok(Vec::new());
    }
    let mut pictures = Vec::new();
    for group in input.samples.with_kernel("message_rate.streaming").cells(&["operation", "ranks"])? {
        let (operation, senders) = (group.by[0].to_string(), group.by[1].as_f64().unwrap_or(2.0) / 2.0);
        let stream = Stream { input, operation, senders, samples: group.samples };
        pictures.extend(stream.picture("bytes_per_second", "11", "bandwidth", Unit::BytesPerSecond)?);
        let number = if senders < 4.0 { "12" } else { "13" };
        pictures.extend(stream.picture("operations_per_second", number, "messages per second", Unit::PerSecond)?);
    }
    Ok(pictures)
}

struct Stream<'a> {
    input: &'a Input<'a>,
    operation: String,
    senders: f64,
    samples: Samples,
}

impl Stream<'_> {
    /// `None` with fewer than two message sizes, or without a limit.
    fn picture(&self, column: &str, number: &str, quantity: &str, unit: Unit) -> Result<Option<Picture>> {
        let cells = self.samples.cells(&["message_bytes"])?;
        let limits = self.limits(&cells, unit == Unit::BytesPerSecond);
        if cells.len() < 2 || limits.is_empty() {
            return Ok(None);
        }
        let point = |cell: &Cell| {
            let summary = cell.summary(column)?;
            Some(CurvePoint::new(cell.by[0].as_f64()?, summary.median, summary.interval))
        };
        let measured = Series { label: "measured".into(), points: cells.iter().filter_map(point).collect() };
        let senders = if self.senders == 1.0 { "one sender".to_owned() } else { format!("{} senders", self.senders) };
        let title =
            format!("Message stream by {}s from {senders}, and the machine's limits: {quantity}", self.operation);
        let caption = format!(
            "As in Figure {number} of the NIC message-rate paper, for this machine: medians with 95 % intervals, \
             and each limit separately. For the theoretical lines of the paper's machine, run apexmap models \
             message_rate.nic --figures FOLDER."
        );
        let series = std::iter::once(measured).chain(limits).collect();
        let (x, y) = (Quantity::log("message size", Unit::Bytes), Quantity::log(quantity, unit));
        let curves = Curves::new(title.clone(), self.samples.stamp_subtitle(String::new()), x, y, series);
        let file = format!("nic-figure-{number}-{}-{}", self.operation, self.senders);
        self.input.draw(Drawing::new(Figure::Curves(curves), file, title, caption))
    }

    /// Limits that apply to any of the points, in messages or bytes per second.
    fn limits(&self, cells: &[Cell], in_bytes: bool) -> Vec<Series> {
        let line = |name: &&'static str| {
            let point = |cell: &Cell| {
                let bytes = cell.by[0].as_f64()?;
                let terms = self.input.terms.get(cell.samples.first_word("key"))?;
                let rates = terms.limits.iter().filter(|term| term.name == *name).map(|term| term.rate);
                let rate = rates.reduce(f64::min)?;
                let y = if in_bytes { rate * bytes } else { rate };
                Some(CurvePoint::new(bytes, y, None))
            };
            let points: Vec<CurvePoint> = cells.iter().filter_map(point).collect();
            (!points.is_empty()).then(|| Series { label: (*name).into(), points })
        };
        bounds::NAMES.iter().filter_map(line).collect()
    }
}
