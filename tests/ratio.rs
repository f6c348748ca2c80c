//! Tests of Apex-Map against ping-pong: the ratio of Figure 2 from simulated samples, and the figure of a real run.

use crate::common::Scratch;
use apexmap_base::point::Value;
use apexmap_pages::report::paper_figures::ratios;
use apexmap_results::table::TableBuilder;
use std::process::Command;

fn row(table: &mut TableBuilder, values: &[(&str, Value)]) {
    table.begin_row();
    table.set("status", &"ok".into());
    values.iter().for_each(|(name, value)| table.set(name, value));
}

fn pong(table: &mut TableBuilder, ranks: u64, operation: &str, bytes: u64, rate: f64) {
    let numbers = [("ranks", ranks.into()), ("message_bytes", bytes.into()), ("bytes_per_second", rate.into())];
    row(table, &[("kernel", "message_rate.ping_pong".into()), ("operation", operation.into())]);
    numbers.iter().for_each(|(name, value)| table.set(name, value));
}

fn apex(table: &mut TableBuilder, alpha: f64, buffers: u64, block: u64, rate: f64) {
    row(table, &[("kernel", "apex_map.two_sided".into()), ("ranks", 2u64.into()), ("alpha", alpha.into())]);
    let numbers = [("receive_buffers", buffers.into()), ("block_words", block.into())];
    numbers.iter().for_each(|(name, value)| table.set(name, value));
    table.set("bytes_per_second_per_rank", &rate.into());
}

#[test]
fn a_block_is_compared_with_a_message_of_the_same_size() {
    let mut table = TableBuilder::default();
    for i in 0..7u64 {
        pong(&mut table, 2, "send", 64, 1000.0 + i as f64);
        apex(&mut table, 1.0, 1, 8, 500.0 + i as f64);
        apex(&mut table, 1.0, 16, 8, 1500.0 + i as f64);
    }
    // None of these samples belongs to the figure.
    pong(&mut table, 4, "send", 64, 1.0);
    pong(&mut table, 2, "put", 64, 1.0);
    apex(&mut table, 0.5, 1, 8, 1.0);
    apex(&mut table, 1.0, 1, 4, 1.0);
    let series = ratios(&table.finish().into()).expect("columns exist");
    assert_eq!(
        series.iter().map(|series| series.label.as_str()).collect::<Vec<_>>(),
        ["apex_map.two_sided, B = 1", "apex_map.two_sided, B = 16"]
    );
    for (series, first) in series.iter().zip([500.0, 1500.0]) {
        assert_eq!(series.points.len(), 1, "ping-pong has no messages of 32 bytes");
        let point = series.points[0];
        assert_eq!((point.x, point.y), (64.0, (first + 3.0) / 1003.0));
        // For seven samples, the interval of the median extends from the first to the last.
        assert_eq!((point.low, point.high), (first / 1006.0, (first + 6.0) / 1000.0));
    }
}

#[test]
fn a_ratio_needs_both_measurements() {
    let mut table = TableBuilder::default();
    apex(&mut table, 1.0, 1, 8, 500.0);
    assert!(ratios(&table.finish().into()).expect("readable").is_empty());
    let mut table = TableBuilder::default();
    pong(&mut table, 2, "send", 64, 1000.0);
    assert!(ratios(&table.finish().into()).expect("readable").is_empty());
}

#[test]
fn one_sweep_measures_both_and_the_report_explains_the_ratio() {
    let (scratch, sweep) = (Scratch::new(), "sweeps/paper-figure-2.toml");
    let text =
        std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(sweep)).expect("the sweep");
    let head = &text[..text.find("\n[launch]").expect("the launch settings")];
    let small = head.replace("64 Mwords", "1 Mwords").replace("I = 1024", "I = 16");
    assert_ne!(head, small);
    let (file, out) = (scratch.join("sweep.toml"), scratch.join("result"));
    std::fs::write(&file, format!("{small}\n[launch]\ntransport = \"threads\"\n[repeat]\nmin = 1\n")).unwrap();
    let run =
        Command::new(env!("CARGO_BIN_EXE_apexmap")).arg("run").arg(&file).arg("--out").arg(&out).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let report = std::fs::read_to_string(out.join("report.html")).expect("a report");
    for text in ["Apex-Map against ping-pong", "three effects", "B = 16: ", " at 8 B", " at 512 KiB"] {
        assert!(report.contains(text), "{text}");
    }
    let stdout = String::from_utf8_lossy(&run.stdout);
    assert!(stdout.contains("message_bytes = "), "the lengths of messages distinguish curves: {stdout}");
    assert!(out.join("figures/apex-map-against-ping-pong.png").exists());
    let figure = std::fs::read_to_string(out.join("figures/apex-map-against-ping-pong.svg")).expect("a figure");
    assert!(figure.contains("Seaborg, 60 % better"), "the paper's best ratio");
}
