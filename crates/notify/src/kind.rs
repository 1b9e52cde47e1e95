//! Kinds of objects, as encoded in object ids and in the store.

/// Kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Factory = 0,
    FilterFactory = 1,
    Channel = 2,
    Admin = 3,
    Proxy = 4,
    Filter = 5,
    /// Callback of the reconnection registry. It is in the store, but is not an object of the service.
    Callback = 6,
}
