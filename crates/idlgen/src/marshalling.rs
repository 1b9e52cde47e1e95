//! Choice between compiled and interpreted marshalling for each definition.

use std::collections::{BTreeSet, HashSet};

use oxorb_idl::model::{DefId, DefKind, Model};

use crate::extra::said_of;
use crate::reach::values_of;

/// Method of marshalling values and calls. All methods write the same octets and reject the same input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Marshalling {
    /// Separate code for each type: fast.
    #[default]
    Compiled,
    /// Tables, and one interpreter for all types: small.
    Interpreted,
}

/// Requests from outside the IDL.
#[derive(Debug, Clone, Default)]
pub(crate) struct Choice {
    /// Marshalling of definitions without an individual choice.
    pub(crate) whole: Marshalling,
    /// Scoped names of definitions that are interpreted, including their contents.
    pub(crate) interpreted: Vec<String>,
}

/// Annotation for the choice in the IDL: `@interpreted` or `@interpreted(FALSE)`.
const ANNOTATION: &str = "interpreted";

/// Returns the definitions among `reach` that are interpreted.
///
/// The innermost scope with a choice decides. Types outside such scopes are interpreted if interpreted interfaces use
/// them, and no compiled definition does.
pub(crate) fn interpreted(
    model: &Model,
    reach: &BTreeSet<DefId>,
    choice: &Choice,
) -> HashSet<DefId> {
    let said: Vec<(DefId, Option<bool>)> = reach
        .iter()
        .map(|id| (*id, said_of(model, *id, ANNOTATION, &choice.interpreted)))
        .collect();
    let whole = choice.whole == Marshalling::Interpreted;
    let mut interpreted: HashSet<DefId> =
        said.iter().filter(|(_, said)| said.unwrap_or(whole)).map(|(id, _)| *id).collect();
    let is_interface = |id: &DefId| matches!(model.def(*id).kind, DefKind::Interface(_));
    let (small, fast): (Vec<DefId>, Vec<DefId>) =
        reach.iter().filter(|id| is_interface(id)).partition(|id| interpreted.contains(id));
    let only_small = values_of(model, &small);
    let also_fast = values_of(model, &fast);
    // A compiled type that no interpreted interface uses stays compiled, and so do the types that it contains.
    let loose: Vec<DefId> = reach
        .iter()
        .filter(|id| !is_interface(id) && !interpreted.contains(id) && !only_small.contains(id))
        .copied()
        .collect();
    let loose = values_of(model, &loose);
    for (id, said) in said {
        let follows = said.is_none() && only_small.contains(&id);
        if follows && !also_fast.contains(&id) && !loose.contains(&id) {
            interpreted.insert(id);
        }
    }
    interpreted
}

/// Returns a requested name that the model lacks.
pub(crate) fn unknown<'c>(model: &Model, choice: &'c Choice) -> Option<&'c str> {
    let known = |name: &str| model.defs().any(|def| def.scoped_name == name);
    let names = choice.interpreted.iter().map(String::as_str);
    names.into_iter().find(|name| !known(name))
}
