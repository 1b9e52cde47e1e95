//! Serves a counter until standard input ends.

use oxorb::{Interface as _, Orb};
use oxorb_example_smallest::smallest::CounterRef;
use oxorb_example_smallest::{Adder, wait_for_end};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orb = Orb::builder().args(std::env::args()).build()?;
    let counter: CounterRef = orb.root_poa().activate(Adder)?;
    println!("{}", counter.to_ior());
    wait_for_end();
    orb.shutdown(true)?;
    Ok(())
}
