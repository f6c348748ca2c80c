//! The table `[fixed]` of a sweep file.

use apexmap_measure::kernels::command::KEYS;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use toml::Spanned;

/// `[fixed]`: parameters with one value, and the keys of a command, whose values are lists and tables.
#[derive(Debug)]
pub struct Fixed<T> {
    pub entries: BTreeMap<Spanned<String>, Spanned<T>>,
    pub command: Vec<(Spanned<String>, serde_json::Value)>,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Fixed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Fixed<T>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a table of parameters")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fixed<T>, A::Error> {
                let mut fixed = Fixed::default();
                while let Some(name) = map.next_key::<Spanned<String>>()? {
                    if KEYS.contains(&name.get_ref().as_str()) {
                        fixed.command.push((name, map.next_value()?));
                    } else {
                        fixed.entries.insert(name, map.next_value()?);
                    }
                }
                Ok(fixed)
            }
        }
        deserializer.deserialize_map(Reader(PhantomData))
    }
}

impl<T> Default for Fixed<T> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), command: Vec::new() }
    }
}
