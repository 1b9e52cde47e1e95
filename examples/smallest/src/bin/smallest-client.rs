//! Calls the counter whose reference is the first argument, once, and keeps the connection until standard input ends.

use oxorb::Orb;
use oxorb_example_smallest::smallest::CounterRef;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orb = Orb::builder().args(std::env::args()).build()?;
    let reference = orb.args().get(1).ok_or("usage: smallest-client REFERENCE")?;
    let counter: CounterRef = orb.resolve(reference)?;
    println!("{}", counter.next(41)?);
    oxorb_example_smallest::wait_for_end();
    Ok(())
}
