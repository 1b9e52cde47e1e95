//! Serves a greeter until Ctrl-C or SIGTERM.

use oxorb::prelude::*;

oxorb::include_idl!("hello");

/// Servant: answers calls of the object.
struct Polite;

impl hello::Greeter for Polite {
    fn greet(&self, name: &str) -> oxorb::Result<String> {
        Ok(format!("Hello, {name}!"))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Settings of the ORB are arguments: -ORBListenEndpoints iiop://127.0.0.1:2809
    let orb = Orb::builder().args(std::env::args()).build()?;
    let greeter: hello::GreeterRef = orb.root_poa().activate(Polite)?;
    // For references that people can type: corbaloc::HOST:PORT/Greeter
    orb.bind("Greeter", &greeter);
    orb.shutdown_on_signal()?;
    println!("{}", greeter.to_ior());
    orb.run();
    Ok(())
}
