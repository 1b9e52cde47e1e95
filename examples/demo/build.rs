//! Compiles the interfaces that the demonstrations serve.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::compile(["idl/navigation.idl", "idl/overload.idl"])
}
