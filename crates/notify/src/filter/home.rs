use std::sync::Arc;

use oxorb::{Ref, SystemException};

use super::{Abroad, FilterUse};
use crate::Settings;
use crate::memory::Memory;
use crate::store::Keeper;

/// The service, as its filters use it.
pub(crate) trait Home: Send + Sync {
    fn settings(&self) -> &Settings;

    /// Returns the reference with the time limit for calls to peers.
    fn bounded(&self, reference: &Ref) -> Ref;

    /// Returns the local filter to which a reference refers; `None` if the filter is remote.
    fn own_filter(&self, reference: &Ref) -> Option<FilterUse>;

    /// Returns the account of the memory that clients' objects occupy.
    fn memory(&self) -> &Arc<Memory>;

    /// Reports whether stored objects are being restored.
    fn is_restoring(&self) -> bool;

    /// Returns the counter of remote filters.
    fn abroad(&self) -> &Arc<Abroad>;

    fn keeper(&self) -> Option<&Arc<Keeper>>;

    /// Removes a filter object. If `unused` is set, does so only if no object uses the filter.
    fn remove_filter(&self, id: i32, unused: bool) -> Result<(), SystemException>;
}
