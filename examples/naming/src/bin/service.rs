//! Serves names until Ctrl-C or SIGTERM, at `corbaloc::HOST:PORT/NameService`. The command
//! `oxorb name serve` does the same, and keeps the names in a file.

use oxorb::prelude::*;
use oxorb_naming::{NameService, Store};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orb = Orb::builder().args(std::env::args()).build()?;
    // `Store::open` is for names that outlive the process.
    let service = NameService::start(&orb, Store::in_memory()?)?;
    orb.shutdown_on_signal()?;
    println!("{}", service.root().to_ior());
    orb.run();
    Ok(())
}
