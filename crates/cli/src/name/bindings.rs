//! Bindings of names, as the verbs show them.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use oxorb::client::Failure;
use oxorb::values::Printable;
use oxorb::{Interface as _, ObjectRef, SystemException, SystemExceptionKind};
use oxorb_naming::{Name, Names, NamingError, Problem};
use serde_json::{Value, json};

use oxorb_terminal::output::{Done, because};

/// Binding with the name by which it was reached.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) name: Name,
    pub(super) is_context: bool,
}

/// Limit on the bindings read from name servers, whose listings may be endless.
#[derive(clap::Args)]
pub(crate) struct Most {
    /// Maximum number of names to read; further names are omitted with a warning
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
}

/// Maximum total size in octets of the names to read: 64 MiB.
const NAMES: usize = 64 << 20;

/// Remaining budget of bindings read from name servers, shared by threads.
#[derive(Debug)]
pub(super) struct Budget {
    limit: usize,
    names: AtomicUsize,
    octets: AtomicUsize,
    /// Reason why names are omitted.
    stopped: OnceLock<String>,
}

impl Most {
    pub(super) fn budget(&self) -> Budget {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        Budget {
            limit,
            names: AtomicUsize::new(limit),
            octets: AtomicUsize::new(NAMES),
            stopped: OnceLock::new(),
        }
    }
}

impl Budget {
    /// Takes one name from the budget, or records that the budget is used up.
    fn take(&self, octets: usize) -> bool {
        let less = |left: &AtomicUsize, by: usize| {
            let taken = left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(by));
            taken.is_ok()
        };
        if !less(&self.names, 1) {
            let limit = self.limit;
            self.stop(|| format!("there are more than {limit}; --limit N shows more"));
            return false;
        }
        if !less(&self.octets, octets) {
            self.stop(|| format!("the names have more than {} MiB", NAMES >> 20));
            return false;
        }
        true
    }

    fn stop(&self, why: impl FnOnce() -> String) {
        self.stopped.get_or_init(why);
    }

    /// Reports omitted names.
    ///
    /// # Errors
    /// The reason of the omission.
    pub(super) fn end(&self) -> Done {
        let taken = self.limit - self.names.load(Relaxed);
        match self.stopped.get() {
            None => Ok(()),
            Some(why) => Err(because(format!(
                "stopped after {taken} names, further names are omitted: {why}"
            ))),
        }
    }
}

/// Returns all bindings of a context within the budget, sorted by name; `below` is the name of the context.
pub(super) fn bindings(
    context: &Names,
    below: Option<&Name>,
    budget: &Budget,
) -> oxorb::Result<Vec<Found>> {
    let mut found = Vec::new();
    for entry in context.list()? {
        let entry = match entry {
            Ok(entry) => entry,
            Err(exception) if found.is_empty() => return Err(exception),
            // Keep the bindings read so far, and record that the others are missing.
            Err(exception) => {
                budget.stop(|| format!("reading the next names: {exception}"));
                break;
            }
        };
        if !budget.take(entry.component.id.len() + entry.component.kind.len()) {
            break;
        }
        let name = match below {
            Some(below) => Some(below.join(entry.component)),
            None => Name::new([entry.component]),
        };
        found.extend(name.map(|name| Found { name, is_context: entry.is_context }));
    }
    // Each server lists bindings in an order of its own, or in none.
    found.sort_by_cached_key(|found| found.name.to_string());
    Ok(found)
}

impl Found {
    /// Returns the last component alone.
    pub(super) fn last(&self) -> String {
        let last = self.name.components().last();
        last.map_or_else(String::new, |last| oxorb_naming::stringify(std::slice::from_ref(last)))
    }

    pub(super) fn word(&self) -> &'static str {
        if self.is_context { "context" } else { "object" }
    }

    pub(super) fn to_json(&self) -> Value {
        let last = self.name.components().last();
        json!({
            "name": self.name.to_string(),
            "id": last.map(|last| &last.id),
            "kind": last.map(|last| &last.kind),
            "type": self.word(),
        })
    }
}

/// Returns the object of a name; `None` if it is bound to nil.
pub(super) fn object(names: &Names, name: &Name) -> Result<Option<ObjectRef>, NamingError> {
    match names.resolve::<ObjectRef>(name) {
        Ok(object) => Ok(Some(object)),
        Err(error) if error.is_nil() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Type and address of an object, on one line.
pub(super) struct Summary<'o>(pub(super) &'o ObjectRef);

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ior = self.0.reference().ior();
        let mut addresses = Vec::new();
        for profile in ior.iiop_profiles() {
            addresses.extend(profile.endpoints().iter().map(ToString::to_string));
        }
        let type_id = match ior.type_id.as_str() {
            "" => "Object",
            id => id,
        };
        match addresses.as_slice() {
            [] => write!(f, "{} without an IIOP address", Printable(type_id)),
            [first] => write!(f, "{} at {first}", Printable(type_id)),
            [first, others @ ..] => {
                write!(f, "{} at {first} and {} more", Printable(type_id), others.len())
            }
        }
    }
}

/// Adds the known facts about an object to the JSON of its binding.
pub(super) fn describe(object: Option<&ObjectRef>, to: &mut Value) {
    to["ior"] = json!(object.map(|object| object.to_ior()));
    to["type_id"] = json!(object.map(|object| &object.reference().ior().type_id));
    to["corbaloc"] = json!(object.and_then(|object| object.to_corbaloc()));
}

/// State of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Health {
    /// Object that answers.
    Alive,
    /// Object that no longer exists, according to its server.
    Gone,
    /// Object that cannot be reached, with the reason.
    Unreachable(String),
    /// Name that is bound to no object.
    Nil,
    /// Object whose state this ORB cannot find out, with the reason.
    Unknown(String),
}

impl Health {
    /// Queries the object.
    pub(super) fn of(object: &ObjectRef) -> Health {
        match object.non_existent() {
            Ok(false) => Health::Alive,
            Ok(true) => Health::Gone,
            Err(exception) => Health::after(exception),
        }
    }

    /// Returns the state of an object whose call raised an exception.
    pub(super) fn after(exception: SystemException) -> Health {
        let attempts = Failure::of(&exception).map_or_else(Vec::new, |failure| failure.attempts);
        match exception.kind {
            SystemExceptionKind::ObjectNotExist => Health::Gone,
            SystemExceptionKind::InvObjref | SystemExceptionKind::ImpLimit => {
                Health::Unknown(exception.to_string())
            }
            SystemExceptionKind::Transient
            | SystemExceptionKind::CommFailure
            | SystemExceptionKind::Timeout => match attempts.last() {
                Some(attempt) => Health::Unreachable(attempt.what.clone()),
                None if exception.kind == SystemExceptionKind::Timeout => {
                    Health::Unreachable("no answer within the time limit".to_owned())
                }
                // No attempt to connect failed, so a server has sent the exception as a reply.
                None if exception.kind == SystemExceptionKind::Transient => Health::Alive,
                None => Health::Unreachable(exception.to_string()),
            },
            // Any other exception was sent as a reply, too.
            _ => Health::Alive,
        }
    }

    /// Returns the state of a naming context that raised an exception.
    pub(super) fn after_naming(error: &NamingError) -> Health {
        match &error.problem {
            Problem::System(exception) => Health::after(*exception),
            Problem::CannotProceed(_) => Health::Unreachable(error.to_string()),
            _ => Health::Alive,
        }
    }

    pub(super) fn word(&self) -> &'static str {
        match self {
            Health::Alive => "alive",
            Health::Gone => "gone",
            Health::Unreachable(_) => "unreachable",
            Health::Nil => "nil",
            Health::Unknown(_) => "unknown",
        }
    }

    pub(super) fn why(&self) -> &str {
        match self {
            Health::Alive => "it answers",
            Health::Gone => "its server reports that there is no such object",
            Health::Unreachable(why) | Health::Unknown(why) => why,
            Health::Nil => "the name is bound to nil",
        }
    }
}
