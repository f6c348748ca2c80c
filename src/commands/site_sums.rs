//! Rates of codes with sites: the times of their sites, each read from the measured map of its kind, add up.

use apexmap_base::error::Result;
use apexmap_base::units::{Unit, quantity};
use apexmap_results::samples::Samples;
use apexmap_results::samples::groups::SampleGroup;
use apexmap_results::table::columns::{ALPHA, BLOCK};
use apexmap_theory::codes::{self, Code, CodeSite, Kind, Reading};

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

    /// Returns the rate of a code on the ranks of a group, or the kind of a site that no map has.
    pub fn cell(&self, code: &Code, group: &SampleGroup, unit: Unit) -> String {
        let (mut time, mut total) = (0.0, 0.0);
        for site in &code.sites {
            match self.read(site, group) {
                None => return format!("no measured map for this kind: {}", site.kind),
                Some(Reading::Value(rate)) => {
                    time += site.share / rate;
                    total += site.share;
                }
                Some(other) => return format!("{} {}", site.line, reading_words(other, unit)),
            }
        }
        quantity(total / time, unit)
    }

    /// Returns the rate in bytes per second of all ranks at the place of a site.
    fn read(&self, site: &CodeSite, group: &SampleGroup) -> Option<Reading> {
        let ranks = ranks(group);
        let of_ranks = |maps: &'_ [(f64, CodeMap)]| maps.iter().position(|(count, _)| *count == ranks);
        match site.kind {
            Kind::Sweep | Kind::Strided => {
                let (ranks, map) = &self.strides[of_ranks(&self.strides)?];
                // The headline of calibrate.stride is a rate per rank.
                let ranks = if group.headline.ends_with("_per_rank") { 1.0 } else { *ranks };
                Some(match map.read([site.stride, site.bytes]) {
                    Reading::Value(rate) => Reading::Value(rate * ranks),
                    other => other,
                })
            }
            Kind::Chain | Kind::Pointer => {
                let (_, map) = &self.chains[of_ranks(&self.chains)?];
                Some(map.read([site.alpha, site.block_words]))
            }
            Kind::Local | Kind::Random => {
                let (_, map) = self.surfaces.iter().find(|(label, _)| *label == group.label())?;
                Some(map.read([site.alpha, site.block_words]))
            }
        }
    }
}

fn ranks(group: &SampleGroup) -> f64 {
    group.samples.first_value("ranks").and_then(|value| value.as_f64()).unwrap_or(1.0)
}
