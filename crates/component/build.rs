//! Compiles the module `Components`.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::Builder::new()
        .file("idl/omg/Components.idl")
        .runtime("::oxorb_core::__gen")
        .compile()
}
