//! Simulates machines that follow Apex-Map's model except for noise: their cards, samples and result folders.

use crate::common::{Scratch, launch, manifest, sample};
use apexmap_base::point::{Point, Value};
use apexmap_base::sample::Event;
use apexmap_measure::kernels;
use apexmap_pages::compare::machine::Machine;
use apexmap_results::disk::Folder;
use apexmap_results::disk::journal::Journal;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::table::TableBuilder;
use apexmap_theory::machine::Card;
use apexmap_theory::models::Model;
use apexmap_theory::models::apex_map::Surface;
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;
use std::path::PathBuf;

/// Numbers of a machine, in the order of the surface model's parameters.
pub const NUMBERS: [f64; 30] = [
    32768.0, 524288.0, 3.2e7, 8.0, 1024.0, 0.0, 0.0, // sizes
    0.6e-9, 5e-12, 0.3e-9, 0.8e-9, 2.5e-9, 1.5, 64.0, 15e-9, 150e-9, 24e-9, 50e-9, // memory
    13e-9, 110e-9, 7e-11, 190e-9, 9e-9, 5e-9, 2.4e-11, 20e-9, // remote
    1e12, 1e10, // shared
    0.0, 0.0, // further senders
];

/// Returns the numbers of the same machine with these changes.
pub fn numbers_with(changes: &[(&str, f64)]) -> [f64; 30] {
    let mut numbers = NUMBERS;
    for (name, value) in changes {
        let index = Surface.about().parameters.iter().position(|parameter| parameter.number == *name);
        numbers[index.expect("a number of the model")] = *value;
    }
    numbers
}

pub fn card(name: &str, numbers: &[f64]) -> Card {
    let mut card = Card::new(name, "made up", "nowhere");
    for (parameter, value) in Surface.about().parameters.iter().zip(numbers) {
        card.set_base(parameter.number, *value, "made up").expect("a number of cards");
    }
    card
}

/// The measured points of a surface.
#[derive(Clone, Copy)]
pub struct Plan {
    pub kernel: &'static str,
    pub ranks: &'static [usize],
    /// Words per rank.
    pub words: &'static [u64],
    pub base_pages: bool,
    pub access: &'static str,
    /// Standard deviation of the logarithm of a launch's speeds at a point.
    pub noise: f64,
}

pub const ONE_RANK: Plan = Plan {
    kernel: "apex_map.sequential",
    ranks: &[1],
    words: &[1 << 20, 1 << 26],
    base_pages: true,
    access: "read",
    noise: 0.0,
};
pub const TWO_RANKS: Plan = Plan { kernel: "apex_map.two_sided", ranks: &[2], words: &[1 << 14], ..ONE_RANK };

const ALPHAS: [f64; 5] = [0.001, 0.01, 0.1, 0.316, 1.0];
const BLOCKS: [u64; 5] = [1, 16, 64, 512, 4096];

/// Returns every point with its variables of the model.
pub fn points(plan: Plan) -> Vec<(usize, u64, f64, u64, Vec<f64>)> {
    let page = if plan.base_pages { 4096.0 } else { 2097152.0 };
    let mut points = Vec::new();
    for &ranks in plan.ranks {
        for words in plan.words.iter().map(|words| words * ranks as u64) {
            for alpha in ALPHAS {
                for block in BLOCKS.into_iter().filter(|block| 4 * block * ranks as u64 <= words) {
                    let x = vec![alpha, block as f64, words as f64, ranks as f64, page, ranks as f64, 0.0, 0.0];
                    points.push((ranks, words, alpha, block, x));
                }
            }
        }
    }
    points
}

/// Simulates a result of a machine that follows the model except for noise.
pub fn machine(name: &str, plan: Plan, numbers: &[f64]) -> Machine {
    let mut random = Pcg64Mcg::seed_from_u64(name.bytes().map(u64::from).sum());
    let mut rows = TableBuilder::default();
    for launch in 0..3u64 {
        for (ranks, words, alpha, block, x) in points(plan) {
            let z: f64 = StandardNormal.sample(&mut random);
            rows.begin_row();
            let mut set = |name: &str, value: Value| rows.set(name, &value);
            set("kernel", Value::from(plan.kernel));
            set("ranks", Value::Integer(ranks as u64));
            set("alpha", Value::Real(alpha));
            set("block_words", Value::Integer(block));
            set("memory_words", Value::Integer(words));
            set("pages", Value::from(if plan.base_pages { "base" } else { "huge" }));
            set("page_bytes", Value::Integer(x[4] as u64));
            set("access", Value::from(plan.access));
            set("status", Value::from("ok"));
            set("transport", Value::from("threads"));
            set("launch", Value::from(format!("{launch:04}").as_str()));
            set("block", Value::Integer(launch));
            set("build", Value::from("b"));
            let speed = Surface.predict(&x, numbers).value * (plan.noise * z).exp();
            set("bytes_per_second_per_rank", Value::Real(speed));
        }
    }
    let mut machine = Machine::from_samples(name, rows.finish().into(), None).expect("a machine");
    machine.card = Some(card(name, numbers));
    machine
}

/// Creates a result folder of such a machine and its card. With `keep_card_in_folder`, the card is in the folder.
pub fn folder(scratch: &Scratch, name: &str, plan: Plan, numbers: &[f64], keep_card_in_folder: bool) -> PathBuf {
    let folder = Folder::create(&scratch.join(name)).expect("a folder");
    let mut random = Pcg64Mcg::seed_from_u64(name.bytes().map(u64::from).sum());
    let mut sample_count = 0;
    for (number, ranks) in plan.ranks.iter().flat_map(|ranks| [ranks; 3]).enumerate() {
        let launched = format!("{:04}", number + 1);
        let mut journal = Journal::create(&folder.journal(&launched)).expect("a journal");
        journal.append(&Event::Hello(Box::new(launch(&launched, *ranks, "b1")))).expect("a line");
        for (_, words, alpha, block, x) in points(plan).into_iter().filter(|point| point.0 == *ranks) {
            let point = Point::new(plan.kernel, *ranks)
                .with_parameter("M", words)
                .with_parameter("L", block)
                .with_parameter("alpha", alpha);
            let point = point
                .with_parameter("I", 1024u64)
                .with_parameter("pages", if plan.base_pages { "base" } else { "huge" });
            let knows_access = plan.kernel == "apex_map.sequential";
            let point = if knows_access { point.with_parameter("access", plan.access) } else { point };
            let point = kernels::complete(point).expect("a valid point");
            let work = kernels::find(plan.kernel).expect("a kernel").work(&point);
            let z: f64 = StandardNormal.sample(&mut random);
            let rate = Surface.predict(&x, numbers).value * (plan.noise * z).exp();
            let mut sample = sample(&point, &point.label(), 0, work.bytes / *ranks as f64 / rate);
            sample.block = (number % 3) as u32;
            sample.outputs.insert("page_bytes".into(), Value::Integer(x[4] as u64));
            journal.append(&Event::Sample(Box::new(sample))).expect("a line");
            sample_count += 1;
        }
        journal.finish().expect("on disk");
    }
    let manifest =
        Manifest { title: name.into(), machine: name.into(), points: sample_count / 3, blocks: 3, ..manifest() };
    manifest.with_records(&folder.records().expect("journals")).write(&folder).expect("a manifest");
    folder.compact().expect("a table");
    let file =
        if keep_card_in_folder { folder.path.join("machine.toml") } else { scratch.join(format!("{name}.toml")) };
    std::fs::write(&file, card(name, numbers).to_toml()).expect("a card");
    folder.path
}
