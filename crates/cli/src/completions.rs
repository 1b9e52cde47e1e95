//! `oxorb completions`.

use clap::CommandFactory;
use clap_complete::Shell;

use oxorb_terminal::output::{Done, print};

/// Arguments of `oxorb completions`.
#[derive(clap::Args)]
#[command(after_help = "Install the script where the shell looks for it:\n  \
    oxorb completions bash > ~/.local/share/bash-completion/completions/oxorb\n  \
    oxorb completions zsh > ~/.zfunc/_oxorb    (with ~/.zfunc in fpath, before compinit)\n  \
    oxorb completions fish > ~/.config/fish/completions/oxorb.fish")]
pub(crate) struct Args {
    /// Shell for which the script is printed
    shell: Shell,
}

/// Prints the completion script.
pub(crate) fn run(args: Args) -> Done {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "oxorb", &mut script);
    print(String::from_utf8_lossy(&script))
}
