//! Names of instances in the Naming Service (`edu.vanderbilt.dre.DAnCE.RegisterNaming`).

use std::time::Duration;

use oxorb_core::{Interface, ObjectRef, Orb};

use idl::cos_naming::naming_context::BindNewContextError;
use idl::cos_naming::{NameComponent, NamingContextRef};

mod idl {
    #![allow(missing_docs, reason = "the IDL says it")]
    #![allow(dead_code, unreachable_pub, reason = "clients need a part of it")]
    include!(concat!(env!("OUT_DIR"), "/CosNaming.rs"));
}

/// Time limit of each call to the Naming Service.
const LIMIT: Duration = Duration::from_secs(2);

/// Remedy if the Naming Service cannot be reached.
pub(super) const CURE: &str = "specify the Naming Service: -ORBInitRef NameService=URL, in cmdline of the real-time \
     resources or by --process-arg of the node manager";

/// Binding of an object in the Naming Service.
pub(super) struct Bound {
    root: NamingContextRef,
    name: Vec<NameComponent>,
    object: ObjectRef,
}

impl Bound {
    /// Binds a name below the initial naming context to an object, and creates missing contexts on the path. If the
    /// name is already bound to another object, it is rebound, as in DAnCE.
    pub(super) fn new(orb: &Orb, text: &str, object: &ObjectRef) -> Result<Bound, String> {
        let name = components(text)?;
        let root = orb.string_to_object("corbaloc:rir:/NameService");
        let root = root.map_err(|error| error.to_string())?;
        let root: NamingContextRef = root.with_timeout(LIMIT).unchecked_narrow();
        for end in 1..name.len() {
            match root.bind_new_context(&name[..end]) {
                // `AlreadyBound` may also mean an object that is not a context; the next call then fails.
                Ok(_) | Err(BindNewContextError::AlreadyBound(_)) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        let bound = root.rebind(&name, Some(object));
        bound.map_err(|error| error.to_string())?;
        let object = object.clone();
        Ok(Bound { root, name, object })
    }

    /// Unbinds the name. Does nothing if the name is bound to another object by now, or if the service does not answer.
    pub(super) fn remove(&self) {
        if let Ok(Some(found)) = self.root.resolve(&self.name) {
            let (found, own) = (found.reference(), Interface::reference(&self.object));
            if found.is_equivalent(own) {
                // Ignore the error: another client may have unbound the name since `resolve`.
                let _ = self.root.unbind(&self.name);
            }
        }
    }
}

/// Parses a name in the notation of the Naming Service. Components are separated by `/`, and each consists of an id and
/// optionally a dot and a kind. A backslash escapes these characters.
fn components(text: &str) -> Result<Vec<NameComponent>, String> {
    let mut all = Vec::new();
    let (mut id, mut kind, mut is_empty) = (String::new(), None::<String>, true);
    let mut characters = text.chars();
    loop {
        let next = characters.next();
        match next {
            None | Some('/') if is_empty => {
                return Err(format!("{text:?} is not a name: a component of it is empty"));
            }
            None | Some('/') => {
                all.push(NameComponent {
                    id: std::mem::take(&mut id),
                    kind: kind.take().unwrap_or_default(),
                });
                is_empty = true;
                if next.is_none() {
                    return Ok(all);
                }
                continue;
            }
            Some('.') if kind.is_none() => kind = Some(String::new()),
            Some('.') => return Err(format!("{text:?} is not a name: a component has two dots")),
            Some('\\') => match characters.next() {
                Some(meant @ ('/' | '.' | '\\')) => kind.as_mut().unwrap_or(&mut id).push(meant),
                _ => {
                    return Err(format!(
                        "{text:?} is not a name: a backslash must precede /, . or a backslash"
                    ));
                }
            },
            Some(plain) => kind.as_mut().unwrap_or(&mut id).push(plain),
        }
        is_empty = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_the_service_writes_them() {
        let read = |text: &str| {
            components(text).map(|all| {
                let pairs = all.into_iter().map(|one| (one.id, one.kind));
                pairs.collect::<Vec<_>>()
            })
        };
        let pair = |id: &str, kind: &str| (id.to_owned(), kind.to_owned());
        assert_eq!(
            read("Harbour/Pilot & Co"),
            Ok(vec![pair("Harbour", ""), pair("Pilot & Co", "")])
        );
        assert_eq!(read(r"a\/b.c\.d/."), Ok(vec![pair("a/b", "c.d"), pair("", "")]));
        for wrong in ["", "/a", "a/", "a//b", "a.b.c", "a\\", r"a\b"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
