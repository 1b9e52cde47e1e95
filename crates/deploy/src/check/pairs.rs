//! Limit of the pairs of endpoints in a connection.

use crate::model::plan::Connection;

/// Maximum number of pairs of a providing and a using endpoint in a connection.
pub(super) const MOST_PAIRS: usize = 1_000;

/// Reports whether a connection has more pairs of endpoints than [`MOST_PAIRS`].
pub(super) fn too_many_pairs(connection: &Connection) -> bool {
    let ends = &connection.internal_endpoint;
    let providers = ends.iter().filter(|end| end.kind.provides()).count();
    providers.saturating_mul(ends.len() - providers) > MOST_PAIRS
}
