use std::sync::Arc;

use oxorb::{Ref, SystemException};

use super::{Abroad, FilterUse};
use crate::Settings;
use crate::memory::Memory;
use crate::store::Keeper;

/// Service that filters belong to, as they see it.
pub(crate) trait Home: Send + Sync {
    fn settings(&self) -> &Settings;

    /// Returns the reference with the time limit of calls to peers.
    fn bounded(&self, reference: &Ref) -> Ref;

    /// Returns the filter of the service that a reference leads to.
    fn own_filter(&self, reference: &Ref) -> Option<FilterUse>;

    /// Memory of all that clients make the service hold.
    fn memory(&self) -> &Arc<Memory>;

    /// Whether what a store holds is being made anew.
    fn is_restoring(&self) -> bool;

    /// Returns the count of filters of other processes.
    fn abroad(&self) -> &Arc<Abroad>;

    fn keeper(&self) -> Option<&Arc<Keeper>>;

    /// Ends the filter object; with `unused` only if nothing has it.
    fn remove_filter(&self, id: i32, unused: bool) -> Result<(), SystemException>;
}
