//! Portable interceptors and access rules: code that sees every request (CORBA 3.4, 16; CHECKLIST B).
//!
//! ```text
//! client   send_request ... receive_reply | receive_exception | receive_other
//! server   receive_request_service_contexts, receive_request ... send_reply | send_exception | send_other
//! ```
//!
//! Interceptors of references (`IORInterceptor`) belong to the object adapter: `oxorb_poa::AdapterObserver`.
//!
//! Interceptors are registered before the ORB is built, and stay until it ends. Starting points run in the order of
//! registration, ending points in reverse order, and only for interceptors whose starting point completed. Each point's
//! argument type has only the methods that are valid at this point, so that a call at the wrong point is a compile
//! error where the specification has `BAD_INV_ORDER`.
//!
//! An ORB without interceptors pays one predictable branch per request; an ORB with interceptors allocates for each
//! request. The [`SchedulingInterceptor`], of which an ORB has at most one, allocates nothing, nor do
//! [access rules](crate::AccessRules) and the counts of [metrics](crate::Orb::metrics).

mod access;
mod access_gate;
mod access_index;
pub(crate) mod access_limits;
mod access_rates;
pub(crate) mod access_rules;
mod client;
mod client_flow;
mod contexts;
mod current;
mod duplicate;
mod notes;
mod origin;
mod scheduling;
mod server;
mod server_flow;

pub(crate) use access_gate::Visited;
pub use client::{ClientInterceptor, ClientReply, ClientRequest, Received};
pub(crate) use client_flow::ClientFlow;
pub use current::Slot;
pub use duplicate::DuplicateInterceptor;
pub(crate) use origin::RequestOrigin;
pub use scheduling::{
    Ended, IncomingAnswer, IncomingRequest, OutgoingRequest, SchedulingInterceptor,
};
pub use server::{Sending, ServerInterceptor, ServerReply, ServerRequest, Target};
pub(crate) use server_flow::{Entered, ServerFlow, Verdict, View};

use std::fmt;
use std::sync::Arc;

use oxorb_object::{CompletionStatus, SystemException};

use self::access_gate::AccessGate;
use self::access_rules::AccessRules;
use crate::Ref;
use crate::monitoring::metrics::Meter;

/// Way in which an interceptor ends a request.
#[derive(Debug, Clone)]
pub enum Interrupt {
    /// The request raises this exception at the caller.
    Raise(SystemException),
    /// The request is forwarded to another object (`ForwardRequest`).
    Forward(Ref),
}

impl From<SystemException> for Interrupt {
    fn from(exception: SystemException) -> Self {
        Interrupt::Raise(exception)
    }
}

/// Interceptors of one ORB, in the order of registration.
#[derive(Default, Clone)]
pub struct Interceptors {
    pub(crate) client: Vec<Arc<dyn ClientInterceptor>>,
    pub(crate) server: Vec<Arc<dyn ServerInterceptor>>,
    pub(crate) scheduling: Option<Arc<dyn SchedulingInterceptor>>,
    /// Access rules, applied before all interceptors.
    access: Option<Arc<AccessGate>>,
    /// Counts of requests, made after all interceptors.
    pub(crate) meter: Option<Arc<Meter>>,
    /// Whether any of them sees served requests: a single test on the path of requests.
    pub(crate) sees_upcalls: bool,
}

impl Interceptors {
    /// Adds a client interceptor.
    ///
    /// # Errors
    /// Another client interceptor has the same name, and the name is not empty.
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
    /// Another server interceptor has the same name, and the name is not empty.
    pub fn add_server(
        &mut self,
        interceptor: Arc<dyn ServerInterceptor>,
    ) -> Result<(), DuplicateInterceptor> {
        unique(interceptor.name(), self.server.iter().map(|i| i.name()))?;
        self.server.push(interceptor);
        self.sees_upcalls = true;
        Ok(())
    }

    /// Sets the access rules, which are applied before all server interceptors. Takes time and memory proportional to
    /// the rules and the names in them.
    pub fn set_access_rules(&mut self, rules: &Arc<AccessRules>) {
        self.access = Some(Arc::new(AccessGate::new(rules)));
        self.sees_upcalls = true;
    }

    /// Sets the meter that counts requests.
    pub(crate) fn set_meter(&mut self, meter: &Arc<Meter>) {
        self.meter = Some(Arc::clone(meter));
        self.sees_upcalls = true;
    }

    /// Returns the access rules in force, if there are any.
    pub(crate) fn access(&self) -> Option<&AccessGate> {
        self.access.as_deref()
    }

    /// Sets the interceptor of the scheduler.
    ///
    /// # Errors
    /// A scheduling interceptor is set already.
    pub fn set_scheduling(
        &mut self,
        interceptor: Arc<dyn SchedulingInterceptor>,
    ) -> Result<(), DuplicateInterceptor> {
        if self.scheduling.is_some() {
            return Err(DuplicateInterceptor("scheduling".to_owned()));
        }
        self.scheduling = Some(interceptor);
        self.sees_upcalls = true;
        Ok(())
    }

    /// Reports whether any of them sees outgoing calls.
    pub(crate) fn see_calls(&self) -> bool {
        !self.client.is_empty() || self.scheduling.is_some()
    }

    /// Reports whether calls within the process need messages, because any of them sees these. Metrics do not count
    /// calls without a message.
    pub(crate) fn see_local_calls(&self) -> bool {
        self.see_calls() || !self.server.is_empty() || self.access.is_some()
    }

    /// Notifies every interceptor that the ORB has ended.
    pub(crate) fn destroy(&self) {
        self.client.iter().for_each(|i| i.destroy());
        self.server.iter().for_each(|i| i.destroy());
        self.scheduling.iter().for_each(|i| i.destroy());
    }
}

/// Returns an exception that an ending point raises in place of an outcome with the completion status `before`. An
/// exception with COMPLETED_NO gets that status, because the client could otherwise repeat an operation that has run.
pub(crate) fn replacing(before: CompletionStatus, exception: SystemException) -> SystemException {
    match exception.completed {
        CompletionStatus::No => SystemException { completed: before, ..exception },
        CompletionStatus::Yes | CompletionStatus::Maybe => exception,
    }
}

/// Checks that a name is unique; any number of interceptors may have the empty name.
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
            .field("client", &self.client.iter().map(|i| i.name()).collect::<Vec<_>>())
            .field("server", &self.server.iter().map(|i| i.name()).collect::<Vec<_>>())
            .field("scheduling", &self.scheduling.is_some())
            .finish()
    }
}
