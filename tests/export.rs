//! Tests of samples exported for other programs, and that these programs read them.

use super::common::{Scratch, apexmap, file, launch, samples, successful_stdout, write};
use crate::needs;
use apexmap_base::point::Value;
use apexmap_results::disk::Folder;
use apexmap_results::disk::journal::Record;
use apexmap_results::disk::tabulate::tabulate;
use apexmap_results::export::{csv, write_json_lines};
use apexmap_results::samples::Samples;
use apexmap_results::table::Table;
use apexmap_results::table::TableBuilder;
use apexmap_results::table::column::{Column, Kind};
use proptest::prelude::*;
use std::process::Command;

fn columns(table: &Table) -> Vec<(&str, &Column)> {
    table.names().iter().map(|name| (name.as_str(), table.column(name).expect("named"))).collect()
}

/// Parses RFC 4180 character by character.
fn parse_csv(text: &str) -> Vec<Vec<String>> {
    let (mut lines, mut line, mut field) = (Vec::new(), Vec::new(), String::new());
    let (mut quoted, mut letters) = (false, text.chars().peekable());
    while let Some(c) = letters.next() {
        match c {
            '"' if quoted && letters.peek() == Some(&'"') => field.extend(letters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => line.push(std::mem::take(&mut field)),
            '\n' if !quoted => {
                line.push(std::mem::take(&mut field));
                lines.push(std::mem::take(&mut line));
            }
            c => field.push(c),
        }
    }
    assert!(!quoted && line.is_empty() && field.is_empty(), "the text ends within a line");
    lines
}

fn random_table() -> impl Strategy<Value = Table> {
    let number =
        prop_oneof![any::<f64>().prop_filter("finite", |v| v.is_finite()), Just(1e-300), Just(-0.0), Just(1e16)];
    let row =
        (prop::option::of(number), prop::option::of(any::<u64>()), prop::option::of("[a,\"\n\r# é\u{1b}=+@'\t-]{0,5}"));
    prop::collection::vec(row, 1..20).prop_map(|rows| {
        let mut table = TableBuilder::default();
        for (number, whole, word) in rows {
            table.begin_row();
            table.set("row", &Value::Integer(table.rows() as u64));
            for (name, value) in [
                ("real", number.map(Value::Real)),
                ("whole, too", whole.map(Value::Integer)),
                ("word\"s", word.map(Value::Text)),
            ] {
                value.iter().for_each(|value| table.set(name, value));
            }
        }
        table.finish()
    })
}

proptest! {
    #[test]
    fn csv_preserves_every_value_except_empty_words(table in random_table()) {
        let (columns, rows): (_, Vec<usize>) = (columns(&table), (0..table.rows).collect());
        let mut text = Vec::new();
        csv::write(&columns, &rows, &mut text).expect("written");
        let lines = parse_csv(std::str::from_utf8(&text).expect("text"));
        prop_assert_eq!(lines[0].as_slice(), table.names());
        for row in rows {
            for (index, (name, column)) in columns.iter().enumerate() {
                let field = &lines[row + 1][index];
                let read = (!field.is_empty()).then(|| match column.kind() {
                    Kind::Numbers => Value::Real(field.parse().expect("a real")),
                    Kind::Whole => Value::Integer(field.parse().expect("a whole number")),
                    Kind::Words => Value::Text(field.strip_prefix('\'').unwrap_or(field).to_owned()),
                });
                // An empty word and a missing value are both an empty cell.
                prop_assert_eq!(read, table.value(name, row).filter(|value| *value != Value::from("")));
            }
        }
    }

    #[test]
    fn json_lines_preserve_every_value(table in random_table()) {
        let (columns, rows): (_, Vec<usize>) = (columns(&table), (0..table.rows).collect());
        let mut text = Vec::new();
        write_json_lines(&columns, &rows, &mut text).expect("written");
        let text = String::from_utf8(text).expect("text");
        prop_assert_eq!(text.lines().count(), table.rows);
        for (row, line) in text.lines().enumerate() {
            let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).expect("JSON");
            prop_assert_eq!(object.len(), columns.len());
            for (name, _) in &columns {
                let read = match &object[*name] {
                    serde_json::Value::Null => None,
                    value => Some(serde_json::from_value::<Value>(value.clone()).expect("a value")),
                };
                prop_assert_eq!(read, table.value(name, row));
            }
        }
    }
}

#[test]
fn csv_cells_are_quoted_only_where_necessary() {
    let mut table = TableBuilder::default();
    for word in [Some("plain, or not"), Some("a \"b\""), Some("two\nlines"), Some("# 1"), Some("µs "), Some(""), None]
    {
        table.begin_row();
        table.set("rate,\"B/s\"", &Value::Real(1e16));
        word.iter().for_each(|&word| table.set("word", &Value::from(word)));
    }
    let (table, mut text) = (table.finish(), Vec::new());
    csv::write(&columns(&table), &[0, 1, 2, 3, 4, 5, 6], &mut text).expect("written");
    let lines = ["\"plain, or not\"", "\"a \"\"b\"\"\"", "\"two\nlines\"", "\"# 1\"", "µs ", "", ""];
    let lines: String = lines.iter().map(|word| format!("1e16,{word}\n")).collect();
    assert_eq!(String::from_utf8(text).expect("text"), format!("\"rate,\"\"B/s\"\"\",word\n{lines}"));
    // A row of one empty cell is quoted, because readers skip empty lines.
    let mut text = Vec::new();
    csv::write(&columns(&table)[1..], &[5, 6], &mut text).expect("written");
    assert_eq!(text, b"word\n\"\"\n\"\"\n");
}

/// Prints the numbers of rows that only one of two files contains, and the number of lines. DuckDB detects the types
/// itself.
const READER: &str = r#"
import sys, duckdb
parquet, csv, jsonl = sys.argv[1:]
duckdb.sql(f"create view p as from '{parquet}'")
duckdb.sql(f"create view c as from read_csv('{csv}', allow_quoted_nulls = false)")
duckdb.sql(f"create view j as from read_json('{jsonl}')")
names = [row[0] for row in duckdb.sql("describe p").fetchall()]
words = {row[0] for row in duckdb.sql("describe p").fetchall() if row[1] == "VARCHAR"}
plain = lambda n: f'"{n}"::varchar' if n in words else f'"{n}"::double'
for other in "cj":
    assert [row[0] for row in duckdb.sql(f"describe {other}").fetchall()] == names, other
    left, right = [f"select {', '.join(map(plain, names))} from {view}" for view in ("p", other)]
    for first, second in ((left, right), (right, left)):
        print(len(duckdb.sql(f"({first}) except all ({second})").fetchall()))
    print(duckdb.sql(f"select count(*), median(seconds) filter (status = 'ok') from {other}").fetchall())
"#;

#[test]
fn duckdb_reads_csv_json_lines_and_parquet_alike() {
    needs!(Python);
    let scratch = Scratch::new();
    let parquet = file(&scratch, samples());
    let out = |name: &str| scratch.join(name).to_str().expect("a path").to_owned();
    let parquet = parquet.to_str().expect("a path");
    successful_stdout(&["export", parquet, "--out", &out("s.csv")]);
    successful_stdout(&["export", parquet, "--format", "jsonl", "--out", &out("s.jsonl")]);
    let output = Command::new(needs::python()).args(["-c", READER, parquet, &out("s.csv"), &out("s.jsonl")]).output();
    let output = output.expect("Python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0\n0\n[(15, 4.0)]\n".repeat(2));
}

#[test]
fn a_csv_file_has_a_separate_description_of_its_columns() {
    let scratch = Scratch::new();
    let (parquet, out) = (file(&scratch, samples()), scratch.join("some.csv"));
    let (parquet, csv) = (parquet.to_str().expect("a path"), out.to_str().expect("a path"));
    successful_stdout(&[
        "export",
        parquet,
        "--select",
        "L,seconds,status",
        "--out",
        csv,
        "--where",
        "status == \"ok\" && L == 2",
    ]);
    let text = std::fs::read_to_string(&out).expect("the file");
    assert_eq!(text, "block_words,seconds,status\n2,1.0,ok\n2,2.0,ok\n2,3.0,ok\n2,4.0,ok\n2,10.0,ok\n");
    let about = std::fs::read_to_string(csv::metadata_path(&out)).expect("its description");
    let about: serde_json::Value = serde_json::from_str(&about).expect("JSON");
    assert_eq!((&about["@context"], &about["url"]), (&"http://www.w3.org/ns/csvw".into(), &"some.csv".into()));
    let columns = about["tableSchema"]["columns"].as_array().expect("columns");
    let text_of = |index: usize, property: &str| columns[index][property].as_str().unwrap_or("nothing").to_owned();
    assert_eq!(
        [text_of(0, "titles"), text_of(1, "titles"), text_of(2, "titles")],
        ["block_words", "seconds", "status"]
    );
    assert_eq!(
        [text_of(0, "schema:unitText"), text_of(1, "schema:unitText"), text_of(2, "schema:unitText")],
        ["words", "s", "nothing"]
    );
    assert_eq!(
        [text_of(0, "datatype"), text_of(1, "datatype"), text_of(2, "datatype")],
        ["nonNegativeInteger", "double", "string"]
    );
}

#[test]
fn words_in_csv_files_are_never_formulas_and_numbers_stay_numeric() {
    let mut table = TableBuilder::default();
    let words = ["=1+1", "+cmd|' /C calc'!A0", "-2", "@SUM(A1)", "\tx", "\rx", "'x", "plain", "a=b"];
    for word in words {
        table.begin_row();
        table.set("real", &Value::Real(-1.5));
        table.set("=word", &Value::from(word));
    }
    let table = table.finish();
    let mut written = Vec::new();
    csv::write(&columns(&table), &(0..table.rows).collect::<Vec<_>>(), &mut written).expect("written");
    let lines = parse_csv(std::str::from_utf8(&written).expect("text"));
    assert_eq!(lines[0], ["real", "'=word"]);
    for (line, word) in lines[1..].iter().zip(words) {
        assert_eq!(line[0], "-1.5");
        assert_eq!(line[1].strip_prefix('\'').unwrap_or(&line[1]), word);
        assert_eq!(line[1].starts_with('\''), !word.starts_with(['p', 'a']), "{word}");
    }
    let row = ["-1.5", "=1", "-x", "1e-3", ""].map(str::to_owned).to_vec();
    assert_eq!(csv::text([row]), "-1.5,'=1,'-x,1e-3,\n");
    let about = csv::describe(&columns(&table), std::path::Path::new("x.csv"), "x");
    assert!(about.contains("apostrophe"), "{about}");
}

#[test]
fn samples_of_other_plans_are_exported_only_on_request() {
    let scratch = Scratch::new();
    let record = Record { launch: Some(launch("0001", 2, "b1")), samples: samples(), ..Record::default() };
    let some = Samples::from(tabulate(&[record], |key| key != "L2"));
    assert_eq!((some.current().len(), some.len()), (9, 15));
    let folder = Folder::create(&scratch.join("result")).expect("a folder");
    write(&folder, some.table());
    let path = folder.samples();
    let path = path.to_str().expect("a path");
    assert_eq!(successful_stdout(&["export", path, "--format", "jsonl"]).lines().count(), 9);
    assert_eq!(successful_stdout(&["export", path, "--format", "jsonl", "--stale"]).lines().count(), 15);
}

#[test]
fn an_export_without_samples_is_refused() {
    let scratch = Scratch::new();
    let parquet = file(&scratch, samples());
    let refused = apexmap(&["export", parquet.to_str().expect("a path"), "--where", "P > 9"]);
    assert_eq!(refused.status.code(), Some(2));
}
