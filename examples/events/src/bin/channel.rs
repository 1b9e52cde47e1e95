//! Serves an event channel until Ctrl-C or SIGTERM.

use oxorb::prelude::*;
use oxorb_event::{ChannelOptions, EventChannel, in_order};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Events are oneways, which may overtake each other unless all ORBs keep their order.
    let orb = in_order(Orb::builder()).args(std::env::args()).build()?;
    let channel = EventChannel::new(ChannelOptions::default());
    // For references that people can type: corbaloc::HOST:PORT/EventService
    let served = channel.serve(&orb, "EventService")?;
    orb.shutdown_on_signal()?;
    println!("{}", served.reference().to_ior());
    orb.run();
    Ok(())
}
