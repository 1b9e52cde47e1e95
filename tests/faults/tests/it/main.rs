//! Faults between processes, a module for each kind. One program, because most of what many cost is their linking.

mod clients;
mod clocks;
mod common;
mod datagrams;
mod descriptors;
mod event_soak;
mod events;
mod killed;
mod many;
mod memory;
mod networks;
mod notify;
mod peers;
mod scribbler;
mod sockets;
mod steering;
mod thousand;
