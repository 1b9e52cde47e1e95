//! Serves a greeter until Ctrl-C or SIGTERM. An interceptor logs each request with the trace id of
//! its client.

use oxorb::interceptor::{Interrupt, ServerInterceptor, ServerRequest};
use oxorb::prelude::*;
use oxorb::values::{Codec, TypeCode};

oxorb::include_idl!("interceptors");

struct Polite;

impl hello::Greeter for Polite {
    fn greet(&self, name: &str) -> oxorb::Result<String> {
        Ok(format!("Hello, {name}!"))
    }

    fn farewell(&self, name: &str) -> oxorb::Result<String> {
        Ok(format!("Goodbye, {name}!"))
    }
}

struct Trace;

impl ServerInterceptor for Trace {
    fn receive_request(&self, request: &mut ServerRequest<'_>) -> Result<(), Interrupt> {
        let context = request.request_service_context(hello::TRACE_CONTEXT);
        // Clients without the interceptor send no trace id.
        let id = context.and_then(decoded).unwrap_or_default();
        println!("receive_request {} {id}", request.operation());
        Ok(())
    }
}

/// Returns the trace id of a service context; `None` if a client sent something else.
fn decoded(context: &[u8]) -> Option<String> {
    Codec::default().decode_value(context, &TypeCode::STRING).ok()?.get().ok()?
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orb = Orb::builder().server_interceptor(Trace).args(std::env::args()).build()?;
    let greeter: hello::GreeterRef = orb.root_poa().activate(Polite)?;
    orb.shutdown_on_signal()?;
    println!("{}", greeter.to_ior());
    orb.run();
    Ok(())
}
