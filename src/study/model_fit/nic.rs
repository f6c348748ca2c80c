//! The theoretical lines of Figures 11 to 13 of the NIC message-rate paper, from its equations and its simulated machine. The
//! measured points are bars and curves without printed numbers, so they cannot be drawn.

use apexmap_base::error::Result;
use apexmap_base::units::Unit;
use apexmap_draw::figure::{CurvePoint, Curves, Figure, Quantity, Series};
use apexmap_theory::machine::{Card, catalogue};
use apexmap_theory::models::Model;
use apexmap_theory::models::nic::{Nic, bounds, potential_io_bandwidth};

pub struct NicFigure {
    pub file: &'static str,
    pub title: String,
    pub caption: String,
    pub figure: Figure,
}

/// Cycles to inject a message that the text discusses (Section 6).
const CYCLES: [f64; 3] = [20.0, 50.0, 100.0];

/// Figures 11, 12 (a), 12 (b) and 13.
pub fn paper_figures() -> Result<Vec<NicFigure>> {
    let card = Card::find("simulated-nic")?;
    let parameters = Nic.parameters(&card)?;
    let mut figures = vec![bandwidth(&parameters)];
    for (file, figure, cores) in
        [("nic-figure-12-a", "12 (a)", 1), ("nic-figure-12-b", "12 (b)", 2), ("nic-figure-13", "13", 4)]
    {
        figures.push(rate(&card, &parameters, file, figure, cores)?);
    }
    Ok(figures)
}

fn sizes() -> impl Iterator<Item = f64> {
    (2..=12).map(|power| f64::from(1u32 << power))
}

fn line(label: &str, value: impl Fn(f64) -> f64) -> Series {
    let point = |x| CurvePoint::new(x, value(x), None);
    Series { label: label.into(), points: sizes().map(point).collect() }
}

fn curves(title: &str, y: Quantity, series: Vec<Series>) -> Figure {
    let x = Quantity::log("message size", Unit::Bytes);
    let subtitle = "Simulated NIC: the equations of the NIC message-rate paper, Section 6, with its Table 3";
    Figure::Curves(Curves::new(title, subtitle, x, y, series))
}

fn bandwidth(parameters: &[f64]) -> NicFigure {
    let limit = |index: usize| move |bytes: f64| bytes * bounds(&[bytes, 4.0, 0.0], parameters)[index].value;
    let title = "Bandwidth limits over message size (Figure 11)";
    let y = Quantity::log("bandwidth", Unit::BytesPerSecond);
    let series = vec![
        line("I/O bus, Eq. (1)", limit(1)),
        line("link, Eq. (2)", limit(2)),
        line("I/O bus, best case, Eq. (3)", |bytes| potential_io_bandwidth(bytes, parameters)),
    ];
    NicFigure {
        file: "nic-figure-11",
        title: title.into(),
        caption: "The three limits that Figure 11 of the paper compares with the actual bandwidth of four cores, by Equations \
                  (1) to (3). A message of 4 bytes takes 8 on the bus (Section 6). Link and proposed bus are \u{201c}virtually \
                  identical for 4- or 8-byte transfers\u{201d}. The paper prints no numbers of its measured points."
            .into(),
        figure: curves(title, y, series),
    }
}

fn rate(card: &Card, parameters: &[f64], file: &'static str, number: &str, cores: u32) -> Result<NicFigure> {
    let hertz = card.require(catalogue::CLOCK_HZ.name)?;
    let inject_index =
        Nic.about().parameters.iter().position(|parameter| parameter.number == catalogue::INJECT_SECONDS.name);
    let rate_limit = |limit: usize, cycles: f64| {
        let mut parameters = parameters.to_vec();
        if let Some(inject_index) = inject_index {
            parameters[inject_index] = cycles / hertz;
        }
        move |bytes: f64| bounds(&[bytes, f64::from(cores), 0.0], &parameters)[limit].value
    };
    let mut series =
        vec![line("I/O bus, Eq. (4)", rate_limit(1, CYCLES[0])), line("link, Eq. (5)", rate_limit(2, CYCLES[0]))];
    series.extend(CYCLES.map(|cycles| line(&format!("cores, {cycles} cycles, Eq. (6)"), rate_limit(0, cycles))));
    let cores_text = if cores == 1 { "one core".to_owned() } else { format!("{cores} cores") };
    let title = format!("Message rate limits of {cores_text} (Figure {number})");
    let caption = format!(
        "The limits that Figure {number} of the paper compares with the actual message rate of {cores_text}, by Equations (4) to \
         (6), with one cycle more for every 4 bytes. Lines of cores are for the values of N that the text names: 20, 50 and 100 \
         cycles. The paper prints no numbers of its measured points."
    );
    let y = Quantity::log("messages per second", Unit::PerSecond);
    Ok(NicFigure { file, caption, figure: curves(&title, y, series), title })
}

pub fn belong_to(model: &dyn Model) -> bool {
    model.about().id == Nic.about().id
}
