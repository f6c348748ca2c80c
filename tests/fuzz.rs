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

/// A generator of random numbers, so that a case can be repeated: xorshift64*.
struct Random(u64);

impl Random {
    /// Returns a number below `end`.
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % end.max(1)
    }
}

/// Changes a seed in a few places: bytes, numbers, parts of it twice, parts of other seeds, and words of the formats.
fn change(seed: &[u8], seeds: &[Vec<u8>], words: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    const NUMBERS: [&str; 8] =
        ["18446744073709551615", "1e308", "-1", "nan", "0", "9223372036854775808", "4294967296", "1e-320"];
    let mut data = seed.to_vec();
    for _ in 0..=random.below(4) {
        let from = random.below(data.len() + 1);
        let to = (from + random.below(16)).min(data.len());
        let insert = match random.below(7) {
            0 => vec![random.below(256) as u8],
            1 => Vec::new(),
            2 => NUMBERS[random.below(NUMBERS.len())].into(),
            3 => words[random.below(words.len())].clone(),
            4 => data[from..to].repeat(1 + random.below(64)),
            5 => {
                let other = &seeds[random.below(seeds.len())];
                let start = random.below(other.len());
                other[start..(start + random.below(200)).min(other.len())].to_vec()
            }
            _ => data.get(from).map(|byte| byte ^ (1 << random.below(8))).into_iter().collect(),
        };
        data.splice(from..to, insert);
    }
    data
}

/// `APEXMAP_FUZZ_CASES` sets the number of cases of each target, and `APEXMAP_FUZZ_TARGETS` the targets. Overflows panic in this build.
#[test]
fn changed_seeds_are_accepted_or_refused() {
    let cases = std::env::var("APEXMAP_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let chosen = std::env::var("APEXMAP_FUZZ_TARGETS").unwrap_or_default();
    let words = std::fs::read_to_string(root().join("fuzz/words.dict")).expect("a file");
    let words: Vec<Vec<u8>> = words.split('"').skip(1).step_by(2).map(|word| word.as_bytes().to_vec()).collect();
    for (name, target) in
        TARGETS.iter().filter(|(name, _)| chosen.is_empty() || chosen.split(',').any(|word| word == *name))
    {
        let seeds = files(&root().join("fuzz/seeds").join(name));
        let seeds: Vec<Vec<u8>> = seeds.into_iter().map(|seed| std::fs::read(seed).expect("a file")).collect();
        for case in 0..cases {
            let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ (case + 1));
            let data = change(&seeds[case as usize % seeds.len()], &seeds, &words, &mut random);
            let result = std::panic::catch_unwind(|| target(&data));
            assert!(result.is_ok(), "case {case} of {name}: {:?}", String::from_utf8_lossy(&data));
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
