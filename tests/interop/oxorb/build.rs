//! IDL to Rust.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::compile([
        "../interop.idl",
        "../interop_omniorb.idl",
        "../interop_jacorb.idl",
    ])
}
