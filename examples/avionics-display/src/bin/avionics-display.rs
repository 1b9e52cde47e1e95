//! Executable of all plans: one process of a deployment, or of a plan that it reads itself.

fn main() -> std::process::ExitCode {
    oxorb::deployment::run_locality(oxorb_example_avionics_display::implementations())
}
