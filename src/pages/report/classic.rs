//! The first section of a calibration's report: the classic numbers, and figures of the measurements behind them.

use super::prelude::*;
use apexmap_base::provenance::Host;
use apexmap_draw::figure::{Axis, Grid, Landmark, LandmarkStyle};
use apexmap_study::calibrate::classic::{self, Row};
use apexmap_study::calibrate::staircase::{Rung, rungs};
use apexmap_theory::machine::{NumberName, UNKNOWN, Word, catalogue};
use ndarray::Array2;

#[derive(Serialize)]
pub struct ClassicNumbers {
    pub rows: Vec<Row>,
    pub unknown: Vec<String>,
    pub pictures: Vec<Picture>,
}

pub fn section(input: &Input) -> Result<Option<ClassicNumbers>> {
    let path = input.folder.own_card();
    if !path.is_file() {
        return Ok(None);
    }
    let card = input.folder.read_card(&path)?;
    let rows = classic::table(&card);
    if rows.is_empty() {
        return Ok(None);
    }
    let host = input.manifest.launches.last().map(|end| &end.launch.host);
    let draw = |(file, mut figure, caption): (&str, Figure, &str)| {
        if let Figure::Curves(Curves { subtitle, .. }) | Figure::Heat(Grid { subtitle, .. }) = &mut figure {
            *subtitle = input.samples.stamp_subtitle(std::mem::take(subtitle));
        }
        let title = title(&figure).to_owned();
        input.draw(Drawing::new(figure, file, title, caption))
    };
    let pictures: Vec<Option<Picture>> = figures(&card, host).into_iter().map(draw).collect::<Result<_>>()?;
    let unknown = card.provenance.get(UNKNOWN).and_then(|text| text.as_str()).map(str::to_owned);
    Ok(Some(ClassicNumbers {
        rows,
        unknown: unknown.into_iter().collect(),
        pictures: pictures.into_iter().flatten().collect(),
    }))
}

fn title(figure: &Figure) -> &str {
    match figure {
        Figure::Curves(curves) => &curves.title,
        Figure::Heat(grid) => &grid.title,
        _ => "",
    }
}

pub fn figures(card: &Card, host: Option<&Host>) -> Vec<(&'static str, Figure, &'static str)> {
    let mut figures = vec![(
        "latency-staircase",
        Figure::Curves(staircase(card, host)),
        "Dependent random reads on one core: medians with 95 % intervals. Bands: sizes of caches as measured, with their 95 % ranges; \
         ticks above the axis: as the system reports them.",
    )];
    let pages = pages(card, host);
    if !pages.series.is_empty() {
        let caption = "Dependent reads of one line in each page, over the memory that the pages span. Bands: the reach of address \
                       translation as measured, with its 95 % range; ticks above the axis: reach of the second-level TLB as the processor \
                       reports it. The staircase shows the effect of caches.";
        figures.push(("address-translation", Figure::Curves(pages), caption));
    }
    let loaded = loaded_latency(card);
    if loaded.series.iter().any(|series| series.points.len() > 1) {
        let caption = "Latency of one core's dependent reads while the other cores read for 0 to 100 % of the time, over the bandwidth \
                       that they reach: medians with 95 % intervals.";
        figures.push(("loaded-latency", Figure::Curves(loaded), caption));
    }
    if let Some(grid) = matrix(card) {
        let caption = "Time to pass a cache line from one rank's core to another's: medians, in ns. Only half of the matrix is measured, \
                       because a handover takes both directions.";
        figures.push(("core-to-core", Figure::Heat(grid), caption));
    }
    figures
}

fn latency() -> Quantity {
    Quantity::log("latency", Unit::Seconds)
}

fn series(card: &Card, label: &str, number: &str, further: &[Word]) -> Option<Series> {
    let point = |rung: Rung| CurvePoint::new(rung.size, rung.seconds, Some((rung.low, rung.high)));
    let points: Vec<CurvePoint> = rungs(card, number, further).into_iter().map(point).collect();
    (!points.is_empty()).then(|| Series { label: label.into(), points })
}

fn size_landmark(card: &Card, number: &str, label: &str) -> Option<Landmark> {
    let x = card.get(number)?;
    let (low, high) = card.interval(number).unwrap_or((x, x));
    Some(Landmark { x, label: format!("{label}: {}", units::bytes(x)), style: LandmarkStyle::Range(low, high) })
}

fn page_label(page: f64) -> String {
    format!("{} pages", units::bytes(page))
}

fn staircase(card: &Card, host: Option<&Host>) -> Curves {
    let reads = |(pages, page): (Word, f64)| {
        series(card, &page_label(page), catalogue::READ_SECONDS.name, &[pages, Word::Dependent])
    };
    let levels = [
        ("L1", catalogue::L1_MEASURED_BYTES.name),
        ("L2", catalogue::L2_MEASURED_BYTES.name),
        ("L3", catalogue::L3_MEASURED_BYTES.name),
    ];
    let reported = host.iter().flat_map(|host| &host.caches).map(|cache| Landmark {
        x: cache.bytes as f64,
        label: format!("L{} as reported", cache.level),
        style: LandmarkStyle::Tick,
    });
    let marks = levels.into_iter().filter_map(|(label, number)| size_landmark(card, number, label)).chain(reported);
    let series = card.page_sizes().into_iter().rev().filter_map(reads).collect();
    let x = Quantity::log("size of the region", Unit::Bytes);
    let curves = Curves::new("Latency staircase", format!("{}, one core", card.name), x, latency(), series);
    Curves { marks: marks.collect(), ..curves }
}

fn pages(card: &Card, host: Option<&Host>) -> Curves {
    let mut marks = Vec::new();
    let mut series_list = Vec::new();
    for (pages, page) in card.page_sizes().into_iter().rev() {
        for (level, number) in [("L1 TLB", catalogue::L1_TLB_REACH_BYTES), ("L2 TLB", catalogue::TLB_REACH_BYTES)] {
            let name = NumberName::new(number).with_qualifier([pages.clone()]).to_string();
            let mark = size_landmark(card, &name, level);
            marks.extend(mark.map(|mark| Landmark { label: format!("{level}: {:.0} pages", mark.x / page), ..mark }));
        }
        let entries = host.and_then(|host| if pages == Word::Huge { host.tlb_entries_2m } else { host.tlb_entries_4k });
        marks.extend(entries.map(|entries| Landmark {
            x: f64::from(entries) * page,
            label: "as reported".into(),
            style: LandmarkStyle::Tick,
        }));
        let label = page_label(page);
        series_list.extend(series(card, &label, catalogue::PAGE_READ_SECONDS.name, std::slice::from_ref(&pages)));
    }
    let x = Quantity::log("memory that the pages span", Unit::Bytes);
    let (title, subtitle) = ("Address translation: one line in each page", format!("{}, one core", card.name));
    Curves { marks, ..Curves::new(title, subtitle, x, latency(), series_list) }
}

fn loaded_latency(card: &Card) -> Curves {
    let point = |name: NumberName| {
        let bandwidth = NumberName::new(catalogue::LOADED_BANDWIDTH_BYTES_PER_SECOND)
            .with_qualifier(name.qualifier.clone())
            .to_string();
        // Without load the bandwidth of the other cores is zero.
        let x = if name.qualifier == [Word::PerCent(0)] { 0.0 } else { card.get(&bandwidth)? };
        Some(CurvePoint::new(x, card.get(&name.to_string())?, card.interval(&name.to_string())))
    };
    let points = card.variants(catalogue::LOADED_LATENCY_SECONDS.name).into_iter().filter_map(point).collect();
    let subtitle = format!("{}, one core reads, the others load the memory", card.name);
    let x = Quantity::linear("bandwidth of the other cores", Unit::BytesPerSecond);
    let y = Quantity::linear("latency", Unit::Seconds);
    Curves::new("Loaded latency", subtitle, x, y, vec![Series { label: String::new(), points }])
}

/// `None` for two cores, which have only one latency.
fn matrix(card: &Card) -> Option<Grid> {
    let (cores, pairs) = classic::matrix(card);
    if cores.len() < 3 {
        return None;
    }
    let index_of = |core: u64| cores.binary_search(&core).ok();
    let mut values = Array2::from_elem((cores.len(), cores.len()), f64::NAN);
    for ((first, second), seconds) in pairs {
        let (first, second) = index_of(first).zip(index_of(second))?;
        // Round to whole nanoseconds to fit into the cells.
        let seconds = if seconds >= 1e-8 { (seconds * 1e9).round() / 1e9 } else { seconds };
        values[[first, second]] = seconds;
        values[[second, first]] = seconds;
    }
    let axis = |label: &str| Axis {
        quantity: Quantity::linear(label, Unit::None),
        values: cores.iter().map(|&core| core as f64).collect(),
    };
    Some(Grid {
        title: "Latency from core to core".into(),
        subtitle: card.name.clone(),
        x: axis("core of rank"),
        y: axis("core of rank"),
        z: Quantity::linear("latency", Unit::Seconds),
        values,
        failed: Vec::new(),
    })
}
