//! Interfaces with more generated code than stubs and skeletons.

use std::collections::{BTreeSet, HashSet};

use oxorb_idl::model::{
    Annotation, DefId, DefKind, Export, Interface, InterfaceKind, Model, Operation, Value,
};

use crate::executors::Executors;
use crate::reach::reachable;

/// Requests from outside the IDL: scoped names of interfaces, or of modules for all their interfaces.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extra {
    /// Interfaces with servants that reply later (AMH).
    pub(crate) amh: Vec<String>,
    /// Interfaces with reply handlers (AMI).
    pub(crate) ami: Vec<String>,
    /// Interfaces with servants that belong to one thread.
    pub(crate) confined: Vec<String>,
    /// Oneways whose servants return a result; the names may also be those of operations.
    pub(crate) fallible_oneways: Vec<String>,
    /// Definitions with executors, if requested.
    pub(crate) executors: Option<Executors>,
}

impl Extra {
    /// Returns a requested name that the model lacks.
    pub(crate) fn unknown(&self, model: &Model) -> Option<&str> {
        let known = |name: &str| model.defs().any(|def| def.scoped_name == name);
        let names = self.amh.iter().chain(&self.ami).chain(&self.confined);
        let mut names = names.map(String::as_str);
        names.find(|name| !known(name))
    }

    /// Returns a requested name of fallible oneways that the model lacks.
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

    /// Returns the names of all affected definitions, including those annotated in the model, for a model that was
    /// derived from it and has lost the annotations.
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

/// Returns the oneway operations that an interface declares itself.
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

/// Returns the oneway operations among `reach` whose servants return a result, by annotation or by name: of the
/// operation itself, its interface, or an enclosing module. For inherited operations, the base decides.
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

/// Annotation for oneways whose servants return a result.
const FALLIBLE: &str = "fallible";

/// Returns the interfaces among `reach` that are selected by an annotation or by name, and all their bases.
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

/// Returns the value of the annotation on a definition or on the nearest enclosing scope.
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

/// Returns the value of `@annotation` or `@annotation(FALSE)`.
pub(crate) fn said(annotations: &[Annotation], annotation: &str) -> Option<bool> {
    let mut found = annotations.iter().rev();
    let found = found.find(|one| one.name == annotation)?;
    Some(!matches!(found.value("value"), Some(Value::Boolean(false))))
}
