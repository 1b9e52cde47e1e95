//! Compiles the IDL files: the interface that every measured ORB serves; the types that every ORB writes and reads, as
//! both compiled and interpreted code; and the components with their executors.

use std::path::PathBuf;

use oxorb_idlgen::{Builder, Marshalling};

fn main() -> Result<(), oxorb_idlgen::Error> {
    let out_dir = std::env::var_os("OUT_DIR").map(PathBuf::from);
    let out_dir = out_dir.expect("set for build scripts").join("interpreted");
    std::fs::create_dir_all(&out_dir)?;
    Builder::new()
        .file("idl/marshal.idl")
        .out_dir(out_dir)
        .marshalling(Marshalling::Interpreted)
        .compile()?;
    Builder::new().file("idl/components.idl").executors(true).compile()?;
    oxorb_idlgen::compile([
        "idl/control.idl",
        "idl/cubit.idl",
        "idl/in_place.idl",
        "idl/probe.idl",
        "idl/marshal.idl",
        "idl/load.idl",
        "idl/oneway.idl",
        "idl/dispatch.idl",
        "idl/wire.idl",
    ])
}
