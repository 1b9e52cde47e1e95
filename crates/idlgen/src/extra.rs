//! Which interfaces get more than stubs and skeletons.

use std::collections::{BTreeSet, HashSet};

use oxorb_idl::model::{Def, DefId, DefKind, Interface, InterfaceKind, Model, Value};

/// What was asked for outside of the IDL: scoped names of interfaces, or of modules for all in them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extra {
    /// Servants that answer later (AMH).
    pub(crate) amh: Vec<String>,
    /// Reply handlers (AMI).
    pub(crate) ami: Vec<String>,
}

impl Extra {
    /// A name that was asked for and that the model does not have.
    pub(crate) fn unknown(&self, model: &Model) -> Option<&str> {
        let known = |name: &str| model.defs().any(|def| def.scoped_name == name);
        let mut names = self.amh.iter().chain(&self.ami).map(String::as_str);
        names.find(|name| !known(name))
    }
}

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

/// What is said of a definition or of the nearest scope around it.
pub(crate) fn said_of(
    model: &Model,
    id: DefId,
    annotation: &str,
    names: &[String],
) -> Option<bool> {
    let mut next = Some(id);
    while let Some(id) = next {
        let def = model.def(id);
        if let Some(said) = annotated(def, annotation) {
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
fn annotated(def: &Def, annotation: &str) -> Option<bool> {
    let mut found = def.annotations.iter().rev();
    let found = found.find(|one| one.name == annotation)?;
    Some(!matches!(found.value("value"), Some(Value::Boolean(false))))
}
