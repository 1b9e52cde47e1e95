//! Generated code, a module for each subject. A single test program saves linking time.

mod behaviour;
mod calls;
mod common;
mod corpus;
mod edges;
mod fallible;
mod file_scope;
mod foreign;
mod gateway;
mod golden;
mod handlers;
mod idl4;
mod in_place;
mod in_place_results;
mod interpreted;
mod interpreted_calls;
mod inversion_order;
mod later;
mod lookup;
mod mapping;
mod names;
mod prepared;
mod properties;
mod round_trip;
mod values;
mod whole;
