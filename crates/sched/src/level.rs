//! Criticality and importance of operations.

use std::fmt;
use std::str::FromStr;

macro_rules! levels {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub enum $name {
            /// Lowest level.
            VeryLow,
            /// Low level.
            #[default]
            Low,
            /// Middle level.
            Medium,
            /// High level.
            High,
            /// Highest level.
            VeryHigh,
        }

        impl $name {
            /// All five levels, lowest first: the index is the number on the wire.
            pub const ALL: [$name; 5] = [
                $name::VeryLow,
                $name::Low,
                $name::Medium,
                $name::High,
                $name::VeryHigh,
            ];

            /// Returns the name as written in files and annotations.
            pub const fn name(self) -> &'static str {
                ["VERY_LOW", "LOW", "MEDIUM", "HIGH", "VERY_HIGH"][self as usize]
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $name {
            type Err = UnknownLevel;

            /// Parses the name in upper or lower case, with `_`, `-` or a space between words, with
            /// or without the suffix of the IDL.
            fn from_str(text: &str) -> Result<Self, UnknownLevel> {
                let plain = text.to_ascii_uppercase().replace(['-', ' '], "_");
                let plain = plain.strip_suffix(concat!("_", $what)).unwrap_or(&plain);
                $name::ALL
                    .into_iter()
                    .find(|level| level.name() == plain)
                    .ok_or_else(|| UnknownLevel(text.into()))
            }
        }
    };
}

levels! {
    /// Cost to the application of a late operation. High and very high make up the critical set of
    /// strategies that use criticality; see [`CriticalSet`](crate::CriticalSet).
    Criticality, "CRITICALITY"
}

levels! {
    /// Order of operations that are equal otherwise (paper 3, 2.1).
    Importance, "IMPORTANCE"
}

impl Criticality {
    /// Reports whether the level belongs to the critical set.
    pub const fn is_critical(self) -> bool {
        matches!(self, Criticality::High | Criticality::VeryHigh)
    }
}

/// Error for a text that names none of the five levels.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a level; expected VERY_LOW, LOW, MEDIUM, HIGH or VERY_HIGH")]
pub struct UnknownLevel(String);

impl fmt::Debug for UnknownLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_in_every_spelling() {
        assert_eq!("high".parse(), Ok(Criticality::High));
        assert_eq!("VERY_LOW_IMPORTANCE".parse(), Ok(Importance::VeryLow));
        assert_eq!("very-high".parse(), Ok(Criticality::VeryHigh));
        let wrong = "urgent".parse::<Criticality>().unwrap_err();
        assert!(wrong.to_string().contains("\"urgent\""));
    }
}
