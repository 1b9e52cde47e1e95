//! The avionics display with a channel for events, as `oxorb deploy static` writes it.
#![forbid(unsafe_code)]

#[rustfmt::skip]
#[path = "../../golden/channel/src/main.rs"]
#[allow(unreachable_pub, reason = "the main of a program of its own")]
mod assembly;

fn main() -> std::process::ExitCode {
    assembly::main()
}
