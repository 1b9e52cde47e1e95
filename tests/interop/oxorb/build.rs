//! IDL to Rust.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::Builder::new()
        .files([
            "../interop.idl",
            "../interop_omniorb.idl",
            "../interop_jacorb.idl",
            "../interop_any.idl",
            "../interop_values.idl",
            "../interop_async.idl",
        ])
        .ami("InteropAsync::Worker")
        .amh("InteropAsync::Worker")
        .joined("idl")
        .compile()?;
    oxorb_idlgen::Builder::new().file("../interop_components.idl").executors(true).compile()
}
