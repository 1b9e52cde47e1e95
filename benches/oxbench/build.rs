//! Compiles the interface that every measured ORB serves, and the types that every one writes and reads.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::compile(["idl/probe.idl", "idl/marshal.idl"])
}
