//! Compiles the interfaces of the event and notification services.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::compile(["../../idl/omg/CosNotifyChannelAdmin.idl"])
}
