//! Tests of figures: ticks, contours and projection against known values, and drawing of unusual data.

use apexmap_base::units::Unit;
use apexmap_draw::figure::bands::{Corner, band, iso_lines, triangles};
use apexmap_draw::figure::ticks::{Scale, labels, levels, tick_sets};
use apexmap_draw::figure::*;
use ndarray::{Array2, array};
use proptest::prelude::*;

fn quantity(label: &str, unit: Unit, log: bool) -> Quantity {
    Quantity { label: label.into(), unit, log }
}

fn grid(x: Vec<f64>, y: Vec<f64>, values: Array2<f64>) -> Grid {
    Grid {
        title: "title".into(),
        subtitle: "subtitle".into(),
        x: Axis { quantity: quantity("alpha", Unit::None, true), values: x },
        y: Axis { quantity: quantity("L", Unit::Words, true), values: y },
        z: quantity("bandwidth", Unit::BytesPerSecond, true),
        values,
        failed: Vec::new(),
    }
}

fn surface_grid() -> Grid {
    let x = vec![0.001, 0.01, 0.1, 0.5, 1.0];
    let y = vec![1.0, 16.0, 256.0, 4096.0, 65536.0];
    let values = Array2::from_shape_fn((5, 5), |(j, i)| 8.0 * y[j] / (1e-9 + 4e-7 * x[i] + 5e-10 * (y[j] - 1.0)));
    grid(x, y, values)
}

fn curves(points: &[(f64, f64)]) -> Curves {
    let points = points.iter().map(|(x, y)| CurvePoint { x: *x, y: *y, low: y * 0.9, high: y * 1.1 }).collect();
    Curves {
        title: "title".into(),
        subtitle: String::new(),
        x: quantity("L", Unit::Words, true),
        y: quantity("bandwidth", Unit::BytesPerSecond, true),
        series: vec![Series { label: "alpha = 1".into(), points }],
        marks: Vec::new(),
        ordered: false,
    }
}

#[test]
fn a_log_scale_places_values_by_their_logarithm() {
    let scale = Scale::from_values([1.0, 1000.0], true, "L").unwrap();
    assert!((scale.place(10.0) - 1.0 / 3.0).abs() < 1e-12);
    assert!((scale.value(2.0 / 3.0) - 100.0).abs() < 1e-9);
}

#[test]
fn zero_on_a_log_axis_is_an_error_that_names_the_axis() {
    let error = Scale::from_values([0.0, 1.0], true, "alpha").unwrap_err();
    assert!(error.message.contains("\"alpha\" has the value 0"), "{error}");
}

#[test]
fn tick_labels_carry_prefixes_and_units() {
    assert_eq!(labels(&[1e3, 1e4, 1e6], Unit::None, false), ["1 k", "10 k", "1 M"]);
    assert_eq!(labels(&[5e5, 1e8, 2.5e9], Unit::BytesPerSecond, false), ["500 kB/s", "100 MB/s", "2.5 GB/s"]);
    assert_eq!(labels(&[1.0, 2e6], Unit::PerSecond, false), ["1 /s", "2 M/s"]);
    assert_eq!(labels(&[5e-8, 1e-5, 2.0], Unit::Seconds, false), ["50 ns", "10 µs", "2 s"]);
    assert_eq!(labels(&[512.0, 1024.0, 65536.0], Unit::Words, true), ["512", "1024", "65536"]);
    assert_eq!(labels(&[512.0, 1024.0, 65536.0], Unit::Bytes, true), ["512 B", "1 KiB", "64 KiB"]);
    assert_eq!(labels(&[0.001, 0.0025, 1e-7], Unit::None, false), ["0.001", "0.0025", "1e-7"]);
}

#[test]
fn close_tick_labels_get_the_digits_that_distinguish_them() {
    assert_eq!(labels(&[1000.2, 1000.4], Unit::None, false), ["1.0002 k", "1.0004 k"]);
}

#[test]
fn measured_values_are_preferred_as_ticks_if_labels_show_them_exactly() {
    let scale = Scale { low: 0.001, high: 1.0, log: true };
    let exact = [0.001, 0.0025, 1.0];
    assert_eq!(tick_sets(&scale, &exact, Unit::None, false)[0], exact);
    let irregular = [0.001, 0.031622776, 1.0];
    let decades = tick_sets(&scale, &irregular, Unit::None, false).swap_remove(1);
    assert!(decades.iter().zip([0.001, 0.01, 0.1, 1.0]).all(|(a, b)| (a / b - 1.0).abs() < 1e-12), "{decades:?}");
}

#[test]
fn contour_levels_are_round() {
    let close = |found: Vec<f64>, wanted: &[f64]| {
        assert_eq!(found.len(), wanted.len(), "{found:?}");
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() <= 1e-9 * b.abs()), "{found:?}");
    };
    let log = |low, high| levels(&Scale { low, high, log: true });
    close(log(1.3e6, 4.1e8), &[1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 2e8, 5e8]);
    close(log(1.0, 1e7), &[1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7]);
    close(levels(&Scale { low: 0.0, high: 10.0, log: false }), &(0..=10).map(f64::from).collect::<Vec<_>>());
}

fn corner((x, y, z): (f64, f64, f64), id: usize) -> Corner {
    Corner { x, y, z, id }
}

fn area(polygon: &[(f64, f64)]) -> f64 {
    let next = |k: usize| polygon[(k + 1) % polygon.len()];
    let twice: f64 = polygon.iter().enumerate().map(|(k, p)| p.0 * next(k).1 - next(k).0 * p.1).sum();
    twice.abs() / 2.0
}

#[test]
fn a_band_of_a_triangle_is_the_part_between_its_levels() {
    let triangle = [corner((0.0, 0.0, 0.0), 0), corner((4.0, 0.0, 4.0), 1), corner((0.0, 4.0, 0.0), 2)];
    // z = x: between x = 1 and x = 2 lies a trapezium of height 1 and sides 3 and 2.
    let part = band(&triangle, 1.0, 2.0);
    assert_eq!(part.len(), 4);
    assert!((area(&part) - 2.5).abs() < 1e-12);
    assert!(band(&triangle, 5.0, 6.0).is_empty());
}

#[test]
fn iso_lines_of_a_plane_are_straight_and_unbroken() {
    let x: Vec<f64> = (0..5).map(f64::from).collect();
    let values = Array2::from_shape_fn((5, 5), |(_, i)| i as f64);
    let lines = iso_lines(&triangles(&x, &x, &values), 1.5);
    assert_eq!(lines.len(), 1);
    assert!(lines[0].iter().all(|(x, _)| (x - 1.5).abs() < 1e-12));
    let (first, last) = (lines[0][0].1, lines[0][lines[0].len() - 1].1);
    assert_eq!((first.min(last), first.max(last)), (0.0, 4.0));
}

#[test]
fn an_iso_line_around_a_peak_is_closed() {
    let x: Vec<f64> = (0..3).map(f64::from).collect();
    let values = array![[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]];
    let lines = iso_lines(&triangles(&x, &x, &values), 0.6);
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0][0], lines[0][lines[0].len() - 1]);
}

#[test]
fn cells_with_an_unknown_corner_have_no_contours() {
    let x: Vec<f64> = (0..3).map(f64::from).collect();
    let values = array![[f64::NAN, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]];
    assert_eq!(triangles(&x, &x, &values).len(), 3 * 4);
}

#[test]
fn the_view_projects_correctly_from_the_front_and_from_above() {
    let near = |projected: view::Projected, right: f64, up: f64| {
        assert!((projected.right - right).abs() < 1e-12 && (projected.up - up).abs() < 1e-12, "{projected:?}");
    };
    near(View { azimuth: -90.0, elevation: 0.0 }.project([0.3, 0.5, 0.7]), 0.3, 0.7);
    near(View { azimuth: -90.0, elevation: 90.0 }.project([0.3, 0.5, 0.7]), 0.3, 0.5);
    near(View { azimuth: 0.0, elevation: 0.0 }.project([0.3, 0.5, 0.7]), 0.5, 0.7);
}

fn any_view() -> impl Strategy<Value = View> {
    (-400.0..400.0f64, -90.0..90.0f64).prop_map(|(azimuth, elevation)| View { azimuth, elevation })
}

/// Generates values that measurements and typing errors produce.
fn any_value() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => 1e-3..1e10f64,
        1 => Just(f64::NAN),
        1 => Just(1e6),
        1 => prop_oneof![Just(0.0), Just(-1.0), Just(f64::INFINITY), Just(1e300), Just(1e-300), Just(5e-324)],
    ]
}

fn any_axis() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::btree_set(1u32..100_000, 1..6)
        .prop_map(|set| set.into_iter().map(|v| f64::from(v) / 100.0).collect())
}

fn any_grid() -> impl Strategy<Value = Grid> {
    (any_axis(), any_axis(), any::<[bool; 3]>()).prop_flat_map(|(x, y, logs)| {
        prop::collection::vec(any_value(), x.len() * y.len()).prop_map(move |values| {
            let values = Array2::from_shape_vec((y.len(), x.len()), values).unwrap();
            let mut grid = grid(x.clone(), y.clone(), values);
            [grid.x.quantity.log, grid.y.quantity.log, grid.z.log] = logs;
            grid.failed = vec![(0, 0)];
            grid
        })
    })
}

/// Returns texts of a document with rectangles that they cover at least.
fn text_boxes(document: &str) -> Vec<(String, [f64; 4])> {
    let attribute = |tag: &str, name: &str| -> String {
        let from = tag.find(&format!(" {name}=\"")).unwrap() + name.len() + 3;
        tag[from..].split('"').next().unwrap().to_owned()
    };
    let number = |tag: &str, name: &str| attribute(tag, name).parse::<f64>().unwrap();
    let boxed = |piece: &str| {
        let (tag, rest) = piece.split_once('>').unwrap();
        let words = rest.split("</text").next().unwrap().trim().to_owned();
        let (x, y, em) = (number(tag, "x"), number(tag, "y"), number(tag, "font-size"));
        let wide = words.chars().count() as f64 * em * 0.45;
        let left = match attribute(tag, "text-anchor").as_str() {
            "middle" => x - wide / 2.0,
            "end" => x - wide,
            _ => x,
        };
        if tag.contains("rotate(270") {
            return (words, [x, y - wide / 2.0, x + em * 0.7, y + wide / 2.0]);
        }
        (words, [left, y, left + wide, y + em * 0.7])
    };
    document.split("<text").skip(1).map(boxed).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_bands_of_a_triangle_tile_it(
        corners in prop::array::uniform3((-9.0..9.0f64, -9.0..9.0f64, 0.0..10.0f64)),
        cuts in prop::collection::vec(0.0..10.0f64, 0..8),
    ) {
        let triangle = [corner(corners[0], 0), corner(corners[1], 1), corner(corners[2], 2)];
        let mut limits = cuts;
        limits.extend([0.0, 10.0]);
        limits.sort_by(f64::total_cmp);
        let sum: f64 = limits.windows(2).map(|pair| area(&band(&triangle, pair[0], pair[1]))).sum();
        let area_of_triangle = area(&corners.map(|(x, y, _)| (x, y)));
        prop_assert!((sum - area_of_triangle).abs() < 1e-9 * (1.0 + area_of_triangle), "{sum} of {area_of_triangle}");
    }

    #[test]
    fn levels_cover_the_range_with_a_readable_number_of_bands(low in -6.0..9.0f64, span in 0.02..14.0f64) {
        let scale = Scale { low: 10f64.powf(low), high: 10f64.powf(low + span), log: true };
        let found_levels = levels(&scale);
        prop_assert!(found_levels.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert!(found_levels[0] <= scale.low * (1.0 + 1e-6) && found_levels[found_levels.len() - 1] >= scale.high * (1.0 - 1e-6));
        prop_assert!((5..=17).contains(&found_levels.len()), "{found_levels:?}");
    }

    #[test]
    fn no_cell_is_hidden_by_a_cell_painted_earlier(
        view in any_view(), at in (0.0..1.0f64, 0.0..1.0f64), far in 0.0..2.0f64, size in (1usize..7, 1usize..7),
    ) {
        let order = view.cell_order(size.0, size.1);
        let cell = |x: f64, y: f64| ((x * size.0 as f64) as usize, (y * size.1 as f64) as usize);
        // A cell on the way from a point to the viewer may hide the point.
        let towards = view.viewer_direction();
        let (x, y) = (at.0 + far * towards[0], at.1 + far * towards[1]);
        if (0.0..1.0).contains(&x) && (0.0..1.0).contains(&y) {
            let rank = |c| order.iter().position(|o| *o == c);
            prop_assert!(rank(cell(at.0, at.1)) <= rank(cell(x, y)));
        }
        prop_assert_eq!(order.len(), size.0 * size.1);
    }

    #[test]
    fn back_panels_are_painted_before_the_surface(view in any_view()) {
        for axis in 0..3 {
            prop_assert_ne!(view.faces_viewer(axis, false), view.faces_viewer(axis, true));
            let away = if view.faces_viewer(axis, true) { -1.0 } else { 1.0 };
            prop_assert!(view.viewer_direction()[axis] * away <= 1e-9, "a back panel lies towards the viewer");
            prop_assert_eq!(view.outer_edges(axis).len(), 2);
        }
        let document = svg(&Figure::Surface(surface_grid(), view)).unwrap();
        let polygons: Vec<bool> =
            document.lines().filter(|l| l.starts_with("<path fill=\"#")).map(|l| l.contains("#F8F8F8")).collect();
        prop_assert_eq!(polygons.iter().filter(|panel| **panel).count(), 3);
        prop_assert!(polygons[..3].iter().all(|panel| *panel));
    }

    #[test]
    fn surface_labels_never_overlap(view in any_view()) {
        let boxes = text_boxes(&svg(&Figure::Surface(surface_grid(), view)).unwrap());
        for (k, (a, p)) in boxes.iter().enumerate() {
            prop_assert!(p[0] >= 0.0 && p[1] >= 0.0 && p[2] <= 9000.0 && p[3] <= 6400.0, "{a} leaves the picture");
            for (b, q) in &boxes[..k] {
                let apart = p[2] <= q[0] || q[2] <= p[0] || p[3] <= q[1] || q[3] <= p[1];
                prop_assert!(apart, "{a} lies over {b}");
            }
        }
    }

    #[test]
    fn any_grid_is_drawn_or_refused_with_a_reason(grid in any_grid(), view in any_view()) {
        for figure in [Figure::Heat(grid.clone()), Figure::Ratio(grid.clone()), Figure::Contour(grid.clone()), Figure::Surface(grid, view)] {
            match svg(&figure) {
                Ok(document) => prop_assert!(!document.contains("NaN") && document.ends_with("</svg>\n")),
                Err(error) => prop_assert!(!error.message.is_empty() && !error.help.is_empty()),
            }
        }
    }

    #[test]
    fn any_curve_is_drawn_or_refused_with_a_reason(
        points in prop::collection::vec((any_value(), any_value()), 0..9), logs in any::<[bool; 2]>(),
    ) {
        let mut figure = curves(&points);
        [figure.x.log, figure.y.log] = logs;
        match svg(&Figure::Curves(figure)) {
            Ok(document) => prop_assert!(!document.contains("NaN") && document.ends_with("</svg>\n")),
            Err(error) => prop_assert!(!error.message.is_empty() && !error.help.is_empty()),
        }
    }
}

#[test]
fn text_from_files_is_escaped() {
    let mut grid = surface_grid();
    grid.title = "<script>alert(1)</script> & \"quotes\" \u{1b}[31m".into();
    grid.x.quantity.label = "<b>alpha</b>".into();
    let document = svg(&Figure::Contour(grid)).unwrap();
    assert!(document.contains("&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quotes&quot;"));
    assert!(!document.contains("<script") && !document.contains("<b>") && !document.contains('\u{1b}'));
}

#[test]
fn a_long_title_is_wrapped_and_cut_to_fit_the_figure() {
    let mut grid = surface_grid();
    grid.title = "word ".repeat(100);
    let boxes = text_boxes(&svg(&Figure::Heat(grid)).unwrap());
    assert!(boxes.iter().filter(|(words, _)| words.starts_with("word")).count() == 2);
    assert!(boxes.iter().all(|(_, b)| b[2] <= 9000.0));
}

#[test]
fn a_text_is_cut_to_the_longest_version_that_fits() {
    text::register().unwrap();
    let fits = |text: &str| text::width(text, 13.0, false) <= 150.0;
    for words in [
        "short",
        "a host name that is longer than its place, with iiiiii and WWWWWW",
        "node-0123456789.a.very.long.domain",
    ] {
        let letters: Vec<char> = words.chars().collect();
        let shorter =
            (0..letters.len()).rev().map(|kept| letters[..kept].iter().collect::<String>().trim_end().to_owned() + "…");
        let expected = std::iter::once(words.to_owned()).chain(shorter).find(|text| fits(text)).unwrap();
        assert_eq!(text::cut(words, 13.0, false, 150.0), expected);
        let shorter = (0..letters.len()).rev().map(|kept| {
            let (head, tail) = (&letters[..kept.div_ceil(2)], &letters[letters.len() - kept / 2..]);
            [head, &['…'], tail].concat().into_iter().collect::<String>()
        });
        let expected = std::iter::once(words.to_owned()).chain(shorter).find(|text| fits(text)).unwrap();
        assert_eq!(text::cut_inside(words, 13.0, false, 150.0), expected);
    }
    assert_eq!(text::cut("word", 13.0, false, 1.0), "");
    // With quadratic work, such a text would take forever.
    let long = "x".repeat(1 << 22);
    let line = "x".repeat(500);
    assert_eq!(text::cut(&long, 13.0, false, 900.0), text::cut(&line, 13.0, false, 900.0));
    assert_eq!(text::cut_inside(&long, 13.0, false, 900.0), text::cut_inside(&line, 13.0, false, 900.0));
    assert_eq!(text::wrap(&long, 13.0, false, 900.0, 3), text::wrap(&line, 13.0, false, 900.0, 3));
}

#[test]
fn the_smallest_value_is_dark_violet_and_the_largest_yellow() {
    let document = svg(&Figure::Heat(grid(vec![0.1, 1.0], vec![1.0], array![[1.0, 10.0]]))).unwrap();
    assert!(document.contains("#440154") && document.contains("#FEE825"));
}

#[test]
fn a_ratio_of_one_is_palest_and_the_scale_is_symmetric() {
    let ratios = |values| {
        let mut figure = grid(vec![0.1, 1.0, 10.0], vec![1.0], values);
        figure.z = quantity("ratio", Unit::None, true);
        svg(&Figure::Ratio(figure)).unwrap()
    };
    // ColorBrewer's RdBu with eleven classes: its ends and its middle.
    let document = ratios(array![[0.25, 1.0, 4.0]]);
    assert!(["#67001F", "#F7F7F7", "#053061"].iter().all(|colour| document.contains(colour)));
    // No value is above 1, but the scale still ends at 4, and 2 is three quarters up.
    let document = ratios(array![[0.25, 0.5, 1.0]]);
    let boxes = text_boxes(&document);
    for tick in ["0.25", "0.5", "1", "2", "4"] {
        assert!(boxes.iter().any(|(words, _)| words == tick), "no tick {tick}");
    }
    // Halfway down in logarithms is halfway from the middle to the end, between #F4A582 and #D6604D.
    assert!(document.contains("#E58368"));
}

#[test]
fn a_region_map_writes_each_name_and_hatches_gaps() {
    let grid = surface_grid();
    let mut cells = Array2::from_shape_fn((5, 5), |(j, i)| Some(usize::from(i > j)));
    cells[(0, 0)] = None;
    let names = vec!["L1".to_owned(), "<b>".to_owned()];
    let grid = Grid::without_values("what binds".into(), String::new(), grid.x, grid.y);
    let mut regions = Categories { grid, cells, names, shown: CellText::Name };
    let document = svg(&Figure::Categories(regions.clone())).unwrap();
    // 10 of 24 cells are above the diagonal, of which 6 have room for their name; the key repeats both names.
    assert_eq!(document.matches("&lt;b&gt;").count(), 7);
    assert!(document.matches("L1\n").count() > 7);
    assert!(document.contains("#0072B2") && document.contains("#D55E00"));
    regions.cells[(1, 1)] = Some(2);
    assert!(svg(&Figure::Categories(regions)).is_err());
}

#[test]
fn a_model_line_and_its_measured_marks_have_the_same_colour() {
    let mut figure = curves(&[(1.0, 1e6), (4.0, 2e6), (16.0, 3e6)]);
    figure.series.push(figure.series[0].clone());
    let count = |figure: Figure, pattern: &str| svg(&figure).unwrap().matches(pattern).count();
    assert!(count(Figure::Curves(figure.clone()), "#D55E00") > 0);
    assert_eq!(count(Figure::Model(figure.clone()), "#D55E00"), 0);
    // One line for the data, one for the legend.
    let document = svg(&Figure::Model(figure)).unwrap();
    let paths = document.lines().filter(|l| l.starts_with("<path fill=\"none\"") && l.contains("#0072B2"));
    assert_eq!(paths.map(|path| path.matches('M').count()).sum::<usize>(), 2);
}

#[test]
fn figures_with_one_common_range_share_a_scale() {
    let low = grid(vec![0.1, 1.0], vec![1.0, 2.0], array![[1.0, 2.0], [3.0, 10.0]]);
    let within = |grid: Grid| {
        svg(&Figure::Heat(grid).with(FigureOptions { range: Some((1.0, 1000.0)), ..FigureOptions::default() })).unwrap()
    };
    // Yellow is the largest value of the range, not of the data.
    assert!(within(low.clone()).contains("#440154"));
    let has_tick = |document: &str| text_boxes(document).iter().any(|(words, _)| words == "1 kB/s");
    assert!(has_tick(&within(low.clone())) && !has_tick(&svg(&Figure::Heat(low)).unwrap()));
}

#[test]
fn a_gap_breaks_a_curve() {
    let lines = |points: &[(f64, f64)]| {
        let document = svg(&Figure::Curves(curves(points))).unwrap();
        // The legend draws one line of the same colour.
        let paths = document.lines().filter(|l| l.starts_with("<path fill=\"none\"") && l.contains("#0072B2"));
        paths.map(|path| path.matches('M').count()).sum::<usize>() - 1
    };
    assert_eq!(lines(&[(1.0, 1.0), (2.0, 2.0), (4.0, 3.0), (8.0, 4.0), (16.0, 4.0)]), 1);
    assert_eq!(lines(&[(1.0, 1.0), (2.0, 2.0), (4.0, f64::NAN), (8.0, 4.0), (16.0, 4.0)]), 2);
}

#[test]
fn an_impossible_figure_is_refused_with_the_reason() {
    let refusal = |figure: Figure| svg(&figure).unwrap_err().to_string();
    let row = || grid(vec![0.1, 1.0], vec![1.0], array![[1.0, 2.0]]);
    assert!(refusal(Figure::Contour(row())).contains("at least two values of \"L\""));
    assert!(refusal(Figure::Surface(row(), View::default())).contains("at least two values of \"L\""));
    let mut empty = surface_grid();
    empty.values.fill(f64::NAN);
    assert!(refusal(Figure::Heat(empty)).contains("\"bandwidth\" has no value"));
    let mut unsorted = surface_grid();
    unsorted.x.values.swap(0, 1);
    assert!(refusal(Figure::Contour(unsorted)).contains("\"alpha\" do not ascend"));
    let steep = View { azimuth: 0.0, elevation: 91.0 };
    assert!(refusal(Figure::Surface(surface_grid(), steep)).contains("elevation 91"));
}

#[test]
fn a_png_is_written_and_other_file_extensions_are_refused() {
    let folder = std::env::temp_dir().join(format!("apexmap-figure-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("surface.png");
    save(&Figure::Surface(surface_grid(), View::default()), &path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n");
    // Width and height in the header.
    assert_eq!((&bytes[16..20], &bytes[20..24]), (&900u32.to_be_bytes()[..], &640u32.to_be_bytes()[..]));
    assert!(bytes.len() > 10_000, "an empty picture");
    let other = save(&Figure::Heat(surface_grid()), &folder.join("heat.gif")).unwrap_err();
    assert!(other.to_string().contains(".png"));
    let nowhere = save(&Figure::Heat(surface_grid()), &folder.join("missing/heat.png")).unwrap_err();
    assert!(nowhere.message.contains("missing/heat.png"));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// plotters draws the type of PNG files; another release may do it differently.
#[test]
fn capitals_in_a_png_match_the_layout_in_size_and_height() {
    let path = std::env::temp_dir().join(format!("apexmap-figure-type-{}.png", std::process::id()));
    save(&Figure::Heat(Grid { title: "HHHH".into(), subtitle: String::new(), ..surface_grid() }), &path).unwrap();
    let mut reader = png::Decoder::new(std::fs::File::open(&path).unwrap()).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size()];
    reader.next_frame(&mut pixels).unwrap();
    std::fs::remove_file(&path).unwrap();
    let dark = |x: usize, y: usize| pixels[(y * 900 + x) * 3] < 128;
    let (rows, columns) = (0..50, 0..160);
    let inked: Vec<usize> = rows.clone().filter(|y| columns.clone().any(|x| dark(x, *y))).collect();
    let across: Vec<usize> = columns.clone().filter(|x| rows.clone().any(|y| dark(*x, y))).collect();
    // The title has 18 pixels, or 24 dots, per em, and its ink begins at dot 21. Capitals of DejaVu Sans are 0.73 em high. A bold H
    // advances by 0.837 em, about 20 dots, and has 0.09 em of space on either side.
    let near = |seen: usize, wanted: f64| (seen as f64 - wanted).abs() <= 1.5;
    assert!(near(inked[0], 21.0) && near(inked[inked.len() - 1], 37.5), "{inked:?}");
    assert!(
        near(across[0], 21.0) && near(across[across.len() - 1], 21.0 + 3.0 * 20.0 + (0.837 - 0.18) * 24.0 - 1.0),
        "{across:?}"
    );
}

#[test]
fn warnings_about_a_figure_also_appear_on_paper() {
    let figure = Figure::Contour(Grid { subtitle: "five launches\nNOT ALIKE: pages".into(), ..surface_grid() });
    let drawn = |style| apexmap_draw::figure::drawing(&figure, style).unwrap().svg;
    let (screen, paper) = (drawn(Style::Screen), drawn(Style::Paper));
    assert!(screen.contains("five launches") && screen.contains("NOT ALIKE: pages"));
    assert!(!paper.contains("five launches") && paper.contains("NOT ALIKE: pages"));
}

#[test]
fn the_interval_of_an_efficiency_combines_both_rates() {
    // The square root of ln(1.03)^2 + ln(1.04)^2 is 0.0491120 (computed by Python).
    let point = |y: f64, width: f64| CurvePoint { x: 1.0, y, low: y / width, high: y * width };
    let efficiency = point(3.0, 1.03).ratio_to(&point(2.0, 1.04), 2.0);
    assert_eq!(efficiency.y, 0.75);
    let widths = [(efficiency.high / 0.75).ln(), (0.75 / efficiency.low).ln()];
    assert!(widths.iter().all(|width| (width - 0.0491119856).abs() < 1e-9), "{widths:?}");
    let unknown = CurvePoint { low: f64::NAN, high: f64::NAN, ..point(2.0, 1.0) };
    assert!(point(3.0, 1.03).ratio_to(&unknown, 2.0).low.is_nan(), "no interval from one alone");
    let itself = point(2.0, 1.04).ratio_to(&point(2.0, 1.04), 1.0);
    assert_eq!((itself.y, itself.low, itself.high), (1.0, 1.0, 1.0));
}

#[test]
fn the_data_of_a_figure_call_an_interval_over_decades_not_known() {
    let mut wide = curves(&[(1.0, 1e9), (2.0, 2e9)]);
    (wide.series[0].points[1].low, wide.series[0].points[1].high) = (1e-3, 1e21);
    let rows = Figure::Curves(wide).table().rows;
    let ends = |row: usize| rows[row].iter().rev().take(2).rev().map(String::as_str).collect::<Vec<_>>();
    assert_eq!((ends(0), ends(1)), (vec!["0.9", "1.1"], vec!["not known", ""]));
}

#[test]
fn an_interval_over_decades_is_clipped_and_marked_at_the_edge() {
    let mut wide = curves(&[(1.0, 1e9), (2.0, 2e9), (4.0, 5e9), (8.0, 8e9)]);
    let spread = |curves: &Curves| {
        let figure = Figure::Curves(curves.clone());
        let spots = apexmap_draw::figure::drawing(&figure, Style::Screen).unwrap().spots;
        let heights = spots.iter().map(|spot| spot.position.1);
        heights.clone().fold(0.0, f64::max) - heights.fold(f64::INFINITY, f64::min)
    };
    let plain = spread(&wide);
    (wide.series[0].points[2].low, wide.series[0].points[2].high) = (1e-3, 1e21);
    assert!(
        (spread(&wide) - plain).abs() < 0.05 * plain,
        "the axis is that of the values: {} of {plain}",
        spread(&wide)
    );
    let arrows = "arrows: intervals that continue beyond the axis";
    let text = |curves: &Curves| svg(&Figure::Curves(curves.clone())).unwrap();
    assert!(text(&wide).contains(arrows) && !text(&curves(&[(1.0, 1e9), (2.0, 2e9)])).contains(arrows));
    // The axis extends to at most three times the largest value, and a longer interval is cut there.
    (wide.series[0].points[2].low, wide.series[0].points[2].high) = (4.9e9, 5e10);
    assert!(spread(&wide) > 0.5 * plain && spread(&wide) < 0.8 * plain && text(&wide).contains(arrows));
    wide.subtitle = "five launches\nDISTURBED (9 of 9 samples)".into();
    let paper = apexmap_draw::figure::drawing(&Figure::Curves(wide), Style::Paper).unwrap().svg;
    assert!(paper.contains("DISTURBED (9 of 9 samples)"), "the mark stays on paper");
}
