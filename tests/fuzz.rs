//! Runs every case that fuzzing found, and the seeds for more: `fuzz/`.

#[path = "../fuzz/src/lib.rs"]
pub mod targets;

use std::path::{Path, PathBuf};
use targets::TARGETS;

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file()).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn every_seed_is_accepted_or_refused_as_expected() {
    for (name, target) in TARGETS {
        let seeds = files(&root().join("fuzz/seeds").join(name));
        assert!(!seeds.is_empty(), "{name} has no seeds");
        for seed in seeds {
            let data = std::fs::read(&seed).expect("a file");
            let result = std::panic::catch_unwind(|| target(&data));
            assert!(result.is_ok(), "{} of {name}", seed.display());
        }
    }
}

#[test]
fn every_ready_sweep_and_card_is_also_a_seed() {
    for (folder, target) in [("sweeps", "sweep"), ("models", "card")] {
        let (_, target) = TARGETS.iter().find(|(name, _)| *name == target).expect("a target");
        let texts = files(&root().join(folder)).into_iter().filter(|path| path.extension() == Some("toml".as_ref()));
        texts.for_each(|path| target(&std::fs::read(path).expect("a file")));
    }
}

#[test]
fn every_target_has_a_fuzz_program() {
    let programs = std::fs::read_to_string(root().join("fuzz/Cargo.toml")).expect("a file");
    for (name, _) in TARGETS {
        assert!(programs.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
        let program = root().join(format!("fuzz/fuzz_targets/{name}.rs"));
        let text = std::fs::read_to_string(&program).expect("a file");
        assert!(text.contains(&format!("apexmap_fuzz::{name}(data)")), "{}", program.display());
    }
}
