//! Compiles the components of the avionics display with their executors.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::Builder::new()
        .file("../../crates/deploy/tests/plans/avionics.idl")
        .executors(true)
        .compile()
}
