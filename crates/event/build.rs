//! Compiles the IDL of the event channel, and of the address server of its gateways.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::Builder::new()
        .files(["idl/omg/RtecEventChannelAdmin.idl", "idl/omg/RtecUDPAdmin.idl"])
        .joined("rtec")
        .compile()
}
