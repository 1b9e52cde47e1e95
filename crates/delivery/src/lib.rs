//! Delivery of events to many consumers. Each consumer has a bounded queue with an overflow policy, and threads that
//! deliver from it.
//!
//! This crate is the core of every event service of OxORB. It depends on neither the ORB nor the type of the events,
//! and calls consumers through the trait [`Sink`].
//!
//! ```text
//! supplier -- offer --> Outlet: bounded queue, order, policy when full -- turn --> Sink (consumer)
//!                                                                      -- pull --> consumer
//! ```
//!
//! - A [`Dispatcher`] manages the threads. There are none (events are delivered in the supplier's thread), a pool, one
//!   lane for each priority, or lanes that dispatch by deadline or laxity, like the dispatching modules of the
//!   scheduling service ([`Plan`]).
//! - An [`Outlet`] is the queue of one consumer. Its [`Qos`] sets the limits, the order and the overflow policy. A
//!   consumer that receives events at several priorities has a separate outlet for each, so that the priorities share
//!   no lock.
//! - A [`Sink`] is the consumer. It occupies at most [`Qos::concurrency`] threads, and a lane whose threads are all
//!   stuck in sinks gets spare threads ([`LanePlan::spares`]).
//! - [`Counts`] account for every event: offered = delivered + dropped by cause + waiting. Events of one supplier and
//!   equal urgency are delivered in order while `concurrency` is 1.
//! - Additional tools: [`Timers`], [`Control`] (pings of consumers and suppliers) and [`Meter`] (rates of suppliers).
//!
//! ```
//! use std::sync::{Arc, mpsc};
//! use std::time::Duration;
//! use oxorb_delivery::{Attributes, Dispatcher, Outcome, Plan, Qos, Sink};
//!
//! struct Console(mpsc::Sender<Arc<str>>);
//!
//! impl Sink<Arc<str>> for Console {
//!     fn deliver(&self, events: &[Arc<str>]) -> Outcome {
//!         for event in events {
//!             if self.0.send(event.clone()).is_err() {
//!                 return Outcome::Gone;
//!             }
//!         }
//!         Outcome::Delivered
//!     }
//! }
//!
//! let (tell, told) = mpsc::channel();
//! let dispatcher = Dispatcher::start(Plan::pool(2))?;
//! let outlet = dispatcher.connect(Arc::new(Console(tell)), Qos::default())?;
//! outlet.offer(&Arc::from("hello"), &Attributes::default());
//! assert_eq!(&*told.recv()?, "hello");
//! dispatcher.shut_down(Duration::from_secs(5));
//! assert!(outlet.counts().is_balanced());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod attributes;
mod clock;
mod control;
mod counts;
mod dispatcher;
mod heap;
mod lane;
#[cfg(all(test, feature = "model"))]
mod model;
mod ordinary;
mod outlet;
mod plan;
mod qos;
mod queue;
mod rate;
mod sink;
mod sync;
mod taken;
mod timers;
mod totals;

pub use attributes::Attributes;
pub use clock::{Clock, ManualClock, Monotonic};
pub use control::{Control, Peer, Ping, Watch};
pub use counts::{Cause, Counts};
pub use dispatcher::Dispatcher;
pub use ordinary::run_ordinary;
pub use outlet::{Offered, Outlet, PullError};
pub use oxorb_rt::dispatch::{ModuleStartError, ModuleThreads};
pub use oxorb_sched::Dispatching;
pub use oxorb_sched::queue::Missed;
pub use oxorb_sys::schedule::{SchedulingClass, ThreadPriority};
pub use plan::{AtStart, DispatcherError, LanePlan, OutletConnectError, Plan};
pub use qos::{Order, Qos, WhenFull};
pub use rate::{Beyond, Meter, Rate, Verdict};
pub use sink::{Outcome, Release, Sink};
#[doc(hidden)]
pub use taken::locks_taken;
pub use timers::{Fired, Timer, Timers, TooManyTimers};
