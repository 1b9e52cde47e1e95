//! Serves an oven until Ctrl-C or SIGTERM. It bakes two dishes at a time, so the first request
//! waits for the second one, but no thread of the ORB waits.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use oxorb::prelude::*;
use oxorb::servant::Amh;
use oxorb::settings::Concurrency;

use kitchen::oven::BakeAnswer;

oxorb::include_idl!("amh");

/// Dish, and the object that answers the request for it.
type Order = (String, BakeAnswer);

/// Servant: passes orders to another thread, which answers them.
struct Orders(Sender<Order>);

impl kitchen::AmhOven for Orders {
    fn bake(&self, dish: &str, answer: BakeAnswer) {
        // Returning sends no reply, and frees the thread. If the other thread has ended, the
        // answer is dropped here, and the client gets the exception NO_RESPONSE.
        let _ = self.0.send((dish.to_owned(), answer));
    }
}

/// Answers requests in pairs, the later one first.
fn bake_in_pairs(orders: &Receiver<Order>) {
    while let (Ok(first), Ok(second)) = (orders.recv(), orders.recv()) {
        for (dish, answer) in [second, first] {
            answer.reply(format!("{dish} is baked"));
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A single thread serves all requests. If `bake` waited, the second request would never run.
    let single = Concurrency::Reactive;
    let orb = Orb::builder().concurrency(single).args(std::env::args()).build()?;
    let (sender, orders) = mpsc::channel();
    thread::spawn(move || bake_in_pairs(&orders));
    let oven: kitchen::OvenRef = orb.root_poa().activate(Amh(Orders(sender)))?;
    orb.bind("Oven", &oven);
    orb.shutdown_on_signal()?;
    println!("{}", oven.to_ior());
    orb.run();
    Ok(())
}
