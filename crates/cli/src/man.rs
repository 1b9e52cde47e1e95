//! `oxorb man`.

use std::fs;
use std::path::PathBuf;

use clap::{CommandFactory, ValueHint};
use oxorb_terminal::output::{Done, because, print};

/// Arguments of `oxorb man`.
#[derive(clap::Args)]
#[command(after_help = "Install the pages where `man oxorb-event-pub` finds them:\n  \
    oxorb man --to ~/.local/share/man/man1")]
pub(crate) struct Args {
    /// Folder for the manual pages of all commands; created if missing. If omitted, the page of `oxorb` itself is
    /// printed
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    to: Option<PathBuf>,
}

/// Prints one manual page, or writes all of them.
pub(crate) fn run(args: Args) -> Done {
    let command = crate::Cli::command();
    let Some(folder) = args.to else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        return print(String::from_utf8_lossy(&page));
    };
    fs::create_dir_all(&folder).and_then(|()| clap_mangen::generate_to(command, &folder)).map_err(
        |error| because(format!("cannot write manual pages to {}: {error}", folder.display())),
    )
}
