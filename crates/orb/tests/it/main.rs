//! Tests of whole ORBs, one module per subject. They form one program, because most of them run for a shorter time than
//! linking takes.

#[path = "../common/mod.rs"]
mod common;

mod access_rules;
mod architectures;
mod asynchronous;
mod asynchronous_policies;
mod bandwidth;
mod bidirectional;
mod busy_poll;
mod calls;
mod cancels;
mod classes;
mod client_connections;
mod code_sets;
mod config_files;
mod config_page;
mod configuration;
mod copies;
mod datagrams;
mod endpoints;
mod environment;
mod error_text;
mod failures;
mod fuzz_entry_points;
mod groups;
mod hand_over;
mod hostile;
mod idle_connections;
mod interceptors;
mod lanes;
mod large_messages;
mod later;
mod limits;
mod lite;
mod message_buffers;
mod metrics;
mod metrics_port;
mod modules;
mod nested;
mod one_port;
mod oneway_batches;
mod oneway_limits;
mod other_messaging;
mod peer_options_page;
mod poa;
mod policies;
mod preallocation;
mod preconnect;
mod priorities;
mod protocol_policies;
mod reply_handlers;
mod request_qos;
mod resolve;
mod rooms;
mod same_host;
mod scheduler;
mod shared_lanes;
mod shared_pages;
mod signals;
mod stable_addresses;
mod steering;
mod threads;
mod unix_sockets;

use oxorb_testkit::alloc::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();
