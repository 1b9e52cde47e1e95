//! IDL to Rust, for the server of the tests.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::compile(["idl/station.idl"])
}
