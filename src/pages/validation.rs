//! The validation as an HTML report: verdicts, fits, and figures of the published machines.

use crate::html::{self, Drawing};
use apexmap_base::error::{Error, Result};
use apexmap_base::new_file;
use apexmap_base::units::Unit;
use apexmap_draw::figure::{CurvePoint, Curves, Figure, Landmark, LandmarkStyle, Quantity, Series};
use apexmap_study::model_fit::figures;
use apexmap_study::validate::{Check, PublishedFit, SINGLE, Validation, Verdict, digits, predict};
use apexmap_theory::fit::{Point, RateWords};
use apexmap_theory::machine::Card;
use apexmap_theory::models::hypercube::AllToAll;
use apexmap_theory::models::scan::BandBasis;
use apexmap_theory::models::{self, LOOK_AHEAD, Model, RANKS};
use apexmap_theory::paper_tables;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const TEMPLATE: &str = include_str!("validation.html");

pub fn write(report: &Validation, to: &Path) -> Result<PathBuf> {
    let figures = to.join("figures");
    std::fs::create_dir_all(&figures).map_err(|e| Error::file("create", &figures, e))?;
    let draw = |name: String, caption: String, figure: Figure| {
        Drawing::new(figure, name, caption.clone(), caption).picture(&figures)
    };
    let mut fits = Vec::new();
    for (number, fitted) in report.fits.iter().enumerate() {
        let pictures = (1..).zip(fit_figures(fitted)?).map(|(part, shown)| {
            draw(format!("fit-{}-{part}-{}", number + 1, shown.name), shown.caption, shown.figure)
        });
        let pictures = pictures.collect::<Result<Vec<_>>>()?;
        fits.push(json!({ "fitted": fitted, "pictures": pictures }));
    }
    let mut pictures = Vec::new();
    for (name, caption, curves) in [
        ratios(report)?,
        bottlenecks()?,
        efficiency_over_p()?,
        efficiency_over_q(report)?,
        crossover()?,
        network_interface()?,
    ] {
        pictures.push(draw(name.into(), caption.into(), Figure::Curves(curves))?);
    }
    let differences = report.checks.iter().filter(|check| check.verdict != Verdict::Agrees).map(line);
    let context = json!({
        // Sentences about values that test something.
        "summary": report.summary(|count| count.is_test),
        "counts": report.counts(),
        "papers": report.papers,
        "differences": differences.collect::<Vec<_>>(),
        "sources": sources(&report.checks.iter().collect::<Vec<_>>()),
        "fits": fits,
        "pictures": pictures,
    });
    let page = html::render(TEMPLATE, &context)?;
    let path = to.join("validate.html");
    new_file::replace_contents(&path, page)?;
    Ok(path)
}

pub fn sources(checks: &[&Check]) -> Vec<Value> {
    let of_one = |own: &[&Check]| {
        let lines: Vec<Value> = own.iter().map(|check| line(check)).collect();
        json!({ "name": own[0].source, "lines": lines })
    };
    checks.chunk_by(|a, b| a.source == b.source).map(of_one).collect()
}

fn line(check: &Check) -> Value {
    json!({
        "check": check,
        "published": digits(check.published),
        "model": check.model.map(digits).unwrap_or_default(),
        "recomputed": digits(check.recomputed),
        "difference": format!("{:+.1} %", check.difference()),
        "kind": check.kind_words(),
        "verdict": check.verdict_words(),
    })
}

fn ranks_and_look_ahead(model: &dyn Model) -> Option<(usize, usize)> {
    let about = model.about();
    Some((about.variable_index(RANKS.name)?, about.variable_index(LOOK_AHEAD.name)?))
}

/// Over P, and over Q if it varies at one P.
fn fit_figures(fitted: &PublishedFit) -> Result<Vec<figures::ModelFigure>> {
    let Some(fit) = &fitted.fit else { return Ok(Vec::new()) };
    let model = models::find(fitted.model)?;
    let figures_of = |points: &[Point], source: &str| {
        figures::model_figures(model, points, (RateWords::new(None), BandBasis::Fit), source)
    };
    let Some((ranks, look_ahead)) = ranks_and_look_ahead(model) else {
        return Ok(figures_of(&fit.points, &fitted.source));
    };
    let most_q = fit.points.iter().map(|point| point.x[look_ahead]).find(|q| *q == 1024.0);
    let p_of_q = fit.points.iter().find(|point| Some(point.x[look_ahead]) != most_q).map(|point| point.x[ranks]);
    let with =
        |keep: &dyn Fn(&Point) -> bool| fit.points.iter().filter(|point| keep(point)).cloned().collect::<Vec<_>>();
    let over_p = with(&|point| Some(point.x[look_ahead]) == most_q);
    let mut shown = figures_of(&over_p, &fitted.source);
    if let Some(p) = p_of_q {
        let over_q = with(&|point| point.x[ranks] == p);
        shown.extend(figures_of(&over_q, &format!("{}; P = {p}", fitted.source)));
    }
    Ok(shown)
}

fn series(label: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
    let point = |(x, y)| CurvePoint::new(x, y, None);
    Series { label: label.into(), points: points.into_iter().map(point).collect() }
}

type CaptionedCurves = (&'static str, &'static str, Curves);

fn ratios(report: &Validation) -> Result<CaptionedCurves> {
    let mut all_series = Vec::new();
    for fitted in &report.fits {
        let Some(fit) = &fitted.fit else { continue };
        let Some((ranks, look_ahead)) = ranks_and_look_ahead(models::find(fitted.model)?) else { continue };
        let of_1024 = |point: &&Point| point.x[look_ahead] == 1024.0;
        let ratio = |point: &Point| (point.x[ranks], point.measured / point.predicted);
        all_series.push(series(fitted.model, fit.points.iter().filter(of_1024).map(ratio)));
    }
    let subtitle =
        "Red Storm (hypercube, all_to_all: hypercube paper, Table 2), Blue Gene/P (roles, routed: its paper, Table 4)";
    let (x, y) =
        (Quantity::log("P (processors or nodes)", Unit::None), Quantity::linear("measured / fitted", Unit::None));
    let curves =
        Curves::new("Published measurements relative to the models fitted to them", subtitle, x, y, all_series);
    Ok(("measured-by-fitted", "Measured / fitted over P, at Q = 1024. At 1 the model equals the measurement.", curves))
}

fn bottlenecks() -> Result<CaptionedCurves> {
    let table = paper_tables::table("bluegene-table-4")?;
    let ratio = |label: &str, measured: &str, bottleneck: &str| {
        let both = |row: usize| {
            let value = |column: &str| table.number(row, column);
            Some((value("nodes")?, value(measured)? / value(bottleneck)?))
        };
        series(label, (0..table.rows.len()).filter_map(both))
    };
    let all_series = vec![
        ratio("Blue Gene/P, four cores", "bgp_multi_gups", "bgp_multi_bottleneck"),
        ratio("Blue Gene/P, one core", "bgp_single_gups", "bgp_single_bottleneck"),
        ratio("Blue Gene/L", "bgl_gups", "bgl_bottleneck"),
    ];
    let (x, y) = (Quantity::log("nodes", Unit::None), Quantity::linear("measured / printed bottleneck", Unit::None));
    let curves = Curves::new(
        "Efficiency relative to the processors' bottleneck",
        "Blue Gene/P paper, Table 4",
        x,
        y,
        all_series,
    );
    Ok((
        "bottlenecks",
        "Measured rates relative to the processors' bottlenecks that the paper prints; for many nodes they are \u{201c}within 70% percent\u{201d} (Section 5.3).",
        curves,
    ))
}

fn efficiency_over_p() -> Result<CaptionedCurves> {
    let table = paper_tables::table("hypercube-table-2")?;
    let efficiency = |label: &str, column: &str| {
        let pairs = table.pairs("processors", column).into_iter();
        series(label, pairs.map(|(ranks, gups)| (ranks, gups / (ranks * SINGLE))))
    };
    let recomputed = |power: i32| {
        let ranks = f64::from(1 << power);
        Ok((ranks, predict("random_access.hypercube", "red-storm", &[("P", ranks)])?.value / 1e9 / (ranks * SINGLE)))
    };
    let model = (0..14).map(recomputed).collect::<Result<Vec<_>>>()?;
    let all_series = vec![
        efficiency("measured, hypercube", "gups"),
        efficiency("measured, not optimized", "gups_unoptimized"),
        efficiency("the paper's model", "gups_model"),
        series("recomputed model", model),
    ];
    let (x, y) = (
        Quantity::log("P (processors)", Unit::None),
        Quantity::log("efficiency relative to one processor", Unit::None),
    );
    let subtitle = "Red Storm, Q = 1024; hypercube paper, Table 2, and T_P = T_1 + T_C log2 P";
    let curves = Curves::new("Parallel efficiency over P", subtitle, x, y, all_series);
    let caption = "Rate per processor on P processors / rate of a single processor. 200, 300 and 10240 are not powers of two and need extra messages.";
    Ok(("efficiency-over-p", caption, curves))
}

fn efficiency_over_q(report: &Validation) -> Result<CaptionedCurves> {
    let pairs = paper_tables::table("hypercube-table-4")?.pairs("look_ahead", "gups");
    let mut all_series = vec![series("measured", pairs.into_iter().map(|(q, gups)| (q, gups / (32.0 * SINGLE))))];
    let by_parts = report.fits.iter().find(|fitted| fitted.model == "random_access.all_to_all");
    let fit = by_parts.and_then(|fitted| fitted.fit.as_ref());
    if let Some((fit, (ranks, look_ahead))) = fit.zip(ranks_and_look_ahead(&AllToAll)) {
        let of_32 = fit.points.iter().filter(|point| point.x[ranks] == 32.0);
        all_series.push(series(
            "fitted model of several terms",
            of_32.map(|point| (point.x[look_ahead], point.predicted / 1e9 / (32.0 * SINGLE))),
        ));
    }
    let (x, y) = (
        Quantity::log("Q (look-ahead)", Unit::None),
        Quantity::log("efficiency relative to one processor", Unit::None),
    );
    let subtitle = "Red Storm, 32 processors; hypercube paper, Table 4";
    let curves = Curves::new("Parallel efficiency over Q", subtitle, x, y, all_series);
    Ok((
        "efficiency-over-q",
        "Longer look-ahead spreads the latency over more updates. The paper measures less at Q = 32768 than at 8192; the model does not predict this.",
        curves,
    ))
}

fn crossover() -> Result<CaptionedCurves> {
    let mut all_series = Vec::new();
    for (label, per_node) in [("4 ranks per node", 4.0), ("1 rank per node", 1.0)] {
        let per_node_rate = |power: i32| {
            let nodes = f64::from(1 << power);
            let given = [("P", nodes * per_node), ("ranks_per_node", per_node)];
            Ok((nodes, predict("random_access.bottleneck", "bluegene-p", &given)?.value / nodes))
        };
        let points = (1..20).map(per_node_rate).collect::<Result<Vec<_>>>()?;
        all_series.push(series(label, points));
    }
    let (x, y) = (Quantity::log("nodes", Unit::None), Quantity::linear("updates per node", Unit::PerSecond));
    let subtitle = "Blue Gene/P, one update per message, 3-D torus; its paper, Equation (1)";
    let mut curves = Curves::new("Bottleneck: processors, then the bisection", subtitle, x, y, all_series);
    let nodes = paper_tables::quoted_number("virtual_node_crossover_nodes")?;
    curves.marks = vec![Landmark { x: nodes, label: "the paper: 4 ranks per node".into(), style: LandmarkStyle::Line }];
    let caption = "Equation (1) per node: constant if the processors are the bottleneck, falling if the bisection is. The paper gives the crossover as 8 Ki nodes for four ranks per node, and beyond 256 Ki for one.";
    Ok(("crossover", caption, curves))
}

fn network_interface() -> Result<CaptionedCurves> {
    let model = models::find("message_rate.nic")?;
    let p = model.parameters(&Card::find("simulated-nic")?)?;
    let rates = |cores: f64| {
        let points = (2..16).map(|power| f64::from(1 << power)).map(move |bytes| (bytes, cores));
        points.map(|(bytes, cores)| (bytes, model.predict(&[bytes, cores, 0.0], &p).value)).collect::<Vec<_>>()
    };
    let all_series = vec![series("1 core", rates(1.0)), series("2 cores", rates(2.0)), series("4 cores", rates(4.0))];
    let (x, y) =
        (Quantity::log("payload of a message", Unit::Bytes), Quantity::log("messages per node", Unit::PerSecond));
    let subtitle = "the simulated network interface; NIC paper, Equations (4) to (6)";
    let curves = Curves::new("Message rate per node", subtitle, x, y, all_series);
    Ok((
        "network-interface",
        "The lowest of the limits of cores, I/O bus and link: cores limit short messages, the bus long ones.",
        curves,
    ))
}
