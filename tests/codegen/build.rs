//! Compiles every file of `idl`, as a user's build script would.

fn main() -> Result<(), oxorb_idlgen::Error> {
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
    ])
}
