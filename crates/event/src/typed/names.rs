//! Names of types and sources. Every process maps a name to the same number by a hash.

use std::collections::BTreeMap;
use std::fmt;

use oxorb_sys::sync::Mutex;

use crate::Filter;
use crate::event_type::UNDEFINED;

/// The names that a process uses, with the numbers that represent them in events.
///
/// A number is the 32-bit FNV-1a hash of the name in UTF-8, reduced to the range of types (16 to 2,147,483,646) or of
/// sources (1 to 2,147,483,646). Processes therefore agree on numbers without communication. If two names of one
/// process have the same number, the second one is refused. A collision between processes cannot be detected. With
/// 1,000 names, the probability of a collision is one in 4,000.
///
/// ```
/// let names = oxorb_event::Names::default();
/// let pressure = names.event_type("pressure")?;
/// assert_eq!(pressure, oxorb_event::Names::default().event_type("pressure")?);
/// assert_eq!(names.name_of_type(pressure).as_deref(), Some("pressure"));
/// # Ok::<(), oxorb_event::NameCollision>(())
/// ```
#[derive(Debug, Default)]
pub struct Names {
    types: Mutex<BTreeMap<i32, String>>,
    sources: Mutex<BTreeMap<i32, String>>,
}

/// Maximum number of names in one process. Further names are refused in the same way as collisions.
const MOST: usize = 65_536;

impl Names {
    /// Returns the number of a type of events. It is never one of the types that channels interpret.
    ///
    /// # Errors
    /// [`NameCollision`].
    pub fn event_type(&self, name: &str) -> Result<i32, NameCollision> {
        keep(&self.types, name, UNDEFINED)
    }

    /// Returns the number of a source of events. It is never 0.
    ///
    /// # Errors
    /// [`NameCollision`].
    pub fn source(&self, name: &str) -> Result<i32, NameCollision> {
        keep(&self.sources, name, 1)
    }

    /// Returns a filter for events with a type and a source. An empty name is a wildcard.
    ///
    /// # Errors
    /// [`NameCollision`].
    pub fn filter(&self, event_type: &str, source: &str) -> Result<Filter, NameCollision> {
        let event_type = match event_type {
            "" => 0,
            name => self.event_type(name)?,
        };
        let source = match source {
            "" => 0,
            name => self.source(name)?,
        };
        Ok(Filter::event(event_type, source))
    }

    /// Returns the name of a type, if this process has used it.
    pub fn name_of_type(&self, event_type: i32) -> Option<String> {
        self.types.lock().get(&event_type).cloned()
    }

    /// Returns the name of a source, if this process has used it.
    pub fn name_of_source(&self, source: i32) -> Option<String> {
        self.sources.lock().get(&source).cloned()
    }
}

fn keep(
    names: &Mutex<BTreeMap<i32, String>>,
    name: &str,
    first: i32,
) -> Result<i32, NameCollision> {
    let number = number(name, first);
    let mut names = names.lock();
    let full = names.len() >= MOST;
    match names.get(&number) {
        Some(known) if known == name => Ok(number),
        None if !full => {
            names.insert(number, name.to_owned());
            Ok(number)
        }
        known => Err(NameCollision { name: name.to_owned(), other: known.cloned(), number }),
    }
}

/// Returns the number of a name, which is at least `first`.
fn number(name: &str, first: i32) -> i32 {
    let mut hash = 0x811c_9dc5_u32;
    for octet in name.bytes() {
        hash = (hash ^ u32::from(octet)).wrapping_mul(0x0100_0193);
    }
    let room = i32::MAX.unsigned_abs() - first.unsigned_abs();
    first + (hash % room).cast_signed()
}

/// Error for a name whose number already represents another name.
#[derive(Clone, PartialEq, Eq)]
pub struct NameCollision {
    /// Name that was refused.
    pub name: String,
    /// Name that already has the number; `None` if the process has the maximum number of names.
    pub other: Option<String>,
    /// Number to which both names are mapped.
    pub number: i32,
}

impl fmt::Display for NameCollision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.other {
            Some(other) => write!(
                f,
                "the names {:?} and {other:?} have the same number, {}; change one of them",
                self.name, self.number
            ),
            None => {
                write!(f, "there can be at most {MOST} names, and {:?} is a further one", self.name)
            }
        }
    }
}

impl fmt::Debug for NameCollision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for NameCollision {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_what_the_page_says() {
        // The FNV-1a test vectors give 0xe40c292c for "a".
        let hash = 0xe40c_292c_u32;
        assert_eq!(number("a", 16), 16 + (hash % (0x7fff_ffff - 16)).cast_signed());
        assert_eq!(number("a", 1), 1 + (hash % (0x7fff_ffff - 1)).cast_signed());
    }

    #[test]
    fn two_names_of_one_number_are_refused() {
        let names = Names::default();
        let mut seen = BTreeMap::new();
        let (one, two) = (0..)
            .find_map(|n| {
                let name = format!("name {n}");
                let other = seen.insert(number(&name, 16), name.clone());
                other.map(|other| (other, name))
            })
            .expect("a pair among some 60,000");
        let known = names.event_type(&one).unwrap();
        let refused = names.event_type(&two).unwrap_err();
        assert_eq!((refused.number, refused.other), (known, Some(one.clone())));
        assert_eq!(names.event_type(&one), Ok(known));
    }
}
