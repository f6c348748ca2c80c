//! Parameters of words: one list has the words of a parameter and their meanings.

/// Defines an enum with a variant for each word of a parameter. The first word is the default. Some parameters do not exist for all
/// kernels that read them; `absent` then names the meaning.
macro_rules! choice {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $name:ident($parameter:literal $(, absent: $absent:ident)?) {
            $($(#[$of_variant:meta])* $variant:ident = $word:literal),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $name {
            $($(#[$of_variant])* $variant),+
        }

        impl $name {
            /// The words of the parameter. The first is the default.
            $visibility const WORDS: &'static [&'static str] = &[$($word),+];

            /// Returns the meaning of the point's word.
            ///
            /// # Panics
            /// Panics if the point is not complete.
            $visibility fn from_point(point: &apexmap_base::point::Point) -> Self {
                $(if !point.params.contains_key($parameter) {
                    return Self::$absent;
                })?
                match point.text($parameter) {
                    $($word => Self::$variant,)+
                    other => panic!("{} = \"{other}\" is none of its choices", $parameter),
                }
            }
        }
    };
}

pub(crate) use choice;
