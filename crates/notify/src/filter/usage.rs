//! Use of filters by proxies and admins.

use std::ops::Deref;
use std::sync::Arc;

use super::FilterObject;

/// Use of a filter by a proxy or an admin. Dropping it ends the use.
pub(crate) struct FilterUse(Arc<FilterObject>);

impl FilterUse {
    pub(crate) fn of(filter: &Arc<FilterObject>) -> FilterUse {
        filter.uses.begin();
        FilterUse(Arc::clone(filter))
    }
}

impl Deref for FilterUse {
    type Target = FilterObject;

    fn deref(&self) -> &FilterObject {
        &self.0
    }
}

impl Clone for FilterUse {
    fn clone(&self) -> FilterUse {
        FilterUse::of(&self.0)
    }
}

impl Drop for FilterUse {
    fn drop(&mut self) {
        self.0.uses.end();
    }
}
