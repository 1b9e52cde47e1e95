//! A trace through three ORBs: client spans, server spans, and the spans of a servant's own calls.

use std::sync::Arc;

use opentelemetry::global;
use opentelemetry::trace::{SpanKind, Status};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use oxorb::__gen::Op;
use oxorb::{
    CompletionStatus, Interface as _, ObjectRef, Orb, Outcome, Servant, SystemException, Upcall,
};
use oxorb_otel::{ClientTracing, ServerTracing};

static RELAY: Op = Op::twoway("relay");
static FAIL: Op = Op::twoway("fail");

/// Servant that calls the next one, if any.
struct Hop(Option<ObjectRef>);

impl Servant for Hop {
    fn repository_id(&self) -> &str {
        "IDL:test/Hop:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        if upcall.operation() == "fail" {
            return upcall.fail(SystemException::no_permission(1, CompletionStatus::No));
        }
        match self.0.as_ref().map(|next| call(next, &RELAY)) {
            Some(Err(exception)) => upcall.fail(exception),
            _ => upcall.done(),
        }
    }
}

fn call(object: &ObjectRef, op: &'static Op) -> Result<(), SystemException> {
    object.reference().invoke(op, |_| Ok(()), |_| Ok(()))
}

fn orb() -> Orb {
    Orb::builder()
        .listen("iiop://127.0.0.1:0")
        .client_interceptor(ClientTracing::new().unwrap())
        .server_interceptor(ServerTracing::new().unwrap())
        .build()
        .unwrap()
}

fn hop(orb: &Orb, next: Option<&ObjectRef>) -> String {
    let next = next.map(|next| orb.string_to_object(&next.to_ior()).unwrap());
    let local = orb.root_poa().activate_servant(Arc::new(Hop(next))).unwrap();
    local.to_string()
}

fn named<'s>(spans: &'s [SpanData], name: &str, kind: SpanKind) -> Vec<&'s SpanData> {
    spans.iter().filter(|span| span.name == name && span.span_kind == kind).collect()
}

#[test]
fn one_trace_leads_through_all_hops() {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    global::set_tracer_provider(provider);

    let (client, middle, end) = (orb(), orb(), orb());
    let last = middle.string_to_object(&hop(&end, None)).unwrap();
    let first = client.string_to_object(&hop(&middle, Some(&last))).unwrap();
    call(&first, &RELAY).unwrap();

    let spans = exporter.get_finished_spans().unwrap();
    let calls = named(&spans, "test/Hop/relay", SpanKind::Client);
    let served = named(&spans, "test/Hop/relay", SpanKind::Server);
    assert_eq!((calls.len(), served.len()), (2, 2), "{spans:#?}");
    let trace = calls[0].span_context.trace_id();
    assert!(spans.iter().all(|span| span.span_context.trace_id() == trace));
    // Each server span must be the child of a client span, and the client span of the inner call the child of the first
    // server span.
    let outer_call = calls
        .iter()
        .find(|call| call.parent_span_id == opentelemetry::SpanId::INVALID)
        .expect("one has no parent");
    let inner_call = calls
        .iter()
        .find(|call| call.parent_span_id != opentelemetry::SpanId::INVALID)
        .expect("the other has one");
    let outer_request = served
        .iter()
        .find(|request| request.parent_span_id == outer_call.span_context.span_id())
        .expect("the first request");
    assert_eq!(inner_call.parent_span_id, outer_request.span_context.span_id());
    assert!(
        served.iter().any(|request| request.parent_span_id == inner_call.span_context.span_id())
    );

    exporter.reset();
    call(&first, &FAIL).unwrap_err();
    let spans = exporter.get_finished_spans().unwrap();
    assert_eq!(spans.len(), 2);
    for span in &spans {
        assert!(
            matches!(&span.status, Status::Error { description } if description.contains("NO_PERMISSION"))
        );
    }

    for orb in [client, middle, end] {
        orb.shutdown(true).unwrap();
    }
}
