//! Encoding of the trace context.

use std::str::FromStr;

use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};
use oxorb::cdr::{Decoder, Dialect, Encoder};

/// Id of the service context that carries the trace context: number 2 of vendor `OX`.
pub const TRACE_CONTEXT: u32 = 0x4F58_0002;

/// Encodes the data of the service context.
pub(crate) fn encode(span: &SpanContext) -> Vec<u8> {
    Encoder::encapsulated(oxorb::values::ByteOrder::NATIVE, Dialect::GIOP_1_2, |e| {
        e.string(&traceparent(span))?;
        e.string(&span.trace_state().header())
    })
    .expect("both are ASCII")
}

/// Decodes a received context; `None` for an invalid trace context.
pub(crate) fn decode(data: &[u8]) -> Option<SpanContext> {
    let mut d = Decoder::encapsulated(data, Dialect::GIOP_1_2).ok()?;
    let parent = d.string().ok()?;
    let state = d.string().unwrap_or_default();
    parse(&parent, &state)
}

/// Returns the context as a string, in the form that a slot stores.
pub(crate) fn to_text(span: &SpanContext) -> String {
    format!("{} {}", traceparent(span), span.trace_state().header())
}

pub(crate) fn from_text(text: &str) -> Option<SpanContext> {
    let (parent, state) = text.split_once(' ')?;
    parse(parent, state)
}

fn traceparent(span: &SpanContext) -> String {
    format!("00-{}-{}-{:02x}", span.trace_id(), span.span_id(), span.trace_flags().to_u8())
}

/// Parses a trace context. Versions after 00 may append fields, but the fields of version 00 keep
/// their positions (W3C Trace Context, 3.2.4).
fn parse(parent: &str, state: &str) -> Option<SpanContext> {
    let mut fields = parent.split('-');
    let (version, trace, span, flags) =
        (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let lengths = [version, trace, span, flags].map(str::len);
    let lower_hex = |text: &str| text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if lengths != [2, 32, 16, 2]
        || ![version, trace, span, flags].into_iter().all(lower_hex)
        || version == "ff"
        || (version == "00" && fields.next().is_some())
    {
        return None;
    }
    let context = SpanContext::new(
        TraceId::from_hex(trace).ok()?,
        SpanId::from_hex(span).ok()?,
        TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED,
        true,
        // A malformed `tracestate` does not invalidate `traceparent`, so only the state is dropped.
        TraceState::from_str(state).unwrap_or_default(),
    );
    context.is_valid().then_some(context)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn what_is_written_is_read() {
        let span = parse(PARENT, "vendor=1,other=2").unwrap();
        assert_eq!(decode(&encode(&span)), Some(span.clone()));
        assert_eq!(from_text(&to_text(&span)), Some(span.clone()));
        assert_eq!(traceparent(&span), PARENT);
        assert_eq!(span.trace_state().header(), "vendor=1,other=2");
    }

    #[test]
    fn later_versions_are_read_as_far_as_they_are_known() {
        assert!(parse(&format!("cc{}-more", &PARENT[2..]), "").is_some());
        assert!(parse(&format!("{PARENT}-more"), "").is_none());
    }

    #[test]
    fn what_is_no_trace_context_is_passed_over() {
        for wrong in [
            "",
            "00",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
        ] {
            assert_eq!(parse(wrong, ""), None, "{wrong}");
        }
        assert_eq!(decode(&[]), None);
        assert_eq!(decode(&[1, 0, 0, 0, 255, 255, 255, 255]), None);
    }
}
