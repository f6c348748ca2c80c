//! The input of a report, read once.

use crate::html::{Drawing, Picture, if_drawable};
use apexmap_base::error::Result;
use apexmap_base::provenance::PlainNode;
use apexmap_base::sample::Launch;
use apexmap_measure::kernels::Kernel;
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::samples::Samples;
use apexmap_results::samples::groups::SampleGroup;
use apexmap_results::samples::health::Health;
use apexmap_results::table::bound_columns;
use apexmap_study::answers::Answers;
use apexmap_theory::bounds::{Limits, Terms};
use apexmap_theory::codes::{self, Code};
use apexmap_theory::machine::Card;
use std::cell::RefCell;
use std::collections::HashMap;

pub struct Input<'a> {
    pub folder: &'a Folder,
    pub manifest: &'a Manifest,
    pub samples: &'a Samples,
    pub kernels: Vec<(&'static Kernel, Samples)>,
    /// Good samples that a table or figure may show together.
    pub groups: Vec<SampleGroup>,
    pub launches: HashMap<&'a str, &'a Launch>,
    pub answers: Answers,
    pub node: PlainNode,
    pub health: Health,
    pub card: Option<Card>,
    pub codes: Vec<Code>,
    /// Keys of points; empty without a card.
    pub terms: HashMap<String, Terms>,
    pub undrawn: RefCell<Vec<String>>,
}

impl<'a> Input<'a> {
    pub fn read(folder: &'a Folder, manifest: &'a Manifest, samples: &'a Samples) -> Result<Self> {
        let card = folder.card()?;
        let launches: HashMap<&str, &Launch> =
            manifest.launches.iter().map(|end| (end.launch.launch.as_str(), &end.launch)).collect();
        let terms = card.as_ref().map(|card| terms(samples, &launches, &Limits::from_card(card))).unwrap_or_default();
        let mut groups = samples.groups()?;
        // Surfaces first: groups with one value of an axis are for comparison with them.
        groups.sort_by_key(|group| !group.is_surface());
        let health = Health::from_samples(samples);
        let undrawn: RefCell<Vec<String>> = RefCell::default();
        let codes = folder.codes().unwrap_or_else(|error| {
            undrawn.borrow_mut().push(format!("The codes of codes.toml are not drawn: {error}."));
            codes::list_known()
        });
        let node = manifest.plain_node();
        let answers = Answers::new(samples, card.as_ref(), &node, manifest.first_host())?;
        let kernels = samples.kernels();
        Ok(Self {
            folder,
            manifest,
            samples,
            kernels,
            groups,
            launches,
            answers,
            node,
            health,
            card,
            codes,
            terms,
            undrawn,
        })
    }

    pub fn launch_of(&self, samples: &Samples) -> Option<&'a Launch> {
        self.launches.get(samples.first_word("launch")).copied()
    }

    pub fn if_drawable<T>(&self, title: &str, drawn: Result<T>) -> Result<Option<T>> {
        if_drawable(drawn, title, &mut self.undrawn.borrow_mut())
    }

    pub fn draw(&self, drawing: Drawing) -> Result<Option<Picture>> {
        drawing.draw(&self.folder.figures(), &mut self.undrawn.borrow_mut())
    }
}

/// Uses the first sample of each point and the placement of its launch.
fn terms(samples: &Samples, launches: &HashMap<&str, &Launch>, limits: &Limits) -> HashMap<String, Terms> {
    let terms_of_point = |point: Samples| {
        let launch = launches.get(point.first_word("launch"))?;
        let terms = bound_columns::terms_at(point.table(), point.rows()[0], launch, limits).unwrap_or_default();
        Some((point.first_word("key").to_owned(), terms))
    };
    samples.group_by(&["key"]).into_iter().filter_map(terms_of_point).collect()
}
