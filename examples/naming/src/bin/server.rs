//! Serves a greeter under the name `hello/greeter` until Ctrl-C or SIGTERM.

use oxorb::prelude::*;
use oxorb_naming::Names;

oxorb::include_idl!("naming");

struct Polite;

impl hello::Greeter for Polite {
    fn greet(&self, name: &str) -> oxorb::Result<String> {
        Ok(format!("Hello, {name}!"))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orb = Orb::builder().args(std::env::args()).build()?;
    let greeter: hello::GreeterRef = orb.root_poa().activate(Polite)?;
    // The name service is the one of -ORBInitRef NameService=URL
    let names = Names::of(&orb)?;
    names.make_contexts("hello")?;
    // `bind` would fail after a restart, because the name is bound already.
    names.rebind("hello/greeter", &greeter)?;
    orb.shutdown_on_signal()?;
    println!("hello/greeter is bound");
    orb.run();
    Ok(())
}
