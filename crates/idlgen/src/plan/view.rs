//! Views of `@borrowed` parameters for servants; their parts are in the message and in an arena.

use std::collections::{BTreeSet, HashSet};

use oxorb_idl::model::{Basic, DefId, DefKind, Field, Model};

use super::{Plan, Traits, calls};

/// Reports whether a whole value can be read into a view.
pub(crate) fn is_viewable(model: &Model, plan: &Plan) -> bool {
    let mut views = HashSet::new();
    add_views(model, plan, &mut views)
}

/// Reports whether reading a value allocates unless it is borrowed.
pub(crate) fn is_copied(model: &Model, plan: &Plan) -> bool {
    match plan {
        Plan::Text { wide, .. } => *wide,
        Plan::Block { element, .. } => !is_octets(*element),
        Plan::List { .. } => true,
        Plan::Named(id) => has_view(model, *id),
        Plan::Array { element, .. } | Plan::Optional(element) => is_copied(model, element),
        _ => false,
    }
}

/// Reports whether the elements of a block are octets, which stay in place.
pub(crate) fn is_octets(element: Basic) -> bool {
    matches!(element, Basic::Octet | Basic::UInt8)
}

/// Reports whether a definition has its own view, because its values own memory.
pub(crate) fn has_view(model: &Model, id: DefId) -> bool {
    owns(model, id, &mut HashSet::new())
}

fn owns(model: &Model, id: DefId, seen: &mut HashSet<DefId>) -> bool {
    seen.insert(id)
        && fields(model, id).into_iter().any(|field| {
            Plan::of_field(model, field).is_ok_and(|plan| owns_within(model, &plan, seen))
        })
}

fn owns_within(model: &Model, plan: &Plan, seen: &mut HashSet<DefId>) -> bool {
    match plan {
        Plan::Text { .. } | Plan::Block { .. } | Plan::List { .. } => true,
        Plan::Array { element, .. } | Plan::Optional(element) => owns_within(model, element, seen),
        Plan::Named(id) => owns(model, *id, seen),
        _ => false,
    }
}

/// Reports whether the view of a definition is `Copy`.
pub(crate) fn view_is_copy(model: &Model, id: DefId) -> bool {
    copies(model, id, &mut HashSet::new())
}

fn copies(model: &Model, id: DefId, seen: &mut HashSet<DefId>) -> bool {
    !seen.insert(id)
        || fields(model, id).into_iter().all(|field| {
            Plan::of_field(model, field).is_ok_and(|plan| copies_within(model, &plan, seen))
        })
}

fn copies_within(model: &Model, plan: &Plan, seen: &mut HashSet<DefId>) -> bool {
    match plan {
        // The views of these values are references to slices, which are `Copy`.
        Plan::Text { .. } | Plan::Block { .. } | Plan::List { .. } => true,
        Plan::Array { element, .. } | Plan::Optional(element) => {
            copies_within(model, element, seen)
        }
        Plan::Named(id) if has_view(model, *id) => copies(model, *id, seen),
        Plan::Named(id) => Traits::of(model, *id).copy,
        _ => true,
    }
}

fn fields(model: &Model, id: DefId) -> Vec<&Field> {
    match &model.def(id).kind {
        DefKind::Struct(body) => model.all_fields(body),
        DefKind::Union(body) => body.cases.iter().map(|case| &case.field).collect(),
        _ => Vec::new(),
    }
}

/// Returns the structs and unions among `reach` that servants get views of.
pub(crate) fn viewed(model: &Model, reach: &BTreeSet<DefId>) -> HashSet<DefId> {
    let mut views = HashSet::new();
    for id in reach {
        let DefKind::Interface(interface) = &model.def(*id).kind else {
            continue;
        };
        // Ignores an interface with a type that has no plan, because it is rejected at its
        // declaration.
        let calls = calls(model, interface).unwrap_or_default();
        for arg in calls.iter().flat_map(|call| &call.args) {
            if arg.borrowed {
                add_views(model, &arg.plan, &mut views);
            }
        }
    }
    views
}

/// Adds the definitions with views within a plan; returns false if some part has none.
fn add_views(model: &Model, plan: &Plan, views: &mut HashSet<DefId>) -> bool {
    match plan {
        Plan::Basic(_) | Plan::Text { .. } | Plan::Fixed { .. } | Plan::Block { .. } => true,
        Plan::List { element, .. } | Plan::Array { element, .. } | Plan::Optional(element) => {
            add_views(model, element, views)
        }
        Plan::Named(id) => {
            let DefKind::Exception(_) = &model.def(*id).kind else {
                return add_fields(model, *id, views);
            };
            false
        }
        Plan::Any
        | Plan::TypeCode
        | Plan::Reference(_)
        | Plan::Value
        | Plan::Abstract
        | Plan::InPlace
        | Plan::Map { .. }
        | Plan::Local(_) => false,
    }
}

fn add_fields(model: &Model, id: DefId, views: &mut HashSet<DefId>) -> bool {
    if has_view(model, id) && !views.insert(id) {
        return true;
    }
    fields(model, id)
        .into_iter()
        .all(|field| Plan::of_field(model, field).is_ok_and(|plan| add_views(model, &plan, views)))
}
