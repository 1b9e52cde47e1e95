//! Facts about its compilation that a library records.

use std::fmt;
use std::str::FromStr;

/// A fact that a library records. The number is the index of the fact in the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fact {
    /// Version of OxORB.
    Version = 0,
    /// Compiler, as printed by `rustc --version`.
    Compiler = 1,
    /// Compilation target.
    Target = 2,
    /// Debug or release, and panic strategy.
    Profile = 3,
    /// Hash of the interfaces of the library's components.
    Interfaces = 4,
}

impl Fact {
    /// All facts.
    pub const ALL: [Fact; 5] =
        [Fact::Version, Fact::Compiler, Fact::Target, Fact::Profile, Fact::Interfaces];

    /// Returns the value of this fact for this program; `None` for the interfaces, because a generic process has no
    /// components.
    pub fn of_this_program(self) -> Option<&'static str> {
        OWN.get(self as usize).copied()
    }

    /// Returns the name of the fact on command lines.
    pub fn word(self) -> &'static str {
        match self {
            Fact::Version => "version",
            Fact::Compiler => "compiler",
            Fact::Target => "target",
            Fact::Profile => "profile",
            Fact::Interfaces => "interfaces",
        }
    }

    /// Returns the remedy if a library differs in this fact.
    pub(super) fn cure(self) -> &'static str {
        match self {
            Fact::Version => "build it with that version of OxORB",
            Fact::Compiler => {
                "build it with that compiler, or accept the difference (--accept compiler)"
            }
            Fact::Target => "build it for that target",
            Fact::Profile => {
                "build it in that profile, or accept the difference (--accept profile)"
            }
            Fact::Interfaces => {
                "build it from the IDL that the plan was made for, or change the plan"
            }
        }
    }

    /// Reports whether a user may accept a difference in this fact. Such a difference is harmless, because a library
    /// has its own statics.
    pub fn may_differ(self) -> bool {
        matches!(self, Fact::Compiler | Fact::Profile)
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fact::Version => "version of OxORB",
            Fact::Compiler => "compiler",
            Fact::Target => "target",
            Fact::Profile => "profile",
            Fact::Interfaces => "hash of interfaces",
        })
    }
}

/// Error for a text that is not the name of a fact that may differ.
#[derive(Clone, PartialEq, Eq)]
pub struct ParseFactError(String);

impl fmt::Display for ParseFactError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = Fact::ALL.into_iter().filter(|fact| fact.may_differ());
        let words: Vec<&str> = words.map(Fact::word).collect();
        write!(f, "a different {:?} cannot be accepted; {} can", self.0, words.join(" and "))
    }
}

impl fmt::Debug for ParseFactError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ParseFactError {}

impl FromStr for Fact {
    type Err = ParseFactError;

    /// Parses the name of a fact that [may differ](Fact::may_differ).
    fn from_str(text: &str) -> Result<Fact, ParseFactError> {
        let mut all = Fact::ALL.into_iter();
        let found = all.find(|fact| fact.may_differ() && fact.word() == text);
        found.ok_or_else(|| ParseFactError(text.to_owned()))
    }
}

const PROFILE: &str = match (cfg!(debug_assertions), cfg!(panic = "unwind")) {
    (true, true) => "debug, panics unwind",
    (true, false) => "debug, panics abort",
    (false, true) => "release, panics unwind",
    (false, false) => "release, panics abort",
};

/// Facts of this program, in the order of [`Fact`]. A library has its own copy of this crate, and thus its own values.
pub(super) const OWN: [&str; 4] =
    [env!("CARGO_PKG_VERSION"), env!("OXORB_COMPILER"), env!("OXORB_TARGET"), PROFILE];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_harmless_differences_are_accepted() {
        assert_eq!("compiler".parse(), Ok(Fact::Compiler));
        assert_eq!("profile".parse(), Ok(Fact::Profile));
        for refused in ["version", "target", "interfaces", "", "Compiler"] {
            let error = refused.parse::<Fact>().unwrap_err();
            assert!(error.to_string().ends_with("cannot be accepted; compiler and profile can"));
        }
    }

    #[test]
    fn facts_fit_their_texts() {
        for fact in OWN {
            assert!((1..=oxorb_sys::library::MOST_TEXT).contains(&fact.len()), "{fact}");
        }
        assert!(Fact::Compiler.of_this_program().unwrap().starts_with("rustc "));
        assert_eq!(Fact::Interfaces.of_this_program(), None);
    }
}
