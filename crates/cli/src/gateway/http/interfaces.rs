//! Lookup of the interface of an object.

use std::sync::Arc;

use oxorb::{Interface as _, Orb, Ref, SystemException};
use oxorb_idl::model::Model;
use oxorb_ifr::INITIAL_NAME;
use oxorb_ifr::client::Queries;
use oxorb_ifr::corba::{InterfaceDefRef, RepositoryRef};
use oxorb_ifr::types::{Interface, Types};

use super::deadline::Deadline;
use crate::call::is_answer;
use crate::types::{IdlArgs, Source};
use oxorb_terminal::output::{Failed, because};

/// Maximum number of interfaces to query with `_is_a` for an object that does not name its interface.
const MOST_ASKED: usize = 64;

/// Interface of an object, and the source of its types.
pub(super) struct Described {
    pub(super) interface: Interface,
    pub(super) source: Arc<Source>,
}

/// Source of interfaces for all objects.
pub(super) struct Interfaces {
    /// Types of values outside operations, such as events.
    pub(super) source: Arc<Source>,
    /// Whether the source declares the interfaces; otherwise the repository of each object does.
    is_given: bool,
}

impl Interfaces {
    /// Takes the types from IDL files, or else from the repository `given`, or else from the initial reference.
    ///
    /// # Errors
    /// An IDL file cannot be compiled; a repository that the user names cannot be reached.
    pub(super) fn new(orb: &Orb, idl: &IdlArgs, given: Option<&str>) -> Result<Interfaces, Failed> {
        let (source, is_given) = match given {
            _ if !idl.files.is_empty() => (Source::Idl(Box::new(idl.load()?)), true),
            Some(reference) => (Source::Repository(Source::repository(orb, reference)?), true),
            None => match initial(orb)? {
                Some(repository) => (Source::Repository(repository), true),
                None => (Source::Idl(Box::new(Types::new(Model::default()))), false),
            },
        };
        if let Source::Repository(repository) = &source {
            // No query was necessary so far if the reference names its interface.
            repository.validate_connection().map_err(|failure| {
                because(format!("the Interface Repository cannot be reached: {failure}"))
            })?;
        }
        source.register_values(orb);
        Ok(Interfaces { source: Arc::new(source), is_given })
    }

    /// Checks that IDL files declare an interface that the settings name. A repository is not queried for it, because
    /// the interface may be added to it later.
    ///
    /// # Errors
    /// The IDL files do not declare it.
    pub(super) fn check(&self, name: &str) -> Result<(), String> {
        match &*self.source {
            Source::Idl(types) if self.is_given => {
                types.interface(name).map(drop).map_err(|why| why.to_string())
            }
            _ => Ok(()),
        }
    }

    /// Returns the interface of an object; `None` if it is not known. `name` is its scoped name or repository id, if
    /// it is configured. Calls the object if its reference does not name an interface of the source.
    pub(super) fn find(
        &self,
        object: &Ref,
        name: Option<&str>,
        end: Deadline,
    ) -> Result<Option<Described>, SystemException> {
        if !self.is_given {
            return own(object, name, end);
        }
        let found = match &*self.source {
            Source::Idl(types) => in_idl(types, object, name, end)?,
            Source::Repository(repository) => in_repository(repository, object, name, end)?,
        };
        Ok(found.map(|interface| Described { interface, source: Arc::clone(&self.source) }))
    }
}

/// Queries the repository that the object itself names.
fn own(
    object: &Ref,
    name: Option<&str>,
    end: Deadline,
) -> Result<Option<Described>, SystemException> {
    let entry = match end.limited(object)?.interface() {
        Ok(Some(entry)) => entry,
        Ok(None) => return Ok(None),
        Err(exception) if is_answer(&exception) => return Ok(None),
        Err(exception) => return Err(exception),
    };
    let Some(def) = entry.with_timeout(end.left()?).narrow::<InterfaceDefRef>()? else {
        return Ok(None);
    };
    let Some(repository) = def.with_timeout(end.left()?).containing_repository()? else {
        return Ok(None);
    };
    let interface = match name {
        None => {
            let limited = |object: &Ref| end.limited(object);
            Some(Queries::new(&limited).interface(&def)?)
        }
        Some(_) => in_repository(&repository, object, name, end)?,
    };
    // The ORB keeps one source of valuetypes, for values of all servers, so no single object may provide it.
    let source = Arc::new(Source::Repository(repository));
    Ok(interface.map(|interface| Described { interface, source }))
}

/// Returns the repository of the initial references.
///
/// # Errors
/// The user names a repository, and it cannot be reached. A default for all initial references names none.
fn initial(orb: &Orb) -> Result<Option<RepositoryRef>, Failed> {
    let is_named = orb.list_initial_services().iter().any(|name| name == INITIAL_NAME);
    let found = orb.resolve_initial_references(INITIAL_NAME).map_err(|error| error.to_string());
    let narrowed = found.and_then(|found| {
        let narrowed = found.narrow::<RepositoryRef>().map_err(|error| error.to_string())?;
        narrowed.map(Some).ok_or_else(|| "the object is not an Interface Repository".to_owned())
    });
    match narrowed {
        Err(why) if is_named => {
            Err(because(format!("the initial reference {INITIAL_NAME}: {why}")))
        }
        other => Ok(other.unwrap_or_default()),
    }
}

fn in_idl(
    types: &Types,
    object: &Ref,
    name: Option<&str>,
    end: Deadline,
) -> Result<Option<Interface>, SystemException> {
    if let Some(name) = name {
        return Ok(types.interface(name).ok());
    }
    if let Ok(interface) = types.interface(&object.ior().type_id) {
        return Ok(Some(interface));
    }
    match end.limited(object)?.repository_id() {
        Ok(id) => {
            if let Ok(interface) = types.interface(&id) {
                return Ok(Some(interface));
            }
        }
        Err(exception) if is_answer(&exception) => {}
        Err(exception) => return Err(exception),
    }
    let mut found: Option<Interface> = None;
    for def in types.interfaces().take(MOST_ASKED) {
        let Ok(interface) = types.interface_of(def.id) else {
            continue;
        };
        let more = found.as_ref().is_none_or(|found| interface.ids.len() > found.ids.len());
        if more && end.limited(object)?.is_a(&interface.repository_id)? {
            found = Some(interface);
        }
    }
    Ok(found)
}

fn in_repository(
    repository: &RepositoryRef,
    object: &Ref,
    name: Option<&str>,
    end: Deadline,
) -> Result<Option<Interface>, SystemException> {
    let limited = |object: &Ref| end.limited(object);
    let queries = Queries::new(&limited);
    let names = match name {
        Some(name) => vec![name.to_owned()],
        None => {
            // The type id of a `corbaloc:` is empty, so the object is queried as well.
            let mut names = vec![object.ior().type_id.clone()];
            names.extend(end.limited(object)?.repository_id().ok());
            names
        }
    };
    for name in names.iter().filter(|name| !name.is_empty()) {
        if let Some(def) = queries.find(repository, name)? {
            return queries.interface(&def).map(Some);
        }
    }
    Ok(None)
}
