//! Connections that are opened before the first call needs them (`-ORBPreconnect`).

use super::Orb;
use crate::client;
use crate::error::{Cause, PreconnectError};
use crate::{Interface as _, ObjectRef, ResolveError};

impl Orb {
    /// Opens, for the calling thread, every connection that its calls to the objects of `-ORBPreconnect` may need: one
    /// for each band or lane, as [`Ref::validate_connection`](crate::Ref::validate_connection) does. The ORB calls this
    /// when it is made. Where connections are [private](crate::ClientConnections::Private), other threads call it
    /// before their first deadline; where they are cached or shared, one thread opens them for all.
    ///
    /// Names are initial references; the references found are kept, so that resolving the names later sends no request.
    ///
    /// # Errors
    /// [`PreconnectError`] for the first object that cannot be reached; the connections to earlier objects stay open.
    ///
    /// ```
    /// let orb = oxorb_core::Orb::new(oxorb_core::Options::default());
    /// orb.preconnect()?; // nothing was asked for
    /// # Ok::<(), oxorb_core::PreconnectError>(())
    /// ```
    pub fn preconnect(&self) -> Result<(), PreconnectError> {
        let objects = &self.options().preconnect;
        objects.iter().try_for_each(|object| self.connect_to(object))
    }

    fn connect_to(&self, object: &str) -> Result<(), PreconnectError> {
        let because = |cause| PreconnectError { object: object.to_owned(), cause: Box::new(cause) };
        let resolved = self.preconnected(object);
        let resolved = resolved.map_err(|why| because(Cause::Unresolved(why)))?;
        let reference = resolved.reference();
        let connected = reference.validate_connection();
        connected.map_err(|why| because(Cause::Unconnected(why)))?;
        if self.options().preconnect_asynchronous {
            let shared = client::share(reference);
            shared.map_err(|why| because(Cause::Unconnected(why)))?;
        }
        if !is_url(object) {
            self.register_initial_reference(object, reference);
        }
        Ok(())
    }

    fn preconnected(&self, object: &str) -> Result<ObjectRef, ResolveError> {
        match is_url(object) {
            true => self.string_to_object(object),
            false => self.resolve_initial_references(object),
        }
    }
}

/// Reports whether `object` is a URL rather than the name of an initial reference.
fn is_url(object: &str) -> bool {
    object.contains(':')
}
