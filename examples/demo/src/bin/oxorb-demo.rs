//! Demonstrations without the other commands: `cargo run --release -- demo` in the repository, which builds faster than
//! the whole command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;

/// The demonstrations of OxORB, a real-time CORBA ORB.
#[derive(Parser)]
#[command(name = "oxorb-demo", version, arg_required_else_help = true, max_term_width = 100)]
#[command(
    after_help = "The complete command, `oxorb`, also contains the demos: cargo install --locked --path crates/cli"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Demo(oxorb_demo::Args),
    #[command(flatten)]
    Part(oxorb_demo::Part),
}

fn main() -> ExitCode {
    oxorb_terminal::main(|cli: Cli| match cli.command {
        Command::Demo(args) => oxorb_demo::run(&args),
        Command::Part(part) => part.run(),
    })
}
