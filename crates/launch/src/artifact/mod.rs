//! Shared libraries as artifacts: a generic process loads a library, checks it, and lets it run its locality.
//!
//! A library contains its own OxORB, with separate statics, thread-locals and a separate ORB. Therefore no Rust values
//! are passed between the library and the process that loads it, but only arguments and an exit status, through C.
//! `docs/design/components.md` gives the reasons.

mod export;
mod facts;

use std::fmt;
use std::path::{Path, PathBuf};

use oxorb_sys::library::{Library, LibraryError};

#[doc(hidden)]
pub use export::{exported, serve};
pub use facts::{Fact, ParseFactError};
#[doc(hidden)]
pub use oxorb_sys::library::{Arguments, Export};

/// Name of the symbol that the facade's macro `export!` defines.
pub const SYMBOL: &str = "oxorb_artifact";

/// Magic number at the start of the record at [`SYMBOL`]. Its last octet is the version of the layout.
const MARK: [u8; 8] = *b"OxORB-a1";

/// Extension of artifacts that are shared libraries.
const ENDING: &str = "so";

/// Reports whether an artifact is a shared library, that is, whether its location ends in `.so`.
pub fn is_library(location: &str) -> bool {
    Path::new(location).extension().is_some_and(|ending| ending == ENDING)
}

/// Requirements on a library in addition to the version of OxORB.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Demands {
    /// Hash of the interfaces for which the plan was made; `None` permits any interfaces.
    pub interfaces: Option<String>,
    /// Facts that may differ from those of this program.
    pub accepted: Vec<Fact>,
}

/// A loaded and checked library.
pub struct Artifact {
    path: PathBuf,
    library: Library,
}

impl Artifact {
    /// Loads a library and checks it. Calls none of its functions.
    ///
    /// # Errors
    /// [`ArtifactError`].
    pub fn open(path: &Path, demands: &Demands) -> Result<Artifact, ArtifactError> {
        let artifact = Artifact::load(path)?;
        let mut different = Vec::new();
        for fact in Fact::ALL {
            let wanted = match fact {
                Fact::Interfaces => demands.interfaces.clone(),
                own => own.of_this_program().map(str::to_owned),
            };
            let (Some(wanted), false) = (wanted, demands.accepted.contains(&fact)) else {
                continue;
            };
            let found = artifact.fact(fact);
            if found != wanted {
                different.push(HostDifference { fact, found, wanted });
            }
        }
        match different.is_empty() {
            true => Ok(artifact),
            false => {
                Err(ArtifactError { path: path.to_owned(), why: Reason::Different(different) })
            }
        }
    }

    /// Loads a library without checking its facts, so that they can be shown.
    ///
    /// # Errors
    /// [`ArtifactError`] with [`Reason::Library`].
    pub fn load(path: &Path) -> Result<Artifact, ArtifactError> {
        let library = Library::open(path, SYMBOL, MARK).map_err(|error| ArtifactError {
            path: path.to_owned(),
            why: Reason::Library(error),
        })?;
        Ok(Artifact { path: path.to_owned(), library })
    }

    /// Returns a fact of the library; empty if the library does not record it.
    pub fn fact(&self, fact: Fact) -> String {
        self.library.export().fact(fact as usize).unwrap_or_default()
    }

    /// Runs the library's locality with the arguments of a program, the first of which is the program's name. Returns
    /// the exit status of the library.
    ///
    /// # Errors
    /// [`ArtifactError`] with [`Reason::Library`]: the library has no such function.
    pub fn run(&self, arguments: &[String]) -> Result<i32, ArtifactError> {
        self.library
            .run(arguments)
            .map_err(|error| ArtifactError { path: self.path.clone(), why: Reason::Library(error) })
    }
}

/// A fact that differs between a library and this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostDifference {
    /// Fact that differs.
    pub fact: Fact,
    /// Value in the library.
    pub found: String,
    /// Value required by this program or the plan.
    pub wanted: String,
}

/// Reason why a library is not run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The file is not a library of components.
    Library(LibraryError),
    /// The library does not meet the requirements.
    Different(Vec<HostDifference>),
}

/// Error of [`Artifact::open`].
#[derive(Clone, PartialEq, Eq)]
pub struct ArtifactError {
    /// Path of the library.
    pub path: PathBuf,
    /// Reason.
    pub why: Reason,
}

impl fmt::Display for ArtifactError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "library {} is refused: ", self.path.display())?;
        match &self.why {
            Reason::Library(error @ LibraryError::Load(_)) => {
                write!(f, "{error}; give the path of a shared library for this system")
            }
            Reason::Library(error @ LibraryError::Symbol(_)) => write!(
                f,
                "{error}; add oxorb::deployment::export! to its crate, and crate-type = [\"cdylib\"] to its manifest"
            ),
            Reason::Library(error) => write!(
                f,
                "{error}; build it with the version of OxORB that loads it, {}",
                env!("CARGO_PKG_VERSION")
            ),
            Reason::Different(all) => {
                for (at, one) in all.iter().enumerate() {
                    let HostDifference { fact, found, wanted } = one;
                    let end = if at > 0 { "; " } else { "" };
                    write!(
                        f,
                        "{end}its {fact} is {found:?} instead of {wanted:?}: {}",
                        fact.cure()
                    )?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Debug for ArtifactError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ArtifactError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_tell_libraries() {
        assert!(is_library("libdisplay.so") && is_library("/opt/a.b/libdisplay.so"));
        assert!(!is_library("display") && !is_library("display.so/display") && !is_library(""));
    }

    #[test]
    fn an_error_says_what_differs_and_what_to_do() {
        let error = ArtifactError {
            path: "libdisplay.so".into(),
            why: Reason::Different(vec![HostDifference {
                fact: Fact::Version,
                found: "0.0.9".to_owned(),
                wanted: "0.1.0".to_owned(),
            }]),
        };
        assert_eq!(
            error.to_string(),
            "library libdisplay.so is refused: its version of OxORB is \"0.0.9\" instead of \"0.1.0\": \
             build it with that version of OxORB"
        );
    }
}
