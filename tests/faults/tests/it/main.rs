//! Faults between processes, a module for each kind. A single test program saves linking time.

mod clients;
mod clocks;
mod common;
mod datagrams;
mod descriptors;
mod event_soak;
mod events;
mod gateway_faults;
mod gateway_soak;
mod killed;
mod many;
mod memory;
mod nat;
mod networks;
mod notify;
mod peers;
mod scribbler;
mod sockets;
mod steering;
mod thousand;
