//! The parameters of one run, with the names of the papers.

use crate::error::{self, Error};
use crate::{name_lookup::suggest, units::plural};
use arrayvec::ArrayString;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The value of a parameter or of an output.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// An integer: counts, words, bytes.
    Integer(u64),
    /// A number with a fraction: alpha, seconds.
    Real(f64),
    /// A word from a fixed list, such as the name of an algorithm.
    Text(String),
}

impl Value {
    /// Returns the number, rounded to 53 bits if it is a large integer, or `None` for a word.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Integer(v) => Some(*v as f64),
            Value::Real(v) => Some(*v),
            Value::Text(_) => None,
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    /// Deserializes in one step: serde's derived code for untagged enums reads each value twice.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueVisitor;
        impl Visitor<'_> for ValueVisitor {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a number or a word")
            }

            fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
                Ok(Value::Integer(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
                Ok(u64::try_from(value).map_or(Value::Real(value as f64), Value::Integer))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
                Ok(Value::Real(value))
            }

            fn visit_str<E>(self, value: &str) -> Result<Value, E> {
                Ok(Value::Text(value.to_owned()))
            }
        }
        deserializer.deserialize_any(ValueVisitor)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Integer(v) => write!(f, "{v}"),
            Value::Real(v) => write!(f, "{v}"),
            Value::Text(v) => f.write_str(v),
        }
    }
}

impl From<u64> for Value {
    fn from(v: u64) -> Self {
        Value::Integer(v)
    }
}

impl From<f64> for Value {
    fn from(v: f64) -> Self {
        Value::Real(v)
    }
}

impl From<&str> for Value {
    fn from(v: &str) -> Self {
        Value::Text(v.to_owned())
    }
}

/// Parameter of points that one node runs alone: the node's name.
pub const NODE: &str = "node";

/// Maximum bytes of a node's name: the longest host name of Linux.
pub const MAX_NODE_NAME: usize = 64;

pub type NodeName = ArrayString<MAX_NODE_NAME>;

/// The number of ranks of a launch and their distribution over nodes. The launcher decides the absent values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LaunchSize {
    pub ranks: usize,
    pub nodes: Option<usize>,
    pub ranks_per_node: Option<usize>,
    /// The node that runs the launch alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeName>,
}

impl fmt::Display for LaunchSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&plural(self.ranks, "rank"))?;
        match (self.node, self.nodes) {
            (Some(node), _) => write!(f, " on node {node}"),
            (None, Some(nodes)) => write!(f, " on {}", plural(nodes, "node")),
            (None, None) => Ok(()),
        }
    }
}

/// One point of a sweep: a kernel, a number of ranks and parameters; in a plan, every parameter of the kernel in its base unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[must_use]
pub struct Point {
    /// Id of the kernel: `apex_map.two_sided`.
    pub kernel: String,
    /// Number of processes, the papers' P.
    pub ranks: usize,
    /// Parameters by the papers' names (`M`, `L`, `alpha`), in base units: words, bytes, seconds.
    pub params: BTreeMap<String, Value>,
}

impl Point {
    /// Creates a point without parameters. It checks nothing; `kernels::complete` does.
    pub fn new(kernel: &str, ranks: usize) -> Self {
        Self { kernel: kernel.to_owned(), ranks, params: BTreeMap::new() }
    }

    /// Adds a parameter; for tests and examples that build points manually.
    pub fn with_parameter(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.params.insert(name.to_owned(), value.into());
        self
    }

    /// Returns a parameter, in its base unit. Code that knows the parameter reads it with its key, `kernels::Key`.
    pub fn parameter(&self, name: &str) -> error::Result<&Value> {
        self.params.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.params.keys().map(String::as_str).collect();
            Error::input(format!("this point of {} has no parameter {name}", self.kernel), suggest(name, &names))
        })
    }

    /// Returns the size of the launch that the point needs.
    pub fn launch_size(&self) -> LaunchSize {
        let count = |name: &str| match self.params.get(name) {
            Some(Value::Integer(number)) => Some(*number as usize),
            _ => None,
        };
        LaunchSize {
            ranks: self.ranks,
            nodes: count("nodes"),
            ranks_per_node: count("ranks_per_node"),
            node: self.node().and_then(|node| NodeName::from(node).ok()),
        }
    }

    /// Returns the name of the node that runs the point alone.
    pub fn node(&self) -> Option<&str> {
        match self.params.get(NODE) {
            Some(Value::Text(node)) => Some(node),
            _ => None,
        }
    }

    /// Returns `kernel P=2 L=64 alpha=0.1 ...` for messages.
    pub fn label(&self) -> String {
        let mut text = format!("{} P={}", self.kernel, self.ranks);
        for (name, value) in &self.params {
            text.push_str(&format!(" {name}={value}"));
        }
        text
    }
}
