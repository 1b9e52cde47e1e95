//! Compiles every file of `idl`, like a user's build script: once for compiled marshalling, and those with types to
//! marshal a second time for the interpreter.

use std::path::PathBuf;

use oxorb_idlgen::{Builder, Marshalling, OperationLookup};

fn main() -> Result<(), oxorb_idlgen::Error> {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("set for build scripts"));
    let out_dir = out.join("interpreted");
    std::fs::create_dir_all(&out_dir)?;
    Builder::new()
        .files([
            "idl/calls.idl",
            "idl/edges.idl",
            "idl/global.idl",
            "idl/idl4.idl",
            "idl/names.idl",
            "idl/types.idl",
            "idl/unions.idl",
        ])
        .out_dir(out_dir)
        .marshalling(Marshalling::Interpreted)
        .compile()?;
    oxorb_idlgen::compile([
        "idl/albums.idl",
        "idl/behaviour.idl",
        "idl/calls.idl",
        "idl/consts.idl",
        "idl/direct.idl",
        "idl/edges.idl",
        "idl/fallible.idl",
        "idl/foreign.idl",
        "idl/global.idl",
        "idl/idl4.idl",
        "idl/in_place.idl",
        "idl/lanes.idl",
        "idl/later.idl",
        "idl/mapping.idl",
        "idl/names.idl",
        "idl/sized.idl",
        "idl/types.idl",
        "idl/unions.idl",
        "idl/values.idl",
        "idl/whole.idl",
    ])?;
    for lookup in OperationLookup::ALL {
        let folder = out.join(lookup.name());
        std::fs::create_dir_all(&folder)?;
        Builder::new().file("idl/lookup.idl").out_dir(folder).operation_lookup(lookup).compile()?;
    }
    Ok(())
}
