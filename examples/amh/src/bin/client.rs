//! Has two dishes baked by the oven whose reference is the first argument. A client cannot tell
//! whether the servant answers at once or later, so its calls are ordinary ones.

use oxorb::prelude::*;

oxorb::include_idl!("amh");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orb = Orb::builder().args(std::env::args()).build()?;
    let [_, reference] = orb.args() else {
        return Err("usage: client REFERENCE".into());
    };
    let oven: kitchen::OvenRef = orb.resolve(reference)?;
    // Two calls at the same time, because the oven waits for the second dish.
    let bread = oven.bake_async("bread");
    let cake = oven.bake_async("cake");
    println!("{}", bread.wait()?);
    println!("{}", cake.wait()?);
    Ok(())
}
