//! Serves a shelf until Ctrl-C or SIGTERM. Its servant is an ordinary one: asynchronous calls are a
//! matter of the client.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex};

use oxorb::prelude::*;

oxorb::include_idl!("ami");

#[derive(Default)]
struct Shelf {
    things: Mutex<HashMap<i32, String>>,
    arrived: Condvar,
}

/// Reason why the lock is never poisoned.
const SOUND: &str = "no code panics while it holds the things";

impl storage::Shelf for Shelf {
    // Blocks its thread; other threads serve the further requests of the same connection.
    fn take(&self, place: i32) -> oxorb::Result<String> {
        let mut things = self.things.lock().expect(SOUND);
        loop {
            if let Some(thing) = things.remove(&place) {
                return Ok(thing);
            }
            things = self.arrived.wait(things).expect(SOUND);
        }
    }

    fn put(&self, place: i32, thing: &str) -> oxorb::Result<()> {
        self.things.lock().expect(SOUND).insert(place, thing.to_owned());
        self.arrived.notify_all();
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orb = Orb::builder().args(std::env::args()).build()?;
    let shelf: storage::ShelfRef = orb.root_poa().activate(Shelf::default())?;
    orb.bind("Shelf", &shelf);
    orb.shutdown_on_signal()?;
    println!("{}", shelf.to_ior());
    orb.run();
    Ok(())
}
