//! Takes three things from the shelf whose reference is the first argument, in calls that run at
//! the same time.

use std::sync::mpsc;

use oxorb::prelude::*;

oxorb::include_idl!("ami");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orb = Orb::builder().args(std::env::args()).build()?;
    let [_, reference] = orb.args() else {
        return Err("usage: client REFERENCE".into());
    };
    let shelf: storage::ShelfRef = orb.resolve(reference)?;

    // Each call returns a future as soon as its request is sent. All three wait in the server.
    let first = shelf.take_async(1);
    let second = shelf.take_async(2);
    let third = shelf.take_async(3);
    // Callback: a thread of the ORB runs the closure when the reply arrives.
    let (sender, receiver) = mpsc::channel();
    third.then(move |reply| {
        // Fails only if `main` has ended.
        let _ = sender.send(reply);
    });

    // The last call is answered first.
    shelf.put(3, "cup")?;
    println!("place 3: {}", receiver.recv()??);
    shelf.put(2, "plate")?;
    println!("place 2: {}", second.wait()?);
    shelf.put(1, "bowl")?;
    println!("place 1: {}", first.wait()?);
    Ok(())
}
