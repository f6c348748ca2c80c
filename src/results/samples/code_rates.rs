//! Rates of codes on the maps of a result. A place holds at its size: a site is read from a map of its kind, size and pages, or has no rate.
//!
//! | kinds | map | size |
//! |---|---|---|
//! | sweep, strided | `calibrate.stride`, at the same number of lines | memory between two visits of a line |
//! | sweep, without such a map | Apex-Map at long blocks | memory of the site |
//! | local, random | Apex-Map | memory of the site |
//! | chain, pointer | `apex_map.chains` with one chain | memory of the site |

use crate::samples::cells::{Cell, single_points};
use crate::samples::groups::SampleGroup;
use crate::samples::{Samples, ascending};
use crate::table::columns::{ALPHA, BLOCK};
use apexmap_base::error::Result;
use apexmap_base::units::{Unit, WORD_BYTES, is_informative, quantity, quantity_with_interval};
use apexmap_theory::codes::{Accesses, Code};
use apexmap_theory::places::{
    CodeSite, Kind, NoRate, interpolate, lines_of_words, position, sizes_around, words_of_line,
};
use std::collections::BTreeMap;

const MEMORY: &str = "memory_words";
const STRIDE: &str = "stride_words";
const REGION: &str = "region_bytes";
/// Multiples of this number of words reach few sets of a cache: costs of programs whose lines displace each other.
pub const DISPLACING_STRIDE: f64 = 2048.0;
/// Memory up to which the size of pages changes little: second-level TLBs hold 512 base pages or more.
const ANY_PAGES_BYTES: f64 = (2 << 20) as f64;
/// Words of a stride below which the size of pages changes little: a base page has at least 8 such reads.
const ANY_PAGES_STRIDE: f64 = 64.0;
/// The largest ratio of two rates that count as one.
const SAME_RATE: f64 = 1.5;
/// Visits have one distance if 90 % come back after at most this factor times the median. Those of uniform addresses have 1.95.
const ONE_DISTANCE: f64 = 2.0;
/// Share of the time above which sites with a bound make the sum a bound. Scalar sums (`benches/sites.c`) take up to 3.4
/// times as long as the map in a last cache.
const BOUND_SHARE: f64 = 0.25;

/// Returns the bytes of memory per rank of the samples of maps; `None` if they differ or are unknown.
pub fn bytes_per_rank(samples: &Samples) -> Option<f64> {
    let size = |&row: &usize| {
        let number = |name: &str| samples.table().number(name, row);
        number(MEMORY) * WORD_BYTES as f64 / number("ranks")
    };
    let mut sizes = samples.rows().iter().map(size).filter(|size| size.is_finite());
    let first = sizes.next()?;
    sizes.all(|size| size == first).then_some(first)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Independent,
    Dependent,
    Strided,
}

/// A map over alpha and L at one size, or over strides and sizes.
struct Map {
    role: Role,
    /// Without its size: in its plain name too.
    group: SampleGroup,
    ranks: f64,
    pages: String,
    /// Per rank; `None` if unknown, and for strides.
    bytes: Option<f64>,
    axes: [Vec<f64>; 2],
    /// Per rank, the second axis first to last for each value of the first.
    values: Vec<Ends>,
}

impl Map {
    fn new(role: Role, group: &SampleGroup) -> Result<Self> {
        let names = if role == Role::Strided { [STRIDE, REGION] } else { [ALPHA, BLOCK] };
        let mut cells = group.samples.cells(&names)?;
        // Points that differ in another parameter have no common rate.
        cells.retain(|cell| single_points([cell], &names).is_ok());
        // Lines of such strides displace each other.
        let displaces = |cell: &Cell| cell.by[0].as_f64().is_some_and(|stride| stride % DISPLACING_STRIDE == 0.0);
        cells.retain(|cell| role != Role::Strided || !displaces(cell));
        let ranks = group.samples.first_value("ranks").and_then(|value| value.as_f64()).unwrap_or(1.0);
        let per_rank = if group.headline.ends_with("_per_rank") { 1.0 } else { ranks };
        let axes = [0, 1].map(|axis: usize| ascending(cells.iter().filter_map(|cell| cell.by[axis].as_f64())));
        let mut values = vec![[f64::NAN; 3]; axes[0].len() * axes[1].len()];
        for cell in &cells {
            let index = |axis: usize| {
                let place = cell.by[axis].as_f64()?;
                axes[axis].iter().position(|value| *value == place)
            };
            if let (Some(i), Some(j), Some(summary)) = (index(0), index(1), cell.summary(group.headline)) {
                let (low, high) = summary.interval.unwrap_or((f64::NAN, f64::NAN));
                values[i * axes[1].len() + j] = [summary.median, low, high].map(|end| end / per_rank);
            }
        }
        let key = group.key.iter().filter(|(column, _)| column != MEMORY).cloned().collect();
        Ok(Self {
            role,
            ranks,
            pages: group.samples.first_word("pages").to_owned(),
            bytes: if role == Role::Strided { None } else { bytes_per_rank(&group.samples) },
            group: SampleGroup { key, ..group.clone() },
            axes,
            values,
        })
    }

    fn read(&self, place: [f64; 2]) -> Result<Ends, NoRate> {
        let [xs, ys] = &self.axes;
        let end = |end: usize| interpolate([xs, ys], |i, j| self.values[i * ys.len() + j][end], place);
        let [low, high] = [1, 2].map(|side| end(side).unwrap_or(f64::NAN));
        Ok([end(0)?, low, high])
    }

    fn is_like(&self, other: &Self) -> bool {
        let key =
            |map: &Self| map.group.key.iter().filter(|(column, _)| column != "pages").cloned().collect::<Vec<_>>();
        self.group.node_type == other.group.node_type
            && self.ranks == other.ranks
            && (self.role != other.role || key(self) == key(other))
    }
}

pub struct CodeRates {
    maps: Vec<Map>,
}

#[derive(Clone, Copy)]
pub struct RateColumn<'a>(&'a Map);

impl<'a> RateColumn<'a> {
    pub fn group(&self) -> &'a SampleGroup {
        &self.0.group
    }

    pub fn ranks(&self) -> f64 {
        self.0.ranks
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct CodeRate {
    /// An upper bound if parts are missing, too; `None` if all are.
    pub rate: Option<Rate>,
    /// Kinds without a rate, their share of the accesses, and why.
    pub missing: Vec<(Kind, f64, NoRate)>,
}

impl CodeRates {
    pub fn new(samples: &Samples) -> Result<Self> {
        let mut maps = Vec::new();
        for group in samples.groups()? {
            if group.samples.first_word("kernel") == "calibrate.stride" {
                for cell in group.samples.cells_with(&["ranks", "pages"], Some("".into()))? {
                    maps.push(Map::new(Role::Strided, &SampleGroup { samples: cell.samples, ..group.clone() })?);
                }
                continue;
            }
            let role = match group.samples.chains() {
                None => Role::Independent,
                Some(1.0) => Role::Dependent,
                Some(_) => continue,
            };
            if !group.alphas.is_empty() && group.blocks.len() > 1 {
                maps.push(Map::new(role, &group)?);
            }
        }
        Ok(Self { maps })
    }

    /// Returns the columns of a table: those of maps of independent accesses, or else of dependent ones.
    pub fn columns(&self) -> Vec<RateColumn<'_>> {
        let of_role = |role: Role| self.maps.iter().filter(move |map| map.role == role);
        let mut columns: Vec<RateColumn> = Vec::new();
        let independent = of_role(Role::Independent).filter(|map| map.group.is_surface());
        for map in independent {
            if !columns.iter().any(|column| column.0.is_like(map) && column.0.pages == map.pages) {
                columns.push(RateColumn(map));
            }
        }
        if columns.is_empty() { of_role(Role::Dependent).take(1).map(RateColumn).collect() } else { columns }
    }

    /// Returns the rate of a code per rank: the sum of the times of its sites, or the rate at its place.
    pub fn code(&self, column: RateColumn, code: &Code) -> CodeRate {
        let parts = if code.sites.is_empty() {
            vec![(1.0, code.as_site().kind, self.place(column, code))]
        } else {
            code.sites.iter().map(|site| (site.share, site.kind, self.site(column, site))).collect()
        };
        let total: f64 = parts.iter().map(|(share, ..)| share).sum();
        let (mut times, mut bound_time, mut read_at, mut missing) = ([0.0; 3], 0.0, None, BTreeMap::new());
        for (share, kind, rate) in parts {
            match rate {
                Ok(rate) => {
                    let (low, high) = rate.interval.unwrap_or((f64::NAN, f64::NAN));
                    times.iter_mut().zip([rate.value, high, low]).for_each(|(time, rate)| *time += share / rate);
                    bound_time += if rate.is_bound { share / rate.value } else { 0.0 };
                    read_at = read_at.or(rate.read_at);
                }
                Err(reason) => missing.entry(kind).or_insert((0.0, reason)).0 += share / total,
            }
        }
        let [value, high, low] = times.map(|time: f64| total / time);
        let interval = (low.is_finite() && high.is_finite()).then_some((low, high));
        let is_bound = !missing.is_empty() || bound_time > BOUND_SHARE * times[0];
        let missing = missing.into_iter().map(|(kind, (share, reason))| (kind, share, reason)).collect();
        CodeRate { rate: value.is_finite().then_some(Rate { value, interval, read_at, is_bound }), missing }
    }

    pub fn site(&self, column: RateColumn, site: &CodeSite) -> Result<Rate, NoRate> {
        let role = match site.kind {
            Kind::Sweep | Kind::Strided => {
                return match (self.of(column, Role::Strided).next(), site.kind) {
                    (None, Kind::Strided) => Err(NoRate::NoMap(site.kind)),
                    (None, _) => self.surface(column, Role::Independent, site, |_| Some(site.bytes)),
                    (Some(_), _) => self.strides_by_reuse(column, site),
                };
            }
            Kind::Chain | Kind::Pointer => Role::Dependent,
            Kind::Local | Kind::Random => Role::Independent,
        };
        self.surface(column, role, site, |_| Some(site.bytes))
    }

    fn place(&self, column: RateColumn, code: &Code) -> Result<Rate, NoRate> {
        let role = match code.accesses {
            Accesses::Independent | Accesses::Updates => Role::Independent,
            Accesses::Dependent => Role::Dependent,
            Accesses::Mixed => return Err(NoRate::Mixed),
        };
        let rate = self.surface(column, role, &code.as_site(), |sizes| Some(code.size_on(sizes, code.bytes?)))?;
        Ok(Rate { is_bound: code.accesses == Accesses::Updates, ..rate })
    }

    fn of(&self, column: RateColumn<'_>, role: Role) -> impl Iterator<Item = &Map> {
        self.maps.iter().filter(move |map| map.role == role && map.is_like(column.0))
    }

    /// Reads the maps over alpha and L. `size_on` returns the size to read from the measured ones, or `None` if it is not given.
    fn surface(
        &self,
        column: RateColumn,
        role: Role,
        site: &CodeSite,
        size_on: impl Fn(&[f64]) -> Option<f64>,
    ) -> Result<Rate, NoRate> {
        let mut maps: Vec<&Map> = self.of(column, role).collect();
        let own = |map: &Map| map.pages == column.0.pages;
        maps.retain(|map| own(map) || map.bytes.is_some_and(|size| size <= ANY_PAGES_BYTES));
        // Its own pages come first, and count where both were measured.
        maps.sort_by(|a, b| a.bytes.unwrap_or(0.0).total_cmp(&b.bytes.unwrap_or(0.0)).then(own(b).cmp(&own(a))));
        maps.dedup_by(|b, a| a.bytes == b.bytes && a.bytes.is_some());
        // Lines that come back after one distance are those of uniform addresses in memory of this size.
        let one_distance = site.reused.filter(|[half, most]| *most <= ONE_DISTANCE * half);
        let sizes: Vec<f64> = maps.iter().filter_map(|map| map.bytes).collect();
        let (alpha, size) = match (site.alpha, one_distance) {
            (Some(alpha), _) => (alpha, size_on(&sizes)),
            (None, Some([_, most])) => (1.0, Some(most)),
            (None, None) => return Err(NoRate::NoPlace),
        };
        let (mut rates, mut reason) = (Vec::new(), NoRate::NoMap(site.kind));
        for map in maps {
            match (map.read([alpha, site.block_words]), map.bytes) {
                (Ok(ends), Some(bytes)) => rates.push((bytes, ends)),
                (Ok(ends), None) if size.is_none() => rates.push((f64::NAN, ends)),
                (Ok(_), None) => reason = NoRate::UnknownSize,
                (Err(refused), _) => reason = refused,
            }
        }
        match (size, &rates[..]) {
            (_, []) => Err(reason),
            (Some(size), _) => at_size(&rates, size),
            (None, [(size, ends)]) => Ok(rate(*ends, Some(*size).filter(|size| size.is_finite()))),
            (None, _) => Err(NoRate::SizeMissing),
        }
    }

    /// Reads the map of strides at the memory between two visits. Most visits must have one rate.
    fn strides_by_reuse(&self, column: RateColumn, site: &CodeSite) -> Result<Rate, NoRate> {
        let ends = site.reused.unwrap_or([site.bytes; 2]);
        let [half, most] = ends.map(|size| self.strides(column, site.stride, size));
        let (half, most) = (half?, most?);
        if half.value > SAME_RATE * most.value {
            return Err(NoRate::Reuse(ends));
        }
        let largest = |map: &Map| map.along(site.stride).last().map(|(_, [rate, ..])| rate);
        let slowest = self.of(column, Role::Strided).filter_map(largest).fold(f64::INFINITY, f64::min);
        let is_bound = site.kind == Kind::Sweep && half.value > SAME_RATE * slowest;
        // The map reads one word of each line, a walk may read several.
        let words = if site.kind == Kind::Strided { words_of_line(site.block_words) } else { 1.0 };
        Ok(Rate { is_bound, ..half.times(words) })
    }

    /// Reads the map of strides where the lines of a pass fill `bytes`.
    fn strides(&self, column: RateColumn, stride: f64, bytes: f64) -> Result<Rate, NoRate> {
        let maps: Vec<&Map> = self.of(column, Role::Strided).collect();
        let is_own = |map: &Map| map.pages == column.0.pages || stride < ANY_PAGES_STRIDE;
        let strides = ascending(maps.iter().flat_map(|map| &map.axes[0]).copied());
        let (index, share) = position(&strides, stride).ok_or(NoRate::Outside)?;
        let mut sum = [0.0; 3];
        let mut read_at = None;
        for (stride, weight) in [(strides[index], 1.0 - share), (strides.get(index + 1).copied().unwrap_or(0.0), share)]
        {
            if weight > 0.0 {
                let lines_per_read = lines_of_words(stride);
                let mut rates: Vec<(f64, Ends)> = Vec::new();
                for map in &maps {
                    let limit = if is_own(map) { f64::INFINITY } else { ANY_PAGES_BYTES };
                    rates.extend(map.along(stride).filter(|(size, _)| *size <= limit));
                }
                rates.sort_by(|a, b| a.0.total_cmp(&b.0));
                rates.dedup_by(|b, a| a.0 == b.0);
                let rate = at_size(&rates, bytes * lines_per_read).map_err(|_| NoRate::Size(bytes))?;
                let (low, high) = rate.interval.unwrap_or((f64::NAN, f64::NAN));
                sum.iter_mut().zip([rate.value, low, high]).for_each(|(sum, end)| *sum += weight * end.ln());
                read_at = read_at.or(rate.read_at.map(|size| size / lines_per_read));
            }
        }
        Ok(rate(sum.map(f64::exp), read_at))
    }
}

impl Map {
    /// Returns the sizes that were measured at a value of the first axis, with their rates.
    fn along(&self, x: f64) -> impl Iterator<Item = (f64, Ends)> {
        let [xs, ys] = &self.axes;
        let row = xs.iter().position(|value| *value == x);
        let values = row.map_or(&[][..], |row| &self.values[row * ys.len()..(row + 1) * ys.len()]);
        ys.iter().copied().zip(values.iter().copied()).filter(|(_, ends)| ends[0].is_finite())
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    pub value: f64,
    /// 95 %, if all points around the place have one.
    pub interval: Option<(f64, f64)>,
    /// The measured size in bytes that stands for another one.
    pub read_at: Option<f64>,
    /// Whether it is an upper bound: a sweep through caches is as fast as its instructions, and the map has the fastest ones.
    pub is_bound: bool,
}

impl Rate {
    #[must_use]
    pub fn times(self, ranks: f64) -> Self {
        let interval = self.interval.map(|(low, high)| (low * ranks, high * ranks));
        Self { value: self.value * ranks, interval, ..self }
    }

    pub fn words(&self) -> String {
        let unit = Unit::BytesPerSecond;
        let ends = self.interval.filter(|ends| is_informative(*ends));
        let words =
            ends.map_or_else(|| quantity(self.value, unit), |ends| quantity_with_interval(self.value, ends, unit));
        if self.is_bound { format!("< {words}") } else { words }
    }
}

/// Median, low and high end of a point or a place; NaN where unknown.
pub type Ends = [f64; 3];

/// Returns the rate at a size from those at ascending sizes, between which logarithms are interpolated.
pub fn at_size(rates: &[(f64, Ends)], size: f64) -> Result<Rate, NoRate> {
    let sizes: Vec<f64> = rates.iter().map(|(size, _)| *size).collect();
    let around = sizes_around(&sizes, size).ok_or(NoRate::Size(size))?;
    let end = |end: usize| around.iter().map(|(index, weight)| weight * rates[*index].1[end].ln()).sum::<f64>().exp();
    let alone = Some(sizes[around[0].0]).filter(|measured| around.len() == 1 && *measured != size);
    Ok(rate([0, 1, 2].map(end), alone))
}

pub fn rate([value, low, high]: Ends, read_at: Option<f64>) -> Rate {
    Rate { value, interval: (low.is_finite() && high.is_finite()).then_some((low, high)), read_at, is_bound: false }
}
