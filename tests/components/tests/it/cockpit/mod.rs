//! A cockpit of components, navigated by a client of another ORB.

mod carried;
mod connectors;
mod ending;
mod errors;
mod events;
mod executors;
mod homes;
mod keys;
mod life;
mod lightweight;
mod limits;
mod peers;
mod ports;
mod rates;
mod realtime;
mod scene;
