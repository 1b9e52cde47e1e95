//! The command, run as people and programs do, a module for each part of it. One program, because most of what many cost is
//! their linking.

mod avionics;
mod bridge;
mod call_hidden;
mod call_ifr;
mod command;
mod common;
mod deploy;
mod deploy_static;
mod doctor;
mod doctor_apply;
mod dynamic;
mod event;
mod event_faults;
mod event_store;
mod hostile_text;
mod idl_cost;
mod ifr;
mod launch;
mod log_lines;
mod name;
mod name_endless;
mod name_protocols;
mod new;
mod priority;
mod roles;
mod sched;
mod sched_admission;
mod sched_analyses;
mod sched_events;
mod sched_flows;
mod sched_live;
mod sched_service;
