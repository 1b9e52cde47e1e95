//! Compiles the interface that every measured ORB serves.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::compile(["idl/probe.idl"])
}
