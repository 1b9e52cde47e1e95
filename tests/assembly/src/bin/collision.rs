//! The avionics display with collision warning and real-time resources, as `oxorb deploy static` writes it.
#![forbid(unsafe_code)]

// The artifact of the collision subsystem.
extern crate avionics as collision;

#[rustfmt::skip]
#[path = "../../golden/collision/src/main.rs"]
#[allow(unreachable_pub, reason = "the main of a program of its own")]
mod assembly;

fn main() -> std::process::ExitCode {
    assembly::main()
}
