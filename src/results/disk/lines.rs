//! Lines of a journal, which threads read in parts. The parsed beginnings of samples, their points and keys, are cached,
//! because a result has many samples per point. Unusual lines are read as an [`Event`].

use crate::disk::record::SampleOutcome;
use apexmap_base::disturbance::Facts;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::{Point, Value};
use apexmap_base::regular_file;
use apexmap_base::sample::{Event, Sample, Status};
use apexmap_measure::kernels::{self, command};
use foldhash::fast::RandomState;
use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::marker::PhantomData;
use std::path::Path;

/// Maximum bytes of a readable line. The first line of a launch of a hundred thousand ranks is shorter.
const MAX_LINE_BYTES: u64 = 64 << 20;

const MIN_PART_BYTES: usize = 1 << 16;

const MAX_CACHED_POINTS: usize = 4096;

/// Text after the point and the key. A quote within a word follows a backslash, so this text is always a name.
const AFTER_POINT: &str = ",\"block\":";

#[derive(Default)]
pub struct Part {
    lines: Vec<u8>,
    too_long: usize,
}

pub fn parts(path: &Path) -> impl Iterator<Item = Result<Part>> {
    let mut file = regular_file::open(path).map(|file| BufReader::with_capacity(1 << 16, file));
    let mut ended = false;
    let mut next = move || -> std::io::Result<Option<Part>> {
        let mut part = Part::default();
        let file = match &mut file {
            Ok(file) => file,
            Err(error) => return Err(std::mem::replace(error, ErrorKind::Other.into())),
        };
        while !ended && part.lines.len() < MIN_PART_BYTES {
            let start = part.lines.len();
            let read = file.take(MAX_LINE_BYTES).read_until(b'\n', &mut part.lines)?;
            if read as u64 == MAX_LINE_BYTES && !part.lines.ends_with(b"\n") {
                file.skip_until(b'\n')?;
                part.lines.truncate(start);
                part.too_long += 1;
            }
            ended = read == 0;
        }
        Ok((!part.lines.is_empty() || part.too_long > 0).then_some(part))
    };
    std::iter::from_fn(move || next().map_err(|e| Error::file("read the journal", path, e)).transpose())
}

/// Identity of a sample: hash of its key, block, repetition, and time.
pub type Identity = (u64, u32, u32, u64);

pub enum Line<K> {
    Sample(K, Identity),
    Other(Event),
    Unreadable,
}

pub trait KeptSample: From<Sample> + Send {
    type Facts: DeserializeOwned + Default;
    type Outputs: DeserializeOwned + Default;

    /// Creates it from a sample's line; `None` if the whole sample must be read.
    fn from_line(head: &SampleHead, rest: SampleRest<Self::Facts, Self::Outputs>) -> Option<Self>;
}

impl KeptSample for Sample {
    type Facts = Facts;
    type Outputs = BTreeMap<String, Value>;

    fn from_line(head: &SampleHead, rest: SampleRest<Facts, Self::Outputs>) -> Option<Self> {
        Some(Sample {
            point: head.point.clone(),
            key: head.key.clone(),
            block: rest.block,
            repetition: rest.repetition,
            status: rest.status,
            message: rest.message,
            unix_seconds: rest.unix_seconds,
            load: rest.load,
            pages_elsewhere: rest.pages_elsewhere,
            disturbance: rest.disturbance,
            seconds: rest.seconds,
            outputs: rest.outputs,
        })
    }
}

impl KeptSample for SampleOutcome {
    type Facts = Discarded<f64>;
    type Outputs = Discarded<Value>;

    fn from_line(head: &SampleHead, rest: SampleRest<Self::Facts, Self::Outputs>) -> Option<Self> {
        let is_printed = head.point.kernel == command::KERNEL.id;
        (rest.status == Status::Ok && !is_printed).then(|| SampleOutcome {
            key: head.key.clone(),
            block: rest.block,
            repetition: rest.repetition,
            status: rest.status,
            repeated_value: rest.seconds,
            unix_seconds: rest.unix_seconds,
            failure: None,
        })
    }
}

pub struct SampleHead {
    point: Point,
    key: String,
    hash: u64,
}

impl SampleHead {
    /// Parses the beginning of a line; `None` if it is not a sample, or not a valid one.
    fn read(head: &str) -> Option<Self> {
        // With a closing brace, the beginning of a line is a complete object.
        let Head { event, kernel, ranks, params, key } = serde_json::from_str(&format!("{head}}}")).ok()?;
        if event != "sample" || ranks == 0 {
            return None;
        }
        let point = complete_point(Point { kernel, ranks, params })?;
        Some(Self { point, hash: hash(&key), key })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    event: String,
    kernel: String,
    ranks: usize,
    params: BTreeMap<String, Value>,
    key: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleRest<F, O> {
    block: u32,
    repetition: u32,
    status: Status,
    #[serde(default)]
    message: String,
    unix_seconds: f64,
    load: Option<f64>,
    pages_elsewhere: Option<f64>,
    #[serde(default = "F::default", bound(deserialize = "F: Deserialize<'de> + Default"))]
    disturbance: F,
    seconds: Option<f64>,
    #[serde(default = "O::default", bound(deserialize = "O: Deserialize<'de> + Default"))]
    outputs: O,
}

#[derive(Default)]
pub struct Parser {
    heads: HashMap<String, SampleHead, RandomState>,
    rest: String,
}

impl Parser {
    pub fn read<K: KeptSample>(&mut self, part: &Part) -> Vec<Line<K>> {
        let lines = part.lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let mut read: Vec<Line<K>> = lines.map(|line| self.line(line)).collect();
        read.extend((0..part.too_long).map(|_| Line::Unreadable));
        read
    }

    fn line<K: KeptSample>(&mut self, line: &[u8]) -> Line<K> {
        let sample = std::str::from_utf8(line).ok().and_then(|line| self.sample(line));
        sample.unwrap_or_else(|| match serde_json::from_slice(line) {
            Ok(Event::Sample(sample)) => check_sample(*sample).unwrap_or(Line::Unreadable),
            Ok(event) => Line::Other(event),
            Err(_) => Line::Unreadable,
        })
    }

    /// Parses a sample in the usual form; `None` if the line has another form or is not a sample.
    fn sample<K: KeptSample>(&mut self, line: &str) -> Option<Line<K>> {
        let (head, rest) = line.split_at(line.find(AFTER_POINT)?);
        self.rest.clear();
        self.rest.extend(["{", &rest[1..]]);
        let rest: SampleRest<K::Facts, K::Outputs> = serde_json::from_str(&self.rest).ok()?;
        if !is_time_valid(rest.status, rest.seconds) || rest.repetition == u32::MAX {
            return None;
        }
        let read;
        let parsed = match self.heads.get(head) {
            Some(known) => known,
            None => {
                read = SampleHead::read(head)?;
                if self.heads.len() < MAX_CACHED_POINTS {
                    self.heads.entry(head.to_owned()).or_insert(read)
                } else {
                    &read
                }
            }
        };
        let identity = (parsed.hash, rest.block, rest.repetition, rest.unix_seconds.to_bits());
        Some(Line::Sample(K::from_line(parsed, rest)?, identity))
    }
}

fn check_sample<K: KeptSample>(mut sample: Sample) -> Option<Line<K>> {
    // No repetition can follow the largest number.
    if !is_time_valid(sample.status, sample.seconds) || sample.point.ranks == 0 || sample.repetition == u32::MAX {
        return None;
    }
    sample.point = complete_point(sample.point)?;
    let identity = (hash(&sample.key), sample.block, sample.repetition, sample.unix_seconds.to_bits());
    Some(Line::Sample(sample.into(), identity))
}

fn is_time_valid(status: Status, seconds: Option<f64>) -> bool {
    seconds.map_or(status != Status::Ok, |seconds| seconds > 0.0 && seconds.is_finite())
}

/// Checks a point and adds parameters that are newer than the point. A point of an unknown kernel remains unchanged.
fn complete_point(point: Point) -> Option<Point> {
    if kernels::find(&point.kernel).is_ok() { kernels::fill_defaults(point).ok() } else { Some(point) }
}

fn hash(key: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

/// A map whose values are parsed, which proves that they exist, and not kept.
pub struct Discarded<V>(PhantomData<V>);

impl<V> Default for Discarded<V> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Discarded<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Self::default())
    }
}

impl<'de, V: Deserialize<'de>> Visitor<'de> for Discarded<V> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a map from names to values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, V>()?.is_some() {}
        Ok(self)
    }
}
