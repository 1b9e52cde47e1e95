//! Compiles the interfaces that `oxorb demo` serves and `oxorb sched watch` asks.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::compile([
        "idl/navigation.idl",
        "idl/overload.idl",
        "../../idl/oxorb/measurements.idl",
    ])
}
