//! Compiles the interfaces of the event channel.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::compile(["../../idl/omg/RtecEventChannelAdmin.idl"])
}
