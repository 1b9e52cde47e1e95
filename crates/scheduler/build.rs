//! Compiles the interfaces of the scheduling service.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::compile(["idl/omg/RtecScheduler.idl", "idl/oxorb/schedule.idl"])
}
