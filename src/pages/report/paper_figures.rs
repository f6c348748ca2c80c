//! Figures of the papers for the machine of a result: Apex-Map relative to ping-pong (Apex-Map paper, Figure 2), and message streams with the
//! machine's limits (NIC message-rate paper, Figures 11 to 13). Also the pairs of a paired comparison.

use super::prelude::*;
use apexmap_base::units::{WORD_BYTES, bytes};
use apexmap_results::samples::estimate;
use apexmap_results::table::columns::label;
use apexmap_study::paired::{pairs_of, side_name};
use apexmap_theory::bounds;
use apexmap_theory::paper_tables::quoted_number;

const EFFECTS: &str = "The paper identifies three effects. (1) Short messages: the pattern is unpredictable and its \
     overhead is higher than that of ping-pong, so the ratio is low; for longer messages this constant overhead \
     matters less. (2) At alpha = 1 on two processes half of the accesses are local, and several requests are \
     outstanding if there are receive buffers for them, so the ratio can exceed 1: counting messages and local \
     accesses only, Apex-Map \"should perform 200% better\"; its best is 60 % better, at 1024 words on Seaborg. (3) \
     Long messages: Apex-Map measures how fast data reach the processor, ping-pong only how fast they reach memory; \
     loading them into registers for the sum lowers the ratio again on Seaborg and Cheetah, but not on the vector \
     machine Phoenix.";

/// If a result has both on two ranks: Apex-Map with alpha = 1, and ping-pong with sends.
pub fn drawing(samples: &Samples) -> Result<Option<Drawing>> {
    let mut series = ratios(samples)?;
    if series.is_empty() {
        return Ok(None);
    }
    let title = "Apex-Map against ping-pong (alpha = 1, P = 2)";
    let results: Vec<String> = series.iter().filter_map(findings).collect();
    let caption = format!(
        "Bandwidth per process of Apex-Map / bandwidth of ping-pong with messages of the same length, as in Figure \
         2 of the Apex-Map paper. Ratios of medians. Bands are 95 % intervals of the ratio over blocks of launches if there are several, otherwise the lower limit of \
         one within its launch divided by the upper limit of the other. {EFFECTS} Here: {}.",
        results.join("; ")
    );
    let gain = quoted_number("seaborg_gain_1024_words")?;
    let best = CurvePoint::new(1024.0 * WORD_BYTES as f64, 1.0 + gain / 100.0, None);
    series.push(Series { label: format!("the paper: Seaborg, {gain} % better at 1024 words"), points: vec![best] });
    let (x, y) =
        (Quantity::log("message size, 8 L", Unit::Bytes), Quantity::linear("Apex-Map / ping-pong", Unit::None));
    let curves = Curves::new(title, samples.stamp_subtitle(String::new()), x, y, series);
    Ok(Some(Drawing::new(Figure::Curves(curves), "apex-map-against-ping-pong", title, caption)))
}

/// Over message size in bytes, a series for each kernel and combination of the other varying parameters.
pub fn ratios(samples: &Samples) -> Result<Vec<Series>> {
    let needed = ["message_bytes", "operation", ALPHA, BLOCK];
    if needed.iter().any(|name| samples.column(name).is_none()) {
        return Ok(Vec::new());
    }
    let table = samples.table();
    let two = samples.filter_rows(|row| table.number("ranks", row) == 2.0);
    let pong = two.with_kernel("message_rate.ping_pong").with_word("operation", &["send"]);
    let apex =
        two.filter_rows(|row| table.word("kernel", row).starts_with("apex_map.") && table.number(ALPHA, row) == 1.0);
    let pong = pong.cells(&["message_bytes"])?;
    let mut names: Vec<&str> = apex.key_columns().into_iter().filter(|&name| name != "ranks").collect();
    names.push(BLOCK);
    let mut series: Vec<Series> = Vec::new();
    for cell in apex.cells(&names)? {
        let Some(point) = ratio(&cell, &pong) else { continue };
        let words = cell.by.iter().zip(&names).filter(|(_, name)| **name != BLOCK);
        let name = words.map(|(value, name)| label(name, value)).collect::<Vec<_>>().join(", ");
        match series.last_mut().filter(|last| last.label == name) {
            Some(last) => last.points.push(point),
            None => series.push(Series { label: name, points: vec![point] }),
        }
    }
    Ok(series)
}

/// `None` if ping-pong has no messages of this length.
fn ratio(cell: &Cell, pong: &[Cell]) -> Option<CurvePoint> {
    const RATES: [&str; 2] = ["bytes_per_second_per_rank", "bytes_per_second"];
    let x = cell.by.last()?.as_f64()? * WORD_BYTES as f64;
    let pong = pong.iter().find(|cell| cell.by[0].as_f64() == Some(x))?;
    let (apex_launches, pong_launches) = (cell.samples.launch_values(RATES[0]), pong.samples.launch_values(RATES[1]));
    // The same launches measured both on two ranks.
    if let Some((shift, _)) = estimate::log_ratio(&apex_launches, &pong_launches, true) {
        let (low, high) = shift.interval();
        return Some(CurvePoint::new(x, shift.value.exp(), Some((low.exp(), high.exp()))));
    }
    let (apex, pong) = (cell.summary(RATES[0])?, pong.summary(RATES[1])?);
    let interval = apex.interval.zip(pong.interval).map(|(apex, pong)| (apex.0 / pong.1, apex.1 / pong.0));
    Some(CurvePoint::new(x, apex.median / pong.median, interval))
}

fn findings(series: &Series) -> Option<String> {
    let (first, last) = (series.points.first()?, series.points.last()?);
    let best = series.points.iter().max_by(|a, b| a.y.total_cmp(&b.y))?;
    let describe = |point: &CurvePoint| format!("{} at {}", short_number(point.y), bytes(point.x));
    Some(format!("{}: {}, maximum {}, {}", series.label, describe(first), describe(best), describe(last)))
}

pub fn draw_pairs(input: &Input) -> Result<Option<Picture>> {
    let Some(pairs) = pairs_of(input.samples) else { return Ok(None) };
    // Lines need only their ends.
    let ends = [0.0, pairs.count() as f64 - 1.0];
    let mut series = Vec::new();
    for ((side, logarithms), ratio) in (1..).zip(&pairs.logarithms).zip(pairs.ratios()) {
        let Some(ratio) = ratio else { return Ok(None) };
        let name = side_name(side);
        let single = (0..).map(f64::from).zip(logarithms).map(|(x, value)| CurvePoint::new(x, value.exp(), None));
        let overall = |x| CurvePoint::new(x, ratio.value, Some((ratio.low, ratio.high)));
        series.push(Series { label: format!("{name}: pair"), points: single.collect() });
        series.push(Series { label: format!("{name}: all pairs"), points: ends.map(overall).into() });
    }
    if series.is_empty() {
        return Ok(None);
    }
    series.push(Series { label: "equal".into(), points: ends.map(|x| CurvePoint::new(x, 1.0, None)).into() });
    let title = "Speed relative to A, by pair";
    let (x, y) = (
        Quantity::linear("number of the pair, in the order of the runs", Unit::None),
        Quantity::linear("speed / speed of A", Unit::None),
    );
    let curves = Curves::new(title, input.samples.stamp_subtitle(String::new()), x, y, series);
    let caption = "Each point is a pair of neighbouring runs, one of them of A. The band is the interval of the ratio of all pairs, \
                   their geometric mean; it covers at least 95 %. Above 1, a side is faster than A.";
    Drawing::new(Figure::Curves(curves), "pairs", title, caption).picture(&input.folder.figures()).map(Some)
}

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
