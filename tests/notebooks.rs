//! Runs the notebooks to the end on a fresh result; they must draw their figures. Committed notebooks contain no outputs.
//! `notebooks/rendered` has copies with outputs, to read without Jupyter;
//! `APEXMAP_WRITE_DOCS=1 cargo test --release notebooks_run` writes them.

use super::common::{Scratch, apexmap};
use crate::needs;
use serde_json::Value;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Number of pictures of each notebook.
const PICTURES: [usize; 3] = [3, 1, 2];

/// Largest size of all copies and their pictures together, in bytes.
const MAX_RENDERED_BYTES: u64 = 300_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("notebooks")
}

/// Returns the sorted files of a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn notebooks() -> Vec<PathBuf> {
    let paths = files(&folder()).into_iter().filter(|path| path.extension().is_some_and(|end| end == "ipynb"));
    let paths: Vec<PathBuf> = paths.collect();
    assert_eq!(paths.len(), PICTURES.len());
    paths
}

/// Returns the cells of a notebook.
fn cells(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("a notebook");
    let notebook: Value = serde_json::from_str(&text).expect("JSON");
    notebook["cells"].as_array().expect("cells").clone()
}

/// Returns the text of a cell, which is a string or a list of lines.
fn source(cell: &Value) -> String {
    let lines = |value: &Value| value.as_array().map(|lines| lines.iter().filter_map(Value::as_str).collect());
    cell["source"].as_str().map(str::to_owned).or_else(|| lines(&cell["source"])).expect("text")
}

#[test]
fn notebooks_contain_no_outputs() {
    for path in notebooks() {
        for cell in cells(&path).iter().filter(|cell| cell["cell_type"] == "code") {
            let name = path.display();
            assert_eq!(
                cell["outputs"],
                serde_json::json!([]),
                "{name}: strip its outputs (jupyter nbconvert --clear-output)"
            );
            assert!(cell["execution_count"].is_null(), "{name}: strip its execution counts");
        }
    }
}

/// The measured numbers are those of one machine on one day, so only text, code and the number of pictures are compared.
#[test]
fn rendered_notebooks_show_the_present_cells_and_all_pictures() {
    let next = "APEXMAP_WRITE_DOCS=1 cargo test --release notebooks_run";
    let rendered = folder().join("rendered");
    let mut expected = HashSet::new();
    for (notebook, pictures) in notebooks().iter().zip(PICTURES) {
        let copy = rendered.join(notebook.file_name().expect("a name")).with_extension("md");
        let text = std::fs::read_to_string(&copy).unwrap_or_else(|error| panic!("{}: {error}: {next}", copy.display()));
        let (cells, mut rest) = (cells(notebook), text.as_str());
        for cell in &cells {
            let source = source(cell);
            let block =
                if cell["cell_type"] == "code" { format!("```python\n{source}\n```\n") } else { format!("{source}\n") };
            let place =
                rest.find(&block).unwrap_or_else(|| panic!("{} has no cell {source:?}: {next}", copy.display()));
            rest = &rest[place + block.len()..];
        }
        let code = cells.iter().filter(|cell| cell["cell_type"] == "code").count();
        assert_eq!(text.matches("```python\n").count(), code, "{}: {next}", copy.display());
        assert_eq!(text.matches("\n![").count(), pictures, "{}: {next}", copy.display());
        let named = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
        expected.extend(named.filter(|target| target.ends_with(".png")).map(|target| rendered.join(target)));
        for private in ["/tmp/", "/home/", "/root/", "Traceback", env!("CARGO_MANIFEST_DIR")] {
            assert!(!text.contains(private), "{} contains {private}", copy.display());
        }
        expected.insert(copy);
    }
    let present = files(&rendered);
    assert_eq!(present.iter().cloned().collect::<HashSet<_>>(), expected);
    let size = present.iter().map(|path| path.metadata().expect("a file").len()).sum::<u64>();
    assert!(size <= MAX_RENDERED_BYTES, "the copies have {size} bytes");
}

#[test]
fn notebooks_run_to_completion_on_a_new_result() {
    needs!(Python);
    let sweep = Path::new(env!("CARGO_MANIFEST_DIR")).join("notebooks/notebooks.toml");
    let scratch = Scratch::new();
    let result = scratch.join("result");
    let run = ["run", "--no-report", "--out", result.to_str().expect("a path"), sweep.to_str().expect("a path")];
    let ran = apexmap(&run);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let mut python = Command::new(needs::python());
    if std::env::var_os("APEXMAP_WRITE_DOCS").is_some() {
        let rendered = folder().join("rendered");
        let _ = std::fs::remove_dir_all(&rendered);
        std::fs::create_dir(&rendered).expect("a folder");
        python.env("APEXMAP_RENDERED", rendered);
    }
    let output = python
        .args(["-c", include_str!("notebooks/run.py")])
        .args(notebooks())
        .env("APEXMAP", env!("CARGO_BIN_EXE_apexmap"))
        .env("APEXMAP_RESULT", &result)
        // Tables as text show all columns.
        .envs([("POLARS_FMT_MAX_COLS", "-1"), ("POLARS_TABLE_WIDTH", "140")])
        // The users' configuration of Jupyter and matplotlib has no effect and is not changed.
        .env("IPYTHONDIR", scratch.join("ipython"))
        .env("JUPYTER_CONFIG_DIR", scratch.join("jupyter"))
        .env("MPLCONFIGDIR", scratch.join("matplotlib"))
        .output()
        .expect("Python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let pictures: String = PICTURES.iter().zip(1..).map(|(count, number)| format!("{number} {count}\n")).collect();
    assert_eq!(String::from_utf8_lossy(&output.stdout), pictures);
}

/// `cargo test` builds the examples next to the program.
#[test]
fn the_rust_example_draws_a_figure_from_a_result() {
    let example = Path::new(env!("CARGO_BIN_EXE_apexmap")).with_file_name("examples").join("surface");
    assert!(example.is_file(), "{} is missing: cargo build --release --examples", example.display());
    let scratch = Scratch::new();
    let (sweep, result, picture) = (scratch.join("s.toml"), scratch.join("result"), scratch.join("surface.svg"));
    let text =
        "[fixed]\nkernel = \"apex_map.sequential\"\nM = 4096\nI = 64\nN = 2\n[axes]\nalpha = [0.1, 1]\nL = [1, 8]\n";
    std::fs::write(&sweep, text).expect("written");
    let name = |path: &Path| path.to_str().expect("a path").to_owned();
    assert!(apexmap(&["run", "--no-report", "--out", &name(&result), &name(&sweep)]).status.success());
    let output = Command::new(&example).args([&result, &picture]).output().expect("the example");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("memory_words: 4096") && text.contains("95 % interval"), "{text}");
    // A header and one line per cell, each with six samples.
    assert_eq!(text.lines().filter(|line| line.contains(" 6 ") && line.contains("B/s")).count(), 4, "{text}");
    assert!(std::fs::read_to_string(&picture).expect("a picture").starts_with("<svg"));
    assert_eq!(Command::new(example).output().expect("the example").status.code(), Some(2));
}
