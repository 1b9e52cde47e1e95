//! Compiles the interfaces of streams.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::compile(["idl/oxorb/stream.idl"])
}
