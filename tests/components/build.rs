//! Compiles components with their executors.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::Builder::new().file("idl/avionics.idl").executors(true).compile()
}
