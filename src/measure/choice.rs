use apexmap_base::point::Value;

pub enum Kind {
    Integer,
    Real,
    /// The first word is the default.
    Words(&'static [&'static str]),
}

/// A type of the values of a parameter: `u64`, `f64`, or an enum of words.
pub trait Typed: Sized {
    const KIND: Kind;

    fn from_value(value: &Value) -> Option<Self>;
}

impl Typed for u64 {
    const KIND: Kind = Kind::Integer;

    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Integer(number) => Some(*number),
            _ => None,
        }
    }
}

impl Typed for f64 {
    const KIND: Kind = Kind::Real;

    fn from_value(value: &Value) -> Option<Self> {
        value.as_f64()
    }
}

/// Defines an enum with a variant for each word of a parameter. The first word is the default.
macro_rules! choice {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $name:ident {
            $($(#[$of_variant:meta])* $variant:ident = $word:literal),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $name {
            $($(#[$of_variant])* $variant),+
        }

        impl $crate::choice::Typed for $name {
            const KIND: $crate::choice::Kind = $crate::choice::Kind::Words(&[$($word),+]);

            fn from_value(value: &apexmap_base::point::Value) -> Option<Self> {
                match value {
                    $(apexmap_base::point::Value::Text(word) if word == $word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use choice;
