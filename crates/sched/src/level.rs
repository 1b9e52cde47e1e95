//! Criticality, importance, and what kind of thing an entry stands for.

use std::fmt;
use std::str::FromStr;

macro_rules! levels {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub enum $name {
            /// Least.
            VeryLow,
            /// Little.
            #[default]
            Low,
            /// Middle.
            Medium,
            /// Much.
            High,
            /// Most.
            VeryHigh,
        }

        impl $name {
            /// All five, least first: the index is the number on the wire.
            pub const ALL: [$name; 5] = [
                $name::VeryLow,
                $name::Low,
                $name::Medium,
                $name::High,
                $name::VeryHigh,
            ];

            /// Returns the name as files and annotations write it.
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

            /// Reads the name in any case, with `_` or `-`; with or without the suffix that the IDL
            /// has.
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
    /// Cost to the application of a late operation. High and very high are the critical set of strategies that look at
    /// it; see [`CriticalSet`](crate::CriticalSet).
    Criticality, "CRITICALITY"
}

levels! {
    /// Decides between operations that are equal otherwise (paper 3, 2.1).
    Importance, "IMPORTANCE"
}

impl Criticality {
    /// Whether it belongs to the critical set (rt-facts 6.2).
    pub const fn is_critical(self) -> bool {
        matches!(self, Criticality::High | Criticality::VeryHigh)
    }
}

/// A text that names none of the five levels.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no level; there are VERY_LOW, LOW, MEDIUM, HIGH and VERY_HIGH")]
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
