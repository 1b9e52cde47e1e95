//! Limit of the pairs of ends that a connection may join.

use crate::model::plan::Connection;

/// Pairs of an end that provides and one that uses that a connection may have.
pub(super) const MOST_PAIRS: usize = 1_000;

/// Reports whether a connection joins more pairs of ends than [`MOST_PAIRS`].
pub(super) fn too_many_pairs(connection: &Connection) -> bool {
    let ends = &connection.internal_endpoint;
    let providers = ends.iter().filter(|end| end.kind.provides()).count();
    providers.saturating_mul(ends.len() - providers) > MOST_PAIRS
}
