//! Comparison of every analysis with a reference simulator, which advances by one unit of time and
//! shares no code with it, and with published examples.

mod bursts;
mod chances;
mod flows;
mod mixed;
mod phased_flows;
mod plain;
mod priorities;
mod processors;
mod published;
mod resources;
mod sensitivity;
mod servers;
mod sporadic;
