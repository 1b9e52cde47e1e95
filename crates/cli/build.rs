//! Compiles the interfaces that `oxorb doctor --measure`, `oxorb sched watch` and `oxorb event` call.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::compile([
        "idl/echo.idl",
        "idl/oxorb/admission.idl",
        "idl/oxorb/events.idl",
        "idl/oxorb/measurements.idl",
    ])
}
