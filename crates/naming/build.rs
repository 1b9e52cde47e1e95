//! Compiles the interfaces of the naming service.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::compile(["idl/omg/CosNaming.idl"])
}
