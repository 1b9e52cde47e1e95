//! Compiles the interfaces that `oxorb demo` serves and `oxorb sched watch` and `oxorb event` ask.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::compile([
        "idl/echo.idl",
        "idl/navigation.idl",
        "idl/overload.idl",
        "../../idl/oxorb/admission.idl",
        "../../idl/oxorb/events.idl",
        "../../idl/oxorb/measurements.idl",
    ])
}
