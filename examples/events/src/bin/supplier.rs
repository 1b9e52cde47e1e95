//! Publishes readings of two tanks on the channel whose reference is the first argument.

use oxorb::Orb;
use oxorb_event::{Publisher, RemoteChannel, in_order};
use tanks::Reading;

oxorb::include_idl!("tanks");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orb = in_order(Orb::builder()).args(std::env::args()).build()?;
    let [_, reference] = orb.args() else {
        return Err("usage: supplier CHANNEL".into());
    };
    let channel = RemoteChannel::at(&orb, reference)?;
    let level_1 = Publisher::<Reading>::new(&channel, "level", "tank 1")?;
    let level_2 = Publisher::<Reading>::new(&channel, "level", "tank 2")?;
    let alarm_2 = Publisher::<Reading>::new(&channel, "alarm", "tank 2")?;
    let readings = [
        (&level_1, 0.4),
        (&level_2, 0.85),
        (&level_1, 0.42),
        (&level_2, 0.97),
        (&alarm_2, 0.97),
        (&level_1, 0.44),
    ];
    for (number, (publisher, level)) in (1..).zip(readings) {
        publisher.publish(&Reading { number, level })?;
    }
    println!("published {} readings", readings.len());
    Ok(())
}
