//! Prints four events of the channel whose reference is the first argument: levels of tank 1, and
//! alarms of any tank.

use oxorb::Orb;
use oxorb_event::{Channel as _, Filter, RemoteChannel, Subscriber, SubscriberOptions, in_order};

oxorb::include_idl!("tanks");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orb = in_order(Orb::builder()).args(std::env::args()).build()?;
    let [_, reference] = orb.args() else {
        return Err("usage: consumer CHANNEL".into());
    };
    let channel = RemoteChannel::at(&orb, reference)?;
    // Each is an event type and a source. The channel filters: other events are not sent here.
    let names = channel.names();
    let wanted = Filter::any_of([names.filter("level", "tank 1")?, names.filter("alarm", "")?]);
    let options = SubscriberOptions::default();
    let events = Subscriber::<tanks::Reading>::filtered(&channel, &wanted, options)?;
    println!("subscribed");
    for event in events.iter().take(4) {
        let event_type = names.name_of_type(event.header.r#type).unwrap_or_default();
        println!("{event_type}: reading {}, {}", event.value.number, event.value.level);
    }
    Ok(())
}
