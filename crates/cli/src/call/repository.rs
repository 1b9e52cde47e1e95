//! Lookup of operations in an Interface Repository.

use oxorb::client::Failure;
use oxorb::{Interface as _, Orb, Ref, SystemException, SystemExceptionKind};
use oxorb_dynamic::Signature;
use oxorb_ifr::corba::{InterfaceDefRef, RepositoryRef};
use oxorb_ifr::types::Interface;
use oxorb_ifr::{INITIAL_NAME, client};

use super::target::{Wanted, is_answer, unreachable};
use crate::types::Source;
use oxorb_terminal::output::{Failed, because};

/// Returns the wanted operation and the repository that declares it: the repository `given`, or else the initial
/// reference, or else the object's own repository.
pub(super) fn find(
    orb: &Orb,
    given: Option<&str>,
    object: &Ref,
    interface: Option<&str>,
    wanted: &Wanted<'_>,
) -> Result<(Signature, Source), Failed> {
    let mut search = Search { object, interface, wanted, nearest: None, tried: Vec::new() };
    if let Some(reference) = given {
        let repository = Source::repository(orb, reference)?;
        if let Some(signature) = search.repository(&repository, reference) {
            return Ok((signature, Source::Repository(repository)));
        }
        return Err(search.failure());
    }
    match orb.resolve_initial_references(INITIAL_NAME) {
        Err(_) => search.note(format!("the initial reference {INITIAL_NAME} is not set")),
        Ok(found) => match found.narrow::<RepositoryRef>() {
            Ok(Some(repository)) => {
                if let Some(signature) = search.repository(&repository, INITIAL_NAME) {
                    return Ok((signature, Source::Repository(repository)));
                }
            }
            Ok(None) => search.note(format!(
                "the initial reference {INITIAL_NAME} is not an Interface Repository"
            )),
            Err(exception) => search.failed(INITIAL_NAME, exception),
        },
    }
    if let Some((signature, repository)) = search.own()? {
        return Ok((signature, Source::Repository(repository)));
    }
    Err(search.failure())
}

struct Search<'s> {
    object: &'s Ref,
    interface: Option<&'s str>,
    wanted: &'s Wanted<'s>,
    /// Interface of the object that lacks the wanted operation.
    nearest: Option<Interface>,
    /// Result of each attempt.
    tried: Vec<String>,
}

impl Search<'_> {
    /// Queries a repository; records a failure or a missing definition.
    fn repository(&mut self, repository: &RepositoryRef, place: &str) -> Option<Signature> {
        let mut names = Vec::new();
        match self.interface {
            Some(name) => names.push(name.to_owned()),
            None => {
                names.push(self.object.ior().type_id.clone());
                // Query the object as well: the reference's type id may be that of a base interface, and is empty in a
                // `corbaloc:`.
                names.extend(self.object.repository_id().ok());
            }
        }
        names.dedup();
        names.retain(|name| !name.is_empty());
        let mut known = false;
        for name in &names {
            match client::find(repository, name) {
                Ok(Some(def)) => {
                    known = true;
                    if let Some(signature) = self.interface(&def, place) {
                        return Some(signature);
                    }
                }
                Ok(None) => {}
                Err(exception) => {
                    self.failed(place, exception);
                    return None;
                }
            }
        }
        if self.interface.is_none()
            && let Some(signature) = self.declaring(repository, place)
        {
            return Some(signature);
        }
        if !known {
            self.note(match names.as_slice() {
                [] => format!(
                    "{place}: the reference does not name the object's interface, and the object has none of the known \
                     interfaces with {}",
                    self.wanted.name
                ),
                names => format!("{place}: {} is unknown there", names.join(" or ")),
            });
        }
        None
    }

    /// Returns interfaces of the repository that declare the operation and that the object supports.
    fn declaring(&mut self, repository: &RepositoryRef, place: &str) -> Option<Signature> {
        let candidates = client::declaring(repository, self.wanted.name);
        let candidates = candidates.map_err(|exception| self.failed(place, exception)).ok()?;
        candidates.iter().find_map(|def| {
            let id = def.id().ok()?;
            let supported = self.object.is_a(&id) == Ok(true);
            supported.then(|| self.interface(def, place)).flatten()
        })
    }

    fn interface(&mut self, def: &InterfaceDefRef, place: &str) -> Option<Signature> {
        match client::interface(def) {
            Ok(interface) => {
                let signature = self.wanted.of(&interface);
                self.nearest = Some(interface);
                signature
            }
            Err(exception) => {
                self.failed(place, exception);
                None
            }
        }
    }

    /// Calls `_interface` of the object.
    fn own(&mut self) -> Result<Option<(Signature, RepositoryRef)>, Failed> {
        const OWN: &str = "the object's _interface";
        let entry = match self.object.interface() {
            Ok(Some(entry)) => entry,
            Ok(None) => {
                self.note(format!(
                    "{OWN}: nil; the server's Interface Repository does not contain the interface"
                ));
                return Ok(None);
            }
            Err(exception) if is_answer(&exception) || is_told(&exception) => {
                self.failed(OWN, exception);
                return Ok(None);
            }
            Err(exception) => return Err(unreachable(exception)),
        };
        let found = entry.narrow::<InterfaceDefRef>().and_then(|def| match def {
            Some(def) => Ok(def.containing_repository()?.map(|repository| (def, repository))),
            None => Ok(None),
        });
        match found {
            Ok(Some((def, repository))) => {
                let signature = match self.interface {
                    None => self.interface(&def, OWN),
                    Some(_) => self.repository(&repository, OWN),
                };
                Ok(signature.map(|signature| (signature, repository)))
            }
            Ok(None) => {
                self.note(format!("{OWN}: the returned object is not an InterfaceDef"));
                Ok(None)
            }
            Err(exception) => {
                self.failed(OWN, exception);
                Ok(None)
            }
        }
    }

    fn note(&mut self, what: String) {
        self.tried.push(what);
    }

    fn failed(&mut self, place: &str, exception: SystemException) {
        self.note(match Failure::of(&exception) {
            Some(failure) => format!("{place}: {failure}"),
            None => format!("{place}: {exception}"),
        });
    }

    fn failure(self) -> Failed {
        if let Some(nearest) = &self.nearest {
            return self.wanted.missing(nearest);
        }
        let tried: Vec<String> = self.tried.iter().map(|one| format!("\n  {one}")).collect();
        because(format!(
            "the types of {} are unknown. Sources tried:{}\nSpecify the IDL file that declares it with --idl FILE, or \
             an Interface Repository with --ifr URL (`oxorb ifr serve` starts one)",
            self.wanted.name,
            tried.concat()
        ))
    }
}

/// Reports whether the server refused the reference, which then is no failure to reach it.
fn is_told(exception: &SystemException) -> bool {
    matches!(exception.kind, SystemExceptionKind::ObjAdapter | SystemExceptionKind::InvObjref)
}
