//! Choice of the definitions that compiled code marshals and those that the interpreter does.

use std::collections::{BTreeSet, HashSet};

use oxorb_idl::model::{DefId, DefKind, Model};

use crate::extra::said_of;
use crate::reach::values_of;

/// Marshalling of values and calls. The octets are the same, and so is what is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Marshalling {
    /// Code of its own for each type: fast.
    #[default]
    Compiled,
    /// Tables, and one interpreter for all types: small.
    Interpreted,
}

/// Requests from outside of the IDL.
#[derive(Debug, Clone, Default)]
pub(crate) struct Choice {
    /// Marshalling of all that nothing else is said of.
    pub(crate) whole: Marshalling,
    /// Scoped names of definitions that are interpreted, with all in them.
    pub(crate) interpreted: Vec<String>,
}

/// The annotation that says it in the IDL: `@interpreted` or `@interpreted(FALSE)`.
const ANNOTATION: &str = "interpreted";

/// The definitions among `reach` that are interpreted.
///
/// The innermost scope of which something is said decides. Types outside of that are interpreted if interpreted interfaces
/// use them, and nothing that is compiled does.
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
    // What no interface uses stays as it is, and with it what it is made of.
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

/// The names that were asked for and that the model does not have.
pub(crate) fn unknown<'c>(model: &Model, choice: &'c Choice) -> Option<&'c str> {
    let known = |name: &str| model.defs().any(|def| def.scoped_name == name);
    let names = choice.interpreted.iter().map(String::as_str);
    names.into_iter().find(|name| !known(name))
}
