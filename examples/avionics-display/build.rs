//! Compiles IDL to Rust, with the executors of components.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::Builder::new().file("idl/avionics.idl").executors(true).compile()
}
