//! Calls the greeter whose reference is the first argument.

use oxorb::prelude::*;

oxorb::include_idl!("hello");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orb = Orb::builder().args(std::env::args()).build()?;
    let [_, reference, name] = orb.args() else {
        return Err("usage: client REFERENCE NAME".into());
    };
    let greeter: hello::GreeterRef = orb.resolve(reference)?;
    println!("{}", greeter.greet(name)?);
    Ok(())
}
