//! Compiles the interface that `oxorb demo` serves.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::compile(["idl/navigation.idl"])
}
