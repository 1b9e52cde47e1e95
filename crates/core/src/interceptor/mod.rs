//! Portable interceptors: code that sees every request pass (CORBA 3.4, 16; CHECKLIST B).
//!
//! ```text
//! client   send_request ... receive_reply | receive_exception | receive_other
//! server   receive_request_service_contexts, receive_request ... send_reply | send_exception | send_other
//! ```
//!
//! Interceptors of references (`IORInterceptor`) belong to the object adapter: `oxorb_poa::AdapterObserver`.
//!
//! Interceptors are registered before the ORB is made and stay until it ends. Starting points run in the order of
//! registration, ending points in reverse, and only for those whose starting point completed. What may be asked at a
//! point is a method of the type that this point gets, so asking too early is a compile error where the specification
//! has `BAD_INV_ORDER`.
//!
//! An ORB without interceptors pays one predictable branch per request; one with them allocates for each request.

mod client;
mod client_flow;
mod contexts;
mod current;
mod duplicate;
mod notes;
mod server;
mod server_flow;

pub use client::{ClientInterceptor, ClientReply, ClientRequest, Received};
pub(crate) use client_flow::ClientFlow;
pub use current::Slot;
pub use duplicate::DuplicateInterceptor;
pub use server::{Sending, ServerInterceptor, ServerReply, ServerRequest, Target};
pub(crate) use server_flow::{Entered, ServerFlow, Verdict, View};

use std::fmt;
use std::sync::Arc;

use oxorb_object::SystemException;

use crate::Ref;

/// How an interceptor ends a request instead of letting it go on.
#[derive(Debug, Clone)]
pub enum Interrupt {
    /// The caller gets this exception.
    Raise(SystemException),
    /// The request goes to another object (`ForwardRequest`).
    Forward(Ref),
}

impl From<SystemException> for Interrupt {
    fn from(exception: SystemException) -> Self {
        Interrupt::Raise(exception)
    }
}

/// The interceptors of one ORB, in the order of registration.
#[derive(Default, Clone)]
pub struct Interceptors {
    pub(crate) client: Vec<Arc<dyn ClientInterceptor>>,
    pub(crate) server: Vec<Arc<dyn ServerInterceptor>>,
}

impl Interceptors {
    /// Adds a client interceptor.
    ///
    /// # Errors
    /// Another one has the same name, and the name is not empty.
    pub fn add_client(
        &mut self,
        interceptor: Arc<dyn ClientInterceptor>,
    ) -> Result<(), DuplicateInterceptor> {
        unique(interceptor.name(), self.client.iter().map(|i| i.name()))?;
        self.client.push(interceptor);
        Ok(())
    }

    /// Adds a server interceptor.
    ///
    /// # Errors
    /// Another one has the same name, and the name is not empty.
    pub fn add_server(
        &mut self,
        interceptor: Arc<dyn ServerInterceptor>,
    ) -> Result<(), DuplicateInterceptor> {
        unique(interceptor.name(), self.server.iter().map(|i| i.name()))?;
        self.server.push(interceptor);
        Ok(())
    }

    /// Tells every interceptor that the ORB has ended.
    pub(crate) fn destroy(&self) {
        self.client.iter().for_each(|i| i.destroy());
        self.server.iter().for_each(|i| i.destroy());
    }
}

/// Anonymous interceptors may be as many as one likes.
fn unique<'n>(
    name: &str,
    mut others: impl Iterator<Item = &'n str>,
) -> Result<(), DuplicateInterceptor> {
    if !name.is_empty() && others.any(|other| other == name) {
        return Err(DuplicateInterceptor(name.to_owned()));
    }
    Ok(())
}

impl fmt::Debug for Interceptors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interceptors")
            .field(
                "client",
                &self.client.iter().map(|i| i.name()).collect::<Vec<_>>(),
            )
            .field(
                "server",
                &self.server.iter().map(|i| i.name()).collect::<Vec<_>>(),
            )
            .finish()
    }
}
