//! Rates of codes with sites: the times of their sites, each read from the measured map of its kind, add up.

use apexmap_base::error::Result;
use apexmap_base::units::{Unit, quantity};
use apexmap_results::samples::Samples;
use apexmap_results::samples::groups::SampleGroup;
use apexmap_results::table::columns::{ALPHA, BLOCK};
use apexmap_theory::codes::{self, Code, CodeSite, Kind, Reading};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A map over two columns.
pub struct CodeMap {
    axes: [Vec<f64>; 2],
    /// Medians of the headline, the second axis first to last for each value of the first.
    values: Vec<f64>,
}

impl CodeMap {
    pub fn new(group: &SampleGroup, columns: [&str; 2]) -> Result<Self> {
        let cube = group.samples.cube(columns, group.headline)?;
        let axes = [0, 1].map(|axis| cube.axes[axis].values.clone());
        Ok(Self { axes, values: cube.values.iter().copied().collect() })
    }

    pub fn read(&self, place: [f64; 2]) -> Reading {
        let [xs, ys] = &self.axes;
        codes::interpolate([xs, ys], |i, j| self.values[i * ys.len() + j], place)
    }
}

/// Returns a reading for people.
pub fn reading_words(reading: Reading, unit: Unit) -> String {
    match reading {
        Reading::Value(rate) => quantity(rate, unit),
        Reading::Outside => "outside the map".into(),
        Reading::Gap => "not measured".into(),
    }
}

/// The maps of a result from which sites are read, with their numbers of ranks.
pub struct SiteSums {
    /// `calibrate.stride` over stride and size.
    strides: Vec<(f64, CodeMap)>,
    /// `apex_map.chains` with one chain, over alpha and L.
    chains: Vec<(f64, CodeMap)>,
    /// Maps of independent accesses over alpha and L, by the label of their group.
    surfaces: Vec<(String, CodeMap)>,
}

impl SiteSums {
    pub fn new(samples: &Samples) -> Result<Self> {
        let mut sums = Self { strides: Vec::new(), chains: Vec::new(), surfaces: Vec::new() };
        for group in samples.groups()? {
            let ranks = ranks(&group);
            if group.samples.first_word("kernel") == "calibrate.stride" {
                sums.strides.push((ranks, CodeMap::new(&group, ["stride_words", "region_bytes"])?));
            } else if group.samples.chains() == Some(1.0) {
                sums.chains.push((ranks, CodeMap::new(&group, [ALPHA, BLOCK])?));
            } else if group.is_surface() {
                sums.surfaces.push((group.label(), CodeMap::new(&group, [ALPHA, BLOCK])?));
            }
        }
        Ok(sums)
    }

    /// Returns the rate of a code on the ranks of a group: an upper bound if kinds of its sites have no map, a dash if none has one, and
    /// words if a site is outside of its map.
    pub fn cell(&self, code: &Code, group: &SampleGroup, unit: Unit, notes: &mut SiteNotes) -> String {
        let (mut time, mut missing) = (0.0, BTreeMap::new());
        for site in &code.sites {
            match self.read(site, group) {
                Some((map, Reading::Value(rate))) => {
                    time += site.share / rate;
                    notes.maps.entry(map).or_default().insert(site.kind);
                }
                Some((_, other)) => return reading_words(other, unit),
                None => *missing.entry(site.kind).or_insert(0.0) += site.share,
            }
        }
        let total: f64 = code.sites.iter().map(|site| site.share).sum();
        let part = |(kind, share): (&Kind, &f64)| format!("{kind} ({:.0} % of {})", 100.0 * share / total, code.name);
        notes.missing.extend(missing.iter().map(part));
        match quantity(total / time, unit) {
            _ if time == 0.0 => "\u{2013}".into(),
            rate if missing.is_empty() => rate,
            rate => format!("< {rate}"),
        }
    }

    /// Returns a map and the rate in bytes per second of all ranks that it has at the place of a site.
    fn read(&self, site: &CodeSite, group: &SampleGroup) -> Option<(&'static str, Reading)> {
        let ranks = ranks(group);
        let of_ranks = |maps: &'_ [(f64, CodeMap)]| maps.iter().position(|(count, _)| *count == ranks);
        let at_place = |map: &CodeMap| map.read([site.alpha, site.block_words]);
        let on_surface = || {
            let (_, map) = self.surfaces.iter().find(|(label, _)| *label == group.label())?;
            Some(("Apex-Map", at_place(map)))
        };
        match (site.kind, of_ranks(&self.strides)) {
            (Kind::Sweep | Kind::Strided, Some(index)) => {
                let (ranks, map) = &self.strides[index];
                // The headline of calibrate.stride is a rate per rank.
                let ranks = if group.headline.ends_with("_per_rank") { 1.0 } else { *ranks };
                let reading = match map.read([site.stride, site.bytes]) {
                    Reading::Value(rate) => Reading::Value(rate * ranks),
                    other => other,
                };
                Some(("calibrate.stride", reading))
            }
            (Kind::Strided, None) => None,
            (Kind::Chain | Kind::Pointer, _) => {
                let (_, map) = &self.chains[of_ranks(&self.chains)?];
                Some(("apex_map.chains", at_place(map)))
            }
            // Long blocks of Apex-Map are sweeps.
            (Kind::Sweep | Kind::Local | Kind::Random, _) => on_surface(),
        }
    }
}

/// The maps that sites were read from, and sites on none.
#[derive(Default)]
pub struct SiteNotes {
    maps: BTreeMap<&'static str, BTreeSet<Kind>>,
    missing: BTreeSet<String>,
}

impl fmt::Display for SiteNotes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let join = |kinds: &BTreeSet<Kind>| kinds.iter().map(Kind::to_string).collect::<Vec<_>>().join(", ");
        let maps: Vec<String> = self.maps.iter().map(|(map, kinds)| format!("{map} ({})", join(kinds))).collect();
        if !maps.is_empty() {
            writeln!(f, "Rates add up the times of sites, from the maps of {}.", maps.join(", "))?;
        }
        if !self.missing.is_empty() {
            let missing = self.missing.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            writeln!(
                f,
                "No measured map for: {missing}. Without them, < is an upper bound. All maps: apexmap run codes"
            )?;
        }
        Ok(())
    }
}

fn ranks(group: &SampleGroup) -> f64 {
    group.samples.first_value("ranks").and_then(|value| value.as_f64()).unwrap_or(1.0)
}
