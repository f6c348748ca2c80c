//! Recipes for other package managers: their syntax, and that they name this version.

use crate::needs::python;
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn recipe(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(recipe(name)).expect("a recipe")
}

#[test]
fn recipes_in_python_can_be_parsed() {
    needs!(Python);
    for name in ["spack/package.py", &format!("easybuild/apexmap-{VERSION}-foss-2025b.eb")] {
        let parse = "import ast, sys; ast.parse(open(sys.argv[1]).read())";
        let output = Command::new(python()).args(["-c", parse]).arg(recipe(name)).output().expect("Python");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_definition_for_apptainer_has_its_sections_in_order() {
    let text = read("apptainer/apexmap.def");
    let sections: Vec<&str> = text.lines().filter(|line| line.starts_with('%')).collect();
    assert_eq!(sections, ["%files", "%post", "%runscript", "%help"]);
    let header: Vec<&str> =
        text.lines().take_while(|line| !line.starts_with('%')).filter(|l| l.contains(": ")).collect();
    assert!(header.contains(&"Bootstrap: docker"), "{header:?}");
    // What %post runs is a script of a shell.
    let post: String = text
        .lines()
        .skip_while(|line| *line != "%post")
        .skip(1)
        .take_while(|l| !l.starts_with('%'))
        .collect::<Vec<_>>()
        .join("\n");
    let output = Command::new("sh").args(["-n", "-c", &post]).output().expect("a shell");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn recipes_name_this_version_and_build_without_a_network() {
    for name in ["spack/package.py", "apptainer/apexmap.def", &format!("easybuild/apexmap-{VERSION}-foss-2025b.eb")] {
        let text = read(name);
        assert!(text.contains(VERSION), "{name} is of another version");
        let builds = text.matches("--no-default-features").count();
        assert!(builds == 1 && text.matches("--offline").count() == 2, "{name}");
    }
}
