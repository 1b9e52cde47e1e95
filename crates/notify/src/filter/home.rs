use std::sync::Arc;

use oxorb::{Ref, SystemException};

use super::{Abroad, FilterUse};
use crate::Settings;
use crate::memory::Memory;
use crate::store::Keeper;

/// Service, as seen by its filters.
pub(crate) trait Home: Send + Sync {
    fn settings(&self) -> &Settings;

    /// Returns the reference with the time limit of calls to peers.
    fn bounded(&self, reference: &Ref) -> Ref;

    /// Returns the local filter that a reference refers to.
    fn own_filter(&self, reference: &Ref) -> Option<FilterUse>;

    /// Returns the memory that clients make the service hold.
    fn memory(&self) -> &Arc<Memory>;

    /// Reports whether stored objects are being restored.
    fn is_restoring(&self) -> bool;

    /// Returns the counter of remote filters.
    fn abroad(&self) -> &Arc<Abroad>;

    fn keeper(&self) -> Option<&Arc<Keeper>>;

    /// Removes a filter object; with `unused`, only if no object uses it.
    fn remove_filter(&self, id: i32, unused: bool) -> Result<(), SystemException>;
}
