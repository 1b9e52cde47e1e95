//! Objects that the gateway offers.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hyper::StatusCode;
use oxorb::{Interface as _, ObjectRef, Orb, Ref, SystemException};
use oxorb_dynamic::json::{Names as _, Plain};
use oxorb_naming::cos_naming::NamingContextRef;
use oxorb_naming::{Names, Problem as NamingProblem, stringify};
use oxorb_sys::sync::Mutex;

use super::deadline::Deadline;
use super::interfaces::{Described, Interfaces};
use super::problem::Problem;
use super::settings::Target;
use crate::call::is_answer;
use crate::name;
use oxorb_terminal::output::{Failed, because};

/// Maximum number of names to list, and of resolved names to remember.
const MOST_NAMES: usize = 1000;

/// Time after which a name is resolved again.
const FRESH: Duration = Duration::from_secs(10);

/// Object that clients may call.
pub(super) struct Object {
    pub(super) name: String,
    pub(super) reference: Ref,
    /// Interface that the settings give.
    interface: Option<String>,
    described: OnceLock<Arc<Described>>,
}

impl Object {
    fn new(name: &str, reference: &Ref, interface: Option<&str>) -> Object {
        Object {
            name: name.to_owned(),
            reference: reference.clone(),
            interface: interface.map(str::to_owned),
            described: OnceLock::new(),
        }
    }

    /// Returns the interface of the object. The first use may call the object and a repository.
    pub(super) fn described(
        &self,
        interfaces: &Interfaces,
        end: Deadline,
    ) -> Result<Arc<Described>, Problem> {
        if let Some(described) = self.described.get() {
            return Ok(Arc::clone(described));
        }
        let found = interfaces.find(&self.reference, self.interface.as_deref(), end);
        let found = found.map_err(Problem::system)?.ok_or_else(|| {
            let why = "the interface of this object is unknown to the gateway (--idl, --ifr)";
            Problem::new(StatusCode::NOT_IMPLEMENTED, why)
        })?;
        Ok(Arc::clone(self.described.get_or_init(|| Arc::new(found))))
    }
}

/// All objects that clients may call.
pub(super) struct Objects {
    orb: Orb,
    configured: BTreeMap<String, Arc<Object>>,
    naming: Option<Naming>,
    /// Whether clients may name references.
    any_reference: bool,
}

/// Objects of the Naming Service.
struct Naming {
    names: Names,
    resolved: Mutex<HashMap<String, (Instant, Arc<Object>)>>,
}

impl Objects {
    /// Resolves the references of the settings. With `naming`, offers the objects of the Naming Service, too.
    pub(super) fn new(
        orb: &Orb,
        targets: &BTreeMap<String, Target>,
        naming: bool,
        any_reference: bool,
    ) -> Result<Objects, Failed> {
        let mut configured = BTreeMap::new();
        for (name, target) in targets {
            let at = |why: &dyn std::fmt::Display| because(format!("the object {name}: {why}"));
            let object = orb.string_to_object(target.reference()).map_err(|error| at(&error))?;
            if object.reference().ior().is_nil() {
                return Err(at(&"the reference is nil: it refers to no object"));
            }
            let object = Object::new(name, object.reference(), target.interface());
            configured.insert(name.clone(), Arc::new(object));
        }
        let naming = match naming {
            true => {
                let names = name::usual(orb).map_err(|error| {
                    because(format!(
                        "{error}\nno name server was found. Specify one with -ORBInitRef NameService=URL"
                    ))
                })?;
                Some(Naming { names, resolved: Mutex::default() })
            }
            false => None,
        };
        Ok(Objects { orb: orb.clone(), configured, naming, any_reference })
    }

    /// Returns the objects of the settings.
    pub(super) fn configured(&self) -> impl Iterator<Item = &Arc<Object>> {
        self.configured.values()
    }

    /// Returns the names of the objects of the settings, and of those that the root context of the Naming Service
    /// contains, with their type ids, as far as these are known without a call.
    pub(super) fn list(&self, end: Deadline) -> Result<Vec<(String, Option<String>)>, Problem> {
        let of_reference = |object: &Object| {
            let id = object.reference.ior().type_id.clone();
            (!id.is_empty()).then_some(id)
        };
        let mut all: BTreeMap<String, Option<String>> =
            self.configured().map(|object| (object.name.clone(), of_reference(object))).collect();
        if let Some(naming) = &self.naming {
            let _limit = end.scope(&self.orb).map_err(Problem::system)?;
            let entries = naming.names.list().map_err(Problem::system)?;
            for entry in entries.take(MOST_NAMES) {
                end.left().map_err(Problem::system)?;
                let entry = entry.map_err(Problem::system)?;
                if !entry.is_context {
                    all.entry(stringify(&[entry.component])).or_default();
                }
            }
        }
        Ok(all.into_iter().collect())
    }

    /// Returns the object of a name. Calls the Naming Service if the settings lack the name.
    pub(super) fn named(&self, name: &str, end: Deadline) -> Result<Arc<Object>, Problem> {
        if let Some(object) = self.configured.get(name) {
            return Ok(Arc::clone(object));
        }
        match &self.naming {
            Some(naming) => {
                let _limit = end.scope(&self.orb).map_err(Problem::system)?;
                naming.resolve(name)
            }
            None => Err(Problem::not_found("there is no object with this name")),
        }
    }

    /// Returns the object of a reference that the client gives: `IOR:` or `corbaloc:`.
    pub(super) fn given(&self, text: &str) -> Result<Arc<Object>, Problem> {
        if !self.any_reference {
            let why = "the gateway does not call references of its clients (--any-reference)";
            return Err(Problem::new(StatusCode::FORBIDDEN, why));
        }
        let ior = Plain.find_object(text).map_err(Problem::bad_request)?;
        if ior.is_nil() {
            return Err(Problem::bad_request("the reference is nil: it refers to no object"));
        }
        Ok(Arc::new(Object::new(text, &Ref::new(&self.orb, ior), None)))
    }
}

impl Naming {
    fn resolve(&self, name: &str) -> Result<Arc<Object>, Problem> {
        if let Some((since, object)) = self.resolved.lock().get(name)
            && since.elapsed() < FRESH
        {
            return Ok(Arc::clone(object));
        }
        let found = self.names.resolve::<ObjectRef>(name).map_err(|error| match error.problem {
            NamingProblem::System(_) if error.is_nil() => {
                Problem::not_found("the name is bound to nil")
            }
            NamingProblem::System(exception) => Problem::system(exception),
            NamingProblem::InvalidName => Problem::bad_request("this is not the name of an object"),
            _ => Problem::not_found("there is no object with this name"),
        })?;
        if let Some(object) = self.same(name, found.reference()) {
            return Ok(object);
        }
        if is_context(&found).map_err(Problem::system)? {
            return Err(Problem::not_found(
                "the name is bound to a naming context, not to an object",
            ));
        }
        let object = Arc::new(Object::new(name, found.reference(), None));
        let mut resolved = self.resolved.lock();
        if resolved.len() >= MOST_NAMES {
            resolved.clear();
        }
        resolved.insert(name.to_owned(), (Instant::now(), Arc::clone(&object)));
        Ok(object)
    }

    /// Returns the known object of a name if the name still refers to it, so that the object keeps its known interface.
    fn same(&self, name: &str, found: &Ref) -> Option<Arc<Object>> {
        let mut resolved = self.resolved.lock();
        let (since, object) = resolved.get_mut(name)?;
        if object.reference.ior() != found.ior() {
            return None;
        }
        *since = Instant::now();
        Some(Arc::clone(object))
    }
}

/// Reports whether an object is a naming context. Its operations would change the Naming Service itself.
fn is_context(object: &ObjectRef) -> Result<bool, SystemException> {
    match object.is_a(NamingContextRef::REPOSITORY_ID) {
        Err(exception) if is_answer(&exception) => Ok(false),
        done => done,
    }
}
