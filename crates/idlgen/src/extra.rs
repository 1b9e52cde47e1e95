//! Interfaces that get more than stubs and skeletons.

use std::collections::{BTreeSet, HashSet};

use oxorb_idl::model::{
    Annotation, DefId, DefKind, Export, Interface, InterfaceKind, Model, Operation, Value,
};

use crate::executors::Executors;
use crate::reach::reachable;

/// Requests from outside of the IDL: scoped names of interfaces, or of modules for all in them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extra {
    /// Servants that answer later (AMH).
    pub(crate) amh: Vec<String>,
    /// Reply handlers (AMI).
    pub(crate) ami: Vec<String>,
    /// Servants that belong to one thread.
    pub(crate) confined: Vec<String>,
    /// Oneways whose servants return a result; the names may be those of operations.
    pub(crate) fallible_oneways: Vec<String>,
    /// Definitions with executors, where those are wanted.
    pub(crate) executors: Option<Executors>,
}

impl Extra {
    /// A name that was asked for and that the model does not have.
    pub(crate) fn unknown(&self, model: &Model) -> Option<&str> {
        let known = |name: &str| model.defs().any(|def| def.scoped_name == name);
        let names = self.amh.iter().chain(&self.ami).chain(&self.confined);
        let mut names = names.map(String::as_str);
        names.find(|name| !known(name))
    }

    /// Returns a name of fallible oneways that the model does not have.
    pub(crate) fn unknown_oneway(&self, model: &Model) -> Option<&str> {
        let known = |name: &str| {
            let (interface, operation) = name.rsplit_once("::").unwrap_or_default();
            model.defs().any(|def| match &def.kind {
                DefKind::Module(_) | DefKind::Interface(_) if def.scoped_name == name => true,
                kind => {
                    def.scoped_name == interface
                        && oneways(kind).any(|oneway| oneway.name == operation)
                }
            })
        };
        let mut names = self.fallible_oneways.iter().map(String::as_str);
        names.find(|name| !known(name))
    }

    /// Returns the names of all that is meant, annotations of the model included, for a model that was made from it and
    /// has lost them.
    pub(crate) fn resolved(&self, model: &Model) -> Extra {
        let reach = reachable(model);
        let named = |ids: HashSet<DefId>| {
            let names = ids.iter().map(|id| model.def(*id).scoped_name.clone());
            names.collect()
        };
        let oneways = fallible_oneways(model, &reach, &self.fallible_oneways);
        let oneways = oneways.into_iter();
        Extra {
            amh: named(wanted(model, &reach, "amh", &self.amh)),
            ami: named(wanted(model, &reach, "ami", &self.ami)),
            confined: named(wanted(model, &reach, "confined", &self.confined)),
            fallible_oneways: oneways
                .map(|(id, name)| format!("{}::{name}", model.def(id).scoped_name))
                .collect(),
            executors: None,
        }
    }
}

/// The oneway operations that an interface declares itself.
fn oneways(kind: &DefKind) -> impl Iterator<Item = &Operation> {
    let exports = match kind {
        DefKind::Interface(interface) => interface.exports.as_slice(),
        _ => &[],
    };
    exports.iter().filter_map(|export| match export {
        Export::Operation(operation) if operation.oneway => Some(operation),
        _ => None,
    })
}

/// The oneway operations among `reach` whose servants return a result, by annotation or by name: of the operation itself,
/// its interface, or a module around it. What an interface inherits is as its base says.
pub(crate) fn fallible_oneways(
    model: &Model,
    reach: &BTreeSet<DefId>,
    names: &[String],
) -> HashSet<(DefId, String)> {
    let mut fallible = HashSet::new();
    for id in reach {
        let def = model.def(*id);
        for oneway in oneways(&def.kind) {
            let scoped = format!("{}::{}", def.scoped_name, oneway.name);
            let said = said(&oneway.annotations, FALLIBLE)
                .or_else(|| names.contains(&scoped).then_some(true))
                .or_else(|| said_of(model, *id, FALLIBLE, names));
            if said == Some(true) {
                fallible.insert((*id, oneway.name.clone()));
            }
        }
    }
    fallible
}

/// The annotation for oneways whose servants return a result.
const FALLIBLE: &str = "fallible";

/// The interfaces among `reach` for which it is wanted, by an annotation or by name, and all that they inherit from.
pub(crate) fn wanted(
    model: &Model,
    reach: &BTreeSet<DefId>,
    annotation: &str,
    names: &[String],
) -> HashSet<DefId> {
    let mut wanted = HashSet::new();
    for id in reach {
        if let DefKind::Interface(interface) = &model.def(*id).kind
            && is_called(interface)
            && said_of(model, *id, annotation, names) == Some(true)
        {
            let bases = model.all_bases(interface);
            let called = |id: &DefId| match &model.def(*id).kind {
                DefKind::Interface(base) => is_called(base),
                _ => false,
            };
            wanted.extend([*id].into_iter().chain(bases).filter(called));
        }
    }
    wanted
}

fn is_called(interface: &Interface) -> bool {
    interface.kind != InterfaceKind::Local
}

/// Returns what is said of a definition or of the nearest scope around it.
pub(crate) fn said_of(
    model: &Model,
    id: DefId,
    annotation: &str,
    names: &[String],
) -> Option<bool> {
    let mut next = Some(id);
    while let Some(id) = next {
        let def = model.def(id);
        if let Some(said) = said(&def.annotations, annotation) {
            return Some(said);
        }
        if names.contains(&def.scoped_name) {
            return Some(true);
        }
        next = def.parent;
    }
    None
}

/// `@annotation` or `@annotation(FALSE)`.
pub(crate) fn said(annotations: &[Annotation], annotation: &str) -> Option<bool> {
    let mut found = annotations.iter().rev();
    let found = found.find(|one| one.name == annotation)?;
    Some(!matches!(found.value("value"), Some(Value::Boolean(false))))
}
