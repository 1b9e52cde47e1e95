//! Names in the code set of the client being served ([`oxorb::servant::escape`]).

use std::borrow::Cow;

use oxorb::servant::escape;

use crate::cos_naming::NameComponent;

/// Returns a name whose characters the client can receive.
pub(crate) fn outgoing(name: Vec<NameComponent>) -> Vec<NameComponent> {
    name.into_iter().map(outgoing_component).collect()
}

/// Returns a component whose characters the client can receive.
pub(crate) fn outgoing_component(component: NameComponent) -> NameComponent {
    NameComponent { id: escape::outgoing(component.id), kind: escape::outgoing(component.kind) }
}

/// Replaces the escapes in a name from the client by the characters that they represent.
pub(crate) fn incoming(name: &[NameComponent]) -> Cow<'_, [NameComponent]> {
    let is_same = |text| matches!(escape::incoming(text), Cow::Borrowed(_));
    if name.iter().all(|c| is_same(&c.id) && is_same(&c.kind)) {
        return Cow::Borrowed(name);
    }
    let meant = name.iter().map(|component| NameComponent {
        id: escape::incoming(&component.id).into_owned(),
        kind: escape::incoming(&component.kind).into_owned(),
    });
    Cow::Owned(meant.collect())
}
