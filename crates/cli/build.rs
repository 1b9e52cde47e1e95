//! Compiles the interfaces that `oxorb doctor --measure` calls and `oxorb sched watch` and `oxorb event` ask.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::compile([
        "idl/echo.idl",
        "../../idl/oxorb/admission.idl",
        "../../idl/oxorb/events.idl",
        "../../idl/oxorb/measurements.idl",
    ])
}
