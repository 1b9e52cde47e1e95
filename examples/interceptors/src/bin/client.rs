//! Calls the greeter whose reference is the first argument. An interceptor logs each call, and
//! sends a trace id with it.

use oxorb::Any;
use oxorb::interceptor::{ClientInterceptor, ClientReply, ClientRequest, Interrupt};
use oxorb::prelude::*;
use oxorb::values::Codec;

oxorb::include_idl!("interceptors");

struct Trace {
    /// Trace id, encoded.
    context: Vec<u8>,
}

impl ClientInterceptor for Trace {
    fn send_request(&self, request: &mut ClientRequest<'_>) -> Result<(), Interrupt> {
        println!("send_request {}", request.operation());
        request.add_request_service_context(hello::TRACE_CONTEXT, self.context.clone(), false)?;
        Ok(())
    }

    fn receive_reply(&self, reply: &mut ClientReply<'_>) -> Result<(), SystemException> {
        println!("receive_reply {}", reply.operation());
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Encoded as an encapsulation, which any ORB can decode.
    let context = Codec::default().encode_value(&Any::new("job-17".to_owned()))?;
    let trace = Trace { context };
    let orb = Orb::builder().client_interceptor(trace).args(std::env::args()).build()?;
    let [_, reference, name] = orb.args() else {
        return Err("usage: client REFERENCE NAME".into());
    };
    let greeter: hello::GreeterRef = orb.resolve(reference)?;
    println!("{}", greeter.greet(name)?);
    println!("{}", greeter.farewell(name)?);
    Ok(())
}
