//! Spans of requests served by this process.

use opentelemetry::trace::{Span as _, SpanKind, Status, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, KeyValue, global};
use oxorb::Any;
use oxorb::SystemException;
use oxorb::interceptor::{Interrupt, Sending, ServerInterceptor, ServerReply, ServerRequest, Slot};

use crate::{TRACE_CONTEXT, context, request_slot, span_name};

/// Server interceptor that starts a span for every request, as a child of the client's span.
#[derive(Debug)]
pub struct ServerTracing {
    slot: Slot,
}

/// Open span of a request.
struct Open(global::BoxedSpan);

impl ServerTracing {
    /// Returns an interceptor for [`Builder::server_interceptor`](https://docs.rs/oxorb).
    ///
    /// # Errors
    /// NO_RESOURCES if the process has no slot left.
    pub fn new() -> Result<Self, SystemException> {
        request_slot().map(|slot| ServerTracing { slot })
    }
}

impl ServerInterceptor for ServerTracing {
    fn name(&self) -> &str {
        "OpenTelemetry"
    }

    fn receive_request_service_contexts(
        &self,
        request: &mut ServerRequest<'_>,
    ) -> Result<(), Interrupt> {
        let parent = request.request_service_context(TRACE_CONTEXT).and_then(context::decode);
        let parent = match parent {
            Some(span) => Context::new().with_remote_span_context(span),
            None => Context::new(),
        };
        let span = global::tracer(crate::SCOPE)
            .span_builder(request.operation().to_owned())
            .with_kind(SpanKind::Server)
            .start_with_context(&global::tracer(crate::SCOPE), &parent);
        if span.span_context().is_valid() {
            let text = context::to_text(span.span_context());
            request.set_slot(self.slot, Some(Any::new(text)));
        }
        request.keep(Open(span));
        Ok(())
    }

    fn receive_request(&self, request: &mut ServerRequest<'_>) -> Result<(), Interrupt> {
        let Some(Open(mut span)) = request.take() else {
            return Ok(());
        };
        if let Some(target) = request.target() {
            span.update_name(span_name(&target.interface, request.operation()));
            for attribute in crate::attributes(&target.interface, request.operation()) {
                span.set_attribute(attribute);
            }
            let adapter = target.adapter_name.join("/");
            span.set_attribute(KeyValue::new("corba.adapter", adapter));
        }
        request.keep(Open(span));
        Ok(())
    }

    fn send_reply(&self, reply: &mut ServerReply<'_>) -> Result<(), SystemException> {
        end(reply);
        Ok(())
    }

    fn send_exception(&self, reply: &mut ServerReply<'_>) -> Result<(), Interrupt> {
        end(reply);
        Ok(())
    }

    fn send_other(&self, reply: &mut ServerReply<'_>) -> Result<(), Interrupt> {
        end(reply);
        Ok(())
    }
}

fn end(reply: &mut ServerReply<'_>) {
    let Some(Open(mut span)) = reply.take() else {
        return;
    };
    match reply.sending() {
        Sending::UserException { id, .. } => {
            span.set_attribute(KeyValue::new("corba.exception", (*id).to_owned()));
        }
        Sending::SystemException(exception) => {
            span.set_attribute(KeyValue::new("corba.exception", exception.repository_id()));
            span.set_status(Status::error(exception.to_string()));
        }
        Sending::Forward(_) => span.add_event("forwarded", Vec::new()),
        Sending::Results => {}
    }
    span.end();
}

/// Returns the context of the request that this thread serves, which a servant attaches, or in
/// which it starts its own spans. Outside of a request, or without tracing, returns the thread's
/// current context.
pub fn request_context() -> Context {
    let current = Context::current();
    if current.span().span_context().is_valid() {
        return current;
    }
    let text = request_slot().ok().and_then(|slot| slot.get()?.get::<String>().ok()?);
    match text.as_deref().and_then(context::from_text) {
        Some(span) => current.with_remote_span_context(span),
        None => current,
    }
}
