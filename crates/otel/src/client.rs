//! Spans of the calls that this process makes.

use opentelemetry::trace::{
    Span as _, SpanContext, SpanKind, Status, TraceContextExt as _, Tracer as _,
};
use opentelemetry::{Context, KeyValue, global};
use oxorb::SystemException;
use oxorb::interceptor::{
    ClientInterceptor, ClientReply, ClientRequest, Interrupt, Received, Slot,
};

use crate::{TRACE_CONTEXT, context, request_slot, span_name};

/// Client interceptor that starts a span for every call and sends the span's context with the
/// request.
#[derive(Debug)]
pub struct ClientTracing {
    slot: Slot,
}

/// Open span of a request.
struct Open(global::BoxedSpan);

impl ClientTracing {
    /// Returns an interceptor for [`Builder::client_interceptor`](https://docs.rs/oxorb).
    ///
    /// # Errors
    /// NO_RESOURCES if the process has no slot left.
    pub fn new() -> Result<Self, SystemException> {
        request_slot().map(|slot| ClientTracing { slot })
    }

    /// Returns the parent for a new span: the thread's current span, or else the span of the
    /// request that the calling servant serves.
    fn parent(&self, request: &ClientRequest<'_>) -> Context {
        let current = Context::current();
        if current.span().span_context().is_valid() {
            return current;
        }
        let served = request.slot(self.slot).and_then(|any| any.get::<String>().ok()?);
        match served.as_deref().and_then(context::from_text) {
            Some(span) => current.with_remote_span_context(span),
            None => current,
        }
    }
}

impl ClientInterceptor for ClientTracing {
    fn name(&self) -> &str {
        "OpenTelemetry"
    }

    fn send_request(&self, request: &mut ClientRequest<'_>) -> Result<(), Interrupt> {
        let interface = &request.target().ior().type_id;
        let span = global::tracer(crate::SCOPE)
            .span_builder(span_name(interface, request.operation()))
            .with_kind(SpanKind::Client)
            .with_attributes(crate::attributes(interface, request.operation()))
            .start_with_context(&global::tracer(crate::SCOPE), &self.parent(request));
        let sent: &SpanContext = span.span_context();
        if sent.is_valid() {
            request.add_request_service_context(TRACE_CONTEXT, context::encode(sent), true)?;
        }
        request.keep(Open(span));
        Ok(())
    }

    fn receive_reply(&self, reply: &mut ClientReply<'_>) -> Result<(), SystemException> {
        end(reply);
        Ok(())
    }

    fn receive_exception(&self, reply: &mut ClientReply<'_>) -> Result<(), Interrupt> {
        end(reply);
        Ok(())
    }

    fn receive_other(&self, reply: &mut ClientReply<'_>) -> Result<(), Interrupt> {
        end(reply);
        Ok(())
    }
}

fn end(reply: &mut ClientReply<'_>) {
    let Some(Open(mut span)) = reply.take() else {
        return;
    };
    match reply.received() {
        Received::UserException { id } => {
            // A user exception is a declared outcome of the operation, so the span does not get the status of an error.
            span.set_attribute(KeyValue::new("corba.exception", (*id).to_owned()));
        }
        Received::SystemException(exception) => {
            span.set_attribute(KeyValue::new("corba.exception", exception.repository_id()));
            span.set_status(Status::error(exception.to_string()));
        }
        Received::Forward(_) => span.add_event("forwarded", Vec::new()),
        Received::Results | Received::Sent => {}
    }
    span.end();
}
