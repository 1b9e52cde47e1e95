//! Compiles the interfaces of the repository.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::compile(["idl/ir.idl"])
}
