//! Calls the greeter whose reference is the first argument. A name is a form of a reference, so the
//! client is the same as without a name service: corbaname::HOST:PORT#NAME

use oxorb::prelude::*;

oxorb::include_idl!("naming");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orb = Orb::builder().args(std::env::args()).build()?;
    let [_, reference, name] = orb.args() else {
        return Err("usage: client REFERENCE NAME".into());
    };
    let greeter: hello::GreeterRef = orb.resolve(reference)?;
    println!("{}", greeter.greet(name)?);
    Ok(())
}
