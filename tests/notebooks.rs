//! Runs the notebooks to the end on a fresh result; they must draw their figures. Committed notebooks contain no
//! outputs.
//!
//! APEXMAP_NOTEBOOK_FIGURES may name a folder that keeps the figures.

use super::common::{Scratch, apexmap};
use crate::needs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn notebooks() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("notebooks");
    let entries = std::fs::read_dir(folder).expect("the notebooks").flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "ipynb")).collect();
    paths.sort();
    paths
}

#[test]
fn notebooks_contain_no_outputs() {
    let paths = notebooks();
    assert_eq!(paths.len(), 3);
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a notebook");
        let notebook: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let cells = notebook["cells"].as_array().expect("cells");
        for cell in cells.iter().filter(|cell| cell["cell_type"] == "code") {
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

/// Runs notebooks and prints the number of pictures of each on a line. An error while a picture is rendered is no error
/// of the cell, so outputs are checked, too.
const EXECUTE: &str = r#"
import base64, os, pathlib, sys
import nbformat
from nbclient import NotebookClient

folder = os.environ.get("APEXMAP_NOTEBOOK_FIGURES")
for path in map(pathlib.Path, sys.argv[1:]):
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": path.parent}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    for output in outputs:
        if output.output_type == "error":
            sys.exit(f"{path.name}: {output.ename}: {output.evalue}")
    pictures = [output.data["image/png"] for output in outputs if "image/png" in output.get("data", {})]
    for number, picture in enumerate(pictures):
        if folder:
            pathlib.Path(folder, f"{path.stem}-{number}.png").write_bytes(base64.b64decode(picture))
    print(path.name[0], len(pictures))
"#;

#[test]
fn notebooks_run_to_completion_on_a_new_result() {
    needs!(Python);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scratch = Scratch::new();
    let (sweep, result) = (root.join("sweeps/notebooks.toml"), scratch.join("result"));
    let run = ["run", "--no-report", "--out", result.to_str().expect("a path"), sweep.to_str().expect("a path")];
    let ran = apexmap(&run);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let output = Command::new(needs::python())
        .args(["-c", EXECUTE])
        .args(notebooks())
        .env("APEXMAP", env!("CARGO_BIN_EXE_apexmap"))
        .env("APEXMAP_RESULT", &result)
        // The users' configuration of Jupyter and matplotlib has no effect and is not changed.
        .env("IPYTHONDIR", scratch.join("ipython"))
        .env("JUPYTER_CONFIG_DIR", scratch.join("jupyter"))
        .env("MPLCONFIGDIR", scratch.join("matplotlib"))
        .output()
        .expect("Python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1 3\n2 1\n3 2\n");
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
