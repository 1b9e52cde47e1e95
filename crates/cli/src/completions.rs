//! `oxorb completions`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::output::Done;

/// Arguments of `oxorb completions`.
#[derive(clap::Args)]
#[command(
    after_help = "For bash: oxorb completions bash > ~/.local/share/bash-completion/completions/oxorb"
)]
pub(crate) struct Args {
    /// For which shell
    shell: Shell,
}

/// Prints the completion script.
pub(crate) fn run(args: Args) -> Done {
    clap_complete::generate(
        args.shell,
        &mut crate::Cli::command(),
        "oxorb",
        &mut std::io::stdout(),
    );
    Ok(())
}
