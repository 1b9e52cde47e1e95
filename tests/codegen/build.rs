//! Compiles every file of `idl`, as a user's build script would: once compiled, and those with types to marshal once more
//! for the interpreter.

use std::path::PathBuf;

use oxorb_idlgen::{Builder, Marshalling};

fn main() -> Result<(), oxorb_idlgen::Error> {
    let out_dir = std::env::var_os("OUT_DIR").map(PathBuf::from);
    let out_dir = out_dir.expect("set for build scripts").join("interpreted");
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
        "idl/calls.idl",
        "idl/consts.idl",
        "idl/edges.idl",
        "idl/global.idl",
        "idl/idl4.idl",
        "idl/mapping.idl",
        "idl/names.idl",
        "idl/types.idl",
        "idl/unions.idl",
        "idl/values.idl",
        "idl/whole.idl",
    ])
}
