//! A bridge between protocols (an in-line bridge of CORBA 3.4, part 2, 7): clients call objects of the bridge by one protocol,
//! and the bridge calls theirs by another.
//!
//! ```text
//! client --any protocol of the bridge's endpoints--> Bridge --any protocol of the target's reference--> server
//!        <------------- reply, octet for octet ------------ <-----------------------------------------
//! ```
//!
//! Arguments and results go on as they are, without their types being known: copied once on each way, in the byte order of
//! their sender. What that needs is checked for each message ([`Relayed`](oxorb_cdr::Relayed)), and the caller gets MARSHAL,
//! minor code `NOT_ALIKE`, where it does not hold. What belongs to the messages is made anew on each side: versions of GIOP,
//! fragments, code sets. Priorities, what is left of time limits, forwards (followed here), oneways and exceptions are carried.
//!
//! References among the values lead to where they led before, past the bridge, unless it is told what operations are like
//! ([`Interfaces`]): then those that go through become objects of the bridge, and those that come back become what they
//! were, so that callbacks come back through it.
//!
//! ```
//! use oxorb::{Interface as _, ObjectRef, Orb};
//! use oxorb::bridge::{Bridge, Interfaces};
//!
//! # let server = Orb::builder().listen("iiop://127.0.0.1:0").build()?;
//! # let poa = server.root_poa();
//! # let there: ObjectRef = poa.create_reference()?;
//! # let url = there.to_ior();
//! let orb = Orb::builder().listen("uiop://").listen("iiop://127.0.0.1:0").build()?;
//! let bridge = Bridge::new(&orb, Interfaces::default())?;
//! let here = bridge.open("Account", &url)?;
//! println!("{}", here.to_ior());
//! # orb.shutdown(true)?;
//! # server.shutdown(true)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bridge;
mod counts;
mod error;
mod forwarder;
mod interfaces;
mod passing;
mod typed;

pub use bridge::{Bridge, MOST_REFERENCES, POA_NAME};
pub use counts::Statistics;
pub use error::Error;
pub use interfaces::Interfaces;
