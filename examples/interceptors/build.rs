//! IDL to Rust.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::compile(["idl/interceptors.idl"])
}
