//! Every analysis against a simulator that is written plainly, one unit of time after the other, and shares no code with it;
//! and against published examples.

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
