//! Journals read back. Here, and nowhere else, is checked what their lines say: whoever gets a sample may rely on it.
//!
//! A line counts as unreadable if it is no event, or if its sample cannot be: a point that its kernel does not accept, no ranks, a
//! time that is not positive, a repetition after which no other can be numbered. A sample that came before is left out, as journals and lines may have been copied. So are all of
//! a launch whose lines did not fit together, which the driver says at the end of its journal.

use super::record::{self, Record, SampleOutcome};
use crate::disturbance::Facts;
use crate::error::{Error, Result};
use crate::measure::kernels;
use crate::point::{Point, Value};
use crate::sample::{Event, Launch, SCHEMA_VERSION, Sample, Status};
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::marker::PhantomData;
use std::path::Path;

/// Longer lines are unreadable: the first line of a launch of a hundred thousand ranks is shorter.
const LONGEST: u64 = 64 << 20;

/// Reads the journals of a result, one after the other.
#[derive(Default)]
pub struct Reader {
    /// Hashes of the points that were found complete: many samples are of the same point.
    complete: HashSet<u64>,
    /// Of every sample that was read: its key's hash, block, repetition and time.
    seen: HashSet<(u64, u32, u32, u64)>,
}

/// Why a sample does not count.
enum Fault {
    Unreadable,
    Repeated,
    Doubtful,
}

impl Reader {
    /// Reads a journal: `take` gets every sample that counts, with what is known of its launch by then. The record that is
    /// returned holds everything else. Damaged lines are counted, never fatal: what is readable is kept.
    ///
    /// # Errors
    /// If it cannot be read, or a newer apexmap wrote it.
    pub fn each<S>(&mut self, path: &Path, take: impl FnMut(Sample, Option<&Launch>)) -> Result<Record<S>> {
        self.events(path, event::<Facts, BTreeMap<String, Value>>, take)
    }

    fn events<S>(
        &mut self,
        path: &Path,
        event: fn(&[u8]) -> Option<Event>,
        mut take: impl FnMut(Sample, Option<&Launch>),
    ) -> Result<Record<S>> {
        let journal = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut record = Record { journal, ..Record::default() };
        let doubtful = is_doubtful(path)?;
        lines(path, |line| match line.and_then(event).map(|event| self.checked(event, doubtful)) {
            Some(Ok(Event::Sample(sample))) => take(*sample, record.launch.as_ref()),
            Some(Ok(event)) => note(event, &mut record),
            Some(Err(Fault::Repeated)) => record.repeated += 1,
            Some(Err(Fault::Doubtful)) => record.doubtful += 1,
            Some(Err(Fault::Unreadable)) | None => record.unreadable += 1,
        })?;
        if record.launch.as_ref().is_some_and(|launch| launch.schema > SCHEMA_VERSION) {
            return Err(record::newer(path));
        }
        Ok(record)
    }

    /// A journal as a whole.
    ///
    /// # Errors
    /// As of [`Reader::each`].
    pub fn read(&mut self, path: &Path) -> Result<Record> {
        let mut samples = Vec::new();
        let record = self.each(path, |sample, _| samples.push(sample))?;
        Ok(Record { samples, ..record })
    }

    /// A journal as a whole, but of each good sample only what plans ask of it.
    ///
    /// # Errors
    /// As of [`Reader::each`].
    pub fn outcomes(&mut self, path: &Path) -> Result<Record<SampleOutcome>> {
        let mut samples = Vec::new();
        let record = self.events(path, outcome, |sample, _| samples.push(sample.into()))?;
        Ok(Record { samples, ..record })
    }

    fn checked(&mut self, event: Event, doubtful: bool) -> std::result::Result<Event, Fault> {
        let Event::Sample(mut sample) = event else { return Ok(event) };
        if doubtful {
            return Err(Fault::Doubtful);
        }
        let timed = sample.seconds.map_or(sample.status != Status::Ok, |seconds| seconds > 0.0 && seconds.is_finite());
        // There is none after the last number.
        if !timed || sample.point.ranks == 0 || sample.repetition == u32::MAX {
            return Err(Fault::Unreadable);
        }
        self.complete(&mut sample.point).map_err(|_| Fault::Unreadable)?;
        let identity = (hash(&sample.key), sample.block, sample.repetition, sample.unix_seconds.to_bits());
        if self.seen.insert(identity) { Ok(Event::Sample(sample)) } else { Err(Fault::Repeated) }
    }

    /// Checks a point, and gives it the parameters that came after it was measured. One of an unknown kernel stays as it is.
    fn complete(&mut self, point: &mut Point) -> std::result::Result<(), String> {
        let known = hash_of(point);
        if !self.complete.contains(&known) && kernels::find(&point.kernel).is_ok() {
            let full = kernels::fill(point.clone())?;
            if full == *point {
                self.complete.insert(known);
            }
            *point = full;
        }
        Ok(())
    }
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn hash_of(point: &Point) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&point.kernel, point.ranks).hash(&mut hasher);
    for (name, value) in &point.params {
        name.hash(&mut hasher);
        match value {
            Value::Integer(number) => (0, number).hash(&mut hasher),
            Value::Real(number) => (1, number.to_bits()).hash(&mut hasher),
            Value::Text(word) => (2, word).hash(&mut hasher),
        }
    }
    hasher.finish()
}

/// The event of a line; `None` if it is none.
fn event<F, O>(line: &[u8]) -> Option<Event>
where
    F: DeserializeOwned + Default + Into<Facts>,
    O: DeserializeOwned + Default + Into<BTreeMap<String, Value>>,
{
    match serde_json::from_slice::<SampleLine<F, O>>(line) {
        Ok(sample) if sample.event == "sample" => Some(Event::Sample(Box::new(sample.into()))),
        _ => serde_json::from_slice(line).ok(),
    }
}

/// As [`event`], but good samples are without what plans do not ask of them.
fn outcome(line: &[u8]) -> Option<Event> {
    match event::<Unkept<f64>, Unkept<Value>>(line) {
        Some(Event::Sample(sample)) if sample.status != Status::Ok => event::<Facts, BTreeMap<String, Value>>(line),
        event => event,
    }
}

/// A map of values that are read, so that they are known to be there, and not kept.
struct Unkept<V>(PhantomData<V>);

impl<V> Default for Unkept<V> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Unkept<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_map(Self::default())
    }
}

impl<'de, V: Deserialize<'de>> Visitor<'de> for Unkept<V> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("values by names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self, A::Error> {
        while map.next_entry::<Cow<str>, V>()?.is_some() {}
        Ok(self)
    }
}

/// The line of a sample. An [`Event`] is the same, but takes several times as long: it is put aside until its kind is known.
#[derive(Deserialize)]
struct SampleLine<'a, F, O> {
    #[serde(borrow)]
    event: Cow<'a, str>,
    kernel: String,
    ranks: usize,
    params: BTreeMap<String, Value>,
    key: String,
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

impl From<Unkept<f64>> for Facts {
    fn from(_: Unkept<f64>) -> Self {
        Self::default()
    }
}

impl From<Unkept<Value>> for BTreeMap<String, Value> {
    fn from(_: Unkept<Value>) -> Self {
        Self::new()
    }
}

impl<F: Into<Facts>, O: Into<BTreeMap<String, Value>>> From<SampleLine<'_, F, O>> for Sample {
    fn from(line: SampleLine<'_, F, O>) -> Self {
        Sample {
            point: Point { kernel: line.kernel, ranks: line.ranks, params: line.params },
            key: line.key,
            block: line.block,
            repetition: line.repetition,
            status: line.status,
            message: line.message,
            unix_seconds: line.unix_seconds,
            load: line.load,
            pages_elsewhere: line.pages_elsewhere,
            disturbance: line.disturbance.into(),
            seconds: line.seconds,
            outputs: line.outputs.into(),
        }
    }
}

fn note<S>(event: Event, record: &mut Record<S>) {
    match event {
        Event::Hello(launch) => record.launch = Some(*launch),
        Event::Preflight { canaries } => record.preflight = canaries,
        Event::Done { budget_spent } => record.budget_spent = budget_spent,
        Event::Ended { status, message, .. } => record.ended = Some((status, message)),
        Event::Memory { ranks } => {
            let places = record.launch.iter_mut().flat_map(|launch| &mut launch.placement);
            places.zip(ranks).for_each(|(place, memory)| place.memory = memory);
        }
        Event::Start { .. } | Event::Fatal { .. } | Event::Sample(_) => {}
    }
}

/// Longest last line of a driver, in bytes, whose message is of bounded length.
const LONGEST_END: u64 = 64 << 10;

/// Whether the last line of a journal says that its launch's lines did not fit together.
fn is_doubtful(path: &Path) -> Result<bool> {
    let wrong = |e| Error::file("read the journal", path, e);
    let mut file = File::open(path).map_err(wrong)?;
    let length = file.metadata().map_err(wrong)?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LONGEST_END))).map_err(wrong)?;
    let mut end = Vec::new();
    file.take(LONGEST_END).read_to_end(&mut end).map_err(wrong)?;
    let last = end.trim_ascii_end().rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
    Ok(matches!(serde_json::from_slice(last), Ok(Event::Ended { doubtful: true, .. })))
}

/// Calls `take` with each line that is not empty; with `None` for one that is too long.
fn lines(path: &Path, mut take: impl FnMut(Option<&[u8]>)) -> Result<()> {
    let wrong = |e| Error::file("read the journal", path, e);
    let mut file = BufReader::with_capacity(1 << 16, File::open(path).map_err(wrong)?);
    let mut line = Vec::new();
    while file.by_ref().take(LONGEST).read_until(b'\n', &mut line).map_err(wrong)? > 0 {
        if line.len() as u64 == LONGEST && !line.ends_with(b"\n") {
            file.skip_until(b'\n').map_err(wrong)?;
            take(None);
        } else if let text @ [_, ..] = line.strip_suffix(b"\n").unwrap_or(&line) {
            take(Some(text));
        }
        line.clear();
    }
    Ok(())
}
